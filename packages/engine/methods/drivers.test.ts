import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayNumber } from '@assay/model/dates'
import { METHODS } from './catalog.ts'
import { seasonal } from './drivers-fixture.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { MethodError, type Relation } from './shared/method.ts'

interface Cause {
  where: Record<string, unknown>
  before: number
  after: number
  expected: number
  change: number
  share: number | null
  low: number
  high: number
  q: number
}

type Row = Record<string, unknown>

const NOW = '2026-01-15T00:00:00.000Z'
const ask = (table: Relation, options: Row, now = NOW) => outcomeOf(METHODS.drivers!, table, options, now)
const causesOf = (outcome: Row): Cause[] => outcome.causes as Cause[]
const codes = (outcome: Row): string[] => (outcome.caveats as { code: string }[]).map(({ code }) => code)

/** Events with a revenue, as many a day as `mean` says (its fraction is drawn); the same for the same seed. */
const events = (mean: string, from: string, to: string): Promise<Relation> =>
  relation(
    `select day, country, channel, 10 + (hash(day, country, channel, i, 'r') % 2000) / 100.0 as revenue from (
       select day, country, channel, unnest(range(cast(greatest(0, round(m + sqrt(m) * noise)) as int))) as i from (
         select d::date as day, country, channel, ${mean} as m,
           list_sum(list_transform(range(12), k -> (hash(d, country, channel, k) % 10000) / 10000.0)) - 6 as noise
         from generate_series(date '${from}', date '${to}', interval 1 day) t(d),
           (values ('DE', 40), ('US', 30), ('FR', 15), ('UK', 15)) c(country, w),
           (values ('paid', 4), ('organic', 5), ('email', 1)) h(channel, k)))`,
  )
const PLANTED =
  "w * k / 10.0 * case when d < date '2025-12-01' then 1 when country = 'DE' and channel = 'paid' then 0.17 else 0.84 end"

test('a cause in a combination is named, and what moved with the whole is not', async () => {
  const table = await events(PLANTED, '2025-03-01', '2025-12-31')
  const outcome = await ask(table, { value: 'revenue', by: ['country', 'channel'], time: 'day' })
  const [cause, ...more] = causesOf(outcome)
  assert.deepEqual(more, [])
  assert.deepEqual(cause!.where, { country: 'DE', channel: 'paid' })
  assert.ok(cause!.low < cause!.change && cause!.change < cause!.high && cause!.high < 0)
  assert.ok(Math.abs(cause!.after / cause!.before - 0.17) < 0.05)
  assert.ok(Math.abs(cause!.expected / cause!.before - 0.84) < 0.06)
  assert.equal(outcome.grade, 'firm')
  assert.match(
    outcome.headline ?? '',
    /^Revenue fell by \d+ % to .* a day in December 2025 .*came with country "DE" and channel "paid", down 8\d %; everything else fell by 1\d %\.$/,
  )
  // December has one day more than November. Totals stay as they are, and causes are per day.
  assert.deepEqual(codes(outcome), ['periods_unequal'])
  assert.ok(Math.abs((outcome.before as number) / 30 - (outcome.before_per_day as number)) < 1e-6)
})

test('noise alone names no cause, month by month', async () => {
  const table = await events('w * k / 10.0', '2024-01-01', '2025-12-31')
  let named = 0
  for (let month = 3; month <= 14; month++) {
    const now = new Date(Date.UTC(2024, month, 1)).toISOString()
    const until = await relation(`select * from ${table.relation} where day < date '${now.slice(0, 10)}'`)
    const outcome = await ask(until, { value: 'revenue', by: ['country', 'channel'], time: 'day' }, now)
    named += causesOf(outcome).length
    assert.match(outcome.headline ?? '', /ordinary noise|as strong as|was level|stray too much to tell/)
  }
  assert.equal(named, 0)
})

const daily = (from: string, to: string, more = ''): Promise<Relation> =>
  relation(
    `select d::date as day, r as region, 100 as v from generate_series(date '${from}', date '${to}', interval 1 day) t(d),
       (values ('E'), ('N'), ('S')) x(r) ${more}`,
  )

test('a longer month, missing days and an unfinished month are no fall', async () => {
  const options = { value: 'v', by: ['region'], time: 'day' }
  const longer = await ask(await daily('2024-01-01', '2024-02-29'), options, '2024-03-05T00:00:00Z')
  assert.equal(longer.headline, 'V in February 2024 was as strong as in January 2024: 300 a day in both.')
  assert.deepEqual(
    [longer.before, longer.after, longer.before_per_day, longer.after_per_day],
    [9300, 8700, 300, 300],
  )
  assert.deepEqual([causesOf(longer), codes(longer)], [[], ['periods_unequal']])

  const gaps = await daily(
    '2024-01-01',
    '2024-02-29',
    "where d not between date '2024-02-10' and date '2024-02-14'",
  )
  const missing = await ask(gaps, options, '2024-03-05T00:00:00Z')
  assert.match(missing.headline ?? '', /300 a day in both/)
  assert.deepEqual(codes(missing), ['days_missing', 'periods_unequal'])

  const partial = await ask(await daily('2024-01-01', '2024-03-12'), options, '2024-03-25T00:00:00Z')
  assert.equal(partial.after_label, 'February 2024')
  assert.ok(codes(partial).includes('period_partial'))
})

test('a week with missing days is compared on the weekdays that both weeks have', async () => {
  const table = await relation(
    `select d::date as day, r as region, case when dayofweek(d) in (0, 6) then 10 else 100 end as v
     from generate_series(date '2024-01-01', date '2024-03-03', interval 1 day) t(d), (values ('E'), ('N'), ('S')) x(r)
     where d not between date '2024-02-26' and date '2024-02-28'`,
  )
  const outcome = await ask(
    table,
    { value: 'v', by: ['region'], time: 'day', period: 'week' },
    '2024-03-04T00:00:00Z',
  )
  assert.match(outcome.headline ?? '', /as strong as/)
  assert.ok(codes(outcome).includes('days_missing'))
  assert.deepEqual(causesOf(outcome), [])
})

test('days without an event are named with the option that counts them as zero, and a closed weekday is none', async () => {
  const events = (where: string): Promise<Relation> =>
    relation(`select d + interval (i * 7) minute as at, r as region, 1 as v
      from generate_series(timestamp '2024-01-01', timestamp '2024-02-29', interval 1 day) t(d), range(20) e(i), (values ('E'), ('N')) x(r)
      where ${where}`)
  const options = { value: 'v', by: ['region'], time: 'at', period: 'month' }
  // February has events on every second day only.
  const rare = await events('month(d) = 1 or day(d) % 2 = 0')
  const unknown = await ask(rare, options, '2024-03-05T00:00:00Z')
  assert.match(unknown.headline ?? '', /40 a day in both/)
  assert.match(
    unknown.summary,
    /15 of 29 days of February 2024 have no data.*if no row means zero, write missing: zero/,
  )
  const zero = await ask(rare, { ...options, missing: 'zero' }, '2024-03-05T00:00:00Z')
  assert.match(
    zero.headline ?? '',
    /^V came to 19 a day in February 2024, down 52 % from 40 a day .*: the fall is spread over all/,
  )
  assert.match(zero.summary, /They count as zero \(missing: zero\)/)

  const closed = await ask(await events('dayofweek(d) <> 0'), options, '2024-03-05T00:00:00Z')
  assert.deepEqual(codes(closed), ['periods_unequal'])
})

test('the same month a year before is the base where that is asked for', async () => {
  // Values double every December, and this time they do not in the south.
  const table = await relation(
    `select day, region, unnest(range(cast(n as int))) as i, 1 as v from (select d::date as day, r as region,
       case when month(d) = 12 and not (year(d) = 2025 and r = 'S') then 20 else 10 end + hash(d, r) % 3 as n
     from generate_series(date '2023-01-01', date '2025-12-31', interval 1 day) t(d), (values ('E'), ('N'), ('S'), ('W')) x(r))`,
  )
  const options = { value: 'v', by: ['region'], time: 'day', compare_with: 'year_before' }
  const outcome = await ask(table, options)
  assert.equal(outcome.before_label, 'December 2024')
  assert.deepEqual(
    causesOf(outcome).map(({ where }) => where),
    [{ region: 'S' }],
  )
  const short = await relation(`select * from ${table.relation} where day >= date '2025-06-01'`)
  assert.equal((await ask(short, options)).grade, 'withheld')
})

test('a cause whose segment lacks days is reported as perhaps missing, gone or new', async () => {
  const table = (where: string): Promise<Relation> =>
    relation(`select d::date as day, r as country, 90 + hash(d, r) % 20 as v from generate_series(date '2024-01-01', date '2024-02-29', interval 1 day) t(d),
      (values ('DE'), ('FR'), ('US'), ('IT'), ('ES')) x(r) where not (${where})`)
  const says = async (where: string) => {
    const outcome = await ask(
      await table(where),
      { value: 'v', by: ['country'], time: 'day' },
      '2024-03-05T00:00:00Z',
    )
    assert.deepEqual(
      causesOf(outcome).map((cause) => cause.where),
      [{ country: 'FR' }],
    )
    return outcome.summary
  }
  const part = await says("r = 'FR' and d > date '2024-02-09'")
  assert.match(
    part,
    /Country "FR" has rows on 9 of 29 days of February 2024, and on 31 of 31 of January 2024: some of its rows may be missing/,
  )
  assert.match(
    await says("r = 'FR' and month(d) = 2"),
    /"FR" has no row in February 2024: it ended, or its rows are missing/,
  )
  assert.match(
    await says("r = 'FR' and month(d) = 1"),
    /"FR" has no row in January 2024: it is new, or its rows are missing there/,
  )
})

test('the scale in which counts are told does not change their causes', async () => {
  const table = (scale: string): Promise<Relation> =>
    relation(`select m, a, b, (jobs - hash(m, a, b) % (jobs // 25)) * ${scale} as jobs from (
      select m, a, b, 1000 + hash(a, b) % 60000 - case when m = 2 and a = 3 and b = 'y' then 900 + hash(a, b) % 60000 * 0.6 else 0 end::int as jobs
      from range(1, 3) t(m), range(6) u(a), (values ('x'), ('y')) v(b))`)
  const asked = { value: 'jobs', by: ['a', 'b'], time: 'm', period: 1 }
  const [ones, thousands] = [await ask(await table('1'), asked), await ask(await table('0.001'), asked)]
  const named = (outcome: Row) => causesOf(outcome).map(({ where, q }) => ({ ...where, q: q.toPrecision(6) }))
  assert.equal(named(ones).length, 1)
  assert.deepEqual(named(thousands), named(ones))
})

/**
 * Makes sevenfold counts of 36 combinations, one row for each side. `factor` is SQL of the factor of the later side.
 */
const sevenfold = (factor: string, unit = '7', size = 200): Promise<Relation> =>
  relation(`select s, a, b, round(m + sqrt(m) * z) * ${unit} as v from (select *, ${size} * if(s = 'b', 1, ${factor}) as m,
      list_sum(list_transform(range(12), q -> (hash(a, b, s, q, 5) % 10000) / 10000.0)) - 6 as z
    from range(6) x(a), range(6) y(b), (values ('b'), ('a')) t(s))`)
const SPLIT = { value: 'v', by: ['a', 'b'], split: { column: 's', before: 'b', after: 'a' } }

test('counts told in packs of seven have the causes of counts', async () => {
  const outcome = await ask(await sevenfold('if(a = 2 and b = 3, 0.3, 1)'), SPLIT)
  assert.deepEqual(
    causesOf(outcome).map(({ where }) => where),
    [{ a: 2, b: 3 }],
  )
  assert.deepEqual(causesOf(await ask(await sevenfold('1'), SPLIT)), [])
})

test('where noise may hide a cause the change is not told as spread over all', async () => {
  const fell = async (factor: number, unit: string, size = 200) =>
    ask(await sevenfold(`if(a = 2, ${factor}, 1)`, unit, size), SPLIT)
  // One value of six lost a third, then a sixth. Amounts with noise of their own show the third, and do not show the
  // sixth.
  const amounts = '(3.77 + hash(a, b, s) % 100 / 97.0)'
  for (const shown of [await fell(0.65, amounts), await fell(0.2, '7', 12)])
    assert.deepEqual(
      causesOf(shown).map(({ where }) => where),
      [{ a: 2 }],
    )
  const hidden = await fell(0.85, amounts)
  assert.deepEqual([causesOf(hidden), hidden.grade], [[], 'unclear'])
  assert.match(hidden.headline ?? '', /: the parts stray too much to tell where the fall lies\.$/)
  assert.deepEqual(codes(hidden), ['cause_unseen'])
  assert.match(
    hidden.summary,
    /single rows in place of their sums, or earlier periods \(time in place of split\)/,
  )
  const all = await ask(await sevenfold('0.8'), SPLIT)
  assert.match(all.headline ?? '', /the fall is spread over all, and no part stands out/)
  assert.deepEqual(codes(all), [])
})

test('a cause too small to matter is counted and not named, and causes cancel only where they undo each other', async () => {
  const table = (fall: number, rise: number): Promise<Relation> =>
    relation(`select s, g, unnest(range(cast(n as int))) as i, 1 as v from (
      select s, g, case when g = 'A' then 60000 when s = 'a' and g = 'C' then 300 + ${rise} when s = 'a' and g = 'B' then 300 - ${fall}
        when s = 'a' and g = 'D' then 60000 + ${rise} when g = 'D' then 60000 when g > 'D' then 250 else 300 end as n
      from (values ('b'), ('a')) t(s), (values ('A'), ('B'), ('C'), ('D'), ('E'), ('F'), ('G'), ('H')) x(g))`)
  const asked = { value: 'v', by: ['g'], split: { column: 's', before: 'b', after: 'a' } }
  const small = await ask(await table(250, 0), asked)
  assert.equal(causesOf(small).length, 1)
  assert.match(
    small.headline ?? '',
    /level: .*; 1 small part stands out, with less than 0\.5 % of the whole\.$/,
  )
  assert.equal(small.explanation, '1 small part stands out, with less than 0.5 % of the whole.')
  const undone = await ask(await table(100, 3000), asked)
  assert.match(undone.headline ?? '', /rose by 4\.\d* ?%/)
  assert.doesNotMatch(undone.headline ?? '', /cancel|"B"/)
})

test('changes that cancel are said as such, and give no shares', async () => {
  const table = await columnsOf({ s: ['b', 'b', 'a', 'a'], g: ['A', 'B', 'A', 'B'], v: [100, 50, 50, 100] })
  const outcome = await ask(table, { value: 'v', by: ['g'], split: { column: 's', before: 'b', after: 'a' } })
  assert.equal(
    outcome.headline,
    'V in s "a" was as strong as in s "b": 150 in both; g "A" fell by 50 and g "B" rose by 50, which cancel.',
  )
  assert.deepEqual(
    causesOf(outcome).map(({ share }) => share),
    [null, null],
  )
  assert.equal(outcome.explained, null)
})

test('a fall of the part that holds nearly everything is no rise of all others', async () => {
  const sizes = Array.from({ length: 20 }, (_, part) => (part === 0 ? 938_600 : 20 * part ** 2))
  const table = await columnsOf({
    s: [...sizes.map(() => 'b'), ...sizes.map(() => 'a')],
    g: [...sizes.keys(), ...sizes.keys()].map((part) => `g${part}`),
    v: [...sizes, ...sizes.map((size, part) => (part === 0 ? 0.9 * size : size + (part % 3) - 1))],
  })
  const outcome = await ask(table, { value: 'v', by: ['g'], split: { column: 's', before: 'b', after: 'a' } })
  assert.match(
    outcome.headline ?? '',
    /^V fell by 9\.5 % .*: nearly all of the fall came with g "g0", down 10 %; everything else was level\.$/u,
  )
})

test('noise of counts in few segments names none of them', async () => {
  const table = await columnsOf({
    s: ['b', 'b', 'b', 'a', 'a', 'a'],
    g: ['A', 'B', 'C', 'A', 'B', 'C'],
    v: [100, 100, 100, 110, 93, 88],
  })
  const outcome = await ask(table, { value: 'v', by: ['g'], split: { column: 's', before: 'b', after: 'a' } })
  assert.deepEqual(causesOf(outcome), [])
  assert.match(outcome.headline ?? '', /^V came to 291 .*a swing of this size may be ordinary noise here\.$/)
})

test('an expected column is what rows are held against, to the depth asked for', async () => {
  const table = await relation(
    `select *, expected * (1 + ((hash(a, b, c) % 1000) / 1000.0 - 0.5) / 10) * case when a = 2 and b = 3 then 0.4 else 1 end as came
     from (select a, b, c, 50 + hash(a, b, c, 1) % 100 as expected from range(8) x(a), range(7) y(b), range(9) z(c))`,
  )
  const options = { value: 'came', expected: 'expected', by: ['a', 'b', 'c'] }
  const outcome = await ask(table, options)
  const [cause, ...more] = causesOf(outcome)
  assert.deepEqual([cause!.where, more], [{ a: 2, b: 3 }, []])
  assert.equal(cause!.before, cause!.expected)
  assert.ok(cause!.q <= 0.01 && cause!.share! > 0.8 && cause!.share! < 1.2)
  const shallow = await ask(table, { ...options, depth: 1 })
  for (const { where } of causesOf(shallow)) assert.equal(Object.keys(where).length, 1)
})

const FORECAST = { value: 'orders', by: ['country', 'channel'], time: 'day', compare_with: 'forecast' }

test('beside a forecast the season is no change, and what was planted is the cause', async () => {
  const outcome = await ask(await seasonal('0.6', 'a'), FORECAST)
  const [cause, ...more] = causesOf(outcome)
  assert.deepEqual(more, [])
  assert.deepEqual(cause!.where, { country: 'DE', channel: 'paid' })
  assert.ok(Math.abs(cause!.after / cause!.before - 0.6) < 0.05)
  assert.equal(outcome.before_label, 'forecast')
  assert.match(
    outcome.headline ?? '',
    /^Orders came to .* in December 2025, [\d.]+ % less than expected \(.*\): nearly all of the gap came with country "DE" and channel "paid", down \d\d %; everything else was as expected\.$/,
  )
  // The season hides the cause if one month is compared with the one before.
  const previous = await ask(await seasonal('0.6', 'a'), { ...FORECAST, compare_with: 'previous' })
  assert.match(previous.headline ?? '', /^Orders rose by/)
})

test('beside a forecast a cause whose rows are missing is reported as such', async () => {
  const table = await relation(
    `select d::date as day, r as country, 90 + hash(d, r) % 20 as v from generate_series(date '2024-01-01', date '2024-12-31', interval 1 day) t(d),
      (values ('DE'), ('FR'), ('US'), ('IT'), ('ES')) x(r) where not (r = 'FR' and d > date '2024-12-09')`,
  )
  const asked = { value: 'v', by: ['country'], time: 'day', compare_with: 'forecast' }
  const outcome = await ask(table, asked, '2025-01-05T00:00:00Z')
  assert.deepEqual(
    causesOf(outcome).map(({ where }) => where),
    [{ country: 'FR' }],
  )
  assert.match(
    outcome.summary,
    /"FR" has rows on 9 of 31 days of December 2024, and on 30 of 30 of November 2024: some of its rows may be missing/,
  )
})

test('beside a forecast nothing is named where nothing was planted, by the month, the week or the day', async () => {
  // A forecast of months is cheap, and one of days has a thousand values. "npm run proof -- causes" counts over many
  // tables.
  for (const [seed, period] of ['a month', 'b month', 'c week', 'c day'].map((one) => one.split(' '))) {
    const outcome = await ask(await seasonal('1', seed!), { ...FORECAST, period })
    assert.deepEqual(causesOf(outcome), [], `${seed}, ${period}`)
  }
})

test('a ratio is held against its forecast, too', async () => {
  const table = await seasonal('1', 'b')
  const rates = `(select day, country, channel, visits, orders / visits * case when day >= date '2025-12-01' and country = 'US' then 0.7 else 1 end * visits as bought from ${table.relation})`
  const options = { numerator: 'bought', denominator: 'visits', by: ['country', 'channel'], time: 'day' }
  const columns = ['visits', 'bought'].map((name) => ({
    name,
    type: 'number' as const,
    database_type: 'DOUBLE',
  }))
  const read = { ...table, relation: rates, columns: [...table.columns, ...columns] }
  const outcome = await ask(read, { ...options, compare_with: 'forecast' })
  assert.deepEqual(
    causesOf(outcome).map(({ where }) => where),
    [{ country: 'US' }],
  )
})

test('too short a past is said, and a forecast needs time', async () => {
  const table = await relation(
    `select date '2025-11-01' + i::int as day, 'x' as kind, 1.0 * i as v from range(61) t(i)`,
  )
  const short = await ask(table, { value: 'v', by: ['kind'], time: 'day', compare_with: 'forecast' })
  assert.equal(short.grade, 'withheld')
  assert.match(short.summary, /a forecast needs at least 6 complete periods before the latest one/)
  await assert.rejects(
    ask(table, { value: 'v', by: ['kind'], expected: 'v', compare_with: 'forecast' }),
    /compare_with: forecast needs `time`/,
  )
})

test('two orders in a segment that had none are no cause beside large calm ones', async () => {
  const outcome = await ask(await seasonal('1', 'a'), { ...FORECAST, compare_with: 'previous' })
  assert.deepEqual(causesOf(outcome), [])
})

test('where only shares moved, one of two segments is named with its share, and the rest is level', async () => {
  const table = await relation(
    `select side, country, visits, round(visits * rate) as orders from (values ('a', 'DE', 60000, 0.08), ('a', 'US', 40000, 0.02),
       ('b', 'DE', 30000, 0.08), ('b', 'US', 70000, 0.02)) t(side, country, visits, rate)`,
  )
  const outcome = await ask(table, {
    numerator: 'orders',
    denominator: 'visits',
    by: ['country'],
    split: { column: 'side', before: 'a', after: 'b' },
  })
  assert.match(
    outcome.headline ?? '',
    /nearly all of the fall came with country "(?:DE", whose share of visits fell from 60 % to 30 %|US", whose share of visits rose from 40 % to 70 %); everything else was level/,
  )
  assert.ok(Math.abs((outcome.mix as number) + (outcome.rate as number) - (outcome.change as number)) < 1e-12)
})

test("a ratio's cause is told by its effect on the ratio", async () => {
  const table = await relation(
    `select if(i % 2 = 0, 'before', 'after') as s, ['x', 'y', 'z'][1 + (i // 2) % 3] as g, ['m', 'f'][1 + (i // 6) % 2] as h,
       if((hash(i) % 1000) / 1000.0 < if(i % 2 = 1 and (i // 2) % 3 = 1 and (i // 6) % 2 = 0, 0.4, 0.2), 1, 0) as hit, 1 as n
     from range(12000) r(i)`,
  )
  const split = { column: 's', before: 'before', after: 'after' }
  const outcome = await ask(table, { numerator: 'hit', denominator: 'n', by: ['g', 'h'], split })
  const [cause, ...more] = causesOf(outcome)
  assert.deepEqual([cause!.where, more], [{ g: 'y', h: 'm' }, []])
  // A sixth of the rows has a rate that is 20 points higher.
  assert.ok(cause!.low < 0.2 / 6 && 0.2 / 6 < cause!.high)
  assert.ok(Math.abs(cause!.change / (outcome.change as number) - cause!.share!) < 1e-9)
})

test('a period of the template that ends after the data is compared with nothing', async () => {
  const table = await columnsOf({ s: ['b', 'b', 'a', 'a'], g: ['A', 'B', 'A', 'B'], v: [100, 50, 40, 30] })
  const extent = () =>
    Promise.resolve({
      periods: [{ start: dayNumber('2025-12-01'), end: dayNumber('2026-02-01') }],
      columns: [{ first: dayNumber('2025-01-01'), last: dayNumber('2025-12-30'), due: 1 }],
    })
  const options = { value: 'v', by: ['g'], split: { column: 's', before: 'b', after: 'a' } }
  const outcome = await outcomeOf(METHODS.drivers!, table, options, NOW, { extent })
  assert.match(
    outcome.headline ?? '',
    /cannot be compared yet: the period ends on 31 January 2026, and the data end on 30 December 2025/,
  )
  assert.deepEqual([causesOf(outcome), codes(outcome), outcome.grade], [[], ['period_partial'], 'unclear'])
})

test('options that do not go together are refused with what to write', async () => {
  const table = await columnsOf({ g: ['a'], v: [1], w: [1] })
  const faults: [Row, RegExp][] = [
    [{ value: 'v', by: ['g'] }, /either `time`.*`split`.*`expected`/],
    [{ numerator: 'v', denominator: 'w', by: ['g'], expected: 'w' }, /expected: it goes with `value`/],
    [{ value: 'v', by: ['g'], expected: 'w', compare_with: 'year_before' }, /year_before needs `time`/],
  ]
  for (const [options, message] of faults)
    await assert.rejects(
      ask(table, options),
      (error: Error) => error instanceof MethodError && message.test(error.message),
    )
})

test('on a grid of days of which some are missing a cause shows, and the missing days are none', async () => {
  const grid = (level: string, seed: number) =>
    relation(
      `select d::date as day, r as store, case when hash(d, r, ${seed}) % 100 >= 4 then (${level}) * (1 + ((hash(d, r, ${seed}, 1) % 1000)::int - 500) / 5000.0) end as v
       from generate_series(date '2024-03-01', date '2024-04-30', interval 1 day) t(d), (select 'store ' || k as r, 100 + 40 * k as base from range(12) x(k))`,
    )
  const asked = { value: 'v', by: ['store'], time: 'day' }
  let named = 0
  for (let seed = 1; seed <= 12; seed++)
    named += causesOf(await ask(await grid('base', seed), asked, '2024-05-02T00:00:00Z')).length
  assert.equal(named, 0)
  // One store falls by a third. That would not show beside the noise of events with such values.
  const fall = "base * case when r = 'store 4' and month(d) = 4 then 0.65 else 1 end"
  const found = await ask(await grid(fall, 3), asked, '2024-05-02T00:00:00Z')
  assert.deepEqual(
    causesOf(found).map(({ where }) => where),
    [{ store: 'store 4' }],
  )
  // The rows of a store end when it closes. Earlier months show that there was one a day.
  const closed = await relation(
    `select d::date as day, 'store ' || r as store, 100 * r * (1 + ((hash(d, r) % 1000)::int - 500) / 5000.0) as v
     from generate_series(date '2023-10-01', date '2024-04-30', interval 1 day) t(d), range(1, 4) x(r) where r <> 2 or d < date '2024-04-10'`,
  )
  assert.deepEqual(
    causesOf(await ask(closed, asked, '2024-05-02T00:00:00Z')).map(({ where }) => where),
    [{ store: 'store 2' }],
  )
})

test('a fall beyond all earlier changes of the whole is not called ordinary noise, however much its rows differ', async () => {
  const weeks = await relation(
    `select d::date as day, r as store, 100 * r * case when dayofweek(d) = 6 then 8 else 1 end * (1 + ((hash(d, r) % 1000)::int - 500) / 50000.0)
       * case when d >= date '2024-04-22' then 0.9 else 1 end as v
     from generate_series(date '2024-02-19', date '2024-04-28', interval 1 day) t(d), range(1, 5) x(r)`,
  )
  const asked = { value: 'v', by: ['store'], time: 'day', period: 'week' }
  const found = await ask(weeks, asked, '2024-05-02T00:00:00Z')
  assert.match(found.headline ?? '', /down (?:9\.\d+|10) % .*: the fall is spread over all/)
})

test('a split into times of unequal days is compared per day, and says which side has more', async () => {
  const table =
    await relation(`select d::date as day, if(d < date '2025-02-01', 'January', 'February') as span, country, 100 as orders
    from generate_series(date '2025-01-01', date '2025-02-28', interval 1 day) t(d), (values ('DE'), ('FR')) c(country)`)
  const split = { column: 'span', before: 'January', after: 'February' }
  const told = await ask(table, { value: 'orders', by: ['country'], split })
  assert.deepEqual(
    [codes(told), told.before, told.before_per_day, told.after_per_day],
    [['periods_unequal'], 6200, 200, 200],
  )
  assert.match(told.summary, /200 a day in both\. .*"January" has 3 days more\./u)
  const beside = await ask(table, {
    value: 'orders',
    by: ['span'],
    split: { column: 'country', before: 'DE', after: 'FR' },
  })
  assert.ok(!codes(beside).includes('periods_unequal'))
})
