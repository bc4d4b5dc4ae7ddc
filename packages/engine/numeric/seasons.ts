/** Computes the autocorrelation of a series, and its residuals from a straight line. */
import { exactMean } from './exact.ts'

/** Returns autocorrelations at lags 0 to `most` of the series less its straight line. */
export function autocorrelations(values: readonly number[], most: number): number[] {
  const deviations = detrended(values)
  const at = (lag: number) => {
    let sum = 0
    for (let index = lag; index < deviations.length; index++)
      sum += deviations[index]! * deviations[index - lag]!
    return sum
  }
  const whole = at(0)
  const lags = Math.min(most, values.length - 1)
  const size = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  if (!(whole > values.length * (1e-12 * size) ** 2)) return Array.from({ length: lags + 1 }, () => 0)
  return Array.from({ length: lags + 1 }, (_, lag) => at(lag) / whole)
}

/** Returns the values less their least-squares line over the row number. */
export function detrended(values: readonly number[]): number[] {
  const n = values.length
  const mean = exactMean(values)
  const middle = (n - 1) / 2
  let products = 0
  for (const [index, value] of values.entries()) products += (index - middle) * (value - mean)
  const slope = n > 1 ? products / ((n * (n * n - 1)) / 12) : 0
  return values.map((value, index) => value - mean - slope * (index - middle))
}
