/**
 * Computes the p of slopes if the rows are a series. Rows with dates are judged under errors as persistent as the
 * residuals, and under a changing spread (HC3). The larger p holds. Rows in the order of the data, and longer series,
 * are judged by the number of independent rows with as much information: n (1 - a b) / (1 + a b), with the lag-1
 * correlations a of the column and b of the residuals (relations/series-order.ts).
 */
import { studentTwoSided, studentUpperQuantile } from '../../numeric/distributions.ts'
import { exactMean } from '../../numeric/exact.ts'
import { hc3Errors, lagOne } from '../../numeric/models/model-checks.ts'
import type { Basis } from '../../numeric/models/orthonormal.ts'
import { persistentTest } from '../../series/persistence/persistent-regression.ts'
import { PERSISTENT_ROWS, worthOfRows } from '../relations/series-order.ts'
import type { Design } from './design.ts'

/** The most slopes for which persistent errors are estimated. */
const MOST_SLOPES = 10

interface Fit {
  y: readonly number[]
  /** The columns of the slopes, divided by their largest size as in `basis`. */
  slopes: readonly (readonly number[])[]
  /** The estimates of the slopes in the same units. */
  estimates: readonly number[]
  residuals: readonly number[]
  basis: Basis
  df: number
}

/** Returns the p of each slope. `own` are the p of independent rows, and no result is smaller. */
export function chancesOf(
  fit: Fit,
  own: readonly (number | null)[],
  series: Design['series'],
): (number | null)[] {
  const { y, slopes, basis } = fit
  if (series === 'rows' || y.length > PERSISTENT_ROWS || slopes.length > MOST_SLOPES)
    return asFewerRows(fit, own)
  const steady = slopes.map((column, index) => {
    const others = slopes.filter((_, other) => other !== index)
    const one = basis.q.length > slopes.length ? [y.map(() => 1)] : []
    return persistentTest(even(y), [...one, ...others], [column])?.p ?? 1
  })
  const loose = series === 'dated' ? looseSpread(fit) : null
  return own.map((p, index) => (p === null ? null : Math.max(p, steady[index]!, loose?.[index] ?? 0)))
}

function looseSpread({ basis, slopes, estimates, residuals, df }: Fit): number[] | null {
  const errors = hc3Errors(basis, residuals)?.slice(-slopes.length)
  return errors ? errors.map((error, index) => studentTwoSided(estimates[index]! / error, df)) : null
}

function asFewerRows({ slopes, residuals, df }: Fit, own: readonly (number | null)[]): (number | null)[] {
  const n = residuals.length
  const left = lagOne(residuals)
  return own.map((p, index) => {
    if (p === null || p >= 1) return p
    const mean = exactMean(slopes[index]!)
    const own = lagOne(slopes[index]!.map((value) => value - mean))
    const worth = worthOfRows(n, left, own)
    const t = p > 0 ? studentUpperQuantile(p / 2, df) : Number.MAX_VALUE
    return Math.max(p, studentTwoSided(t * Math.sqrt(worth / n), Math.max(1, worth - n + df)))
  })
}

function even(values: readonly number[]): number[] {
  const size = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1
  return values.map((value) => value / size)
}
