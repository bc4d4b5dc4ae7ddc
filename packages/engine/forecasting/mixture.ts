/** Quantiles of a mixture of Student distributions. */
import { studentLower } from '../numeric/distributions.ts'
import { type Ahead, around } from './prediction.ts'

/** One entry for each part. */
export interface Mixture {
  middles: readonly number[]
  scales: readonly number[]
}

/** The quantiles of a normal distribution, as distances from its mean in standard deviations. */
export const NORMAL: Ahead = around(0, 1, 1.2816, 1.96)

const CHANCES: readonly [keyof Ahead, number][] = [
  ['low_95', 0.025],
  ['low_80', 0.1],
  ['value', 0.5],
  ['high_80', 0.9],
  ['high_95', 0.975],
]
/** Of a distance in standard deviations. */
const NEAR = 1e-8
const MOST_STEPS = 60

export function momentsOf(
  { middles, scales }: Mixture,
  weights: readonly number[],
): { mean: number; sd: number } {
  let mean = 0
  for (const [part, weight] of weights.entries()) mean += weight * middles[part]!
  let variance = 0
  for (const [part, weight] of weights.entries())
    variance += weight * (scales[part]! ** 2 + (middles[part]! - mean) ** 2)
  return { mean, sd: Math.sqrt(variance) }
}

/** As distances from the mean in standard deviations; `guess` is where they may lie. */
export function quantilesOf(
  mixture: Mixture,
  weights: readonly number[],
  dfs: readonly number[],
  guess: Ahead,
): Ahead {
  const { mean, sd } = momentsOf(mixture, weights)
  if (!(sd > 0)) return around(0, 0, 0, 0)
  const below = (at: number): number => {
    let sum = 0
    for (const [part, weight] of weights.entries()) {
      const scale = mixture.scales[part]!
      const gap = mean + sd * at - mixture.middles[part]!
      sum += weight * (scale > 0 ? studentLower(gap / scale, dfs[part]!) : gap >= 0 ? 1 : 0)
    }
    return sum
  }
  const found = { ...guess }
  for (const [name, chance] of CHANCES) found[name] = crossing(below, chance, guess[name])
  return found
}

/** Where a rising function passes `target`: the secant within a bracket that grows from `guess`, else the bracket's middle. */
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
