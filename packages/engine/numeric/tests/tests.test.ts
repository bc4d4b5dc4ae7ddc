import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ranks } from '../mann-kendall.ts'
import { glm } from '../models/glm.ts'
import { varianceInflation } from '../models/model-checks.ts'
import { chiSquare, cochranMantelHaenszel } from './contingency.ts'
import { fisherExact } from './fisher.ts'
import { kendall } from './kendall.ts'
import { kolmogorovTwoSamples } from './kolmogorov.ts'
import { classicAnova, welchAnova } from './means.ts'
import { mannWhitney, signedRank } from './ranks.ts'
import { shapiroWilk } from './shapiro-wilk.ts'
import { studentizedRangeQuantile, studentizedRangeUpper } from './studentized-range.ts'

const near = (a: number, b: number, within = 1e-12) =>
  assert.ok(Math.abs(a - b) <= within * Math.max(1, Math.abs(b)), `${a} is not ${b}`)

/** Returns every choice of `size` members of the list. */
function choices<T>(list: readonly T[], size: number): T[][] {
  if (size === 0) return [[]]
  return list.flatMap((one, i) => choices(list.slice(i + 1), size - 1).map((rest) => [one, ...rest]))
}

test('the exact p of Mann and Whitney counts every split of the ranks', () => {
  for (const rankSum of [6, 9, 13, 17, 21]) {
    const sums = choices([1, 2, 3, 4, 5, 6, 7, 8], 3).map((split) => split.reduce((a, b) => a + b, 0))
    const tail = Math.min(
      sums.filter((sum) => sum <= rankSum).length,
      sums.filter((sum) => sum >= rankSum).length,
    )
    near(mannWhitney(3, 5, rankSum, 0).p, Math.min(1, (2 * tail) / sums.length))
  }
})

test('the exact p of signed ranks counts every choice of signs', () => {
  const sums = Array.from({ length: 64 }, (_, signs) =>
    [1, 2, 3, 4, 5, 6].reduce((sum, rank, bit) => sum + ((signs >> bit) & 1) * rank, 0),
  )
  for (const at of [0, 3, 10, 18, 21]) {
    const tail = Math.min(sums.filter((sum) => sum <= at).length, sums.filter((sum) => sum >= at).length)
    near(signedRank(6, at, 0).p, Math.min(1, (2 * tail) / 64))
  }
})

test('two samples of tied values have the exact p of every split of the pooled values', () => {
  const [a, b] = [
    [1, 1, 2, 3],
    [2, 3, 3, 4, 5],
  ]
  const seen = kolmogorovTwoSamples(a, b)
  const pooled = [...a, ...b]
  const places = [...pooled.keys()]
  const splits = choices(places, 4).map((split) => {
    const rest = places.filter((place) => !split.includes(place))
    const sorted = (list: number[]) => list.map((place) => pooled[place]!).toSorted((x, y) => x - y)
    return kolmogorovTwoSamples(sorted(split), sorted(rest)).statistic
  })
  near(seen.p, splits.filter((d) => d >= seen.statistic - 1e-9).length / splits.length)
})

test("Kendall's exact p counts every order", () => {
  const orders = (list: number[]): number[][] =>
    list.length === 0
      ? [[]]
      : list.flatMap((one, i) => orders(list.toSpliced(i, 1)).map((rest) => [one, ...rest]))
  const x = [1, 2, 3, 4, 5, 6]
  const seen = kendall(x, [2, 1, 3, 6, 4, 5])!
  const taus = orders(x).map((y) => kendall(x, y)!.tau)
  near(seen.p, (2 * taus.filter((tau) => tau >= seen.tau - 1e-9).length) / taus.length)
})

test('the exact test of a table agrees with a sum over its tables by hand', () => {
  // The margins are 3, 2 by 2, 3, with the hypergeometric chances 0.1, 0.6, 0.3.
  near(
    fisherExact([
      [0, 3],
      [2, 0],
    ])!,
    0.1,
  )
  near(
    fisherExact([
      [2, 1],
      [0, 2],
    ])!,
    0.4,
  )
  assert.equal(
    fisherExact([
      [90, 80, 70, 60],
      [80, 70, 60, 50],
      [70, 60, 50, 40],
      [60, 50, 40, 30],
    ]),
    null,
  )
})

test('the general form of Cochran, Mantel and Haenszel has the figure that R prints for job satisfaction', () => {
  const women = [
    [1, 3, 11, 2],
    [2, 3, 17, 3],
    [0, 1, 8, 5],
    [0, 2, 4, 2],
  ]
  const men = [
    [1, 1, 2, 1],
    [0, 3, 5, 1],
    [0, 0, 7, 3],
    [0, 1, 9, 6],
  ]
  const found = cochranMantelHaenszel([women, men])!
  // R ?mantelhaen.test: M^2 = 10.2001, df = 9, p-value = 0.3345.
  assert.equal(found.df, 9)
  assert.equal(found.statistic.toFixed(4), '10.2001')
  assert.equal(found.p.toFixed(4), '0.3345')
})

test('one stratum is a chi-square test times (n - 1) / n', () => {
  const table = [
    [12, 5, 9],
    [7, 14, 3],
  ]
  near(cochranMantelHaenszel([table])!.statistic, (chiSquare(table)!.statistic * 49) / 50)
})

test('tests of two groups agree whatever scale the values have', () => {
  const value = fc.double({ min: -100, max: 100, noNaN: true })
  fc.assert(
    fc.property(fc.array(value, { minLength: 5, maxLength: 30 }), (values) => {
      const sorted = values.toSorted((a, b) => a - b)
      const there = shapiroWilk(sorted)
      if (!there || sorted.at(-1)! - sorted[0]! < 1e-3) return
      const back = shapiroWilk(sorted.map((one) => 8 * one + 16).toSorted((a, b) => a - b))!
      assert.ok(there.w > 0 && there.w <= 1 && there.p >= 0 && there.p <= 1)
      near(there.w, back.w, 1e-9)
    }),
    { numRuns: 100 },
  )
})

test('two groups of equal size and spread have one F, classic or after Welch', () => {
  const groups = [
    { n: 10, mean: 3, squares: 20 },
    { n: 10, mean: 5, squares: 20 },
  ]
  near(welchAnova(groups).f, classicAnova(groups).f)
})

test('the quantile of the studentised range gives back its tail', () => {
  for (const [p, k, df] of [
    [0.05, 3, 5],
    [0.01, 10, 40],
    [0.001, 4, 3],
    [0.9, 6, 20],
  ] as const) {
    near(studentizedRangeUpper(studentizedRangeQuantile(p, k, df), k, df), p, 1e-10)
  }
})

test('separated outcomes are reported, not fitted', () => {
  const x = Array.from({ length: 20 }, (_, i) => i)
  const one = x.map(() => 1)
  const apart = glm(
    'logistic',
    [one, x],
    x.map((value) => (value < 10 ? 0 : 1)),
  )
  assert.equal(apart.status, 'separated')
  const noCounts = glm(
    'poisson',
    [one, x.map((value) => value % 2)],
    x.map((value) => (value % 2) * (value % 3)),
  )
  assert.equal(noCounts.status, 'separated')
  const twice = glm(
    'logistic',
    [one, x, x.map((value) => 2 * value)],
    x.map((value) => value % 2),
  )
  assert.equal(twice.status, 'dependent')
})

test('columns that nearly repeat each other inflate the variance', () => {
  const x = Array.from({ length: 40 }, (_, i) => Math.sin(i * 12.9898) * 10)
  const y = x.map((value, i) => value + Math.sin(i * 78.233) / 100)
  const z = x.map((_, i) => Math.cos(i * 3.7))
  const [first, second, third] = varianceInflation([x, y, z])
  assert.ok(first! > 1e4 && second! > 1e4 && third! < 2)
})

test('ranks add up whatever the ties', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 40 }), (values) => {
      near(
        ranks(values).reduce((a, b) => a + b, 0),
        (values.length * (values.length + 1)) / 2,
      )
    }),
  )
})
