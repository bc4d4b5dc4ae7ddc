import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import {
  chiSquareLower,
  chiSquareQuantile,
  chiSquareUpper,
  fLower,
  fQuantile,
  fUpper,
  normalLower,
  normalQuantile,
  normalUpper,
  normalUpperQuantile,
  studentLower,
  studentQuantile,
  studentUpper,
  studentUpperQuantile,
} from './distributions.ts'
import { erfc } from './error-function.ts'
import { deviance, logGamma } from './gamma.ts'

type Row = [...number[], string]

const file = path.join(import.meta.dirname, 'fixtures', 'special-functions.json')
const table = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Row[]>

const functions: Record<string, (a: number, b: number, c: number) => number> = {
  logGamma,
  erfc,
  normalUpper,
  normalUpperQuantile,
  studentUpper,
  studentUpperQuantile,
  fUpper,
  fLower,
  fQuantile: (q, df1, df2) => fQuantile(1 - q, df1, df2, q),
  chiSquareUpper,
  chiSquareLower,
  chiSquareQuantile: (q, df) => chiSquareQuantile(1 - q, df, q),
}

for (const [name, evaluate] of Object.entries(functions)) {
  test(`${name} agrees with mpmath to 1e-12 relative, tails included`, () => {
    const rows = table[name]!
    assert.ok(rows.length >= 10)
    for (const row of rows) {
      const [a = 0, b = 0, c = 0] = row.slice(0, -1) as number[]
      const expected = Number(row.at(-1))
      const error = Math.abs(evaluate(a, b, c) - expected) / Math.abs(expected || 1)
      assert.ok(error <= 1e-12, `${name}(${row.slice(0, -1).join(', ')}) is off by ${error}`)
    }
  })
}

test('both tails and both quantiles mirror each other', () => {
  assert.equal(normalLower(-1.5), normalUpper(1.5))
  assert.equal(studentLower(-1.5, 7), studentUpper(1.5, 7))
  assert.ok(Math.abs(normalQuantile(0.975) - 1.959963984540054) < 1e-14)
  assert.ok(Math.abs(studentQuantile(0.025, 10) + 2.2281388519862744) < 1e-14)
  assert.equal(normalQuantile(0.5), 0)
})

test('limits are limits, not NaN', () => {
  assert.equal(normalUpper(Number.POSITIVE_INFINITY), 0)
  assert.equal(normalUpper(1e308), 0)
  assert.equal(normalLower(1e308), 1)
  assert.equal(studentUpper(Number.POSITIVE_INFINITY, 3), 0)
  assert.equal(fUpper(0, 2, 3), 1)
  assert.equal(fUpper(Number.POSITIVE_INFINITY, 2, 3), 0)
  assert.equal(chiSquareUpper(0, 2), 1)
  assert.equal(normalUpperQuantile(0), Number.POSITIVE_INFINITY)
  assert.ok(Number.isNaN(studentUpper(Number.NaN, 3)))
})

test('quantiles at degrees of freedom that are no number are no number, and end', () => {
  for (const df of [Number.NaN, 0, -1]) assert.ok(Number.isNaN(studentUpperQuantile(0.025, df)))
  assert.ok(Number.isNaN(studentUpperQuantile(Number.NaN, 3)))
  assert.ok(Math.abs(studentUpperQuantile(0.025, 1e300) - 1.959963984540054) < 1e-12)
  assert.ok(Math.abs(studentUpperQuantile(0.025, Number.POSITIVE_INFINITY) - 1.959963984540054) < 1e-12)
  assert.ok(Number.isNaN(deviance(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)))
})
