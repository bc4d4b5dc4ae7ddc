import assert from 'node:assert/strict'
import { test } from 'node:test'
import { levelChanges } from '../level-changes.ts'
import { seasonColumns } from '../seasons.ts'
import { fitLevelNoise, residualsOf } from './level-and-noise.ts'
import { findInSeries } from './of-series.ts'
import { withShortLevels } from './short-levels.ts'
import { findSpikes } from './spikes.ts'
import { findStretches } from './stretches.ts'
import { yearlyDays } from './yearly.ts'

const rowsOf = (n: number): number[] => Array.from({ length: n }, (_, row) => row)

/** Returns uniform numbers of the minimal standard generator. */
function uniform(seed: number): () => number {
  let state = seed
  return () => (state = (state * 48271) % 2147483647) / 2147483647
}

function normals(n: number, seed: number): number[] {
  const next = uniform(seed)
  return rowsOf(n).map(() => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()))
}

const found = (values: readonly number[], beside: number[][] = []): number[] =>
  findSpikes(values, rowsOf(values.length), beside, Math.floor(values.length / 10), 0.05)
    .spikes.map(({ index }) => index)
    .toSorted((a, b) => a - b)

test('a residual from all other values is what leaving the value out gives', () => {
  const values = normals(40, 7)
  const model = { a: 0.8, noise: 1, step: 1 }
  const seen = values.map((_, row) => (row === 12 ? 0 : 1))
  const whole = residualsOf(
    values,
    values.map(() => 1),
    model,
  )
  const without = residualsOf(values, seen, model)
  assert.ok(Math.abs(whole.expected[12]! - without.expected[12]!) < 1e-9)
  assert.ok(Math.abs(whole.spread[12]! - without.spread[12]!) < 1e-9)
})

test('a wandering level is told from noise', () => {
  let level = 0
  const walk = normals(300, 3).map((value) => (level += value))
  const seen = walk.map(() => 1)
  assert.ok(fitLevelNoise(walk, seen).a > 0.9)
  assert.equal(fitLevelNoise(normals(300, 5), seen).step, 0)
})

test('a spike of a random walk is found although the walk goes far beyond it', () => {
  let level = 0
  const walk = normals(200, 11).map((value) => (level += value))
  walk[90]! += 8
  assert.deepEqual(found(walk), [90])
})

test('several spikes do not hide each other, and one at the end is found', () => {
  const values = normals(200, 13)
  for (const row of [20, 21, 77, 199]) values[row]! += 9
  assert.deepEqual(found(values), [20, 21, 77, 199])
})

test('a spike beside a weekly season is found in the season, with what was usual', () => {
  const values = normals(140, 17).map((value, row) => 100 + (row % 7 === 0 ? 20 : 0) + value)
  values[63] = 100
  const { spikes } = findSpikes(values, rowsOf(140), seasonColumns(rowsOf(140), 7), 14, 0.05)
  assert.deepEqual(
    spikes.map(({ index }) => index),
    [63],
  )
  const [{ expected, low, high, score }] = spikes as [(typeof spikes)[0]]
  assert.ok(Math.abs(expected - 120) < 2 && low > 114 && high < 126 && score < -8)
})

test('heavy tails, logarithms of noise, counts and rare events alone are no anomalies', () => {
  const shares = (make: (seed: number) => number[]): number => {
    let alarms = 0
    for (let seed = 1; seed <= 60; seed++) if (found(make(seed * 7919)).length > 0) alarms += 1
    return alarms
  }
  const student = (seed: number): number[] => {
    const parts = normals(240, seed)
    return rowsOf(60).map(
      (row) =>
        parts[4 * row]! /
        Math.sqrt((parts[4 * row + 1]! ** 2 + parts[4 * row + 2]! ** 2 + parts[4 * row + 3]! ** 2) / 3),
    )
  }
  const counts = (mean: number) => (seed: number) => {
    const next = uniform(seed)
    return rowsOf(60).map(() => {
      let count = 0
      for (let product = next(); product > Math.exp(-mean); product *= next()) count += 1
      return count
    })
  }
  assert.ok(shares(student) <= 9)
  assert.ok(shares((seed) => normals(60, seed).map((value) => Math.exp(0.8 * value))) <= 5)
  assert.ok(shares(counts(3)) <= 4)
  assert.ok(shares(counts(0.05)) <= 3)
})

test('the ends of a smooth curve do not stand out, and a value that leaps out of one does', () => {
  const noise = normals(120, 5)
  assert.deepEqual(found(rowsOf(120).map((row) => 100 * 1.05 ** row)), [])
  for (const curve of [
    (row: number) => 100 * 1.05 ** row * Math.exp(noise[row]! / 100),
    (row: number) => 100 + row * row + noise[row]!,
    (row: number) => 100 * Math.sqrt(row + 1) + noise[row]!,
  ]) {
    const values = rowsOf(120).map(curve)
    assert.deepEqual(found(values), [])
    values[70]! *= 1.5
    assert.deepEqual(found(values), [70])
  }
})

test('one value that differs from all others stands out, a few sales among days without any do not', () => {
  const flat = rowsOf(100).map((row) => (row === 40 ? 7.5 : 5))
  assert.deepEqual(found(flat), [40])
  assert.deepEqual(found(rowsOf(200).map((row) => (row % 67 === 5 ? 1 : 0))), [])
  assert.deepEqual(found(rowsOf(200).map((row) => (row === 5 ? 30 : 0))), [5])
})

test('a series without noise has no anomalies of rounding', () => {
  assert.deepEqual(found(rowsOf(60).map((row) => 0.1 * row)), [])
  const broken = rowsOf(60).map((row) => 0.1 * row + (row === 30 ? 0.5 : 0))
  assert.deepEqual(found(broken), [30])
})

test('a value half as high again stands out of growth without noise', () => {
  for (const grown of [(row: number) => 100 + 2 * row, (row: number) => 1000 * 1.05 ** row])
    for (const n of [24, 60, 120]) {
      const at = Math.floor(0.6 * n)
      const values = rowsOf(n).map((row) => grown(row) * (row === at ? 1.5 : 1))
      assert.deepEqual(found(values), [at])
    }
})

test('days that stand out every year are found where none stands out by itself, and none in noise', () => {
  const first = 11_323 // 2001-01-01
  const days = rowsOf(1095).map((row) => first + row)
  const dates = days.map((day) => new Date(day * 86_400_000).toISOString().slice(5, 10))
  const known = new Set(['01-01', '07-04', '12-24', '12-25'])
  const heavy = normals(1095, 17).map((value) => value / Math.sqrt(Math.abs(value) < 0.05 ? 0.02 : 1))
  const values = heavy.map((value, row) => value - (known.has(dates[row]!) ? 6 : 0))
  const found = yearlyDays(days, values, 0.01)
  assert.deepEqual(new Set([...found.keys()].map((index) => dates[index])), known)
  assert.equal(found.size, 12)
  let alarms = 0
  for (let seed = 1; seed <= 60; seed++)
    if (yearlyDays(days, normals(1095, 31 * seed), 0.01).size > 0) alarms += 1
  assert.ok(alarms <= 3, `${alarms} of 60`)
  const { spikes } = findSpikes(values, rowsOf(1095), [], 100, 0.04, { aside: found })
  assert.ok([...found.keys()].every((row) => spikes.some(({ index }) => index === row)))
})

test('an outage is found as one stretch, at its length, and a wandering series has none', () => {
  const series = (make: (seed: number) => number[]): number[] => {
    const sizes = rowsOf(12).map((seed) => {
      const values = make(104_729 * (seed + 1))
      const { found } = findInSeries(
        { values, rows: rowsOf(values.length), waves: [], levels: [], days: null },
        12,
        0.05,
      )
      return found.spikes.filter(({ index }) => values[index] === 0).length
    })
    return sizes.toSorted((a, b) => a - b)
  }
  for (const days of [5, 7, 14]) {
    const sizes = series((seed) => {
      const next = uniform(seed)
      return rowsOf(120).map((row) => (row >= 60 && row < 60 + days ? 0 : 90 + 20 * next()))
    })
    assert.ok(sizes[1] === days, `${days} days: ${sizes.join()}`)
  }
  let claims = 0
  for (let seed = 1; seed <= 40; seed++) {
    let [walk, slow] = [0, 0]
    const noise = normals(120, 31 * seed)
    const steps = normals(120, 7919 * seed)
    for (const values of [
      steps.map((step) => (walk += step)),
      steps.map((step, row) => (slow += 0.3 * step) + noise[row]!),
    ])
      if (findStretches(values, rowsOf(120), [], 0.05).length > 0) claims += 1
  }
  assert.ok(claims <= 4, `${claims} of 80`)
})

test('an outage of five or seven days is a level that begins and ends, and one of three is none', () => {
  const rows = rowsOf(120)
  const levels = (days: number): string => {
    const values = normals(120, 17 + days).map((one, row) =>
      row >= 60 && row < 60 + days ? 0 : 100 + 10 * one,
    )
    const found = withShortLevels(levelChanges(values, rows, []), values, rows, [])
    return found.map(({ index }) => index).join()
  }
  assert.deepEqual([levels(3), levels(5), levels(7)], ['', '60,65', '60,67'])
})
