import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { twoProduct } from './exact.ts'
import { leastSquares, powerColumn } from './least-squares.ts'
import { exactSum } from './sum.ts'

test('leaves residuals that no column explains', () => {
  const row = fc.tuple(
    fc.integer({ min: -99, max: 99 }),
    fc.integer({ min: -99, max: 99 }),
    fc.integer({ min: -99, max: 99 }),
  )
  fc.assert(
    fc.property(fc.array(row, { minLength: 5, maxLength: 30 }), (rows) => {
      const columns = [
        { high: rows.map(() => 1) },
        { high: rows.map(([a]) => a) },
        { high: rows.map(([, b]) => b) },
      ]
      const fit = leastSquares(
        columns,
        rows.map(([, , y]) => y),
      )
      if (!fit) return
      for (const { high } of columns) {
        const products = high.flatMap((value, row) => twoProduct(value, fit.residuals[row]!))
        assert.ok(Math.abs(exactSum(products)) < 1e-9)
      }
    }),
  )
})

test('says where columns depend on each other', () => {
  assert.equal(leastSquares([{ high: [1, 1, 1] }, { high: [2, 2, 2] }], [1, 2, 3]), null)
  assert.equal(leastSquares([{ high: [0, 0, 0] }], [1, 2, 3]), null)
})

test('powers keep twice the precision of a double', () => {
  const { high, low } = powerColumn([1.1], 3)
  // 1.1 as a double is 2476979795053773 / 2^51.
  const exact = 2476979795053773n ** 3n
  const scaled = BigInt(high[0]! * 2 ** 52) * 2n ** 101n + BigInt(low![0]! * 2 ** 100) * 2n ** 53n
  const difference = exact - scaled
  assert.ok((difference < 0n ? -difference : difference) < 2n ** 54n)
})
