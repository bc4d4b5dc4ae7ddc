/**
 * Tests whether a series wanders longer than its neighbours show. A slow wave beneath noise persists over many steps
 * although neighbours are hardly alike, and errors of one persistence miss it. The variance of sums of the residuals
 * then grows faster than their length (the variance ratio of Lo and MacKinlay, Rev. Financial Studies 1, 1988).
 */
import { dot, residualsOf } from './residuals.ts'

/** Lengths of the sums, each up to this share of the values. */
const LENGTHS = [4, 8, 16, 32]
const SHARE = 0.2
/** The distance in standard errors that is clear. */
const CLEARLY = 2.33

/**
 * Tells whether the residuals wander longer than their neighbours show. `columns` explain the values and include the
 * constant. `slow` returns how many of them hardly move over so many values.
 */
export function lasts(
  values: readonly number[],
  columns: readonly (readonly number[])[],
  slow: (length: number) => number,
): boolean {
  const { left } = residualsOf(values, [], columns)
  const n = left.length
  const whole = dot(left, left)
  if (!(whole > 0)) return false
  const a = Math.max(-0.9, Math.min(0.98, dot(left.subarray(1), left.subarray(0, n - 1)) / whole))
  const rest = left.map((value, row) =>
    row === 0 ? Math.sqrt(1 - a * a) * value : value - a * left[row - 1]!,
  )
  const squares = dot(rest, rest)
  const longest = Math.floor(SHARE * n)
  const alike: number[] = [1]
  for (let lag = 1; lag < longest; lag++) {
    alike.push(dot(rest.subarray(lag), rest.subarray(0, n - lag)) / squares)
  }
  return LENGTHS.filter((length) => length <= longest).some((length) => {
    let ratio = 1
    for (let lag = 1; lag < length; lag++) ratio += 2 * (1 - lag / length) * alike[lag]!
    const error = Math.sqrt((2 * (2 * length - 1) * (length - 1)) / (3 * length * n))
    // Residuals from columns that hardly move are less alike than the errors. Shorter waves do not reduce the sums.
    return ratio - 1 + (length / n) * slow(length) > CLEARLY * error
  })
}
