import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import { normal, randomFrom } from '../../../proofs/calibration/processes.ts'
import { CORRELATIONS, covariateShare, nullRuns } from '../../../proofs/experiments.ts'
import type { Meanings } from '../verdicts/measure.ts'
import { effectOf, liftOf } from './experiment/effects.ts'
import { unitsNeeded, unitsNeededOfRates } from './experiment/planner.ts'
import { isBetter, type Result } from './experiment/results.ts'
import { experiment } from './experiment.ts'
import { columnsOf, outcomeOf, relation } from './relation-fixture.ts'
import { MethodError } from './shared/method.ts'

const codes = (outcome: Outcome) => ({
  blockers: outcome.blockers.map(({ code }) => code),
  caveats: outcome.caveats.map(({ code }) => code),
})
/** Makes 2,000 users with five rows each over 20 days. The arm "new" adds 0.3 to v, and nothing to conv. */
const ROWS = `select if(hash(u) % 2 = 0, 'control', 'new') as g, u, date '2024-01-01' + (u // 100)::int as d,
  hash(u * 3) % 1000 / 100.0 as before, hash(u * 3) % 1000 / 100.0 + hash(u * 7 + i) % 1000 / 200.0 + (hash(u) % 2) * 0.3 as v,
  1 + hash(u + i) % 3 as x, (hash(u * 17) % 10 < 3)::int as conv from range(2000) r(u), range(5) s(i)`
const V = { name: 'revenue', value: 'v' }
const ask = async (more: Record<string, unknown>, sql = ROWS, meanings: Meanings = new Map()) =>
  outcomeOf(experiment, await relation(sql), { unit: 'u', arm: 'g', ...more }, undefined, { meanings })
const results = (outcome: Outcome) => outcome.results as Result[]

test('rows of one unit are one observation, and the headline says what changed', async () => {
  const meanings: Meanings = new Map([
    ['revenue', { label: 'revenue', unit: 'EUR', fmt: null, good: 'up', target: null }],
  ])
  const found = await ask({ metrics: [{ ...V, covariate: 'before' }] }, ROWS, meanings)
  assert.equal(found.n, 2000)
  assert.equal(found.grade, 'firm')
  assert.match(
    found.headline,
    /^Revenue is clearly higher with "new", for the better, by €0\.3\d*: €7\.\d+ against €7\.54 for "control"\.$/,
  )
  assert.deepEqual(codes(found), { blockers: [], caveats: ['unit_repeated'] })
})

test('a covariate from before the start takes its part of the noise away', async () => {
  const [plain, adjusted] = [
    await ask({ metrics: [V] }),
    await ask({ metrics: [{ ...V, covariate: 'before' }] }),
  ]
  const width = (outcome: Outcome) => results(outcome)[0]!.high! - results(outcome)[0]!.low!
  assert.ok(width(adjusted) < 0.3 * width(plain))
})

test('the adjusted variance is (1 - r squared) of the plain one within 2 %', () => {
  for (const [index, correlation] of CORRELATIONS.entries()) {
    const share = covariateShare(correlation, 100_000, 11 + index)
    assert.ok(Math.abs(share - 1) < 0.02, `${correlation}: ${share}`)
  }
})

test('twenty looks at null experiments call few a success under sequential, and a quarter under one fixed test', () => {
  const { runs, sequential, fixed } = nullRuns(400, 3)
  assert.ok(sequential / runs <= 0.05, `${sequential} of ${runs}`)
  assert.ok(fixed / runs > 0.15, `${fixed} of ${runs}`)
})

test("a ratio's interval is as wide as the jackknife over units says", async () => {
  const units = Array.from({ length: 60 }, (_, index) => {
    const x = 1 + ((index * 7) % 5)
    return { g: index % 2 === 0 ? 'a' : 'b', u: index, x, y: x * (2 + ((index * 13) % 7) / 5) }
  })
  const table = await columnsOf(
    {
      g: units.map(({ g }) => g),
      u: units.map(({ u }) => u),
      x: units.map(({ x }) => x),
      y: units.map(({ y }) => y),
    },
    { g: 'VARCHAR' },
  )
  const metrics = [{ name: 'r', numerator: 'y', denominator: 'x' }]
  const found = await outcomeOf(experiment, table, { unit: 'u', arm: 'g', metrics })
  const [{ low, high, estimate }] = results(found) as [Result]
  const ratio = (list: typeof units) =>
    list.reduce((s, { y }) => s + y, 0) / list.reduce((s, { x }) => s + x, 0)
  const arms = ['a', 'b'].map((arm) => units.filter(({ g }) => g === arm))
  assert.ok(Math.abs(estimate! - (ratio(arms[1]!) - ratio(arms[0]!))) < 1e-12)
  const variance = arms.reduce((all, arm) => {
    const without = arm.map((one) => ratio(arm.filter((other) => other !== one)))
    const mean = without.reduce((sum, value) => sum + value, 0) / arm.length
    return (
      all + ((arm.length - 1) / arm.length) * without.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    )
  }, 0)
  const error = (high! - low!) / 2 / 2.0017
  assert.ok(Math.abs(error / Math.sqrt(variance) - 1) < 0.03, `${error} beside ${Math.sqrt(variance)}`)
})

test('a broken split and a unit in two arms withhold every result', async () => {
  const split = await ask({ metrics: [V], planned: { control: 0.4, new: 0.6 } })
  assert.deepEqual(codes(split).blockers, ['split_uneven'])
  const across = await ask({ metrics: [V] }, ROWS.replace('hash(u) % 2 = 0', 'hash(u + i) % 2 = 0'))
  assert.deepEqual(codes(across).blockers, ['unit_repeated'])
  for (const outcome of [split, across]) {
    assert.equal(outcome.grade, 'withheld')
    for (const result of results(outcome)) {
      assert.equal(result.grade, 'withheld')
      for (const [name, value] of Object.entries(result))
        if (!['metric', 'arm', 'primary', 'grade'].includes(name)) assert.equal(value, null, name)
    }
    assert.doesNotMatch(outcome.summary, /higher|lower/)
  }
})

test('the primary metric decides; the others are corrected together', async () => {
  const found = await ask({
    metrics: [
      { name: 'conv', value: 'conv' },
      { ...V, covariate: 'before' },
      { name: 'rows', value: 'x' },
    ],
  })
  assert.equal(found.grade, 'unclear')
  assert.match(found.headline, /^The experiment cannot tell whether "new" changed conv/)
  assert.deepEqual(
    results(found).map(({ primary }) => primary),
    [true, false, false],
  )
  assert.equal(results(found)[1]!.grade, 'firm')
  assert.ok(codes(found).caveats.includes('many_tests'))
  for (const { low, high, q } of results(found)) assert.equal(low! > 0 || high! < 0, q! <= 0.05)
})

test('the interval of the lift excludes 0 exactly where that of the difference does, and is near the delta method', async () => {
  const metrics = [
    { name: 'conv', value: 'conv' },
    { ...V, covariate: 'before' },
    { name: 'plain', value: 'v' },
    { name: 'ratio', numerator: 'v', denominator: 'x' },
  ]
  const outcome = await ask({ metrics })
  for (const { control_value, relative, relative_low, relative_high, low, high, estimate } of results(
    outcome,
  )) {
    assert.equal(relative_low! > 0 || relative_high! < 0, low! > 0 || high! < 0)
    assert.ok(relative_low! < relative! && relative! < relative_high!)
    assert.equal(relative, estimate! / control_value!)
  }
  const conv = results(outcome)[0]!
  const [a, b] = [conv.control_value!, conv.value!]
  const arms = outcome.arms as { n: number; control: boolean }[]
  const [na, nb] = [true, false].map((control) => arms.find((one) => one.control === control)!.n) as [
    number,
    number,
  ]
  const error = Math.sqrt((b * (1 - b)) / nb / a ** 2 + ((a * (1 - a)) / na) * (b ** 2 / a ** 4))
  assert.ok(Math.abs((conv.relative_high! - conv.relative_low!) / (2 * 1.961 * error) - 1) < 0.02)
  assert.match(outcome.evidence, /; relative to "\w+" [+-]?[\d.]+ %, [+-]?[\d.]+ % to [+-]?[\d.]+ %; p /)
})

test('a lift over a control that may be 0 has no interval', () => {
  const control = { n: 100, value: 0.1, adjusted: 0.1, variance: 1, plain: 1, shared: 1 }
  const effect = { estimate: 0.5, error: 0.14, df: 198, boundary: 0, once: 0, p: 0 }
  assert.equal(liftOf(control, effect, 1.97), null)
  assert.ok(liftOf({ ...control, value: 1 }, effect, 1.97))
})

test('intervals of sequential looks are narrowest where they are tuned, and fixed looks have nothing to tune', async () => {
  const width = async (tuned_for?: number) => {
    const [{ low, high }] = results(
      await ask({ metrics: [V], looks: 'sequential', ...(tuned_for ? { tuned_for } : {}) }),
    ) as [Result]
    return high! - low!
  }
  const [usual, at, five] = [await width(), await width(2000), await width(5000)]
  assert.equal(usual, five)
  assert.ok(at < usual && at < (await width(500)) && at < (await width(50_000)))
  await assert.rejects(ask({ metrics: [V], tuned_for: 2000 }), /tuned_for belongs to `looks: sequential`/)
})

/**
 * R's data set sleep. t.test(extra ~ group) has the 95 % interval -3.3654832 to 0.2054832 for the first less the
 * second.
 */
const SLEEP = {
  g: [...Array(10).fill('a'), ...Array(10).fill('b')],
  u: Array.from({ length: 20 }, (_, index) => index),
  extra: [
    0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0, 1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4,
  ],
}

test('a loss at the end of the interval of R has p 0.05, on the side that `good` names', async () => {
  const table = await columnsOf(SLEEP, { g: 'VARCHAR' })
  const of = async (good: string, margin: number) => {
    const metrics = [{ name: 'extra', value: 'extra', good, margin }]
    const found = await outcomeOf(experiment, table, { unit: 'u', arm: 'g', metrics })
    return { found, result: results(found)[0]! }
  }
  assert.ok(Math.abs((await of('up', 0.2054832)).result.p! - 0.05) < 1e-6)
  assert.ok(Math.abs((await of('down', 3.3654832)).result.p! - 0.05) < 1e-6)
  const excluded = await of('up', 2)
  assert.equal(excluded.result.not_worse, true)
  assert.match(
    excluded.found.headline,
    /^Extra is clearly not worse with "b" by more than 2: 2\.33 against 0\.75 for "a"\.$/,
  )
  const open = await of('down', 1)
  assert.equal(open.result.not_worse, null)
  assert.match(
    open.found.headline,
    /^The experiment cannot tell whether extra is worse with "b" by more than 1: /,
  )
})

test('a loss beyond the margin is reported as one, and a margin needs a direction and no other question', async () => {
  const down = (more: object) => ask({ metrics: [{ ...V, good: 'down', covariate: 'before', ...more }] })
  const worse = await down({ margin: 0.1 })
  assert.equal(results(worse)[0]!.not_worse, false)
  assert.match(worse.headline, /^Revenue is clearly worse with "new" by more than 0\.1: /)
  await assert.rejects(ask({ metrics: [{ ...V, margin: 1 }] }), /add `good: up` or `good: down`/)
  await assert.rejects(down({ margin: 1, minimum_effect: 1 }), /leave one out/)
})

test('where the true loss is the margin, one experiment in forty says "not worse"', () => {
  const random = randomFrom(5)
  const level = (shift: number) => {
    const values = Array.from({ length: 50 }, () => shift + normal(random))
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1)
    return { n: values.length, value: mean, adjusted: mean, variance, plain: variance, shared: variance }
  }
  const runs = 4000
  let claims = 0
  for (let run = 0; run < runs; run++) {
    const effect = effectOf(level(0), level(-0.5), 'fixed', { boundary: -0.5 })!
    if (effect.p <= 0.05 && isBetter(effect)) claims += 1
  }
  // The tolerance is four standard errors about 2.5 %.
  assert.ok(Math.abs(claims / runs - 0.025) < 0.01, `${claims} of ${runs}`)
})

test('sequential looks cost width, and say the days that are left', async () => {
  const metrics = [{ name: 'conv', value: 'conv', minimum_effect: 0.03 }]
  const fixed = await ask({ metrics, time: 'd' })
  const sequential = await ask({ metrics, time: 'd', looks: 'sequential' })
  const width = (outcome: Outcome) => results(outcome)[0]!.high! - results(outcome)[0]!.low!
  assert.ok(width(sequential) > 1.3 * width(fixed))
  const power = fixed.power as { now: number; needed_n: number; days_left: number }
  // The formula is 8 variances over the square of the difference, times (1.96 + 0.84) squared over 2.
  assert.ok(Math.abs(power.needed_n / ((4 * 7.849 * 0.21) / 0.03 ** 2) - 1) < 0.02, String(power.needed_n))
  assert.equal(power.days_left, Math.ceil((power.needed_n - 2000) / 100))
  assert.match(
    fixed.headline,
    /it needs about [\d,]+ units in all, [\d,]+ more days at the traffic so far\.$/,
  )
})

test('values above the cap count as the cap', async () => {
  const sql =
    "select if(u % 2 = 0, 'control', 'b') as g, u, if(u = 1, 1000000, u % 10) as v from range(1000) r(u)"
  const plain = await ask({ metrics: [V] }, sql)
  assert.ok(codes(plain).caveats.includes('one_row_decides'))
  const capped = await ask({ metrics: [{ ...V, winsorise: 0.99 }] }, sql)
  assert.ok(Math.abs(results(capped)[0]!.estimate! - 1) < 0.1)
  assert.deepEqual(codes(capped).caveats, [])
})

test('too little data, one value and wrong metrics are each said', async () => {
  const none = await ask({ metrics: [V] }, 'select null::varchar as g, 1 as u, 2.0 as v')
  assert.deepEqual(codes(none).blockers, ['too_few'])
  const pair = (v: string) => `select if(u % 2 = 0, 'a', 'b') as g, u, ${v} as v from range(100) r(u)`
  assert.deepEqual(codes(await ask({ metrics: [V] }, pair('7'))).blockers, ['constant'])
  assert.equal((await ask({ metrics: [V] }, pair('u % 2'))).grade, 'firm')
  const fault = (pattern: RegExp) => (error: Error) =>
    error instanceof MethodError && pattern.test(error.message)
  await assert.rejects(ask({ metrics: [{ name: 'r', numerator: 'v' }] }), fault(/"r" needs either `value`/))
  await assert.rejects(ask({ metrics: [V, V] }), fault(/two metrics have the name "revenue"/))
})

test('a ratio without any denominator has no value, and is not called constant', async () => {
  const found = await ask(
    { metrics: [{ name: 'rate', numerator: 'v', denominator: 'none' }] },
    `select *, 0 as none from (${ROWS})`,
  )
  assert.deepEqual(codes(found).blockers, ['too_few'])
  assert.match(found.headline, /^The main metric has nothing in its denominator, so it has no value\.$/)
})

test('the planner agrees with R, and sequential looks need more', () => {
  const rates = { base: 0.5, effect: 0.25, arms: 1, alpha: 0.05, power: 0.9, looks: 'fixed' as const }
  // R, ?power.prop.test: power.prop.test(p1 = .50, p2 = .75, power = .90) gives n = 76.7 in each group.
  assert.equal((unitsNeededOfRates(rates) / 2).toFixed(1), '76.7')
  const means = { effect: 0.1, variance: 1, arms: 1, alpha: 0.05, power: 0.8, looks: 'fixed' as const }
  assert.ok(Math.abs(unitsNeeded(means) / 2 - 1569.8) < 0.1)
  assert.ok(unitsNeeded({ ...means, looks: 'sequential' }) > 1.3 * unitsNeeded(means))
})

test('of values whose squares are no numbers nothing is claimed, and they are not called alike', async () => {
  const sized = (size: string): string =>
    `select if(u % 2 = 0, 'control', 'new') as g, u, ${size}::double * (1 + hash(u) % 100 / 500.0) as v from range(400) r(u)`
  for (const size of ['1e200', '1e-200']) {
    const found = await ask({ metrics: [V] }, sized(size))
    assert.match(found.headline, /Multiply them by a power of ten in the SQL block/)
    assert.deepEqual(codes(found).blockers, ['too_few'])
  }
  const large = await ask({ metrics: [V] }, sized('1e120'))
  assert.ok(results(large)[0]!.low! < results(large)[0]!.estimate!)
})

test('an arm without any denominator is named', async () => {
  const sql = `select if(u % 2 = 0, 'control', 'new') as g, u, 1 as orders, u % 2 as visits from range(400) r(u)`
  const found = await ask({ metrics: [{ name: 'rate', numerator: 'orders', denominator: 'visits' }] }, sql)
  assert.match(found.headline, /nothing in its denominator in "control", so it has no value there/)
  assert.deepEqual(codes(found).blockers, ['too_few'])
})
