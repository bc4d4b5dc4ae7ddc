import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import { normal, randomFrom } from '../../../../proofs/calibration/processes.ts'
import type { Meanings } from '../../verdicts/measure.ts'
import { effectOf, type Level, reachOf } from '../experiment/effects.ts'
import { effectFound, unitsPlanned } from '../experiment/planner.ts'
import { outcomeOf, relation } from '../relation-fixture.ts'
import { MethodError } from '../shared/method.ts'
import { plan } from './plan.ts'

const codes = ({ blockers, caveats }: Outcome) => [...blockers, ...caveats].map(({ code }) => code)
/** Makes 2,800 customers over 28 days, 100 new ones a day, with one to three rows each. v is 0 to 9. */
const ROWS = `select u as customer_id, date '2025-03-01' + (u // 100)::int as d, u % 10 as v, u % 8 = 0 as bought, 1 + u % 4 as x,
  unnest(range(1 + u % 3)) as i from range(2800) r(u)`
const ask = async (more: Record<string, unknown>, sql = ROWS, meanings: Meanings = new Map()) =>
  outcomeOf(plan, await relation(sql), { unit: 'customer_id', ...more }, undefined, { meanings })

test('a plan says the units, the days at the traffic of new units, and what some weeks would find', async () => {
  const found = await ask({ time: 'd', value: 'v', lift: 0.1 })
  // The formula is 2 (1.959964 + 0.841621)^2 8.252947 / 0.45^2 = 639.8 in each group.
  assert.deepEqual(
    [found.n, found.level, found.per_group, found.needed_n, found.days, found.weeks],
    [2800, 4.5, 640, 1280, 13, 2],
  )
  assert.deepEqual(found.traffic, { units: 2800, days: 28, per_day: 100, recent_per_day: 100 })
  assert.equal(
    found.headline,
    'To find a change of 10 % in v, the test needs about 1,280 customers, some 13 days at the present traffic.',
  )
  assert.deepEqual([found.grade, codes(found)], ['firm', []])
  const within = found.within as { weeks: number; units: number; effect: number; lift: number }[]
  assert.deepEqual(
    within.map(({ weeks, units }) => [weeks, units]),
    [
      [1, 700],
      [2, 1400],
      [4, 2800],
    ],
  )
  assert.ok(Math.abs(within[0]!.effect / within[2]!.effect - 2) < 1e-9)
  assert.ok(within[1]!.lift < 0.1 && within[0]!.lift > 0.1)
})

test('a share is planned by its own formula, and told in points', async () => {
  const found = await ask({ time: 'd', success: 'bought', minimum_effect: 0.05 })
  assert.equal(found.rate, true)
  const base = {
    base: 0.125,
    variance: 0.125 * 0.875,
    arms: 1,
    alpha: 0.05,
    power: 0.8,
    looks: 'fixed' as const,
  }
  assert.equal(found.per_group, Math.ceil(unitsPlanned({ ...base, effect: 0.05 }) / 2))
  assert.match(
    found.headline,
    /^To find a rise of 5 points in the rate of bought, which is 12\.5 % now, the test needs/,
  )
  // A unit with several rows, some of them successes, has a share of its own.
  const mixed = await ask(
    { success: 'odd', minimum_effect: 0.05 },
    `select *, i % 2 = 1 as odd from (${ROWS})`,
  )
  assert.equal(mixed.rate, false)
  assert.match(mixed.headline, /^To find a change of 5 points in the rate of odd, which is 27\.8 % now, /)
  const margin = await ask({ success: 'bought', margin: 0.05, arms: 2, looks: 'sequential' })
  assert.match(
    margin.headline,
    /^To show that the rate of bought is not worse by more than 5 points, the test needs about .* customers in 3 groups\.$/,
  )
  assert.equal(margin.days, null)
})

test('the effect that so many units find is the one that needs so many', () => {
  for (const looks of ['fixed', 'sequential'] as const)
    for (const base of [null, 0.04, 0.5, 0.9]) {
      const variance = base === null ? 7 : base * (1 - base)
      const rules = { base, variance, arms: 2, alpha: 0.05, power: 0.8, looks }
      const effect = effectFound(30_000, rules)!
      assert.ok(Math.abs(unitsPlanned({ ...rules, effect }) / 30_000 - 1) < 1e-6, `${looks} ${base}`)
    }
  const rules = { base: 0.9, variance: 0.09, arms: 1, alpha: 0.05, power: 0.8, looks: 'fixed' as const }
  assert.equal(effectFound(20, rules), null)
})

test('experiments of the planned size find the effect about as often as the power says', async () => {
  const random = randomFrom(17)
  const runs = 2000
  /** Counts the runs that find the effect: means of n units a group, by the test of the method `experiment`. */
  const found = (n: number, draw: (arm: number) => number): number => {
    let hits = 0
    for (let run = 0; run < runs; run++) {
      const [control, arm] = [0, 1].map((which) => levelOfDraws(n, () => draw(which))) as [Level, Level]
      const effect = effectOf(control, arm, 'fixed')
      if (effect && Math.abs(effect.estimate) > reachOf(effect, 2 * n, 0.05, 'fixed') * effect.error) hits++
    }
    return hits / runs
  }
  const means = await ask({ value: 'v', minimum_effect: 2 })
  const sd = means.sd as number
  const share = found(means.per_group as number, (arm) => 4.5 + 2 * arm + sd * normal(random))
  assert.ok(Math.abs(share - 0.8) < 0.035, `means: ${share}`)
  const rates = await ask({ success: 'bought', minimum_effect: 0.2, power: 0.9 })
  const high = found(rates.per_group as number, (arm) => (random() < 0.125 + 0.2 * arm ? 1 : 0))
  assert.ok(Math.abs(high - 0.9) < 0.035, `rates: ${high}`)
})

function levelOfDraws(n: number, draw: () => number): Level {
  const values = Array.from({ length: n }, draw)
  const value = values.reduce((sum, one) => sum + one, 0) / n
  const variance = values.reduce((sum, one) => sum + (one - value) ** 2, 0) / (n - 1)
  return { n, value, adjusted: value, variance, plain: variance, shared: variance }
}

test('a covariate takes its part of the units away, and a ratio is planned by the spread of its linear part', async () => {
  const rows = `select u as customer_id, u % 10 as before, u % 10 + (u // 10) % 5 as v, 1 + u % 4 as x from range(2000) r(u)`
  const [plain, adjusted] = [
    await ask({ value: 'v', minimum_effect: 0.5 }, rows),
    await ask({ value: 'v', minimum_effect: 0.5, covariate: 'before' }, rows),
  ]
  // The variance falls from 8.25 + 2 to 2.
  assert.ok(Math.abs((adjusted.needed_n as number) / (plain.needed_n as number) / (2 / 10.25) - 1) < 0.03)
  const ratio = await ask({ numerator: 'v', denominator: 'x', lift: 0.1 })
  const [row] = await (
    await relation(ROWS)
  ).query(`with u as (select customer_id, sum(v) as a, sum(x) as b from (${ROWS}) group by 1), r as (select sum(a) / sum(b) as r, avg(b) as m from u)
    select any_value(r) as r, stddev_samp((a - r * b) / m) as sd from u, r`)
  assert.ok(Math.abs((ratio.level as number) - (row!.r as number)) < 1e-9)
  assert.ok(Math.abs((ratio.sd as number) - (row!.sd as number)) < 1e-9)
  assert.match(ratio.headline, /in v per x, /)
})

test('groups of other sizes are planned by their shares, the smallest arm with enough', async () => {
  const found = await ask({ time: 'd', value: 'v', lift: 0.1, shares: [0.8, 0.2] })
  // The formula is 8.252947 (1 / 0.8 + 1 / 0.2) (1.959964 + 0.841621)^2 / 0.45^2 = 1999.3 in all.
  assert.deepEqual([found.sizes, found.needed_n, found.per_group, found.groups], [[1600, 400], 2000, 400, 2])
  assert.match(found.evidence, /1,?600 and 400 in the 2 groups, the control first, for a power of 80 %/)
  const even = await ask({ value: 'v', lift: 0.1, shares: [0.5, 0.5] })
  assert.deepEqual(even.sizes, [640, 640])
  // For a small difference, rates need as many units as means with their variance.
  const rules = {
    variance: 0.3 * 0.7,
    arms: 2,
    shares: [0.6, 0.3, 0.1],
    alpha: 0.05,
    power: 0.8,
    looks: 'fixed' as const,
    effect: 0.001,
  }
  assert.ok(
    Math.abs(unitsPlanned({ ...rules, base: 0.3 }) / unitsPlanned({ ...rules, base: null }) - 1) < 0.01,
  )
  assert.ok(
    Math.abs(effectFound(unitsPlanned({ ...rules, base: 0.3 }), { ...rules, base: 0.3 })! / 0.001 - 1) < 1e-6,
  )
  const fault = (more: Record<string, unknown>, says: RegExp) =>
    assert.rejects(
      ask({ value: 'v', lift: 0.1, ...more }),
      (error) => error instanceof MethodError && says.test(error.message),
    )
  await fault({ shares: [0.8, 0.1] }, /add up to 0\.9, not to 1.*\[0\.8, 0\.2\]/)
  await fault({ shares: [0.8, 0.2], arms: 3 }, /there are 1 beside the control, and arms is 3/)
})

test('traffic that falls, a short past and a wait of years are each told', async () => {
  const falling = `select u as customer_id, u % 10 as v, date '2025-03-01' + if(u < 2000, u // 143, 14 + (u - 2000) // 50)::int as d from range(2700) r(u)`
  const fewer = await ask({ time: 'd', value: 'v', lift: 0.05 }, falling)
  assert.deepEqual(codes(fewer), ['traffic_falls'])
  assert.match(
    fewer.summary,
    /New customers become fewer: 50 a day in the last 2 weeks after 143 in the 2 weeks before\. At the later pace the test takes some 15 weeks\./,
  )
  assert.deepEqual(codes(await ask({ time: 'd', value: 'v', lift: 0.1 }, `${ROWS} where u < 400`)), [
    'week_uncovered',
  ])
  const years = await ask({ time: 'd', value: 'v', lift: 0.005 })
  assert.match(years.headline, /, more than 14 years at the present traffic\.$/)
  assert.match(
    years.summary,
    /longer than a year, so plan for a larger difference: four weeks find 6\.8 % or more\./,
  )
})

test('a test that cannot be planned is reported, with the remedy', async () => {
  const blocked = async (more: Record<string, unknown>, sql?: string) => {
    const { grade, blockers, caveats, headline, needed_n } = await ask(more, sql)
    assert.equal(needed_n, null)
    return [grade, [...blockers, ...caveats][0]?.code, headline]
  }
  const one = { value: 'v', lift: 0.05 }
  assert.deepEqual(await blocked(one, `${ROWS} where u < 1`), [
    'withheld',
    'too_few',
    'There is 1 value of v; a plan takes at least 2.',
  ])
  assert.deepEqual(await blocked(one, ROWS.replace('u % 10', '3')), [
    'withheld',
    'constant',
    'Every value of v is the same.',
  ])
  const [grade, code, headline] = await blocked(one, ROWS.replace('u % 10', '-u % 10'))
  assert.deepEqual([grade, code], ['unclear', 'no_base'])
  assert.match(
    headline!,
    /^V is minus 4\.5, and a share of that is no size to look for: name the change itself\.$/,
  )
  assert.match(
    (await blocked({ success: 'bought', minimum_effect: 0.9 }))[2]!,
    /a rise of 90 points leads beyond 100 %: plan for a smaller one\.$/,
  )
  const fault = (more: Record<string, unknown>, says: RegExp) =>
    assert.rejects(ask(more), (error) => error instanceof MethodError && says.test(error.message))
  await fault({ value: 'v' }, /smallest difference that matters.*`lift: 0\.05`/)
  await fault({ value: 'v', success: 'bought', lift: 0.1 }, /plan needs one measure/)
  await fault({ value: 'v', lift: 0.1, tuned_for: 1000 }, /tuned_for belongs to `looks: sequential`/)
})
