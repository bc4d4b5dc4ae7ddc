/** Computes means, deviations and products by exact sums. */
import { exactSum } from './sum.ts'

/**
 * Returns the mean of the values, rounded twice: once as an exact sum, once as a quotient. Returns NaN for no values.
 */
export function exactMean(values: readonly number[]): number {
  return exactSum(values) / values.length
}

/**
 * Returns the sum of squared deviations from the mean: two passes, both exact sums, with the correction of Chan et al.
 * (1983).
 */
export function squaredDeviations(values: readonly number[]): number {
  const mean = exactMean(values)
  const deviations = values.map((value) => value - mean)
  const rest = exactSum(deviations)
  return exactSum(deviations.map((deviation) => deviation * deviation)) - (rest * rest) / values.length
}

/** Returns the variance with the divisor n - 1, or NaN for fewer than two values. */
export function variance(values: readonly number[]): number {
  return values.length < 2 ? Number.NaN : squaredDeviations(values) / (values.length - 1)
}

/** Returns a product as the nearest double and the exact rest (T. J. Dekker, Numer. Math. 18, 1971). */
export function twoProduct(a: number, b: number): [high: number, low: number] {
  const high = a * b
  const [a1, a2] = split(a)
  const [b1, b2] = split(b)
  const low = a2 * b2 - (high - a1 * b1 - a2 * b1 - a1 * b2)
  return [high, Number.isFinite(low) ? low : 0]
}

function split(value: number): [number, number] {
  const wide = 134_217_729 * value
  const high = wide - (wide - value)
  return [high, value - high]
}
