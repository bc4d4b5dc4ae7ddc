/** Finds the steps that lead to a figure, and the usual range of the earlier ones. */
import type { TileCourse } from '@assay/model/reading'

/** The most steps of a course. A drawing of 120 pixels shows no more. */
const MOST = 60
/** The fewest earlier steps for a usual range. */
const LEAST = 8

/** Returns the course, or null for fewer than 3 steps with values. */
export function courseOf(points: { at: string; value: number | null }[]): TileCourse | null {
  const shown = points.slice(-MOST)
  const earlier = shown
    .slice(0, -1)
    .flatMap(({ value }) => (value === null ? [] : [value]))
    .toSorted((a, b) => a - b)
  if (earlier.length < 2 || (shown.at(-1)?.value ?? null) === null) return null
  const usual = earlier.length >= LEAST
  return {
    points: shown,
    low: usual ? quantile(earlier, 0.1) : null,
    high: usual ? quantile(earlier, 0.9) : null,
  }
}

/** Interpolates between the two nearest values in proportion, as R's type 7 (Hyndman and Fan, 1996). */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share
  const [low, high] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!]
  return low + (high - low) * (place - Math.floor(place))
}
