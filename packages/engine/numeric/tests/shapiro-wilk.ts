/**
 * Computes the Shapiro-Wilk test of normality as Royston does (Remark AS R94, Applied Statistics 44 (1995), 547-551),
 * for 3 to 5,000 values, as R and scipy do.
 */
import { normalQuantile, normalUpper } from '../distributions.ts'
import { exactMean, squaredDeviations } from '../exact.ts'
import { exactSum } from '../sum.ts'

export const SHAPIRO_MOST = 5000

export interface ShapiroWilk {
  w: number
  p: number
}

/** Tests values in rising order. Returns null under 3 or over 5,000 values, or if all are equal. */
export function shapiroWilk(sorted: readonly number[]): ShapiroWilk | null {
  const n = sorted.length
  if (n < 3 || n > SHAPIRO_MOST || sorted[0] === sorted[n - 1]) return null
  // Values are divided by the range, so that neither large nor tiny values overflow.
  const range = sorted[n - 1]! - sorted[0]!
  const values = sorted.map((value) => (value - sorted[0]!) / range)
  const weights = weightsOf(n)
  const mean = exactMean(values)
  const slope = exactSum(weights.map((weight, i) => weight * (values[n - 1 - i]! - values[i]!)))
  const length = Math.sqrt(2 * exactSum(weights.map((weight) => weight * weight)))
  const size = Math.sqrt(squaredDeviations(values))
  // 1 - w is the product of a difference and a sum, so nothing cancels near 1.
  const unit = slope / length
  const rest = Math.max(0, ((size - unit) * (size + unit)) / (size * size))
  return { w: 1 - rest, p: Number.isNaN(mean) ? Number.NaN : probabilityOf(1 - rest, rest, n) }
}

/** Returns the weights of the upper half, the largest first. */
function weightsOf(n: number): number[] {
  if (n === 3) return [Math.SQRT1_2]
  const half = Math.floor(n / 2)
  const scores = Array.from({ length: half }, (_, i) => -normalQuantile((i + 1 - 0.375) / (n + 0.25)))
  const squares = 2 * exactSum(scores.map((score) => score * score))
  const root = Math.sqrt(squares)
  const small = 1 / Math.sqrt(n)
  const first = polynomial([0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056], small) + scores[0]! / root
  if (n <= 5) {
    const factor = Math.sqrt((squares - 2 * scores[0]! ** 2) / (1 - 2 * first ** 2))
    return [first, ...scores.slice(1).map((score) => score / factor)]
  }
  const second =
    polynomial([0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633], small) + scores[1]! / root
  const factor = Math.sqrt(
    (squares - 2 * scores[0]! ** 2 - 2 * scores[1]! ** 2) / (1 - 2 * first ** 2 - 2 * second ** 2),
  )
  return [first, second, ...scores.slice(2).map((score) => score / factor)]
}

function probabilityOf(w: number, rest: number, n: number): number {
  if (n === 3) return Math.min(1, Math.max(0, (6 / Math.PI) * (Math.asin(Math.sqrt(w)) - Math.PI / 3)))
  const y = Math.log(rest)
  if (n > 11) {
    const size = Math.log(n)
    const mean = polynomial([-1.5861, -0.31082, -0.083751, 0.0038915], size)
    return normalUpper((y - mean) / Math.exp(polynomial([-0.4803, -0.082676, 0.0030302], size)))
  }
  const bound = -2.273 + 0.459 * n
  if (y >= bound) return 0
  const mean = polynomial([0.544, -0.39978, 0.025054, -6.714e-4], n)
  const sd = Math.exp(polynomial([1.3822, -0.77857, 0.062767, -0.0020322], n))
  return normalUpper((-Math.log(bound - y) - mean) / sd)
}

/** Evaluates a polynomial, whose coefficients begin with the constant. */
function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduceRight((sum, coefficient) => sum * x + coefficient, 0)
}
