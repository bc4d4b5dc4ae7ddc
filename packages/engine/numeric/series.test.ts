import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { inversions, mannKendall, ranks } from './mann-kendall.ts'
import { stl } from './smoothing/stl.ts'
import { superSmooth } from './smoothing/super-smoother.ts'
import { theilSen } from './theil-sen.ts'

interface StlFixture {
  co2: number[]
  scenarios: Record<string, [index: number, seasonal: number, trend: number, weight: number][]>
}

const fixture = JSON.parse(
  readFileSync(path.join(import.meta.dirname, 'fixtures', 'stl.json'), 'utf8'),
) as StlFixture

/** Returns numbers between 0 and 1 without a pattern, from the minimal standard generator. */
function noise(count: number): number[] {
  let state = 20_240_601
  return Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  })
}

test("decomposes as the authors' program does, in each setting that statsmodels keeps", () => {
  const jumps: Record<string, { low: number; trend: number; cut?: number }> = {
    baseline: { low: 2, trend: 2 },
    'nljump-1': { low: 1, trend: 2 },
    'ntjump-1': { low: 2, trend: 1 },
    'nljump-1-ntjump-1': { low: 1, trend: 1 },
    short: { low: 2, trend: 2, cut: 1 },
  }
  for (const [name, { low, trend, cut = 0 }] of Object.entries(jumps)) {
    const found = stl(fixture.co2.slice(0, fixture.co2.length - cut), {
      period: 12,
      seasonal: { window: 35, degree: 1, jump: 4 },
      trend: { window: 19, degree: 1, jump: trend },
      low: { window: 13, degree: 1, jump: low },
      inner: 1,
      outer: 2,
    })
    for (const [index, seasonal, level, weight] of fixture.scenarios[name]!) {
      assert.ok(Math.abs(found.seasonal[index]! - seasonal) < 2e-11, `${name}, seasonal ${index}`)
      assert.ok(Math.abs(found.trend[index]! - level) < 2e-11, `${name}, trend ${index}`)
      assert.ok(Math.abs(found.weights[index]! - weight) < 2e-11, `${name}, weight ${index}`)
    }
  }
})

test('the parts of a decomposition add up to the values', () => {
  const values = noise(60).map((value, index) => value + Math.sin(index))
  const { seasonal, trend, remainder } = stl(values, {
    period: 6,
    seasonal: { window: 7, degree: 0, jump: 1 },
    trend: { window: 11, degree: 1, jump: 2 },
    low: { window: 7, degree: 1, jump: 1 },
    inner: 2,
    outer: 1,
  })
  for (const [index, value] of values.entries()) {
    assert.ok(Math.abs(seasonal[index]! + trend[index]! + remainder[index]! - value) < 1e-12)
  }
})

test('smooths as R does', () => {
  // R 4.2.2: supsmu(1:12, c(1, 4, 2, 8, 5, 7, 3, 9, 6, 11, 8, 13))$y; its spans are in single precision.
  const expected = [
    1.88, 2.8, 3.72, 4.68, 5.32, 5.96, 6.414857142, 7.279999999, 8.060571428, 9.131999999, 10.24628571,
    11.36057143,
  ]
  const found = superSmooth([1, 4, 2, 8, 5, 7, 3, 9, 6, 11, 8, 13])
  for (const [index, value] of expected.entries())
    assert.ok(Math.abs(found[index]! - value) < 1e-5, `${index}`)
})

test('counts falling pairs, ranks and scores as the definitions say', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -5, max: 5 }), { maxLength: 40 }), (values) => {
      let falling = 0
      let score = 0
      for (const [place, from] of values.entries()) {
        for (const to of values.slice(place + 1)) {
          if (to < from) falling++
          score += Math.sign(to - from)
        }
      }
      assert.equal(inversions(values), falling)
      assert.equal(mannKendall(values).s, score)
      const total = ranks(values).reduce((sum, rank) => sum + rank, 0)
      assert.equal(total, (values.length * (values.length + 1)) / 2)
    }),
  )
})

test('finds the same slope by search as by listing', () => {
  const y = noise(2400).map((value, index) => value * 50 + index * 0.01)
  const x = y.map((_, index) => index)
  const searched = theilSen(x, y, 1.5e9)!
  const slopes: number[] = []
  for (let from = 0; from < y.length; from++) {
    for (let to = from + 1; to < y.length; to++) slopes.push((y[to]! - y[from]!) / (to - from))
  }
  const sorted = Float64Array.from(slopes).toSorted()
  const middle =
    (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.ceil((sorted.length - 1) / 2)]!) / 2
  assert.ok(Math.abs(searched.slope - middle) < 1e-12)
  assert.ok(searched.low < searched.slope && searched.slope < searched.high)
})
