import assert from 'node:assert/strict'
import { test } from 'node:test'
import { squaredDeviations, twoProduct } from './exact.ts'

test('keeps what a plain sum loses', () => {
  assert.equal(squaredDeviations([1e15 + 1, 1e15 + 3, 1e15 + 2]), 2)
})

test('a product and its rest are the exact product', () => {
  const [high, low] = twoProduct(0.1, 0.3)
  // 0.1 and 0.3 as doubles are these integers over 2^55 and 2^54.
  const exact = 3602879701896397n * 5404319552844595n
  const scaled = (value: number) =>
    BigInt(value * 2 ** 60) * 2n ** 49n + BigInt(((value * 2 ** 60) % 1) * 2 ** 49)
  assert.equal(scaled(high) + BigInt(low * 2 ** 109), exact)
})
