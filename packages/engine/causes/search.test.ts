import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type Case, powerOf } from '../../../proofs/causes/power.ts'
import { beyondChance } from './beyond-chance.ts'
import { attributeSets, cuboidOf, type Leaves } from './leaves.ts'
import { searchCauses } from './search.ts'

const SIZES = [6, 5, 4, 3]

/** Returns a generator of normal values with a seed (Mulberry32 and Box-Muller). */
function normals(seed: number): () => number {
  let state = seed >>> 0
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 4294967296
  }
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}

/** Makes every combination of values, each near its expectation. */
function noisy(seed: number, noise = 0.05): Leaves {
  const n = SIZES.reduce((product, size) => product * size, 1)
  const normal = normals(seed)
  const before = Float64Array.from({ length: n }, () => 100 * Math.exp(normal()))
  const after = before.map((value) => value * (1 + noise * normal()))
  const codes = SIZES.map((size, attribute) => {
    const below = SIZES.slice(attribute + 1).reduce((product, other) => product * other, 1)
    return Int32Array.from({ length: n }, (_, leaf) => Math.floor(leaf / below) % size)
  })
  return { codes, sizes: SIZES, before, after, variances: null }
}

const has = (leaves: Leaves, where: readonly number[], leaf: number): boolean =>
  where.every((code, attribute) => code < 0 || leaves.codes[attribute]![leaf] === code)

function moved(leaves: Leaves, where: readonly number[], factor: number): Leaves {
  return {
    ...leaves,
    after: leaves.after.map((value, leaf) => (has(leaves, where, leaf) ? value * factor : value)),
  }
}

const found = (leaves: Leaves, factor: number | null = 1) =>
  searchCauses(leaves, { depth: 9, q: 0.01, factor })

test('a cuboid holds every leaf once, in the element of its values', () => {
  const leaves = noisy(1)
  for (const attributes of attributeSets(4, 4)) {
    const { element, starts, members } = cuboidOf(leaves, attributes)
    assert.equal(
      starts.length - 1,
      attributes.reduce((product, attribute) => product * SIZES[attribute]!, 1),
    )
    assert.deepEqual(
      [...members].toSorted((a, b) => a - b),
      [...leaves.before.keys()],
    )
    for (let e = 0; e + 1 < starts.length; e++) {
      const own = members.subarray(starts[e], starts[e + 1])
      for (const leaf of own) {
        assert.equal(element[leaf], e)
        for (const attribute of attributes)
          assert.equal(leaves.codes[attribute]![leaf], leaves.codes[attribute]![own[0]!])
      }
    }
  }
})

test('a planted cause is found in its smallest form, whatever attributes it fixes, and nothing else', () => {
  const where = fc.tuple(...SIZES.map((size) => fc.integer({ min: -1, max: size - 1 })))
  const real = where.filter((codes) => codes.some((code) => code >= 0))
  const factor = fc.oneof(fc.double({ min: 0.05, max: 0.5 }), fc.double({ min: 1.8, max: 4 }))
  const RUNS = 40
  let beside = 0
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), real, factor, (seed, planted, times) => {
      const { causes } = found(moved(noisy(seed), planted, times))
      const names = causes.map((cause) => String(cause.where))
      assert.ok(names.includes(String(planted)), `${names.join(' | ')} for ${planted.join()}`)
      for (const cause of causes) assert.ok(cause.q <= 0.01)
      beside += names.length - 1
    }),
    { numRuns: RUNS, seed: 17, endOnFailure: true },
  )
  // At most a share of 1 % may be false.
  assert.ok(beside <= 2, `${beside} beside the ${RUNS} planted ones`)
})

test('two causes are told apart, and parts of a value are named rather than the value', () => {
  const one = moved(moved(noisy(5), [2, -1, -1, 1], 0.5), [-1, 3, 0, -1], 1.9)
  assert.deepEqual(
    new Set(found(one).causes.map(({ where }) => String(where))),
    new Set(['2,-1,-1,1', '-1,3,0,-1']),
  )
  const parts = moved(moved(noisy(6), [1, 0, -1, -1], 0.6), [1, 1, -1, -1], 0.6)
  assert.deepEqual(
    new Set(found(parts).causes.map(({ where }) => String(where))),
    new Set(['1,0,-1,-1', '1,1,-1,-1']),
  )
})

test('where nothing happened nothing is named: noise, noise of counts, whole regions that stray, skewed noise', () => {
  const makes: Record<string, (seed: number) => Leaves> = {
    noise: (seed) => noisy(seed, 0.2),
    counts: (seed) => {
      const leaves = noisy(seed, 0)
      const normal = normals(seed + 1)
      const stray = (value: number): number => Math.max(0, Math.round(value + Math.sqrt(value) * normal()))
      return { ...leaves, before: leaves.before.map(stray), after: leaves.before.map(stray) }
    },
    regions: (seed) => {
      const leaves = noisy(seed, 0.05)
      const normal = normals(seed + 1)
      const region = Float64Array.from({ length: SIZES[0]! }, () => Math.exp(0.1 * normal()))
      return { ...leaves, after: leaves.after.map((value, leaf) => value * region[leaves.codes[0]![leaf]!]!) }
    },
    skewed: (seed) => {
      const leaves = noisy(seed, 0)
      const normal = normals(seed + 1)
      return { ...leaves, after: leaves.after.map((value) => value * Math.exp(0.5 * normal() - 0.125)) }
    },
  }
  for (const [name, make] of Object.entries(makes)) {
    let named = 0
    for (let seed = 1; seed <= 25; seed++) named += found(make(seed)).causes.length > 0 ? 1 : 0
    assert.ok(named <= 2, `${name}: ${named} of 25`)
  }
})

test('what moved with the whole is no cause', () => {
  const everything = noisy(9)
  const fell = { ...everything, after: everything.after.map((value) => value * 0.84) }
  assert.deepEqual(found(fell, null).causes, [])
  const { causes, factor } = found(moved(fell, [3, 2, -1, -1], 0.2), null)
  assert.deepEqual(
    causes.map(({ where }) => where),
    [[3, 2, -1, -1]],
  )
  assert.ok(Math.abs(factor - 0.84) < 0.02)
})

test('attributes that one value implies are left out', () => {
  const leaves = noisy(11)
  // Each value of the last attribute lies in one value of the first: a city in its country.
  const city = leaves.codes[0]!.map((country, leaf) => country * 3 + leaves.codes[3]![leaf]!)
  const nested: Leaves = { ...leaves, codes: [...leaves.codes.slice(0, 3), city], sizes: [6, 5, 4, 18] }
  const { causes } = found(moved(nested, [2, -1, -1, 7], 0.3))
  assert.deepEqual(
    causes.map(({ where }) => where),
    [[-1, -1, -1, 7]],
  )
})

test('a change that a value or a combination made is not told as one of all parts, and one of all parts is', () => {
  const of = (sizes: number[], noise: Partial<Case>, planted: Case['planted'], factor: number) =>
    powerOf({ sizes, events: null, noise: 0, ...noise, planted, factor }, 50, 3)
  for (const noise of [{ events: 20 }, { noise: 0.15 }])
    for (const planted of ['value', 'combination'] as const)
      assert.ok(of([6, 6], noise, planted, 0.4).in_all <= 0.04, JSON.stringify({ noise, planted }))
  const alike = of([6, 6], { events: 200 }, 'all', 0.8)
  assert.deepEqual([alike.in_all >= 0.95, alike.false], [true, 0])
  assert.ok(of([6, 5, 4], { events: 200 }, 'value', 0.7).found >= 0.9)
})

test('of few leaves a value that fell is named, also where it holds half of them, and where all fell alike none is', () => {
  const of = (sizes: number[], planted: Case['planted']) =>
    powerOf({ sizes, events: null, noise: 0.05, planted, factor: planted === 'all' ? 0.8 : 0.4 }, 50, 3)
  const cases: [number[], number][] = [
    [[2, 3], 0.6],
    [[4, 3], 0.85],
    [[6, 6], 0.95],
    [[3, 2, 2], 0.7],
  ]
  for (const [sizes, least] of cases) {
    const { found: right, false: wrong } = of(sizes, 'value')
    assert.ok(right >= least && wrong <= 0.04, `${sizes.join(' x ')}: ${right} and ${wrong}`)
    assert.ok(of(sizes, 'all').false <= 0.04)
  }
})

test('what one leaf that outweighs all others does is its own, and where none moved none is named', () => {
  const table = (seed: number, factor: number): Leaves => {
    const normal = normals(seed)
    const stray = (mean: number): number => Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()))
    const mean = Float64Array.from({ length: 20 }, (_, leaf) => (leaf === 0 ? 938_600 : 20 * leaf ** 2))
    const before = mean.map(stray)
    const after = mean.map((size, leaf) => stray(leaf === 0 ? size * factor : size))
    const codes = [Int32Array.from(mean.keys())]
    return { codes, sizes: [20], before, after, variances: { before, after } }
  }
  let [right, wrong] = [0, 0]
  for (let seed = 1; seed <= 200; seed++) {
    const fell = found(table(seed, 0.9), null).causes.map(({ where }) => where[0])
    if (fell.length === 1 && fell[0] === 0) right += 1
    if (found(table(seed, 1), null).causes.length > 0) wrong += 1
  }
  assert.ok(right >= 190 && wrong <= 4, `${right} and ${wrong} of 200`)
})

test('what rates stray by shows where their rows tell no noise at all, and of equal rates it is nothing', () => {
  const leaves = Array.from({ length: 20 }, (_, leaf) => leaf)
  const [expected, none] = [new Float64Array(20).fill(100), new Float64Array(20)]
  const strayed = (by: number): number => {
    const came = Float64Array.from(leaves, (leaf) => 100 + (leaf % 2 === 0 ? by : -by))
    return beyondChance([{ expected, came, v0: none, v1: none, grouped: leaves }])
  }
  // The share is ten of a hundred on both sides together, and one standard error of the median.
  assert.ok(
    Math.abs(strayed(10) / Math.sqrt((100 * (1 + 2.33 / Math.sqrt(20))) / 0.4549 / 20_100) - 1) < 0.02,
  )
  assert.equal(strayed(0), 0)
})
