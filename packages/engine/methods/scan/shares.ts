/**
 * Computes the expected value of each leaf at one step, so that the leaves add up to the expectation of their segment.
 * A leaf's expectation is its part of the segment in the steps around, or in those at the same position in the season.
 * The noise of a leaf is its recent variance around that.
 */
import { unitOf } from '../drivers/counts.ts'
import { emptySums, type Sums } from '../drivers/leaf-rows.ts'
import { type Expectation, type Expected, type Past, tablesAround, type Window } from './around.ts'

export interface Leaves {
  /** The number of leaves. */
  n: number
  /** The leaf, step and value of each row. */
  leaf: Int32Array
  step: Int32Array
  value: Float64Array
  /** Their sum at each step. */
  total: Float64Array
}

/** Returns a table of leaves before and after, as the search for causes takes it; null if too few steps are around. */
export function expectAt(leaves: Leaves, at: number, whole: Expectation, window: Window): Expected | null {
  return tablesAround(window, at, whole, {
    sides: (step, expected, around) => sidesOf(leaves, step, expected, around),
    own: (step) => leaves.total[step]!,
    table: (past) => {
      const noise = noiseOf(leaves, past)
      return (found, expected, error) => ({
        before: sums(found.before),
        after: sums(found.after),
        noise: noise(found, expected, error),
      })
    },
  })
}

/** Returns the noise of each leaf, by its distance from its expectation in the steps of `past`. */
function noiseOf(leaves: Leaves, past: readonly Past<Sides>[]) {
  const unit = unitOf([leaves.value])
  const strays = new Float64Array(leaves.n)
  const silent = new Float64Array(leaves.n)
  for (const { own, before, after } of past) {
    const size = Math.max(1e-300, Math.abs(own))
    for (let leaf = 0; leaf < leaves.n; leaf++) {
      strays[leaf]! += (after[leaf]! - before[leaf]!) ** 2 / size
      if (after[leaf] === 0) silent[leaf]! += 1
    }
  }
  return ({ before, after }: Sides, expected: number, error: number): Float64Array =>
    before.map((value, leaf) => {
      const mean = (strays[leaf]! / Math.max(1, past.length)) * Math.abs(expected)
      const shared = expected === 0 ? 0 : ((value / expected) * error) ** 2
      // A leaf without rows for half of the time has the noise of the rows that came.
      const rare = 2 * silent[leaf]! > past.length ? rarely(after[leaf]!, unit) : 0
      return Math.max(mean + shared, rare)
    })
}

/** Returns the noise of a rare leaf: that of counts in their unit, or for other values that of one event. */
const rarely = (value: number, unit: number | null): number =>
  unit === null ? value * value : unit * Math.abs(value)

function sums(top: Float64Array): Sums {
  return { ...emptySums(top.length), top, rows: top.map((value) => (value === 0 ? 0 : 1)) }
}

interface Sides {
  before: Float64Array
  after: Float64Array
}

/**
 * Returns each leaf's mean over the steps around, shifted so that all add up to `expected`; in proportion if all are
 * above zero.
 */
function sidesOf(
  { n, leaf, step, value }: Leaves,
  at: number,
  expected: number,
  around: readonly number[],
): Sides {
  const near = new Set(around)
  const [mean, after] = [new Float64Array(n), new Float64Array(n)]
  for (const [row, of] of leaf.entries()) {
    if (near.has(step[row]!)) mean[of]! += value[row]! / around.length
    else if (step[row] === at) after[of]! += value[row]!
  }
  const sum = mean.reduce((all, one) => all + one, 0)
  const gross = mean.reduce((all, one) => all + Math.abs(one), 0)
  const before = gross > 0 ? mean.map((one) => one + ((expected - sum) * Math.abs(one)) / gross) : mean
  return { before, after }
}
