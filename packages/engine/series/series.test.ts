import assert from 'node:assert/strict'
import { test } from 'node:test'
import { levelChanges } from './level-changes.ts'
import { strongestShift } from './level-shift.ts'
import { levelSizes } from './levels/level-sizes.ts'
import { judgeLine } from './line.ts'
import { persistentRegression, persistentTest } from './persistence/persistent-regression.ts'
import { besideSpline, likeliestFit } from './persistence/step-models.ts'
import { findSeasons, lineColumn, testSeason } from './seasons.ts'
import { findSpikes } from './spikes/spikes.ts'
import { findStretches } from './spikes/stretches.ts'

const rowsOf = (n: number): number[] => Array.from({ length: n }, (_, row) => row)

/** Returns residuals of a linear congruential generator, centred: noise that is the same on every machine. */
function noise(n: number, seed = 1): number[] {
  let state = seed
  return Array.from({ length: n }, () => {
    let sum = 0
    for (let part = 0; part < 12; part++) {
      state = (state * 48271) % 2147483647
      sum += state / 2147483647
    }
    return sum - 6
  })
}

test('a line in independent noise has the estimate and nearly the interval of least squares', () => {
  const n = 400
  const rows = rowsOf(n)
  const y = noise(n).map((value, row) => value + (3 * row) / (n - 1))
  const fit = persistentRegression(y, [y.map(() => 1)], [lineColumn(rows)])!
  // The standard error of the slope by least squares, over a column from -0.5 to 0.5, is sd * sqrt(12 / n).
  assert.ok(Math.abs(fit.estimate - 3) < 0.5, String(fit.estimate))
  assert.ok(fit.p < 1e-6 && !fit.walk && Math.abs(fit.persistence) < 0.15)
  const half = (fit.high - fit.low) / 2
  assert.ok(half > 1.96 * Math.sqrt(12 / n) * 0.8 && half < 1.96 * Math.sqrt(12 / n) * 1.4, String(half))
})

test('a line through exact values is found whatever its noise, and a random walk allows no line', () => {
  const rows = rowsOf(60)
  const exact = persistentRegression(
    rows.map((row) => 2 * row),
    [rows.map(() => 1)],
    [lineColumn(rows)],
  )!
  assert.ok(exact.p < 1e-9 && Math.abs(exact.estimate - 118) < 1e-6)
  let found = 0
  for (let seed = 1; seed <= 40; seed++) {
    let level = 0
    const walk = noise(60, seed * 7919).map((value) => (level += value))
    if (persistentRegression(walk, [rows.map(() => 1)], [lineColumn(rows)])!.p < 0.05) found += 1
  }
  assert.ok(found <= 6, `${found} of 40 random walks have a trend`)
})

test('a test without an interval tells the same chance and persistence', () => {
  const rows = rowsOf(80)
  let level = 0
  for (const y of [noise(80), noise(80).map((value) => (level += value))]) {
    const { estimate, low, high, ...told } = persistentRegression(y, [rows.map(() => 1)], [lineColumn(rows)])!
    assert.deepEqual(persistentTest(y, [rows.map(() => 1)], [lineColumn(rows)]), told)
    assert.ok(low < estimate && estimate < high)
  }
})

test('a step is whitened as a column of zeros and ones is, though only until the curve has followed it', () => {
  const rows = rowsOf(3000)
  const values = noise(3000).map((value, row) => value + (row < 700 ? 0 : 3) + (row < 1900 ? 0 : -2))
  const base = [rows.map(() => 1), lineColumn(rows)]
  const steps = [700, 1900].map((place) => rows.map((row) => (row < place ? 0 : 1)))
  const [dense, sparse] = [
    besideSpline([...base, ...steps], values, []),
    besideSpline(base, values, [700, 1900]),
  ]
  for (const [nth, model] of dense.entries()) {
    const [one, other] = [model, sparse[nth]!].map(
      (own) => likeliestFit([own], [0, 1, 2, 3], 3000)!.likelihood,
    )
    assert.ok(Math.abs(one! - other!) < 1e-7, `${one} and ${other}`)
  }
})

test('a slow walk beneath noise makes no line, and a line in noise is found all the same', () => {
  const rows = rowsOf(200)
  const claims = (of: (seed: number) => number[]): number =>
    Array.from({ length: 12 }, (_, nth) => of(2 * nth + 1)).filter(
      (values) => (judgeLine(values, rows, [])?.p ?? 1) < 0.05,
    ).length
  const beneath = (seed: number): number[] => {
    const steps = noise(200, 7919 * seed)
    let level = 0
    return noise(200, seed).map((value, row) => value + (level += 0.32 * steps[row]!))
  }
  assert.ok(claims(beneath) <= 2, String(claims(beneath)))
  const rising = (seed: number): number[] => noise(200, 104_729 * seed).map((value, row) => value + row / 100)
  assert.ok(claims(rising) >= 11, String(claims(rising)))
})

test('a monthly wave without noise has a season of twelve, and a year shows in days and in weeks', () => {
  const wave = (n: number, period: number) =>
    rowsOf(n).map((row) => 100 + 20 * Math.sin((2 * Math.PI * row) / period))
  assert.deepEqual(
    findSeasons(wave(36, 12), rowsOf(36), [12]).map(({ period }) => period),
    [12],
  )
  const noisy = noise(1461).map((value, row) => value + wave(1461, 365.2425)[row]!)
  assert.deepEqual(
    findSeasons(noisy, rowsOf(1461), [7, 365.2425]).map(({ period }) => period),
    [365.2425],
  )
  const weeks = noise(156).map((value, row) => value + 2 * Math.sin((2 * Math.PI * row) / 52.1775))
  assert.equal(findSeasons(weeks, rowsOf(156), [52.1775]).length, 1)
})

test('a week and a year are found together', () => {
  const n = 1100
  const y = noise(n).map(
    (value, row) => value + (row % 7 === 0 ? 2 : 0) + 3 * Math.sin((2 * Math.PI * row) / 365.2425),
  )
  assert.deepEqual(
    findSeasons(y, rowsOf(n), [7, 365.2425]).map(({ period }) => period),
    [7, 365.2425],
  )
})

test('a change of level is found where it is, and neither a spike nor a slow wander is one', () => {
  const shifted = noise(100).map((value, row) => value + (row < 60 ? 0 : 3))
  const shift = strongestShift(shifted, [])!
  assert.ok(shift.p < 0.001 && Math.abs(shift.index - 60) <= 1 && Math.abs(shift.size - 3) < 1)
  const spiked = noise(100).map((value, row) => (row === 99 ? 500_000 : value))
  assert.ok(strongestShift(spiked, [])!.p > 0.05)
  // Equal values beside a spike have no noise of their own.
  for (const row of [0, 1, 98, 99])
    assert.deepEqual(levelChanges(Array<number>(100).fill(0).with(row, 500_000), rowsOf(100), []), [])
  let found = 0
  for (let seed = 1; seed <= 30; seed++) {
    let level = 0
    const walk = noise(80, seed * 104729).map((value) => (level += value))
    if (strongestShift(walk, [])!.p < 0.05) found += 1
  }
  assert.ok(found <= 5, `${found} of 30 random walks have a change of level`)
})

test('a change of level is no season, although two cycles of a slow wave look like one', () => {
  const y = noise(730).map((value, row) => value + (row < 365 ? 0 : 3))
  assert.deepEqual(findSeasons(y, rowsOf(730), [7, 365.2425]), [])
})

test('levels that hide each other in the whole are found in its parts', () => {
  const even = (row: number): number => ((row * row * 7919 + row * 104_729 + 13) % 10_007) / 10_007 - 0.5
  const values = Array.from({ length: 90 }, (_, row) => even(row) + (row < 30 ? 10 : row < 60 ? 20 : 5))
  const rows = values.map((_, row) => row)
  const found = levelChanges(values, rows, [])
  assert.equal(found.length, 2)
  for (const [nth, at] of [30, 60].entries()) assert.ok(Math.abs(found[nth]!.index - at) <= 2)
  assert.deepEqual(levelChanges(rows.map(even), rows, []), [])
})

test('a rise, straight, bent or by a share, has no change of level, and a leap beside it is found where it is', () => {
  const ways: ((share: number) => number)[] = [
    (share) => share,
    (share) => share ** 2,
    (share) => 1 / (1 + Math.exp(10 * (0.5 - share))),
    (share) => Math.max(0, 2 * share - 1),
  ]
  let claims = 0
  for (let seed = 1; seed <= 12; seed++)
    for (const way of ways) {
      const values = noise(200, 7919 * seed).map((one, row) => 20 * way(row / 200) + one)
      if (levelChanges(values, rowsOf(200), []).length > 0) claims += 1
    }
  const growth = noise(365).map((one, row) => 10 ** (row / 365) * (1 + one / 20))
  assert.ok(claims <= 3, `${claims} of 48 rises have a change of level`)
  assert.deepEqual(levelChanges(growth, rowsOf(365), []), [])
  assert.deepEqual(findStretches(growth, rowsOf(365), [], 0.01), [])
  const spiked = rowsOf(36).map((row) => 100 * 1.02 ** row * (row === 21 ? 1.5 : 1))
  assert.deepEqual(levelChanges(spiked, rowsOf(36), []), [])
  const leap = noise(200).map((one, row) => row / 20 + (row < 120 ? 0 : 8) + one)
  const found = levelChanges(leap, rowsOf(200), [])
  assert.deepEqual(
    found.map(({ index }) => index),
    [120],
  )
  const { sizes } = levelSizes(leap, rowsOf(200), found)
  assert.ok(Math.abs(sizes[0]!.before - 6) < 1 && Math.abs(sizes[0]!.after - 14) < 1, JSON.stringify(sizes))
})

test('a level that leaves for two weeks of sixty days and comes back is listed with both its days', () => {
  for (let seed = 1; seed <= 8; seed++) {
    const from = 5 + 4 * seed
    const values = noise(60, 104_729 * seed).map((one, row) =>
      row >= from && row < from + 14 ? 0 : 100 + 5 * one,
    )
    const places = levelChanges(values, rowsOf(60), []).map(({ index }) => index)
    assert.deepEqual(places, [from, from + 14])
  }
})

test('a change of level nearer to the end than is tried is placed where it is', () => {
  const values = Array.from(
    { length: 200 },
    (_, row) => (row < 193 ? 100 : 60) + (row % 7 === 0 ? 5 : (row * 37) % 11),
  )
  assert.equal(strongestShift(values, [])!.index, 193)
  assert.equal(strongestShift(values.toReversed(), [])!.index, 7)
})

test('a spread that grows or jumps makes no level, and a level in it is found all the same', () => {
  const spreads = [(row: number) => 1 + row / 50, (row: number) => (row < 50 ? 1 : 3)]
  for (const spread of spreads) {
    let chance = 0
    let found = 0
    for (let seed = 1; seed <= 100; seed++) {
      const values = noise(100, seed * 7919).map((value, row) => value * spread(row))
      if (levelChanges(values, rowsOf(100), []).length > 0) chance += 1
      const shifted = values.map((value, row) => value + (row < 50 ? 0 : 6))
      if (levelChanges(shifted, rowsOf(100), []).length > 0) found += 1
    }
    assert.ok(chance <= 8, `${chance} of 100 series of noise have a change of level`)
    assert.ok(found >= 90, `${found} of 100 changes are found`)
  }
})

test('a spread that jumps near the end makes no line, and a line in it is found all the same', () => {
  const rows = rowsOf(200)
  const jumps = (seed: number, slope: number): number[] =>
    noise(200, seed * 7919).map((value, row) => value * (row < 150 ? 1 : 4) + (slope * row) / 200)
  let claims = 0
  for (let seed = 1; seed <= 200; seed++) if (judgeLine(jumps(seed, 0), rows, [])!.p < 0.05) claims += 1
  // Without weights, 6 of 200 are claimed.
  assert.ok(claims <= 4, String(claims))
  assert.ok(judgeLine(jumps(3, 6), rows, [])!.p < 0.01)
})

test('a wave whose period is a little off has no changes of level', () => {
  const rows = rowsOf(1460)
  const wave = rows.map((row) => Number((100 + 20 * Math.sin((2 * Math.PI * row) / 365.25)).toFixed(3)))
  assert.deepEqual(levelChanges(wave, rows, [{ period: 365.2425 }]), [])
})

test('values far from zero are judged as the same values near zero', () => {
  const rows = rowsOf(60)
  const near = noise(60, 3).map((value, row) => value + (row >= 36 ? 4 : 0) + (row === 20 ? 20 : 0))
  const judged = (values: readonly number[]) => [
    judgeLine(values, rows, [])!.p,
    testSeason(values, rows, 7)!.p,
    ...levelChanges(values, rows, []).flatMap(({ index, p }) => [index, p]),
    ...findSpikes(values, rows, [], 3, 0.05).spikes.flatMap(({ index, p }) => [index, p]),
  ]
  const expected = judged(near)
  // A millionth of the values moves. Without centring, their squares lose every digit, and all of the noise is a
  // season.
  for (const level of [1e6, -1e8]) {
    const found = judged(near.map((value) => level + value))
    assert.equal(found.length, expected.length)
    for (const [place, value] of found.entries())
      assert.ok(Math.abs(value - expected[place]!) < 1e-4 * expected[place]! + 1e-9, `${level}: ${place}`)
  }
})

test('a change of level within the last twentieth of a series is placed where it is', () => {
  for (const [n, at] of [
    [200, 193],
    [200, 5],
    [120, 115],
  ] as const) {
    const values = noise(n).map((value, row) => value + (row < at ? -12 : 3))
    assert.deepEqual(
      levelChanges(values, rowsOf(n), []).map(({ index }) => index),
      [at],
      `${at} of ${n}`,
    )
  }
})

test('a season that wanders by itself and a walk of walks have no trend and no level, beside a season and a walk these are found', () => {
  const rows = rowsOf(140)
  const count = (of: (seed: number) => number[], claims: (values: number[]) => boolean): number =>
    rowsOf(20).filter((seed) => claims(of(7919 * (seed + 1)))).length
  const weekly = [...rows.keys()].map((row) => (row % 7 < 5 ? 3 : -7))
  const rises = (values: number[]): boolean =>
    (judgeLine(values, rows, findSeasons(values, rows, [7]))?.p ?? 1) < 0.05
  const steps = (values: number[]): boolean =>
    levelChanges(values, rows, findSeasons(values, rows, [7])).length > 0
  const seasonal = (seed: number): number[] => {
    const values: number[] = []
    for (const [row, one] of noise(140, seed).entries()) values.push((values[row - 7] ?? 3 * one) + one)
    return values
  }
  const twice = (seed: number): number[] => {
    let [slope, level] = [0, 0]
    return noise(140, seed).map((one) => (level += slope += one))
  }
  assert.ok(count(seasonal, rises) <= 3 && count(seasonal, steps) <= 3)
  assert.ok(count(twice, rises) <= 3)
  const beside =
    (effect: (row: number) => number) =>
    (seed: number): number[] =>
      noise(140, seed).map((one, row) => one + weekly[row]! + effect(row))
  assert.ok(
    count(
      beside((row) => row / 35),
      rises,
    ) >= 18,
  )
  assert.ok(
    count(
      beside((row) => (row < 80 ? 0 : 4)),
      steps,
    ) >= 18,
  )
  const drifting = (seed: number): number[] => {
    let level = 0
    return noise(140, seed).map((one) => (level += one + 0.6))
  }
  assert.ok(count(drifting, rises) >= 18)
})

test('a rise that bends is found beneath noise, and a walk whose drift wanders slowly has none', () => {
  const rows = rowsOf(200)
  const count = (of: (seed: number) => number[]): number =>
    rowsOf(12).filter((seed) => (judgeLine(of(7919 * (seed + 1)), rows, [])?.p ?? 1) < 0.05).length
  const growth = (seed: number): number[] =>
    noise(200, seed).map((one, row) => 100 * Math.exp(0.006 * row + 0.05 * one))
  const adoption = (seed: number): number[] =>
    noise(200, seed).map((one, row) => 20 / (1 + Math.exp(5 - row / 20)) + one)
  assert.equal(count(growth), 12)
  assert.equal(count(adoption), 12)
  const drifting = (seed: number): number[] => {
    const moves = noise(200, seed + 1)
    let [drift, level] = [0, 0]
    return noise(200, seed).map((one, row) => (level += (drift += 0.1 * moves[row]!) + one))
  }
  assert.ok(count(drifting) <= 4, String(count(drifting)))
})
