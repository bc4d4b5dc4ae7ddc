/**
 * Centres values that lie far from zero compared with their spread. Their squares would leave no digits for their
 * variation, so the mean is subtracted first.
 */

/** A distance from the mean below this share of it would be lost in squares, which hold 16 digits. */
const FAR_FROM_ZERO = 1e-4

/** Returns the centre: the mean if all values lie far from zero compared with their spread, else 0. */
export function centreOf(values: ArrayLike<number>): number {
  const n = values.length
  let sum = 0
  for (let row = 0; row < n; row++) sum += values[row]!
  const mean = sum / n
  let away = 0
  for (let row = 0; row < n; row++) away = Math.max(away, Math.abs(values[row]! - mean))
  return away < FAR_FROM_ZERO * Math.abs(mean) ? mean : 0
}

/** Returns the values less their centre, or the values themselves if they lie near zero. */
export function centred<T extends ArrayLike<number>>(values: T, centre = centreOf(values)): T | number[] {
  return centre === 0 ? values : Array.from(values, (value) => value - centre)
}

/** Returns `centreOf` if `constant` is a column of equal numbers, which absorbs the centre, else 0. */
export function centreBeside(values: ArrayLike<number>, constant: ArrayLike<number> | undefined): number {
  const level = constant?.[0] ?? 0
  if (!constant || level === 0) return 0
  for (let row = 1; row < constant.length; row++) if (constant[row] !== level) return 0
  return centreOf(values)
}
