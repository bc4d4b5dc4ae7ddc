/**
 * Computes the normal, Student's t, F and chi-square distributions: densities, both tails, quantiles. A `...Upper`
 * function is the survival function, computed by itself, so it keeps its relative accuracy where 1 - cdf would be 0.
 * Quantiles invert the smaller tail by Newton's method in logarithms, in which each of these tails is nearly a straight
 * line.
 */
import { betaFactor, betaTails } from './beta.ts'
import { erfc } from './error-function.ts'
import { gammaDensity, gammaTails } from './gamma.ts'

const SQRT_2PI = 2.5066282746310002

export function normalDensity(z: number): number {
  return Math.exp(-0.5 * z * z) / SQRT_2PI
}

export function normalLower(z: number): number {
  return 0.5 * erfc(-z * Math.SQRT1_2)
}

export function normalUpper(z: number): number {
  return 0.5 * erfc(z * Math.SQRT1_2)
}

/** Returns the chance of a value at least as far from 0 on either side. */
export function normalTwoSided(z: number): number {
  return erfc(Math.abs(z) * Math.SQRT1_2)
}

/** Returns z with P(Z <= z) = p. */
export function normalQuantile(p: number): number {
  if (p >= 0.5) return normalUpperQuantile(1 - p)
  return -normalUpperQuantile(p)
}

/** Returns z with P(Z > z) = p. */
export function normalUpperQuantile(p: number): number {
  if (p > 0.5) return -normalUpperQuantile(1 - p)
  if (p === 0.5) return 0
  const tails: Tails = {
    lower: (x) => gammaTails(0.5, 0.5 * x * x).lower,
    upper: (x) => 2 * normalUpper(x),
    density: (x) => 2 * normalDensity(x),
  }
  return invert(tails, 1 - 2 * p, 2 * p)
}

/** Returns P(T > t) for Student's t. */
export function studentUpper(t: number, df: number): number {
  const beyond = studentTails(Math.abs(t), df).upper / 2
  return t < 0 ? 1 - beyond : beyond
}

export function studentLower(t: number, df: number): number {
  return studentUpper(-t, df)
}

/** Returns the chance of a value at least as far from 0 on either side. */
export function studentTwoSided(t: number, df: number): number {
  return studentTails(Math.abs(t), df).upper
}

/** Returns t with P(T <= t) = p. */
export function studentQuantile(p: number, df: number): number {
  return p >= 0.5 ? studentUpperQuantile(1 - p, df) : -studentUpperQuantile(p, df)
}

/** Returns t with P(T > t) = p. */
export function studentUpperQuantile(p: number, df: number): number {
  if (Number.isNaN(p) || !(df > 0)) return Number.NaN
  // The difference from the normal distribution is below 1e-15 beyond this df.
  if (df > 1e15) return normalUpperQuantile(p)
  if (p > 0.5) return -studentUpperQuantile(1 - p, df)
  if (p === 0.5) return 0
  const tails: Tails = {
    lower: (x) => studentTails(x, df).lower,
    upper: (x) => studentTails(x, df).upper,
    density: (x) => {
      const square = x * x
      return (2 * betaFactor(square / (df + square), df / (df + square), 0.5, df / 2)) / x
    },
  }
  return invert(tails, 1 - 2 * p, 2 * p)
}

/** Returns the tails of |T| at t >= 0. */
function studentTails(t: number, df: number): { lower: number; upper: number } {
  if (t === Number.POSITIVE_INFINITY) return { lower: 1, upper: 0 }
  // t² over df, or its inverse if that would overflow. It gives a share and its complement without a subtraction.
  const ratio = (t / df) * t
  const near = 1 / (1 + ratio)
  const far = ratio > 1e300 ? 1 : ratio * near
  return betaTails(far, near, 0.5, df / 2)
}

export function fUpper(f: number, df1: number, df2: number): number {
  return fTails(f, df1, df2).upper
}

export function fLower(f: number, df1: number, df2: number): number {
  return fTails(f, df1, df2).lower
}

/** Returns f with P(F <= f) = p. `upper` is 1 - p, which callers give if it is small. */
export function fQuantile(p: number, df1: number, df2: number, upper = 1 - p): number {
  const tails: Tails = {
    lower: (x) => fLower(x, df1, df2),
    upper: (x) => fUpper(x, df1, df2),
    density: (x) => {
      const whole = df1 * x + df2
      return betaFactor((df1 * x) / whole, df2 / whole, df1 / 2, df2 / 2) / x
    },
  }
  return invert(tails, p, upper)
}

function fTails(f: number, df1: number, df2: number): { lower: number; upper: number } {
  if (f === Number.POSITIVE_INFINITY) return { lower: 1, upper: 0 }
  if (!(f > 0)) return { lower: 0, upper: Number.isNaN(f) ? Number.NaN : 1 }
  const ratio = (df1 / df2) * f
  const near = 1 / (1 + ratio)
  const far = ratio > 1e300 ? 1 : ratio * near
  return betaTails(far, near, df1 / 2, df2 / 2)
}

export function chiSquareUpper(x: number, df: number): number {
  return gammaTails(df / 2, x / 2).upper
}

export function chiSquareLower(x: number, df: number): number {
  return gammaTails(df / 2, x / 2).lower
}

/** Returns x with P(X <= x) = p. `upper` is 1 - p, which callers give if it is small. */
export function chiSquareQuantile(p: number, df: number, upper = 1 - p): number {
  const tails: Tails = {
    lower: (x) => chiSquareLower(x, df),
    upper: (x) => chiSquareUpper(x, df),
    density: (x) => gammaDensity(df / 2, x / 2) / 2,
  }
  return invert(tails, p, upper)
}

/** A distribution on the positive numbers. */
interface Tails {
  lower(x: number): number
  upper(x: number): number
  density(x: number): number
}

/**
 * Returns the x > 0 whose lower tail is `p` and whose upper tail is `q`, by Newton's method on ln tail over ln x inside
 * a bracket.
 */
function invert(tails: Tails, p: number, q: number): number {
  if (!(p >= 0 && q >= 0)) return Number.NaN
  if (p === 0) return 0
  if (q === 0) return Number.POSITIVE_INFINITY
  const fromAbove = q < p
  const target = Math.log(fromAbove ? q : p)
  let low = -745
  let high = 709
  let position = 0
  for (let step = 0; step < 400; step++) {
    const x = Math.exp(position)
    const tail = fromAbove ? tails.upper(x) : tails.lower(x)
    const gap = Math.log(tail) - target
    if (Number.isNaN(gap)) return Number.NaN
    if (gap === 0) return x
    if (gap > 0 === fromAbove) low = position
    else high = position
    const slope = ((fromAbove ? -1 : 1) * x * tails.density(x)) / tail
    let next = position - gap / slope
    if (!(next > low && next < high)) next = (low + high) / 2
    if (Math.abs(next - position) <= 2e-16 * Math.max(1, Math.abs(position))) return Math.exp(next)
    position = next
  }
  return Math.exp(position)
}
