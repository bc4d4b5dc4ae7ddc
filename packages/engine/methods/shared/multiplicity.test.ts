import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import { gradeOf, verdict } from '../../verdicts/verdict.ts'
import { METHODS } from '../catalog.ts'
import type { Result } from '../experiment/results.ts'
import { columnsOf, outcomeOf, relation } from '../relation-fixture.ts'
import { adjustAcross, benjaminiHochberg, chanceOf, holm } from './multiplicity.ts'

const near = (found: readonly number[], expected: readonly number[]) => {
  assert.equal(found.length, expected.length)
  for (const [index, value] of expected.entries())
    assert.ok(Math.abs(found[index]! - value) < 1e-14, `${index}`)
}

// R 4.2.2, p.adjust.
const values = [0.0459, 0.0001, 0.0004, 0.324, 0.0019, 0.0095, 0.0201]

test("adjusts as R's p.adjust does", () => {
  near(holm(values), [0.0918, 0.0007, 0.0024, 0.324, 0.0095, 0.038, 0.0603])
  near(benjaminiHochberg(values), [0.05355, 0.0007, 0.0014, 0.324, 0.00443333333333333, 0.016625, 0.02814])
  assert.deepEqual(holm([]), [])
})

test('rejects the four hypotheses that Benjamini and Hochberg reject in their example', () => {
  const published = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.324, 0.4262, 0.5719, 0.6528,
    0.759, 1,
  ]
  assert.equal(benjaminiHochberg(published).filter((p) => p <= 0.05).length, 4)
  assert.equal(holm(published).filter((p) => p <= 0.05).length, 3)
})

const outcome = (fields: Record<string, unknown>): Outcome => ({
  ...verdict({
    headline: (grade) =>
      grade === 'unclear' ? 'It may differ.' : `It ${grade === 'firm' ? 'clearly' : 'probably'} differs.`,
    grade: typeof fields.p === 'number' ? gradeOf(fields.p) : 'unclear',
    evidence: '',
    unfound: { direction: 'none' },
  }),
  n: 10,
  method: 'a test',
  ...fields,
})

test('leaves a single test alone and corrects several', () => {
  const alone = { a: outcome({ p: 0.03 }), b: outcome({}) }
  assert.equal(adjustAcross(alone), alone)
  const found = adjustAcross({
    a: outcome({ p: 0.03 }),
    b: outcome({ p: 0.001 }),
    c: outcome({}),
    d: outcome({ p: null }),
  })
  assert.equal(found.a!.p_adjusted, 0.03)
  assert.equal(found.b!.p_adjusted, 0.002)
  assert.equal('p_adjusted' in found.c!, false)
  assert.equal('p_adjusted' in found.d!, false)
  assert.deepEqual(
    found.a!.caveats.map(({ code }) => code),
    ['many_tests'],
  )
  assert.equal(
    found.a!.summary,
    'It probably differs. This report makes 2 tests, and the certainty of each allows for that.',
  )
  assert.equal(found.b!.headline, 'It clearly differs.')
})

test('a claim that does not survive the correction is not made', () => {
  const found = adjustAcross({
    a: outcome({ p: 0.03, direction: 'increasing' }),
    b: outcome({ p: 0.04 }),
    c: outcome({ p: 0.004 }),
  })
  assert.deepEqual(
    [found.a!.headline, found.a!.grade, found.a!.direction],
    ['It may differ.', 'unclear', 'none'],
  )
  assert.deepEqual([found.c!.headline, found.c!.grade], ['It probably differs.', 'likely'])
})

test("takes the least adjusted p-value of a test's own parts", () => {
  const parts = { comparisons: [{ p_adjusted: 0.02 }, { p_adjusted: 0.5 }] }
  const found = adjustAcross({
    a: outcome(parts),
    b: outcome({ pairs: [{ p_adjusted: 0.03 }, { p_adjusted: null }] }),
  })
  assert.equal(found.a!.p_adjusted, 0.04)
  assert.equal(found.b!.p_adjusted, 0.04)
})

test('counts an experiment and the groups of `by`, and judges each group again', async () => {
  const noise =
    'sqrt(-2 * ln((hash(k) % 9973 + 1) / 9974.0)) * cos(6.2831853 * (hash(k + 7) % 9973) / 9973.0)'
  const units = await relation(
    `select k as unit, if(k % 2 = 0, 'a', 'b') as arm, if(k % 4 < 2, 'DE', 'FR') as country, ${noise} + 0.34 * (k % 2) as v from range(600) r(k)`,
  )
  const whole = { unit: 'unit', arm: 'arm', metrics: [{ name: 'revenue', value: 'v' }] }
  const experiment = await outcomeOf(METHODS.experiment!, units, whole)
  const grouped = await outcomeOf(METHODS.compare_groups!, units, { value: 'v', group: 'arm', by: 'country' })
  const alone = adjustAcross({ experiment })
  assert.equal(alone.experiment, experiment)
  const found = adjustAcross({ experiment, grouped, other: outcome({ p: 0.9 }) })
  const [result] = experiment.results as { q: number }[]
  assert.equal(found.experiment!.p_adjusted, holm([result!.q, chanceOf(grouped)!, 0.9])[0])
  assert.match(found.experiment!.summary, /This report makes 4 tests/)
  const before = (grouped.groups as { p_adjusted: number }[]).map((group) => group.p_adjusted)
  const after = (found.grouped!.groups as { p_adjusted: number; grade: string }[]).map((group) => group)
  const factor = (found.grouped!.p_adjusted as number) / Math.min(...before)
  assert.ok(factor > 1)
  for (const [index, group] of after.entries()) {
    assert.equal(group.p_adjusted, Math.min(1, before[index]! * factor))
    assert.equal(group.grade, gradeOf(group.p_adjusted))
  }
  assert.match(found.grouped!.summary, /This report makes 4 tests/)
})

test('an experiment whose answer does not survive the correction says so', async () => {
  const units = await relation(
    `select k as unit, if(k % 2 = 0, 'a', 'b') as arm, (k * 7919 % 1009) / 1009.0 + 0.06 * (k % 2) as v from range(400) r(k)`,
  )
  const whole = { unit: 'unit', arm: 'arm', metrics: [{ name: 'revenue', value: 'v' }] }
  const experiment = await outcomeOf(METHODS.experiment!, units, whole)
  const found = adjustAcross({ experiment, b: outcome({ p: 0.8 }), c: outcome({ p: 0.9 }) }).experiment!
  const { grade, headline } = found
  assert.deepEqual([experiment.grade, grade], ['likely', 'unclear'])
  assert.match(headline, /^The experiment cannot tell whether "b" changed revenue/)
  const [before, after] = [experiment, found].map(({ results }) => (results as Result[])[0]!)
  assert.deepEqual([before!.grade, after!.grade, after!.q], ['likely', 'unclear', found.p_adjusted])
  assert.ok(before!.low! > 0 && after!.low! < 0, 'the interval agrees with the grade')
  assert.match(
    found.evidence,
    /Allowing for the other tests, p is 0\.\d+, which may be chance: what stands before it/,
  )
})

test('one row that decides, and columns that belong together, are judged by the corrected p', async () => {
  const noise = [3, -5, 8, -2, 6, -9, 1, 4, -7, 9, -4, 2, -6, 7, -1, 5, -8, 0, 3, -3]
  const x = [...noise.map((_, row) => (row * 7) % 20), 0]
  const y = [...noise.map((value, row) => 1.3 * x[row]! + 2 * value), 38]
  const shop = [...noise.map((_, row) => (row % 2 ? 'a' : 'b')), 'b']
  const takings = [...noise.map((value, row) => value + (row % 2 ? 5.6 : 0)), 40]
  const table = await columnsOf({ x, y, shop, takings })
  const others = { b: outcome({ p: 0.8 }), c: outcome({ p: 0.9 }), d: outcome({ p: 0.9 }) }
  for (const options of [
    { x: 'x', y: 'y', test: 'spearman' },
    { x: 'takings', y: 'shop' },
  ]) {
    const alone = await outcomeOf(METHODS.association!, table, options)
    assert.match(alone.summary, /^No clear link.*Without one single row, with|Without one single row of/)
    assert.match(alone.summary, /there would be a probable (?:link|difference)\./)
    assert.doesNotMatch(adjustAcross({ a: alone, ...others }).a!.summary, /Without one single row/)
  }
})

test('a difference of groups in association is told no surer than the correction leaves it', async () => {
  const v = Array.from({ length: 40 }, (_, row) => ((row * 37) % 41) + (row % 2 ? 7 : 0))
  const table = await columnsOf({ v, g: v.map((_, row) => (row % 2 ? 'a' : 'b')) })
  const a = await outcomeOf(METHODS.association!, table, { x: 'v', y: 'g' })
  assert.match(a.headline, /^V is clearly higher in g/)
  const found = adjustAcross({ a, b: outcome({ p: 0.8 }), c: outcome({ p: 0.9 }), d: outcome({ p: 0.9 }) }).a!
  assert.equal(found.grade, 'likely')
  assert.match(found.headline, /^V is probably higher in g/)
})

test('association of a few rows in groups doubts them and does not withhold them', async () => {
  const table = await columnsOf({ v: [1, 2, 3, 11, 12, 13], g: ['a', 'a', 'a', 'b', 'b', 'b'] })
  const found = await outcomeOf(METHODS.association!, table, { x: 'v', y: 'g' })
  const groups = await outcomeOf(METHODS.compare_groups!, table, { value: 'v', group: 'g' })
  assert.deepEqual([found.grade, found.blockers], [groups.grade, []])
  assert.ok(found.caveats.some(({ code }) => code === 'too_few'))
})
