/**
 * Computes how likely counts at least this far from their expectation are by chance alone, whatever the noise of their
 * series.
 */
import { betaTails } from '../../numeric/beta.ts'
import { gammaTails } from '../../numeric/gamma.ts'
import type { Scanned } from './scanned.ts'
import type { Segment } from './segments.ts'

/**
 * How counts vary compared with single events that come by chance: Poisson's law, and the binomial law for a ratio
 * whose numerator is a part of the denominator. `likely` returns the chance of a number at least as far from its
 * expectation, on either side. `squares` is the sum of the squared distances of `values` values, in standard deviations
 * of chance; far ones are cut at `FAR`.
 */
export interface Chance {
  likely(step: number, expected: number | null): number
  squares: number
  values: number
}

/**
 * Distances count as at most this many standard deviations, so that a few anomalies do not hide the law of chance.
 * Normal distances that are cut there have this mean square.
 */
const FAR = 3
const SQUARE = 0.995
/** Values vary by chance alone if their mean square is at most this many of its standard errors above 1. */
const ERRORS = 2

/**
 * Returns the chance of a segment's counts, or null if the values are no counts. `steps` and `expected` have an entry
 * for each value of the segment.
 */
export function chanceOf(
  { values: own, ends }: Segment,
  { event }: Scanned,
  steps: readonly number[],
  expected: ArrayLike<number>,
): Chance | null {
  if (event === null) return null
  // A sum counts as a rate with the denominator 1.
  const { top, bottom } = ends ?? { top: own, bottom: new Float64Array(own.length).fill(event) }
  const unit = ends ? 1 : event
  const share = ends !== null && top.every((events, step) => events <= bottom[step]!)
  let [squares, values] = [0, 0]
  for (const [at, step] of steps.entries()) {
    const [of, rate] = [bottom[step]! / event, expected[at]! / unit]
    const variance = of * rate * (share ? 1 - rate : 1)
    if (!(variance > 0)) continue
    squares += Math.min(FAR ** 2, (top[step]! / event - of * rate) ** 2 / variance)
    values += 1
  }
  return {
    squares,
    values,
    likely: (step, mean) => {
      const rate = (mean ?? 0) / unit
      if (!(rate > 0)) return 1
      return Math.min(1, 2 * beyondChance(top[step]! / event, bottom[step]! / event, rate, share && rate < 1))
    },
  }
}

/** Tells whether all of these values together vary no more than chance does. */
export function areByChance(chances: readonly Pick<Chance, 'squares' | 'values'>[]): boolean {
  const squares = chances.reduce((sum, one) => sum + one.squares, 0)
  const values = chances.reduce((sum, one) => sum + one.values, 0)
  return values > 0 && squares / values / SQUARE <= 1 + ERRORS * Math.sqrt(2 / values)
}

/** Returns the tail of a binomial or Poisson variable on the side of `events`. */
function beyondChance(events: number, of: number, rate: number, share: boolean): number {
  const mean = of * rate
  // P(X >= k) is the lower tail of a gamma variable for Poisson, and of a beta variable for the binomial.
  const above = events >= mean
  const k = above ? events : events + 1
  if (k <= 0 || (share && k > of)) return 1
  const tails = share ? betaTails(rate, 1 - rate, k, of - k + 1) : gammaTails(k, mean)
  return above ? tails.lower : tails.upper
}
