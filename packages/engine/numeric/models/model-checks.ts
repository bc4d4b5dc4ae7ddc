/**
 * Checks the assumptions of a linear fit: standard errors that allow changing variance (HC3: MacKinnon and White, J.
 * Econometrics 29, 1985), Ramsey's RESET of form with squares and cubes of the fitted values (JRSS B 31, 1969),
 * Koenker's form of Breusch and Pagan's test of changing variance (J. Econometrics 17, 1981), variance inflation, lag-1
 * correlation of residuals.
 */
import { chiSquareUpper, fUpper } from '../distributions.ts'
import { exactMean } from '../exact.ts'
import { type Basis, dot, leverages, orthonormal, sandwichDiagonal, weightedProducts } from './orthonormal.ts'

/** Returns standard errors by HC3, or null if a row alone decides a coefficient (leverage 1). */
export function hc3Errors({ q, inverse }: Basis, residuals: readonly number[]): number[] | null {
  const pull = leverages(q)
  if (pull.some((share) => share > 1 - 1e-10)) return null
  const weights = pull.map((share, row) => (residuals[row]! / (1 - share)) ** 2)
  return sandwichDiagonal(inverse, weightedProducts(q, weights)).map(Math.sqrt)
}

export interface Check {
  statistic: number
  p: number
}

/**
 * Computes RESET with squares and cubes of the fitted values. `basis` holds the intercept. Returns null if the test
 * cannot be made.
 */
export function reset(basis: Basis, fitted: readonly number[], residuals: readonly number[]): Check | null {
  const n = fitted.length
  const rest = n - basis.q.length - 2
  if (rest < 1) return null
  const mean = exactMean(fitted)
  const size = fitted.reduce((most, value) => Math.max(most, Math.abs(value - mean)), 0)
  if (!(size > 0)) return null
  const shape = fitted.map((value) => (value - mean) / size)
  const wider = orthonormal([...basis.q, shape.map((z) => z ** 2), shape.map((z) => z ** 3)])
  if (!wider) return null
  const explained = wider.q.slice(-2).reduce((sum, column) => sum + dot(column, residuals) ** 2, 0)
  const whole = dot(Float64Array.from(residuals), residuals)
  const statistic = explained / 2 / ((whole - explained) / rest)
  return Number.isFinite(statistic) && statistic >= 0 ? { statistic, p: fUpper(statistic, 2, rest) } : null
}

/** Computes Koenker's test that the variance does not change with the columns. `basis` holds the intercept first. */
export function breuschPagan(basis: Basis, residuals: readonly number[]): Check | null {
  const squares = residuals.map((value) => value * value)
  const mean = exactMean(squares)
  const centered = squares.map((value) => value - mean)
  const whole = dot(Float64Array.from(centered), centered)
  if (!(whole > 0) || basis.q.length < 2) return null
  const explained = basis.q.slice(1).reduce((sum, column) => sum + dot(column, centered) ** 2, 0)
  const statistic = (residuals.length * explained) / whole
  return { statistic, p: chiSquareUpper(statistic, basis.q.length - 1) }
}

/**
 * Returns the factor by which the other columns inflate each column's variance. It is infinite if they determine the
 * column. The columns hold no intercept.
 */
export function varianceInflation(columns: readonly (readonly number[])[]): number[] {
  const centered = columns.map((column) => {
    const mean = exactMean(column)
    return Float64Array.from(column, (value) => value - mean)
  })
  const basis = orthonormal(centered)
  if (!basis) return columns.map(() => Number.POSITIVE_INFINITY)
  return basis.inverse.map((row, index) => {
    const size = dot(centered[index]!, centered[index]!)
    return size * row.reduce((sum, value) => sum + value * value, 0)
  })
}

/** Returns the correlation of each residual with the one before it, in the given order, or NaN if they do not vary. */
export function lagOne(residuals: readonly number[]): number {
  let products = 0
  let squares = 0
  for (const [row, value] of residuals.entries()) {
    squares += value * value
    if (row > 0) products += value * residuals[row - 1]!
  }
  return products / squares
}
