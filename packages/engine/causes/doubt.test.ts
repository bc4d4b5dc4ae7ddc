import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normal, randomFrom } from '../../../proofs/calibration/processes.ts'
import { namedIn as namedInRates, RATE_KINDS } from '../../../proofs/causes/rate-nulls.ts'
import { namedIn, SUM_KINDS } from '../../../proofs/causes/sum-nulls.ts'
import { combinationsOf, draw, SIDES } from '../../../proofs/causes/tables.ts'
import { causesOf } from '../methods/drivers/causes.ts'
import { emptySums, type Sums } from '../methods/drivers/leaf-rows.ts'
import type { Options } from '../methods/drivers/options.ts'
import { chanceOfShift } from './doubt.ts'
import { cuboidOf, type Leaves } from './leaves.ts'
import { scoresOf } from './noise.ts'

/** Returns the chance of the shift of the first value, for one column of values over parts of another. */
function chanceOfFirst(after: readonly (readonly number[])[], told: number | null): number {
  const parts = after[0]!.length
  const value = Int32Array.from(after.flat().keys(), (leaf) => Math.floor(leaf / parts))
  const n = value.length
  const variance = new Float64Array(n).fill(told ?? 0)
  const leaves: Leaves = {
    codes: [value],
    sizes: [after.length],
    before: new Float64Array(n).fill(100),
    after: Float64Array.from(after.flat()),
    variances: told === null ? null : { before: variance, after: variance },
  }
  const of = (first: boolean): number[] => [...value.keys()].filter((leaf) => (value[leaf] === 0) === first)
  const shift = {
    cuboid: cuboidOf(leaves, [0]),
    members: of(true),
    others: of(false),
    fixed: false,
    history: [],
  }
  return chanceOfShift(leaves, scoresOf(leaves, 1), shift)
}

const FELL = [70, 71, 69]
const CALM = [
  [100, 101, 99],
  [101, 100, 100],
  [99, 100, 101],
]

test('a shift passes for less where the other values stray together, and where their parts stray beyond what rows tell', () => {
  const alone = chanceOfFirst([FELL, ...CALM], 2)
  const together = chanceOfFirst([FELL, [85, 86, 84], [110, 109, 111], [100, 101, 99]], 2)
  const beyond = chanceOfFirst([FELL, [85, 110, 100], [110, 84, 101], [100, 86, 112]], 2)
  assert.ok(alone < 1e-3, String(alone))
  assert.ok(together > 20 * alone && beyond > 5 * alone, `${alone}, ${together}, ${beyond}`)
})

test('of two halves that moved apart by a tenth nothing is sure, however calm their parts are', () => {
  assert.ok(chanceOfFirst([[90, 90.1, 89.9], CALM[0]!], 0.01) > 0.005)
  assert.ok(chanceOfFirst([[20, 20.1, 19.9], CALM[0]!], 0.01) < 1e-3)
})

test('without any noise told, a shift is judged by how far parts stray, in any unit', () => {
  const calm = chanceOfFirst([FELL, ...CALM], null)
  const wild = chanceOfFirst([FELL, [80, 120, 95], [130, 75, 100], [90, 110, 125]], null)
  assert.ok(calm < 1e-4 && wild > 0.005, `${calm}, ${wild}`)
})

test('earlier changes tell how far values stray together, and that rates stray beyond what single rows tell', () => {
  const shared = 'the same by 30 %, three earlier changes'
  for (const sizes of [
    [2, 2],
    [3, 2],
    [4, 3],
  ]) {
    const { any } = namedIn(SUM_KINDS[shared]!, sizes, 40, 5)
    const alone = namedIn({ ...SUM_KINDS[shared]!, earlier: 0 }, sizes, 40, 5)
    assert.ok(any <= 1 && alone.any > any, `${sizes.join(' x ')}: ${any} and ${alone.any} of 40`)
    for (const kind of ['shocks of 30 %, a row each', 'shocks of 30 %, three earlier changes']) {
      const rates = namedInRates(RATE_KINDS[kind]!, sizes, 40, 5)
      assert.ok(rates.any <= 1, `${kind}, ${sizes.join(' x ')}: ${rates.any} of 40`)
    }
  }
  const fell = { rows: 'events', events: 2000, shock: 0, fall: 0.4, earlier: 3 } as const
  assert.ok(namedIn(fell, [3, 2], 20, 5).found >= 18)
})

test('two causes among twelve parts do not hide each other', () => {
  const combinations = combinationsOf([4, 3])
  const sums = (values: Float64Array): Sums => ({
    ...emptySums(values.length),
    rows: values,
    top: values,
    top2: values,
  })
  for (const fell of [
    [0, 5],
    [0, 5, 10],
  ]) {
    const random = randomFrom(fell.length)
    const side = (share: number) =>
      Float64Array.from({ length: 12 }, (_, leaf) => draw(random, fell.includes(leaf) ? share * 300 : 300))
    const table = { ...combinations, before: sums(side(1)), after: sums(side(0.2)) }
    const { causes } = causesOf(table, { by: ['c', 'd'], value: 'n' } as Options, SIDES, [])
    const named = causes.map(({ where }) => JSON.stringify([where.c, where.d])).toSorted()
    const planted = fell.map((leaf) => JSON.stringify([`v${Math.floor(leaf / 3)}`, `v${leaf % 3}`]))
    assert.deepEqual(named, planted)
  }
})

test('beside earlier changes two values that moved are both named, in one column or in two', () => {
  const combinations = combinationsOf([4, 3])
  const [c, d] = combinations.codes as [Int32Array, Int32Array]
  const by = (factors: number[], of: Int32Array) => (leaf: number) => factors[of[leaf]!]!
  const [half, third] = [by([0.5, 1.67, 1, 1], c), by([0.7, 1, 1, 1], c)]
  const email = by([1, 1.8, 1], d)
  const cases = [
    { moved: half, causes: [{ c: 'v0' }, { c: 'v1' }] },
    { moved: (leaf: number) => third(leaf) * email(leaf), causes: [{ c: 'v0' }, { d: 'v1' }] },
  ]
  for (const { moved, causes: planted } of cases) {
    const random = randomFrom(planted.length)
    for (let table = 0; table < 10; table++) {
      const side = (factor: (leaf: number) => number): Sums => {
        const top = Float64Array.from(c, (_, leaf) => 100 * (1 + (leaf % 5)) * factor(leaf))
        for (const leaf of top.keys()) top[leaf]! *= 1 + 0.05 * normal(random)
        return { ...emptySums(12), rows: new Float64Array(12).fill(1), top, top2: top.map((one) => one ** 2) }
      }
      const periods = Array.from({ length: 6 }, () => side(() => 1))
      const history = periods
        .slice(1)
        .map((before, at) => ({ before, after: periods[at]!, days: [1, 1] as [number, number] }))
      const found = causesOf(
        { ...combinations, before: periods[0]!, after: side(moved) },
        { by: ['c', 'd'], value: 'n' } as Options,
        SIDES,
        history,
      )
      const named = found.causes.map(({ where }) => JSON.stringify(where)).toSorted()
      assert.deepEqual(
        named,
        planted.map((where) => JSON.stringify(where)),
      )
    }
  }
})

test('where nothing happened few parts name few causes, also where values stray together or counts beyond chance', () => {
  for (const kind of ['events, 2,000 each, values by 10 %', 'counts of 200 that stray by 10 %, a row each'])
    for (const sizes of [
      [2, 2],
      [4, 3],
      [6, 6],
    ]) {
      const { any } = namedIn(SUM_KINDS[kind]!, sizes, 60, 5)
      assert.ok(any <= 6, `${kind}, ${sizes.join(' x ')}: ${any} of 60`)
    }
})
