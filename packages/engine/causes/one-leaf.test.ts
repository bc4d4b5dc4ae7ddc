import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normal, randomFrom } from '../../../proofs/calibration/processes.ts'
import { chanceOfOne } from './one-leaf.ts'

const CALM = Float64Array.of(-0.04, 0.02, 0.05, -0.01, -0.03, 0.03, 0)

test('a leaf far beyond calm others has a small chance, whatever the unit, and one among them has none', () => {
  const far = chanceOfOne(-0.6, CALM, false)
  assert.ok(far < 0.001, String(far))
  assert.ok(
    Math.abs(
      chanceOfOne(
        -0.06,
        CALM.map((value) => value / 10),
        false,
      ) /
        far -
        1,
    ) < 0.1,
  )
  assert.ok(chanceOfOne(0.05, CALM, false) > 0.1)
})

test('beside others with one far out the same leaf passes for their tails', () => {
  const beside = Float64Array.of(-0.04, 0.02, 0.4, -0.01, -0.03, 0.03, 0)
  assert.ok(chanceOfOne(-0.6, beside, false) > 20 * chanceOfOne(-0.6, CALM, false))
})

test('of normal leaves without a cause a chance below 1 % comes in at most 1 %', () => {
  const random = randomFrom(7)
  let below = 0
  for (let table = 0; table < 400; table++) {
    const others = Float64Array.from({ length: 9 }, () => 0.05 * normal(random))
    below += chanceOfOne(0.05 * normal(random), others, false) < 0.01 ? 1 : 0
  }
  assert.ok(below <= 4, String(below))
})
