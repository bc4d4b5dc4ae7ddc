/**
 * Computes partial correlation from a correlation matrix: the correlation of two columns after straight lines on the
 * others are removed from both (Fisher, Metron 3, 1924), with its t test and Fisher's interval. Each control takes one
 * degree of freedom.
 */
import { normalUpperQuantile, studentTwoSided } from '../distributions.ts'
import { inverseOf } from '../linear.ts'

export interface Partial {
  r: number
  p: number
  low: number | null
  high: number | null
}

/**
 * Returns the partial correlation of the first two columns of a correlation matrix over `n` rows. Returns null if the
 * others determine one of them, or n is too small.
 */
export function partialCorrelation(
  matrix: readonly (readonly number[])[],
  n: number,
  confidence: number,
): Partial | null {
  const controls = matrix.length - 2
  const df = n - 2 - controls
  const inverse = inverseOf(matrix)
  if (!inverse || df < 1 || !(inverse[0]![0]! > 0 && inverse[1]![1]! > 0)) return null
  const r = Math.min(1, Math.max(-1, -inverse[0]![1]! / Math.sqrt(inverse[0]![0]! * inverse[1]![1]!)))
  if (Math.abs(r) === 1) return { r, p: 0, low: r, high: r }
  const half = df > 1 ? normalUpperQuantile((1 - confidence) / 2) / Math.sqrt(df - 1) : null
  return {
    r,
    p: studentTwoSided(r * Math.sqrt(df / ((1 - r) * (1 + r))), df),
    low: half === null ? null : Math.tanh(Math.atanh(r) - half),
    high: half === null ? null : Math.tanh(Math.atanh(r) + half),
  }
}
