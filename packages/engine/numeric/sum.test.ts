import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { exactSum } from './sum.ts'

test('keeps what a plain sum loses', () => {
  assert.equal(exactSum([1, 1e100, 1, -1e100]), 2)
  assert.equal(exactSum(Array.from({ length: 10 }, () => 0.1)), 1)
  assert.equal(exactSum([1e308, 1, -1e308]), 1)
})

test('of nothing, or of what cancels out, is zero without a sign', () => {
  for (const values of [[], [-0], [1, -1], [-0, 0.5, -0.5]]) assert.equal(exactSum(values), 0)
})

test('is infinite if a value is infinite or the sum overflows, and NaN if there is no answer', () => {
  assert.equal(exactSum([1, Infinity, 2]), Infinity)
  assert.equal(exactSum([1e308, 1e308]), Infinity)
  assert.equal(exactSum([1, -1.7e308, 3, -1.7e308, 5]), -Infinity)
  assert.equal(exactSum([Infinity, 1, -Infinity]), Number.NaN)
  assert.equal(exactSum([1, Number.NaN, 2]), Number.NaN)
})

test('agrees with the sum of whole numbers in any order', () => {
  const whole = fc.bigInt({ min: -(2n ** 90n), max: 2n ** 90n }).map((value) => Number(value))
  fc.assert(
    fc.property(fc.array(whole, { maxLength: 50 }), (values) => {
      const expected = Number(values.reduce((sum, value) => sum + BigInt(value), 0n))
      assert.equal(exactSum(values), expected)
      assert.equal(exactSum(values.toReversed()), expected)
    }),
  )
})
