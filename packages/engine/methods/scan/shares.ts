/**
 * Computes the expected value of each leaf at one step, so that the leaves add up to the expectation of their segment.
 * A leaf's expectation is its part of the segment in the steps around, or in those at the same position in the season.
 * The noise of a leaf is its recent variance around that.
 */
import { unitOf } from '../drivers/counts.ts'
import { emptySums, type Sums } from '../drivers/leaf-rows.ts'
import type { Earlier } from '../drivers/leaves.ts'

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

export interface Expectation {
  value: number
  /** Its standard deviation. */
  error: number
}

export interface Window {
  /** Steps that have data and no finding, ascending. */
  usual: readonly number[]
  /** Steps of a season; 1 without one. */
  season: number
}

/** The number of steps around from which a leaf's part is taken: for each position in a season, or without a season. */
const AROUND = { season: 8, plain: 28 }
export const LEAST_AROUND = 4
/** The most other steps that are expected in the same way, to show what is ordinary. */
const MOST_HISTORY = 24
export const EARLIER = 12

/** Returns a table of leaves before and after, as the search for causes takes it; null if too few steps are around. */
export function expectAt(
  leaves: Leaves,
  at: number,
  whole: Expectation,
  window: Window,
): { now: Earlier & { noise: Float64Array }; history: Earlier[] } | null {
  const around = near(window, at)
  if (around.length < LEAST_AROUND) return null
  const past = nearest(window, at).flatMap((step) => {
    const steps = near(window, step)
    return steps.length < LEAST_AROUND ? [] : [{ step, ...sides(leaves, step, leaves.total[step]!, steps) }]
  })
  const unit = unitOf([leaves.value])
  const strays = new Float64Array(leaves.n)
  const silent = new Float64Array(leaves.n)
  for (const { step, before, after } of past) {
    const size = Math.max(1e-300, Math.abs(leaves.total[step]!))
    for (let leaf = 0; leaf < leaves.n; leaf++) {
      strays[leaf]! += (after[leaf]! - before[leaf]!) ** 2 / size
      if (after[leaf] === 0) silent[leaf]! += 1
    }
  }
  const noiseOf = ({ before, after }: Sides, expected: number, error: number): Float64Array =>
    before.map((value, leaf) => {
      const mean = (strays[leaf]! / Math.max(1, past.length)) * Math.abs(expected)
      const shared = expected === 0 ? 0 : ((value / expected) * error) ** 2
      // A leaf without rows for half of the time has the noise of the rows that came.
      const rare = 2 * silent[leaf]! > past.length ? rarely(after[leaf]!, unit) : 0
      return Math.max(mean + shared, rare)
    })
  const table = (found: Sides, expected: number, error: number) => ({
    before: sums(found.before),
    after: sums(found.after),
    noise: noiseOf(found, expected, error),
    days: [1, 1] as [number, number],
  })
  return {
    now: table(sides(leaves, at, whole.value, around), whole.value, whole.error),
    history: past.slice(0, EARLIER).map((one) => table(one, leaves.total[one.step]!, 0)),
  }
}

/** Returns the nearest usual steps at any position in the season. */
export function nearest({ usual }: Window, at: number): number[] {
  return usual
    .filter((step) => step !== at)
    .toSorted((a, b) => Math.abs(a - at) - Math.abs(b - at) || a - b)
    .slice(0, MOST_HISTORY)
}

/** The noise of a rare leaf: that of counts in their unit; for other values that of one event. */
const rarely = (value: number, unit: number | null): number =>
  unit === null ? value * value : unit * Math.abs(value)

function sums(top: Float64Array): Sums {
  return { ...emptySums(top.length), top, rows: top.map((value) => (value === 0 ? 0 : 1)) }
}

/** Returns the nearest usual steps on both sides at the same position in the season. */
export function near({ usual, season }: Window, at: number): number[] {
  const most = season > 1 ? AROUND.season : AROUND.plain
  return usual
    .filter((step) => step !== at && (step - at) % season === 0)
    .toSorted((a, b) => Math.abs(a - at) - Math.abs(b - at) || a - b)
    .slice(0, most)
}

interface Sides {
  before: Float64Array
  after: Float64Array
}

/**
 * Returns each leaf's mean over the steps around, shifted so that all add up to `expected`; in proportion if all are
 * above zero.
 */
function sides(
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
