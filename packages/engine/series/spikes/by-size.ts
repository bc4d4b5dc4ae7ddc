/**
 * Fits the noise of a ratio by its denominators: the variance of a residual is a + b / denominator, where a moves all
 * rates of a time and b is the chance of single events. Both are fitted to the squared scales of bins of the residuals,
 * from medians.
 */
import { twoParts } from '../../causes/noise.ts'
import { medianOf } from './tails.ts'

/**
 * The denominators of a ratio at each value, and what one event adds to the numerator; null if the values are no
 * counts.
 */
export interface Sizes {
  denominators: readonly number[]
  event: number | null
}

const LEAST_IN_BIN = 12
const MOST_BINS = 8
/** Denominators make no difference if their largest tenth is at most this multiple of the smallest. */
const ALIKE = 1.3

/** Returns the standard deviation of each residual relative to that at the middle denominator. */
export function noiseBySize(residuals: ArrayLike<number>, { denominators }: Sizes): Float64Array {
  const n = denominators.length
  const middle = medianOf(denominators)
  const x = Float64Array.from(denominators, (size) => middle / size)
  const order = [...x.keys()].toSorted((i, j) => x[i]! - x[j]!)
  const bins = Math.min(MOST_BINS, Math.floor(n / LEAST_IN_BIN))
  if (bins < 2 || x[order[Math.floor(0.9 * n)]!]! <= ALIKE * x[order[Math.floor(0.1 * n)]!]!)
    return new Float64Array(n).fill(1)
  const all = Float64Array.from(residuals)
  const center = medianOf(all)
  const rows = Array.from({ length: bins }, (_, bin) => {
    const rows = order.slice(Math.floor((bin * n) / bins), Math.floor(((bin + 1) * n) / bins))
    const scale = 1.4826 * medianOf(rows.map((row) => Math.abs(all[row]! - center)))
    return { r: scale ** 2, x: medianOf(rows.map((row) => x[row]!)) }
  })
  const { tau2, phi } = twoParts(rows)
  return tau2 + phi > 0
    ? x.map((share) => Math.sqrt((tau2 + phi * share) / (tau2 + phi)))
    : new Float64Array(n).fill(1)
}
