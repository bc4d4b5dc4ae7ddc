import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '@assay/model/insight'
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
  summary: 'It differs.',
  n: 10,
  method: 'a test',
  notes: [],
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
  assert.match(found.a!.notes.join(), /One of 2 tests/)
  assert.equal(found.a!.summary, 'It differs.')
})

test('says in the summary where a verdict does not survive the correction', () => {
  const found = adjustAcross({ a: outcome({ p: 0.03 }), b: outcome({ p: 0.04 }), c: outcome({ p: 0.9 }) })
  assert.match(found.a!.summary, /^It differs\. .*no longer significant/)
  assert.equal(found.c!.summary, 'It differs.')
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
