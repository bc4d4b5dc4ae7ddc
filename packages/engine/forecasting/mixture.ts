/** Computes quantiles of a mixture of Student distributions. */
import { studentLower } from '../numeric/distributions.ts'
import { type Ahead, around, onDemand } from './prediction.ts'

/** A mixture, with one entry for each part. */
export interface Mixture {
  middles: readonly number[]
  scales: readonly number[]
}

/** The quantiles of a normal distribution, as distances from its mean in standard deviations. */
const NORMAL: Ahead = around(0, 1, 1.2816, 1.96)

const CHANCES: Record<keyof Ahead, number> = {
  low_95: 0.025,
  low_80: 0.1,
  value: 0.5,
  high_80: 0.9,
  high_95: 0.975,
}
/** The precision of a distance, in standard deviations. */
const NEAR = 1e-8
const MOST_STEPS = 60
/** The steps ahead at which quantiles are solved. Steps between them are interpolated by their spread. */
const SOUGHT = [1, 2, 3, 4, 6, 8, 12, 18, 24, 36, 52, 90, 180, 365, 1000]

/** Returns the quantiles of a mixture at each step ahead. */
export function aheadOfMixture(
  steps: readonly Mixture[],
  weights: readonly number[],
  dfs: readonly number[],
): Ahead[] {
  const horizon = steps.length
  const known = SOUGHT.filter((step) => step <= horizon)
  if (known.at(-1) !== horizon) known.push(horizon)
  const sought = new Map<keyof Ahead, number[]>()
  /**
   * Returns the distances from the mean at the steps `known`, in standard deviations. Each search begins at the one
   * before.
   */
  const distances = (quantile: keyof Ahead): number[] => {
    const there = sought.get(quantile)
    if (there) return there
    let before = NORMAL[quantile]
    const found = known.map(
      (ahead) => (before = quantileOf(steps[ahead - 1]!, weights, dfs, CHANCES[quantile], before)),
    )
    sought.set(quantile, found)
    return found
  }
  return steps.map((step, index) => {
    const { mean, sd } = momentsOf(step, weights)
    let right = known.findIndex((ahead) => ahead >= index + 1)
    if (right < 0) right = known.length - 1
    const left = Math.max(0, right - 1)
    const span = known[right]! - known[left]!
    const share = span > 0 ? (index + 1 - known[left]!) / span : 1
    return onDemand((quantile) => {
      const at = distances(quantile)
      return mean + sd * ((1 - share) * at[left]! + share * at[right]!)
    })
  })
}

function momentsOf({ middles, scales }: Mixture, weights: readonly number[]): { mean: number; sd: number } {
  let mean = 0
  for (const [part, weight] of weights.entries()) mean += weight * middles[part]!
  let variance = 0
  for (const [part, weight] of weights.entries())
    variance += weight * (scales[part]! ** 2 + (middles[part]! - mean) ** 2)
  return { mean, sd: Math.sqrt(variance) }
}

/** Returns the quantile as a distance from the mean in standard deviations. `guess` is where the search begins. */
function quantileOf(
  mixture: Mixture,
  weights: readonly number[],
  dfs: readonly number[],
  chance: number,
  guess: number,
): number {
  const { mean, sd } = momentsOf(mixture, weights)
  if (!(sd > 0)) return 0
  const below = (at: number): number => {
    let sum = 0
    for (const [part, weight] of weights.entries()) {
      const scale = mixture.scales[part]!
      const gap = mean + sd * at - mixture.middles[part]!
      sum += weight * (scale > 0 ? studentLower(gap / scale, dfs[part]!) : gap >= 0 ? 1 : 0)
    }
    return sum
  }
  return crossing(below, chance, guess)
}

/**
 * Returns where a rising function passes `target`. It takes secants within a bracket that grows from `guess`, else the
 * middle of the bracket.
 */
function crossing(below: (at: number) => number, target: number, guess: number): number {
  let low = Number.NEGATIVE_INFINITY
  let high = Number.POSITIVE_INFINITY
  let at = guess
  let reach = 0.05
  let [before, gapBefore] = [Number.NaN, Number.NaN]
  for (let step = 0; step < MOST_STEPS; step++) {
    const gap = below(at) - target
    if (gap < 0) low = at
    else high = at
    const secant = at - (gap * (at - before)) / (gap - gapBefore)
    const [least, most] = [Math.max(low, at - reach), Math.min(high, at + reach)]
    const outside = Number.isFinite(high - low) ? (low + high) / 2 : gap < 0 ? most : least
    const next = secant > least && secant < most ? secant : outside
    if (Math.abs(next - at) < NEAR) return next
    reach *= 2
    ;[before, gapBefore] = [at, gap]
    at = next
  }
  return at
}
