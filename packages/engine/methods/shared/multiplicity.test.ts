import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
import { gradeOf, verdict } from '../../verdicts/verdict.ts'
import { adjustAcross, benjaminiHochberg, holm } from './multiplicity.ts'

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
