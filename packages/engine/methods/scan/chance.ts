/** How likely counts as far from what is expected are by chance alone, whatever the noise of their series. */
import { betaTails } from '../../numeric/beta.ts'
import { normalTwoSided, normalUpperQuantile } from '../../numeric/distributions.ts'
import { gammaTails } from '../../numeric/gamma.ts'
import type { Scanned } from './scanned.ts'
import type { Segment } from './segments.ts'

/**
 * How the counts of a ratio stray: as chance lets single events stray (binomial where the numerator is a part of the denominator,
 * else Poisson), or by more. `likely` is the chance of a number at least as far from what is expected, on either side. `factor` is the variance of
 * all values but the farthest beside that of chance, at least 1; null where they stray clearly more, so that chance is no measure.
 */
export interface Chance {
  likely(step: number, expected: number | null): number
  factor: number | null
  /** By step: the distance of each value in standard deviations of chance. */
  strays: Map<number, number>
}

/** Values that stray by more than this beside chance are not those of chance alone. */
const MOST_FACTOR = 1.5
const LEAST_EVENTS = 5

/** Null where values are no counts. `steps` and `expected`: of each value of the segment. */
export function chanceOf(
  { ends }: Segment,
  { ratio }: Scanned,
  steps: readonly number[],
  expected: ArrayLike<number>,
): Chance | null {
  if (!ends || !ratio || ratio.event === null) return null
  const { top, bottom } = ends
  const share = top.every((events, step) => events <= bottom[step]!)
  const strays = new Map<number, number>()
  for (const [at, step] of steps.entries()) {
    const [of, rate] = [bottom[step]! / ratio.event, expected[at]!]
    const variance = of * rate * (share ? 1 - rate : 1)
    if (variance > 0) strays.set(step, Math.abs(top[step]! / ratio.event - of * rate) / Math.sqrt(variance))
  }
  const events = steps.reduce((sum, step) => sum + top[step]!, 0) / ratio.event / Math.max(1, steps.length)
  const seen = Float64Array.from(strays.values()).toSorted()
  // The middle, the far ones and the farthest but one, beside those of chance.
  const n = seen.length
  const ranks = [Math.floor(0.5 * n), Math.floor(0.95 * n), n - 2].filter((rank) => rank >= 0)
  const factors = ranks.map((rank) => (seen[rank]! / normalUpperQuantile((n - rank - 0.5) / n / 2)) ** 2)
  const factor = Math.max(1, ...factors)
  return {
    factor: factor <= MOST_FACTOR && events >= LEAST_EVENTS ? factor : null,
    strays,
    likely(step, rate) {
      if (rate === null || !(rate > 0)) return 1
      const [events, of] = [top[step]! / ratio.event!, bottom[step]! / ratio.event!]
      return Math.min(1, 2 * beyondChance(events, of, rate, share && rate < 1))
    },
  }
}

/** Of all times, those that may stand out; the next one shows whether chance is the measure of all. */
const MOST_TIMES = 0.03

/** The same factor over all segments, by the farthest value of each time but the few farthest; null where chance is no measure. */
export function factorOfAll(chances: readonly Chance[]): number | null {
  const known = chances.filter(({ factor }) => factor !== null)
  const farthest = new Map<number, number>()
  let values = 0
  for (const { strays, factor } of known)
    for (const [step, stray] of strays) {
      farthest.set(step, Math.max(farthest.get(step) ?? 0, stray / Math.sqrt(factor!)))
      values += 1
    }
  const rank = 1 + Math.max(1, Math.floor(MOST_TIMES * farthest.size))
  const seen = [...farthest.values()].toSorted((a, b) => b - a)[rank - 1]
  if (seen === undefined) return null
  const factor = Math.max(1, (seen / normalUpperQuantile((rank - 0.5) / values / 2)) ** 2)
  return factor <= MOST_FACTOR ? factor : null
}

/** A chance whose distance is shortened to that in noise of `factor` times the variance. */
export const widened = (p: number, factor: number): number =>
  p >= 1 ? 1 : normalTwoSided(normalUpperQuantile(Math.max(p, 1e-300) / 2) / Math.sqrt(factor))

/** The tail of a binomial variable, or of one of Poisson, on the side on which `events` lies. */
function beyondChance(events: number, of: number, rate: number, share: boolean): number {
  const mean = of * rate
  // P(X >= k): of Poisson the lower tail of a gamma variable, of a binomial variable that of a beta variable.
  const above = events >= mean
  const k = above ? events : events + 1
  if (k <= 0 || (share && k > of)) return 1
  const tails = share ? betaTails(rate, 1 - rate, k, of - k + 1) : gammaTails(k, mean)
  return above ? tails.lower : tails.upper
}
