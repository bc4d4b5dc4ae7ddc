/** Tests the sentences of `cohorts` and `pareto`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cohorts } from './journeys/cohorts.ts'
import { pareto } from './pareto.ts'
import { outcomeOf, relation } from './relation-fixture.ts'

const codes = (list: readonly { code: string }[] | undefined) => list!.map(({ code }) => code)
const share = async (sql: string) => outcomeOf(pareto, await relation(sql), { value: 'v', by: 'g' })

test('a few that make up most are reported as such, and sums of all rows are firm', async () => {
  const found = await share(
    "select 'c' || k as g, case when k < 2 then 40 else 2.5 end as v from range(10) r(k)",
  )
  assert.equal(found.grade, 'firm')
  assert.equal(found.headline, 'By g, 2 of 10 make up 80 % of v; the largest, "c0", has 40 %.')
  const even = await share("select 'c' || k as g, 5 as v from range(4) r(k)")
  assert.equal(even.headline, 'V is spread evenly: each g has 25 %.')
})

test('negative sums, one segment, zeros and nothing at all are each said', async () => {
  const negative = await share("select 'c' || k as g, k - 1 as v from range(4) r(k)")
  assert.equal(negative.grade, 'unclear')
  assert.match(negative.headline, /is below zero, so shares of the whole would mean nothing/)
  assert.equal(negative.gini, null)
  const one = await share("select 'DE' as g, k as v from range(4) r(k)")
  assert.equal(one.headline, 'All of v is in one g, "DE".')
  assert.deepEqual([one.grade, codes(one.caveats)], ['firm', ['constant']])
  const zero = await share("select 'c' || k as g, 0 as v from range(4) r(k)")
  assert.deepEqual([zero.grade, codes(zero.blockers)], ['withheld', ['constant']])
  const none = await share("select 'c' as g, null::double as v from range(4) r(k)")
  assert.deepEqual([none.grade, codes(none.blockers)], ['withheld', ['too_few']])
})

test('a segment that is the largest by one of its rows says so', async () => {
  const sales = "select 'c' || k % 4 as g, case when k = 5 then %s else 10 end as v from range(40) r(k)"
  const said = async (most: number) =>
    (await share(sales.replace('%s', String(most)))).caveats.map(({ code, says }) => `${code}: ${says}`)
  // c1 has nine rows of 10 and one of 1,000. Without that row it is 90 of 390, and the others have 100 each.
  assert.deepEqual(await said(1000), [
    'one_row_decides: Without one single row of "c1", at 1,000, the largest would be "c0", with 26 %.',
  ])
  assert.deepEqual(await said(60), [])
  const close = await share(
    "select 'c' || k % 4 as g, case when k = 5 then 900 when k % 4 = 1 then 12 else 10 end as v from range(40) r(k)",
  )
  assert.deepEqual(
    close.caveats.map(({ says }) => says),
    ['Without one single row of "c1", at 900, "c1" would have 26 % in place of 77 %.'],
  )
  // The sum of c0 without the 100 would be -50, and shares of the rest would mean nothing.
  const refunds = await share(
    "select * from (values ('c0', 100), ('c0', -30), ('c0', -20), ('c1', 45), ('c2', 15)) t(g, v)",
  )
  assert.deepEqual(refunds.caveats, [])
  const single = await share(
    "select 'c' || k as g, case when k = 2 then 500 else 1 end as v from range(9) r(k)",
  )
  assert.deepEqual(single.caveats, [])
})

/** Makes cohorts of 100 in the steps 0 to 5. The arguments are the numbers of each that return in the next step. */
const returning = (...back: number[]) =>
  back
    .map(
      (n, cohort) =>
        `select ${cohort} * 1000 + k as u, ${cohort} as t from range(100) r(k)
         union all select ${cohort} * 1000 + k, ${cohort + 1} from range(${n}) r(k)`,
    )
    .join(' union all ')
const stay = async (sql: string) => outcomeOf(cohorts, await relation(sql), { id: 'u', time: 't', every: 1 })

test('the best and the worst cohort are named only where chance does not explain them', async () => {
  const noise = await stay(returning(50, 45, 55, 48, 52, 47))
  assert.equal(noise.grade, 'firm')
  assert.match(
    noise.headline,
    /^Of 600 newcomers 50 % came back in the next period.*no cohort clearly stands out\.$/,
  )
  assert.deepEqual(codes(noise.caveats), ['many_tests'])
  const real = await stay(returning(50, 20, 50, 50, 80, 50))
  assert.match(
    real.headline,
    /; the newcomers of "4" clearly did better \(80 %\) than those of "1" \(20 %\)\.$/,
  )
})

test('cells of periods that are not over are empty', async () => {
  const found = await stay(returning(50, 40, 30))
  const rows = found.rows as { cohort: string; period: number; retained: number | null }[]
  assert.deepEqual(
    rows.filter(({ cohort }) => cohort === '1').map(({ retained }) => retained),
    [100, 40, 0, null],
  )
})

test('one period is too few for cohorts', async () => {
  const found = await stay('select k as u, 0 as t from range(9) r(k)')
  assert.deepEqual([found.grade, codes(found.blockers)], ['withheld', ['too_few']])
})
