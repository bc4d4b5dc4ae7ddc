import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalTwoSided } from '../numeric/distributions.ts'
import { METHODS } from './catalog.ts'
import type { Cause } from './drivers/causes.ts'
import { outcomeOf, relation } from './relation-fixture.ts'

/** Visits one by one in two periods; `visits` and `rate` are SQL over side, country and channel. */
async function ratio(visits: string, rate: string, seed: number) {
  const table = await relation(
    `select side, country, channel, 1 as visits, (hash(side, country, channel, i, ${seed}) % 1000000 < 1000000 * (${rate}))::int as orders
     from (select side, country, channel, unnest(range((${visits})::int + (hash(side, country, channel, ${seed}) % 41)::int - 20)) as i
       from (values ('a'), ('b')) s(side), (values ('DE', 900), ('US', 700), ('FR', 500), ('UK', 400)) c(country, w),
         (values ('paid', 2), ('free', 3), ('mail', 1)) h(channel, k))`,
  )
  const outcome = await outcomeOf(METHODS.drivers!, table, {
    numerator: 'orders',
    denominator: 'visits',
    by: ['country', 'channel'],
    split: { column: 'side', before: 'a', after: 'b' },
  })
  const [change, explained] = [outcome.change as number, outcome.explained as number]
  return { headline: outcome.headline ?? '', causes: outcome.causes as Cause[], change, explained }
}

const RATE = "case country when 'US' then 0.3 else 0.1 end"
const MORE_US = "w * k * case when side = 'b' and country = 'US' then 2 else 1 end"

const named = ({ causes }: { causes: Cause[] }) => causes.map(({ where, kind }) => ({ ...where, kind }))

test('a share that moved is a cause of a ratio, with its share before and after', async () => {
  for (const seed of [1, 2, 3]) {
    const outcome = await ratio(MORE_US, RATE, seed)
    assert.deepEqual(named(outcome), [{ country: 'US', kind: 'mix' }])
    const [cause] = outcome.causes
    // The segment has 700 of 2,500 before and 1,400 of 3,200 after. The rates differ by 0.2.
    assert.ok(Math.abs(cause!.weight_before! - 0.28) < 0.01)
    assert.ok(Math.abs(cause!.weight_after! - 0.4375) < 0.01)
    assert.ok(Math.abs(cause!.change! - 0.0315) < 0.004)
    assert.ok(cause!.low! < 0.0315 && 0.0315 < cause!.high!)
    assert.match(
      outcome.headline,
      /came with country "US", whose share of visits rose from 28 % to 4\d %; everything else/u,
    )
  }
})

test('a rate that fell and a share that rose stand beside each other and add up with the rest', async () => {
  const fall = `case when side = 'b' and country = 'DE' then 0.05 else ${RATE} end`
  const outcome = await ratio(MORE_US, fall, 1)
  assert.deepEqual(named(outcome), [
    { country: 'US', kind: 'mix' },
    { country: 'DE', kind: 'rate' },
  ])
  const sum = outcome.causes.reduce((all, { change }) => all + change!, 0)
  assert.ok(Math.abs(sum / outcome.change - outcome.explained) < 1e-9)
  assert.ok(Math.abs(sum - outcome.change) < 0.01)
})

test('the q of a share that moved is no surer than the interval of what it did to the ratio', async () => {
  // The rows are the admissions of two departments of Berkeley in 1973, one row for each department and sex.
  const table = await relation(
    "select * from (values ('m', 'A', 825, 512), ('m', 'F', 373, 22), ('f', 'A', 108, 89), ('f', 'F', 341, 24)) t(sex, department, applicants, admitted)",
  )
  const { causes } = await outcomeOf(METHODS.drivers!, table, {
    numerator: 'admitted',
    denominator: 'applicants',
    by: ['department'],
    split: { column: 'sex', before: 'm', after: 'f' },
  })
  const [{ change, low, high, q, kind }] = causes as [Cause]
  assert.equal(kind, 'mix')
  const p = normalTwoSided((2 * 1.959963984540054 * change!) / (high! - low!))
  assert.ok(q >= p * (1 - 1e-9) && q <= 0.01, `${q} beside ${p}`)
})

test('a share that moved between segments of one rate is no cause, and noise names none', async () => {
  for (const seed of [1, 2, 3]) {
    assert.deepEqual(named(await ratio(MORE_US, '0.1', seed)), [])
    assert.deepEqual(named(await ratio('w * k', RATE, seed)), [])
  }
})

test('the parts are those of Kitagawa over two groups', async () => {
  // There are 600 and 400 visits at rates 0.08 and 0.02, then 300 and 700 at 0.06 and 0.03. The mix is -0.3 * (0.07 -
  // 0.025), the rates are 0.45 * -0.02 + 0.55 * 0.01.
  const table = await relation(
    `select * from (values ('b', 'DE', 60000, 4800), ('b', 'US', 40000, 800), ('a', 'DE', 30000, 1800), ('a', 'US', 70000, 2100)) t(side, country, visits, orders)`,
  )
  const options = {
    numerator: 'orders',
    denominator: 'visits',
    by: ['country'],
    split: { column: 'side', before: 'b', after: 'a' },
  }
  const outcome = await outcomeOf(METHODS.drivers!, table, options)
  const near = (value: unknown, wanted: number): void =>
    assert.ok(Math.abs((value as number) - wanted) < 1e-12, `${String(value)}, not ${wanted}`)
  near(outcome.mix, -0.3 * 0.045)
  near(outcome.rate, 0.45 * -0.02 + 0.55 * 0.01)
  near(outcome.change, 0.039 - 0.056)
})

test('numerators whose denominators are gone are reported as such, and nothing else rises with them', async () => {
  const asked = {
    numerator: 'orders',
    denominator: 'visits',
    by: ['country', 'channel'],
    split: { column: 'side', before: 'a', after: 'b' },
  }
  const told = async (gone: string, moved: string) => {
    const table = await relation(
      `select side, country, channel, if(${gone}, 0, n) as visits, (n * if(${moved}, 0.01, 0.04))::int as orders
       from (values ('a'), ('b')) s(side), (values ('DE'), ('US'), ('FR')) c(country),
         (values ('paid', 3000), ('free', 3000), ('mail', 4000), ('shop', 2000)) h(channel, n)`,
    )
    const outcome = await outcomeOf(METHODS.drivers!, table, asked)
    return { ...outcome, rest: outcome.rest, causes: outcome.causes as Cause[] }
  }
  const later = await told("channel = 'paid' and side = 'b'", 'false')
  assert.deepEqual(later.causes, [])
  assert.match(
    later.headline ?? '',
    /up 33 % from 0\.04 .*: nearly all of the rise came with orders of channel "paid" without visits; everything else was level\.$/u,
  )
  assert.equal(later.rest, 'Everything else was level; nothing more stands out of ordinary noise.')
  const earlier = await told("channel = 'paid' and side = 'a'", 'false')
  assert.match(
    earlier.headline ?? '',
    /: nearly all of the fall came with orders of channel "paid" without visits; everything else was level\.$/u,
  )
  const both = await told(
    "channel = 'paid' and side = 'b'",
    "channel = 'mail' and country = 'DE' and side = 'b'",
  )
  assert.deepEqual(named(both), [{ country: 'DE', channel: 'mail', kind: 'rate' }])
  assert.match(
    both.headline ?? '',
    /: more than all of the rise came with orders of channel "paid" without visits; against the rise, country "DE" and channel "mail" fell by .*; everything else was level\.$/u,
  )
})

test('over periods the outcome has the diagnosis of the daily sums, as compare has; over groups none', async () => {
  const days = await relation(
    `select date '2024-01-01' + d::int as day, c as country, if(d % 7 > 4, 20, 100) + hash(d, c) % 10 as sales
     from range(119) r(d), (values ('DE'), ('FR')) v(c)`,
  )
  const asked = { value: 'sales', time: 'day', period: 'week' }
  const compared = await outcomeOf(METHODS.compare!, days, { ...asked })
  for (const compare_with of ['previous', 'forecast']) {
    const found = await outcomeOf(METHODS.drivers!, days, { ...asked, by: ['country'], compare_with })
    assert.deepEqual(found.diagnosis, compared.diagnosis, compare_with)
  }
  const { step, seasons } = compared.diagnosis as { step: string; seasons: { period: number }[] }
  assert.deepEqual([step, seasons.map(({ period }) => period)], ['day', [7]])
  const split = { column: 'country', before: 'DE', after: 'FR' }
  const groups = await outcomeOf(METHODS.drivers!, days, { value: 'sales', by: ['day'], split })
  assert.ok(!('diagnosis' in groups))
})

test('rows of a cause are counted in weeks where the data are weekly', async () => {
  const table = await relation(
    `select d::date as week, 'c' || r as country, 900 + hash(d, r) % 20 as v from generate_series(date '2023-10-02', date '2024-04-29', interval 7 day) t(d), range(12) x(r)
     where not (r = 3 and d > date '2024-04-10')`,
  )
  const options = { value: 'v', by: ['country'], time: 'week', period: 'month' }
  const { summary } = await outcomeOf(METHODS.drivers!, table, options, '2024-05-08T00:00:00Z')
  assert.match(summary, /"c3" has rows on 2 of 5 weeks of April 2024, and on 4 of 4 of March 2024/)
})

test('of four single rows of many visits no rate is reported as the cause, and the outcome says what would show it', async () => {
  const table = await relation(
    "select * from (values ('b', 'DE', 'paid', 4000, 200), ('b', 'DE', 'free', 4100, 205), ('b', 'FR', 'paid', 3900, 190), ('b', 'FR', 'free', 4200, 210), ('a', 'DE', 'paid', 4000, 60), ('a', 'DE', 'free', 4000, 196), ('a', 'FR', 'paid', 4100, 205), ('a', 'FR', 'free', 4000, 199)) t(s, country, channel, visits, sales)",
  )
  const asked = { numerator: 'sales', denominator: 'visits', by: ['country', 'channel'] }
  const split = { column: 's', before: 'b', after: 'a' }
  const { causes, summary } = await outcomeOf(METHODS.drivers!, table, { ...asked, split })
  assert.deepEqual(causes, [])
  assert.match(
    summary,
    /the parts are too few to tell .* single rows in place of their sums, or earlier periods/,
  )
})
