/**
 * Forecasts intermittent demand. The chance of a demand and its size are smoothed separately (Teunter, Syntetos and
 * Babai, European J. Operational Research 214, 2011), so that a demand that ends fades away. The smoothing constants
 * are those of least squared error, from a grid.
 */
import type { Ahead } from './prediction.ts'

const CONSTANTS = [0.01, 0.03, 0.1, 0.2, 0.3]

export interface Intermittent {
  chance: number
  size: number
  alpha: number
  beta: number
}

export function fitIntermittent(values: readonly number[]): Intermittent {
  let best: { squares: number; fit: Intermittent } | null = null
  for (const alpha of CONSTANTS)
    for (const beta of CONSTANTS) {
      const { squares, chance, size } = smoothed(values, alpha, beta)
      if (best === null || squares < best.squares * (1 - 1e-9))
        best = { squares, fit: { chance, size, alpha, beta } }
    }
  return best!.fit
}

function smoothed(
  values: readonly number[],
  alpha: number,
  beta: number,
): { squares: number; chance: number; size: number } {
  const demands = values.filter((value) => value !== 0)
  let chance = demands.length / values.length
  let size = demands.reduce((sum, value) => sum + value, 0) / Math.max(1, demands.length)
  let squares = 0
  for (const value of values) {
    squares += (value - chance * size) ** 2
    if (value === 0) chance *= 1 - alpha
    else {
      chance += alpha * (1 - chance)
      size += beta * (value - size)
    }
  }
  return { squares, chance, size }
}

/**
 * Forecasts the steps ahead, which are all equal. `value` is the mean of a step, including zeros. The intervals hold
 * the smallest values whose chances add up to 80 and 95 %: zero with its chance, else the known sizes, scaled to the
 * present size. The chance of a demand has the uncertainty of the number of values that the smoothing weighs.
 */
export function aheadOfIntermittent(values: readonly number[], horizon: number): Ahead[] {
  const { chance, size, alpha } = fitIntermittent(values)
  const sizes = values.filter((value) => value !== 0)
  const mean = sizes.reduce((sum, value) => sum + value, 0) / Math.max(1, sizes.length)
  const scaled = sizes.map((value) => (mean > 0 ? (value * size) / mean : value)).toSorted((a, b) => a - b)
  // One more demand is counted among the values that the smoothing weighs.
  const weighed = Math.min(values.length, 2 / alpha - 1)
  const demand = (chance * weighed + 1) / (weighed + 2)
  const upper = (share: number): number => {
    const beyond = (1 - share) / demand
    if (beyond >= 1 || scaled.length === 0) return 0
    const place = (1 - beyond) * (scaled.length + 1) - 1
    const low = Math.max(0, Math.min(scaled.length - 1, Math.floor(place)))
    const next = Math.min(scaled.length - 1, low + 1)
    return scaled[low]! + Math.max(0, Math.min(1, place - low)) * (scaled[next]! - scaled[low]!)
  }
  const one: Ahead = {
    value: chance * size,
    low_80: 0,
    high_80: upper(0.8),
    low_95: 0,
    high_95: upper(0.95),
  }
  return Array.from({ length: horizon }, () => ({ ...one }))
}
