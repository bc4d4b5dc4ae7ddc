import assert from 'node:assert/strict'
import { test } from 'node:test'
import { METHODS } from './catalog.ts'
import { seasonal } from './drivers-fixture.ts'
import { outcomeOf, relation } from './relation-fixture.ts'
import type { Relation } from './shared/method.ts'

type Row = Record<string, unknown>
const ask = (table: Relation, options: Row, now = '2026-01-15T00:00:00.000Z') =>
  outcomeOf(METHODS.drivers!, table, options, now)
const codes = (outcome: Row): string[] => (outcome.caveats as { code: string }[]).map(({ code }) => code)
const named = (outcome: Row): unknown[] => (outcome.causes as { where: unknown }[]).map(({ where }) => where)

test('a ratio of two columns is told per one of the second', async () => {
  const table = await relation(
    `select s as side, c as country, case when s = 'after' and c = 'DE' then 20 else 50 end as orders, 1000 as visits
     from (values ('before'), ('after')) a(s), (values ('DE'), ('US'), ('FR')) b(c), range(20)`,
  )
  const split = { column: 'side', before: 'before', after: 'after' }
  const outcome = await ask(table, { numerator: 'orders', denominator: 'visits', by: ['country'], split })
  assert.match(outcome.headline ?? '', /^Orders per visit (?:fell|came)/)
  assert.deepEqual([outcome.before_label, outcome.after_label], ['side "before"', 'side "after"'])
})

test('a change that one single row made is reported as such, and not as ordinary noise', async () => {
  const table = await relation(
    `select d::date as day, c as country, case when d = date '2025-12-10' and c = 'ES' then 50000 else 90 + hash(d, c) % 20 end as sales
     from generate_series(date '2025-11-01', date '2025-12-31', interval 1 day) t(d), (values ('DE'), ('US'), ('FR'), ('ES')) x(c)`,
  )
  const outcome = await ask(table, { value: 'sales', by: ['country'], time: 'day' })
  assert.match(outcome.headline ?? '', /: one single row decides the rise\.$/)
  assert.ok(codes(outcome).includes('one_row_decides'))
})

test('of one part nothing is compared', async () => {
  const table = await relation(
    `select d::date as day, 'DE' as country, case when d >= date '2025-12-01' then 70 else 100 end + hash(d) % 5 as sales
     from generate_series(date '2025-11-01', date '2025-12-31', interval 1 day) t(d)`,
  )
  const outcome = await ask(table, { value: 'sales', by: ['country'], time: 'day' })
  assert.match(outcome.headline ?? '', /: there is only one part, so nothing can be compared with it\.$/)
})

test('beside a forecast from less than two years it is said that no season of the year is known', async () => {
  const years = await seasonal('0.6', 'a')
  const asked = { value: 'orders', by: ['country', 'channel'], time: 'day', compare_with: 'forecast' }
  const short = await relation(`select * from ${years.relation} where day >= date '2024-11-01'`)
  assert.ok(codes(await ask(short, asked)).includes('history_short'))
  assert.ok(!codes(await ask(years, asked)).includes('history_short'))
})

test('of eight single numbers that stray by 3 % the one that fell by 60 % is the cause, and of those without a fall none is', async () => {
  const table = (fall: number): Promise<Relation> =>
    relation(
      `select s as side, 'c' || c as channel, 100.0 * (c + 1) * (0.97 + (hash(s, c, 'x') % 1000) / 1000.0 * 0.06)
         * case when s = 'after' and c = 3 then ${fall} else 1 end as sales
       from (values ('before'), ('after')) a(s), range(8) b(c)`,
    )
  const split = { column: 'side', before: 'before', after: 'after' }
  const asked = { value: 'sales', by: ['channel'], split }
  assert.deepEqual(named(await ask(await table(0.4), asked)), [{ channel: 'c3' }])
  assert.deepEqual(named(await ask(await table(1), asked)), [])
})

test('two values that moved against each other are reported, also in two months whose whole stayed level', async () => {
  const table = (fell: number, rose: number): Promise<Relation> =>
    relation(
      `select d::date as day, c as country, h as channel, round(w * k * (0.9 + (hash(d, c, h) % 1000) / 5000.0)
         * case when d < date '2025-12-01' then 1 when c = 'DE' then ${fell} when c = 'US' then ${rose} else 1 end) as sales
       from generate_series(date '2025-11-01', date '2025-12-31', interval 1 day) t(d),
         (values ('DE', 400), ('US', 300), ('FR', 150), ('UK', 150), ('ES', 80)) x(c, w),
         (values ('paid', 0.4), ('organic', 0.5), ('email', 0.1)) y(h, k)`,
    )
  const asked = { value: 'sales', by: ['country', 'channel'], time: 'day' }
  const outcome = await ask(await table(0.67, 1.44), asked)
  assert.deepEqual(new Set(named(outcome)), new Set([{ country: 'DE' }, { country: 'US' }]))
  assert.match(
    outcome.headline ?? '',
    /country "US" rose by \d+ and country "DE" fell by \d+, which cancel\.$/,
  )
  assert.deepEqual(named(await ask(await table(1, 1), asked)), [])
})
