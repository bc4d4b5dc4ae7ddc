/**
 * Computes the regularised incomplete beta function, both tails free of cancellation. Source: the even part of the
 * continued fraction DLMF 8.17.22 by Lentz's method, the common factor in Loader's saddle-point form (see gamma.ts).
 */
import { deviance, stirlingError } from './gamma.ts'

/**
 * Returns lower I_x(a, b) and upper 1 - I_x(a, b) = I_y(b, a), for a, b > 0. `y` is 1 - x, given separately so that no
 * digit is lost if x is near 1.
 */
export function betaTails(x: number, y: number, a: number, b: number): { lower: number; upper: number } {
  if (Number.isNaN(x + y) || !(a > 0 && b > 0)) return { lower: Number.NaN, upper: Number.NaN }
  if (x <= 0) return { lower: 0, upper: 1 }
  if (y <= 0) return { lower: 1, upper: 0 }
  const factor = betaFactor(x, y, a, b)
  if (x * (a + b + 2) < a + 1) {
    const lower = Math.min(1, factor / fraction(x, y, a, b))
    return { lower, upper: 1 - lower }
  }
  const upper = Math.min(1, factor / fraction(y, x, b, a))
  return { lower: 1 - upper, upper }
}

/** Returns x^a y^b / B(a, b). */
export function betaFactor(x: number, y: number, a: number, b: number): number {
  const n = a + b
  const exponent =
    stirlingError(n) - stirlingError(a) - stirlingError(b) - deviance(a, n * x) - deviance(b, n * y)
  return Math.exp(exponent) * Math.sqrt((a * b) / (2 * Math.PI * n))
}

/** Returns β0 + α1/(β1 + α2/(β2 + ...)): the even part of DLMF 8.17.22, whose terms do not cancel if x is near 1. */
function fraction(x: number, y: number, a: number, b: number): number {
  const lead = a * y - b * x + 1
  let result = (a * lead) / (a + 1)
  let c = result
  let d = 0
  for (let m = 1; m < 1_000_000; m++) {
    const odd = a + 2 * m - 1
    const share = (m * (b - m) * x) / odd
    const numerator = (((a + m - 1) * (a + b + m - 1)) / odd) * x * share
    const denominator = m + share + ((a + m) * (lead + m * (1 + y))) / (a + 2 * m + 1)
    d = 1 / (denominator + numerator * d)
    c = denominator + numerator / c
    const factor = c * d
    result *= factor
    if (!(Math.abs(factor - 1) >= 2e-16)) break
  }
  return result
}
