/** Tests whether errors grow or shrink along a series, by the line of their sizes (Glejser, JASA 64, 1969). */

/**
 * The t statistics from which the spread is taken to shrink, and to grow. Shrinking needs more, because an interval
 * that is too narrow is the worse fault.
 */
const SHRINKS = 2
const GROWS = { level: 0.6, wandering: 1.2 }
/** The persistence from which a series wanders. Its intervals are then wide in any case. */
const WANDERS = 0.5
/** The largest size that counts, in medians, so that one outlier makes no trend. */
const WINSOR = 4
/**
 * The least spread relative to the mean one, and the largest beyond the end of the series relative to that at its end.
 */
const LEAST = 0.25
const MOST_AHEAD = 1.5

/**
 * Returns the spread at a position of the series relative to its root mean square, or null if it does not clearly
 * change. `errors` are innovations of this persistence.
 */
export function changingSpread(
  errors: readonly number[],
  persistence: number,
): ((place: number) => number) | null {
  const n = errors.length
  if (n < 20) return null
  const sizes = errors.map(Math.abs)
  const median = sizes.toSorted((a, b) => a - b)[n >> 1]!
  const clipped = sizes.map((size) => Math.min(size, WINSOR * median))
  const mean = clipped.reduce((sum, size) => sum + size, 0) / n
  const middle = (n - 1) / 2
  let products = 0
  for (const [place, size] of clipped.entries()) products += (place - middle) * (size - mean)
  const slope = products / ((n * (n * n - 1)) / 12)
  let squares = 0
  for (const [place, size] of clipped.entries()) squares += (size - mean - slope * (place - middle)) ** 2
  const error = Math.sqrt(squares / (n - 2) / ((n * (n * n - 1)) / 12))
  const grows = persistence < WANDERS ? GROWS.level : GROWS.wandering
  if (!(slope > grows * error || slope < -SHRINKS * error)) return null
  const at = (place: number): number => Math.max(LEAST * mean, mean + slope * (place - middle))
  let whole = 0
  for (let place = 0; place < n; place++) whole += at(place) ** 2
  const root = Math.sqrt(whole / n)
  const end = at(n - 1)
  return (place) => (place < n ? at(place) : Math.min(at(place), MOST_AHEAD * end)) / root
}
