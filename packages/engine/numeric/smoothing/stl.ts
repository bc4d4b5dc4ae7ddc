/**
 * Decomposes a series into season and trend by loess: R. B. Cleveland, W. S. Cleveland, McRae and Terpenning, STL,
 * Journal of Official Statistics 6 (1990), 3-73, with its defaults as R's stl chooses them. Tests compare it with the
 * results of the authors' Fortran.
 */
import { type Loess, loess, loessAt } from './loess.ts'

export interface StlOptions {
  period: number
  seasonal: Loess
  trend: Loess
  low: Loess
  inner: number
  /** The number of rounds with robustness weights; 0 for none. */
  outer: number
}

export interface Decomposition {
  seasonal: number[]
  trend: number[]
  remainder: number[]
  /** The robustness weights; all 1 without robustness. */
  weights: number[]
}

/**
 * Returns the options that R's stl would take: local constants for the season, local lines for the rest, windows from
 * the period, jumps of a tenth of a window.
 */
export function stlOptions(period: number, seasonalWindow: number, robust: boolean): StlOptions {
  const smoother = (window: number): Loess => ({ window, degree: 1, jump: Math.ceil(window / 10) })
  return {
    period,
    seasonal: { ...smoother(seasonalWindow), degree: 0 },
    trend: smoother(odd(Math.ceil((1.5 * period) / (1 - 1.5 / seasonalWindow)))),
    low: smoother(odd(period)),
    inner: robust ? 1 : 2,
    outer: robust ? 15 : 0,
  }
}

function odd(value: number): number {
  return value % 2 === 0 ? value + 1 : value
}

/** Decomposes at least two whole periods of values. */
export function stl(values: readonly number[], options: StlOptions): Decomposition {
  let trend = values.map(() => 0)
  let seasonal = values.map(() => 0)
  let weights: number[] | null = null
  for (let round = 0; round <= options.outer; round++) {
    for (let pass = 0; pass < options.inner; pass++) {
      const cycles = smoothCycles(
        values.map((value, index) => value - trend[index]!),
        options,
        weights,
      )
      const { period } = options
      const low = loess(
        movingAverage(movingAverage(movingAverage(cycles, period), period), 3),
        options.low,
        null,
      )
      seasonal = values.map((_, index) => cycles[period + index]! - low[index]!)
      const adjusted = values.map((value, index) => value - seasonal[index]!)
      trend = loess(adjusted, options.trend, weights)
    }
    if (round < options.outer)
      weights = robustness(values.map((value, index) => value - trend[index]! - seasonal[index]!))
  }
  return {
    seasonal,
    trend,
    remainder: values.map((value, index) => value - trend[index]! - seasonal[index]!),
    weights: weights ?? values.map(() => 1),
  }
}

/** Smooths each season's values by themselves, and adds one cycle before and after. */
function smoothCycles(
  values: readonly number[],
  { period, seasonal }: StlOptions,
  weights: number[] | null,
): number[] {
  const result = Array.from({ length: values.length + 2 * period }, () => 0)
  for (let phase = 0; phase < period; phase++) {
    const picked = values.filter((_, index) => index % period === phase)
    const rows = weights ? weights.filter((_, index) => index % period === phase) : null
    const smooth = loess(picked, seasonal, rows)
    const n = picked.length
    const before = loessAt(picked, seasonal, -1, 0, Math.min(seasonal.window, n) - 1, rows) ?? smooth[0]!
    const after =
      loessAt(picked, seasonal, n, Math.max(0, n - seasonal.window), n - 1, rows) ?? smooth[n - 1]!
    for (const [cycle, value] of [before, ...smooth, after].entries()) result[cycle * period + phase] = value
  }
  return result
}

function movingAverage(values: readonly number[], window: number): number[] {
  let sum = 0
  for (let index = 0; index < window; index++) sum += values[index]!
  const result = [sum / window]
  for (let index = window; index < values.length; index++) {
    sum += values[index]! - values[index - window]!
    result.push(sum / window)
  }
  return result
}

/** Returns bisquare weights of the residuals over six times their median size. */
function robustness(residuals: readonly number[]): number[] {
  const sizes = residuals.map(Math.abs)
  const sorted = sizes.toSorted((a, b) => a - b)
  const n = sorted.length
  const scale = 3 * (sorted[Math.floor(n / 2)]! + sorted[n - Math.floor(n / 2) - 1]!)
  return sizes.map((size) => {
    if (size <= 0.001 * scale) return 1
    return size <= 0.999 * scale ? (1 - (size / scale) ** 2) ** 2 : 0
  })
}
