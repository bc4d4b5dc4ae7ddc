/**
 * Computes the studentised range: the range of k standard normal values over an independent estimate of their standard
 * deviation with df degrees of freedom. The upper tail is a double integral: over the largest value by k phi(z)
 * [Phi(z)^(k-1) - (Phi(z) - Phi(z - w))^(k-1)], and over the deviation by its chi density in logarithms. Both are
 * summed by the trapezoidal rule, which converges exponentially for smooth integrands that vanish at both ends
 * (Trefethen and Weideman, SIAM Review 56, 2014). The difference of powers is computed without cancellation, so small
 * tails keep their digits.
 */
import { normalDensity, normalLower, studentUpperQuantile } from '../distributions.ts'
import { logGamma } from '../gamma.ts'

const FROM = -8.5
const TO = 37.5
/** The error of the rule is at most about exp(-2 pi^2 / (k step^2)), so many values need the fine step. */
const WIDE = { step: 0.2, most: 8 }
const FINE_STEP = 0.1
/**
 * The reach of the integral. Farther than this below half the range, and farther than one more above it, the integrand
 * is below 1e-18 of its maximum.
 */
const REACH = 8
/** The search ends at an error this small in the logarithm of the tail, or as a share of the quantile. */
const CLOSE = 1e-13
/** The number of degrees of freedom from which the deviation counts as known. */
const MANY = 1e7

/** Returns P(Q > q) for the range of `k` values. */
export function studentizedRangeUpper(q: number, k: number, df: number): number {
  if (Number.isNaN(q) || !(k >= 2) || !(df > 0)) return Number.NaN
  if (!(q > 0)) return 1
  if (q === Number.POSITIVE_INFINITY) return 0
  const grid = k <= WIDE.most ? WIDE_GRID : FINE_GRID
  const weights = grid.places.map(({ density, above }) => density * above ** (k - 1))
  if (df >= MANY) return Math.min(1, rangeUpper(q, k, grid, weights))
  // ln s runs over the values at which the density of s = chi / sqrt(df) matters.
  const width = 1 / Math.sqrt(2 * df)
  const step = Math.min(0.15, 0.6 * width)
  const constant = Math.LN2 + (df / 2) * Math.log(df / 2) - logGamma(df / 2)
  let sum = 0
  for (const direction of [1, -1]) {
    for (let i = direction === 1 ? 0 : 1; i < 5000; i++) {
      const u = direction * i * step
      const density = Math.exp(constant + df * u - (df / 2) * Math.exp(2 * u))
      if (density === 0) break
      const term = density * rangeUpper(q * Math.exp(u), k, grid, weights)
      sum += term
      if (i * step > 8 * width && term < 1e-17 * sum) break
    }
  }
  return Math.min(1, sum * step)
}

interface Grid {
  step: number
  /** The normal density and lower tail at the possible positions of the largest value. */
  places: { z: number; density: number; above: number }[]
}

function gridOf(step: number): Grid {
  const places = Array.from({ length: Math.round((TO - FROM) / step) }, (_, index) => {
    const z = FROM + step * index
    return { z, density: normalDensity(z), above: normalLower(z) }
  })
  return { step, places }
}

const WIDE_GRID = gridOf(WIDE.step)
const FINE_GRID = gridOf(FINE_STEP)

/**
 * Returns P(range of k normal values > w). `weights` are the density at each position of the grid, times Phi(z)^(k-1).
 */
function rangeUpper(w: number, k: number, { step, places }: Grid, weights: readonly number[]): number {
  const first = Math.max(0, Math.floor((w / 2 - REACH - FROM) / step))
  const last = Math.min(places.length - 1, Math.ceil((w / 2 + REACH + 1 - FROM) / step))
  let sum = 0
  for (let index = first; index <= last; index++) {
    const { z, above } = places[index]!
    const below = normalLower(z - w)
    if (below === 0) continue
    const share = below >= above ? 1 : -Math.expm1((k - 1) * Math.log1p(-below / above))
    sum += weights[index]! * share
  }
  return Math.min(1, k * sum * step)
}

/**
 * Returns q with P(Q > q) = p, by secants on the logarithm of the tail, between the quantile of one pair and
 * Bonferroni's of all.
 */
export function studentizedRangeQuantile(p: number, k: number, df: number): number {
  if (!(p > 0 && p < 1)) return p === 0 ? Number.POSITIVE_INFINITY : p === 1 ? 0 : Number.NaN
  if (!(k >= 2) || !(df > 0)) return Number.NaN
  let low = Math.SQRT2 * studentUpperQuantile(p / 2, df)
  if (k === 2) return low
  const target = Math.log(p)
  const gap = (q: number) => Math.log(studentizedRangeUpper(q, k, df)) - target
  let left = gap(low)
  let high = Math.SQRT2 * studentUpperQuantile(p / (k * (k - 1)), df)
  let right = gap(high)
  let kept = 0
  for (let step = 0; step < 80; step++) {
    // This is regula falsi after Illinois: an end that stays twice counts half.
    const next = high - (right * (high - low)) / (right - left)
    const value = gap(next)
    if (Math.abs(value) < CLOSE || Math.abs(high - low) <= CLOSE * high) return next
    if (value > 0) {
      ;[low, left] = [next, value]
      if (kept === 1) right /= 2
      kept = 1
    } else {
      ;[high, right] = [next, value]
      if (kept === -1) left /= 2
      kept = -1
    }
  }
  return (low + high) / 2
}
