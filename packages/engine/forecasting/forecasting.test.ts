import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepAt } from './design.ts'
import { forecastSeries, type Question } from './forecast-series.ts'
import { fitIntermittent } from './intermittent.ts'

const rowsOf = (n: number): number[] => Array.from({ length: n }, (_, row) => row)

function uniform(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48271) % 2147483647) / 2147483647
}

function normals(n: number, seed: number): number[] {
  const next = uniform(seed)
  return rowsOf(n).map(() => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()))
}

function ask(values: readonly number[], more: Partial<Question> = {}): Question {
  return {
    values,
    observed: values.map(() => true),
    periods: [],
    columns: [],
    levels: [],
    horizon: 12,
    counts: false,
    sparse: false,
    ...more,
  }
}

/** Returns the share of future values within the 95 % intervals, over series of a process. */
function coverage(make: (seed: number) => number[], n: number, more: Partial<Question> = {}): number {
  let inside = 0
  let all = 0
  for (let seed = 1; seed <= 12; seed++) {
    const values = make(seed * 7919)
    const { ahead } = forecastSeries(ask(values.slice(0, n), more))
    for (const [step, { low_95, high_95 }] of ahead.entries()) {
      const value = values[n + step]!
      if (value >= low_95 - 1e-9 && value <= high_95 + 1e-9) inside += 1
      all += 1
    }
  }
  return inside / all
}

test('four years of a daily yearly wave are forecast half a year ahead', () => {
  const n = 1461
  const wave = normals(n + 180, 3).map((value, row) => 100 + 20 * Math.sin((2 * Math.PI * row) / 365) + value)
  for (const period of [365, 365.25]) {
    const { ahead } = forecastSeries(ask(wave.slice(0, n), { periods: [period], horizon: 180 }))
    const miss = ahead.reduce((sum, one, step) => sum + Math.abs(one.value - wave[n + step]!), 0) / 180
    assert.ok(miss < 1.5, `${period}: ${miss}`)
  }
})

test('a week and a year together are followed', () => {
  const n = 1100
  const at = (row: number): number =>
    50 + (row % 7 === 0 ? 10 : 0) + 20 * Math.cos((2 * Math.PI * row) / 365.25)
  const values = normals(n + 30, 5).map((value, row) => at(row) + value)
  const { ahead } = forecastSeries(ask(values.slice(0, n), { periods: [7, 365.25], horizon: 30 }))
  for (const [step, { value }] of ahead.entries())
    assert.ok(Math.abs(value - at(n + step)) < 3, `step ${step}: ${value}`)
})

test('a season that grows with its level is forecast by logarithms, with intervals that hold', () => {
  const make = (seed: number): number[] =>
    normals(60, seed).map(
      (value, row) =>
        (100 + 2 * row) * (1 + 0.3 * Math.sin((2 * Math.PI * row) / 12)) * Math.exp(0.05 * value),
    )
  assert.equal(forecastSeries(ask(make(11).slice(0, 48), { periods: [12] })).log_scale, true)
  const held = coverage(make, 48, { periods: [12] })
  assert.ok(held > 0.88 && held < 0.995, String(held))
})

test('eight values of a trend have intervals as wide as eight values make them', () => {
  const held = coverage((seed) => normals(20, seed).map((value, row) => row + value), 8)
  assert.ok(held > 0.88, String(held))
})

test('a random walk with a drift and counts have intervals that hold', () => {
  const walk = (seed: number): number[] => {
    let level = 0
    return normals(72, seed).map((value) => (level += 0.5 + value))
  }
  const ofWalks = coverage(walk, 36)
  assert.ok(ofWalks > 0.85, String(ofWalks))
  const growing = (seed: number): number[] => normals(48, seed).map((value, row) => value * (1 + row / 18))
  const ofGrowing = coverage(growing, 36)
  assert.ok(ofGrowing > 0.85, String(ofGrowing))
  const counts = (seed: number): number[] => {
    const next = uniform(seed)
    return rowsOf(72).map(() => {
      let count = 0
      for (let product = next(); product > Math.exp(-3); product *= next()) count += 1
      return count
    })
  }
  assert.ok(coverage(counts, 60, { counts: true }) > 0.9)
})

test('sparse demand is forecast at its rate, zeros and all, and one that ended fades', () => {
  const next = uniform(17)
  const sales = rowsOf(200).map(() => (next() < 0.3 ? 4 : 0))
  const { ahead, model } = forecastSeries(ask(sales, { counts: true, sparse: true }))
  assert.match(model, /intermittent/)
  assert.ok(Math.abs(ahead[0]!.value - 1.2) < 0.5, String(ahead[0]!.value))
  assert.deepEqual([ahead[0]!.low_95, ahead[0]!.high_95], [0, 4])
  const ended = sales.map((value, row) => (row < 100 ? value : 0))
  assert.ok(fitIntermittent(ended).chance < 0.1)
})

test('a change of level is no trend: values after it count', () => {
  const values = normals(80, 23).map((value, row) => value + (row < 40 ? 0 : 20))
  const { ahead } = forecastSeries(ask(values, { levels: [stepAt(40)] }))
  for (const { value, low_95, high_95 } of ahead) {
    assert.ok(Math.abs(value - 20) < 2, String(value))
    assert.ok(high_95 - low_95 < 9, String(high_95 - low_95))
  }
})

test('a known day to come is forecast with what such days were', () => {
  const busy = (row: number): number => (row % 23 === 4 ? 1 : 0)
  const values = normals(140, 29).map((value, row) => 50 + 15 * busy(row) + value)
  const { ahead } = forecastSeries(ask(values, { columns: [busy], horizon: 23 }))
  for (const [step, { value }] of ahead.entries())
    assert.ok(Math.abs(value - 50 - 15 * busy(140 + step)) < 2.5, `step ${step}: ${value}`)
})

test('constants, few values and gaps are answered', () => {
  const constant = forecastSeries(ask([5, 5, 5, 5, 5, 5]))
  assert.deepEqual([constant.ahead[0]!.value, constant.ahead[0]!.high_95], [5, 5])
  for (const n of [2, 3, 4, 6]) {
    const { ahead } = forecastSeries(ask(normals(n, 31)))
    assert.ok(ahead.every(({ value, low_95 }) => Number.isFinite(value) && low_95 <= value))
  }
  const gaps = normals(60, 37)
  const observed = gaps.map((_, row) => row % 9 !== 3)
  assert.ok(forecastSeries(ask(gaps, { observed })).ahead.every(({ value }) => Number.isFinite(value)))
})

test('twenty thousand values take a few seconds of one processor at most', () => {
  const values = normals(20_000, 41).map((value, row) => 100 + (row % 7 === 0 ? 5 : 0) + value)
  const before = process.cpuUsage().user
  forecastSeries(ask(values, { periods: [7, 365.25], horizon: 60 }))
  assert.ok((process.cpuUsage().user - before) / 1e6 < 5)
})
