/**
 * Whether a series has seasons, and of what length. The test is that of the M4 competition (Makridakis, Spiliotis and
 * Assimakopoulos 2020): after a straight line is taken out, autocorrelation at the lag of a season must exceed its
 * 90% bound, and the series must cover two seasons.
 */
import { exactMean } from './exact.ts'

/** Autocorrelations at lags 0 to `most` of the series less its straight line. */
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

export function isSeasonal(correlations: readonly number[], period: number, n: number): boolean {
  if (period < 2 || n < 2 * period || period >= correlations.length) return false
  const squares = correlations.slice(1, period).reduce((sum, value) => sum + value * value, 0)
  return correlations[period]! > 1.6448536269514722 * Math.sqrt((1 + 2 * squares) / n)
}

/**
 * The period: the first of `candidates` (what the calendar suggests) that passes, else the lag under n / 3 whose
 * autocorrelation peaks highest and passes; null where there is none.
 */
export function detectPeriod(values: readonly number[], candidates: readonly number[]): number | null {
  const n = values.length
  if (n < 8) return null
  const most = Math.min(Math.floor(n / 2), Math.max(400, ...candidates))
  const correlations = autocorrelations(values, most)
  const suggested = candidates.find((period) => isSeasonal(correlations, period, n))
  if (suggested !== undefined) return suggested
  if (candidates.length > 0) return null
  let best: number | null = null
  for (let lag = 2; lag <= Math.floor(n / 3) && lag < correlations.length - 1; lag++) {
    const here = correlations[lag]!
    const peak = here > correlations[lag - 1]! && here >= correlations[lag + 1]!
    if (peak && isSeasonal(correlations, lag, n) && (best === null || here > correlations[best]! + 0.05))
      best = lag
  }
  return best
}

/** The values less their least-squares line over the row number. */
export function detrended(values: readonly number[]): number[] {
  const n = values.length
  const mean = exactMean(values)
  const middle = (n - 1) / 2
  let products = 0
  for (const [index, value] of values.entries()) products += (index - middle) * (value - mean)
  const slope = n > 1 ? products / ((n * (n * n - 1)) / 12) : 0
  return values.map((value, index) => value - mean - slope * (index - middle))
}
