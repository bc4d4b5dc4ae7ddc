/**
 * Computes the chance of a shift among few leaves, averaged over all sizes that their noise may have. Few leaves cannot
 * show how much they vary beyond their rows, nor how much the values of a column vary together. A single estimate of
 * either is often too small, and the largest shift would then look like a cause. So the chance is the mean over a grid
 * of both, each weighted by how well it fits the other leaves, and those of the element around their own mean (the
 * posterior predictive tail: Box, J. Royal Statistical Society A 143, 1980).
 */
import { normalTwoSided } from '../numeric/distributions.ts'
import type { Cuboid, Leaves } from './leaves.ts'
import type { Scores } from './noise.ts'

/** The most leaves that count as few. More leaves show their noise by themselves. */
export const FEW = 200
/**
 * The grid of standard deviations that all leaves share beyond those of their rows, as shares of their size, and the
 * prior weight of none.
 */
const SHARED = [0.01, 0.02, 0.03, 0.045, 0.065, 0.09, 0.125, 0.18, 0.25, 0.35]
const NONE_SHARED = 0.9
/** The same grid for rows that show nothing, with equal prior weights. */
const UNTOLD = Array.from({ length: 90 }, (_, step) => 1e-4 * 1.115 ** step)
/** The grid of standard deviations by which the values of a column vary together. */
const TOGETHER = [0.01, 0.02, 0.03, 0.045, 0.065, 0.09, 0.125, 0.18]
const NONE_TOGETHER = 0.94
/**
 * The grid of either if earlier changes show it, or if rows show only part of the variation. Any size has the same
 * prior weight as none.
 */
const WIDE = [0.01, 0.015, 0.023, 0.035, 0.053, 0.08, 0.12, 0.18, 0.27, 0.4, 0.6, 0.9]
const NONE_OF_WIDE = 0.5
const LEAST_VARIANCE = 1e-18

interface Shift {
  cuboid: Cuboid
  /** The leaves of one element, and all others. */
  members: readonly number[]
  others: readonly number[]
  /** Whether the other leaves are known to lie around 0. */
  fixed: boolean
  /** The same leaves in earlier changes, in which nothing is known to have happened. */
  history: readonly Scores[]
}

interface Part {
  mean: number
  weight: number
  /** Squares around the mean, and the logarithms of the variances. */
  within: number
}

type Weighed = readonly [value: number, weight: number]

function weighed(values: readonly number[], none: number): Weighed[] {
  return [[0, none], ...values.map((value): Weighed => [value, (1 - none) / values.length])]
}
const SHARED_BESIDE_ROWS = weighed(SHARED, NONE_SHARED)
const ALL_OF_IT = UNTOLD.map((value): Weighed => [value, 1])
const TOGETHER_OR_NOT = weighed(TOGETHER, NONE_TOGETHER)
const ANY_OR_NONE = weighed(WIDE, NONE_OF_WIDE)
const APART_ONLY: Weighed[] = [[0, 1]]

/** Returns the two-sided chance of a mean at least this far from that of the others if nothing happened. */
export function chanceOfShift({ variances, partly }: Leaves, { s, x }: Scores, shift: Shift): number {
  const { cuboid, members, others, fixed, history } = shift
  const groups = [...Map.groupBy(others, (leaf) => cuboid.element[leaf]!).values()]
  const pasts = history.map((past) => ({ ...past, groups: groupsOf(cuboid, past) }))
  // If elements are single leaves, their common variation is that of the leaves.
  const together = history.length > 0 ? ANY_OR_NONE : TOGETHER_OR_NOT
  const togethers = members.length > 1 ? together : APART_ONLY
  const tried: { fit: number; p: number }[] = []
  const beside = partly || history.length > 0 ? ANY_OR_NONE : SHARED_BESIDE_ROWS
  for (const [shared, likely] of variances ? beside : ALL_OF_IT) {
    const partIn =
      (scores: Scores) =>
      (leaves: readonly number[]): Part =>
        part(leaves, scores.s, (leaf) =>
          Math.max(LEAST_VARIANCE, (variances ? scores.x[leaf]! : 0) + shared * shared),
        )
    const own = partIn({ s, x })(members)
    const parts = groups.map(partIn({ s, x }))
    const earlier = pasts.map((past) => past.groups.map(partIn(past)))
    const within = [...parts, ...earlier.flat()].reduce(
      (sum, one) => sum + one.within,
      own.within + Math.log(own.weight),
    )
    for (const [spread, asLikely] of togethers) {
      const square = spread * spread
      const rest = between(parts, square, fixed)
      const error = Math.sqrt(1 / own.weight + square + rest.variance)
      const squares = earlier.reduce((sum, one) => sum + between(one, square, false).squares, rest.squares)
      tried.push({
        fit: Math.log(likely * asLikely) - (within + squares) / 2,
        p: normalTwoSided((own.mean - rest.mean) / error),
      })
    }
  }
  return meanOf(tried)
}

/** Returns the informative leaves of an earlier change, by their elements. */
const groupsOf = ({ element }: Cuboid, { s }: Scores): number[][] => [
  ...Map.groupBy(
    [...s.keys()].filter((leaf) => !Number.isNaN(s[leaf]!)),
    (leaf) => element[leaf]!,
  ).values(),
]

function part(leaves: readonly number[], s: Float64Array, varianceOf: (leaf: number) => number): Part {
  let [weight, pull, within] = [0, 0, 0]
  for (const leaf of leaves) {
    const variance = varianceOf(leaf)
    weight += 1 / variance
    pull += s[leaf]! / variance
    within += Math.log(variance)
  }
  const mean = pull / weight
  for (const leaf of leaves) within += (s[leaf]! - mean) ** 2 / varianceOf(leaf)
  return { mean, weight, within }
}

/** Returns the mean of the other elements if they vary together by this variance, and how badly that fits them. */
function between(parts: readonly Part[], together: number, fixed: boolean) {
  let [heft, pull, squares] = [0, 0, 0]
  for (const { mean, weight } of parts) {
    const known = 1 / (1 / weight + together)
    heft += known
    pull += known * mean
    squares += Math.log1p(together * weight)
  }
  const mean = fixed ? 0 : pull / heft
  for (const one of parts) squares += (one.mean - mean) ** 2 / (1 / one.weight + together)
  return fixed
    ? { mean, squares, variance: 0 }
    : { mean, squares: squares + Math.log(heft), variance: 1 / heft }
}

function meanOf(tried: readonly { fit: number; p: number }[]): number {
  const best = tried.reduce((most, { fit }) => Math.max(most, fit), -Infinity)
  let [sum, whole] = [0, 0]
  for (const { fit, p } of tried) {
    const weight = Math.exp(fit - best)
    whole += weight
    sum += weight * p
  }
  return sum / whole
}
