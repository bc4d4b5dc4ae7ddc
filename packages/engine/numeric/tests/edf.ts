/**
 * Tests by the empirical distribution: Anderson and Darling's test of normality with Stephens' p (D'Agostino and
 * Stephens, Goodness-of-Fit Techniques, 1986, table 4.9); Lilliefors' with the p of Dallal and Wilkinson (The American
 * Statistician 40, 1986) and, above 0.1, of Stephens as in R's nortest; D'Agostino and Pearson's of skewness and
 * kurtosis (Biometrika 60, 1973; Anscombe and Glynn, Biometrika 70, 1983).
 */
import { chiSquareUpper, normalLower, normalUpper } from '../distributions.ts'
import { exactMean, variance } from '../exact.ts'
import { exactSum } from '../sum.ts'

export interface Fit {
  statistic: number
  p: number
}

/**
 * Returns the values in rising order less their mean, over their standard deviation. Returns null if they do not vary
 * or are fewer than `least`.
 */
function standardised(sorted: readonly number[], least: number): number[] | null {
  const mean = exactMean(sorted)
  const sd = Math.sqrt(variance(sorted))
  return sorted.length >= least && sd > 0 ? sorted.map((value) => (value - mean) / sd) : null
}

/** Computes Anderson and Darling's test of normality with mean and deviation from the values. It needs 8 values. */
export function andersonDarling(sorted: readonly number[]): Fit | null {
  const z = standardised(sorted, 8)
  if (!z) return null
  const n = z.length
  const terms = z.map(
    (value, i) => ((2 * i + 1) / n) * (Math.log(normalLower(value)) + Math.log(normalUpper(z[n - 1 - i]!))),
  )
  const statistic = -n - exactSum(terms)
  const a = statistic * (1 + 0.75 / n + 2.25 / n ** 2)
  return { statistic, p: Number.isFinite(statistic) ? stephens(a) : 0 }
}

function stephens(a: number): number {
  if (a < 0.2) return -Math.expm1(-13.436 + 101.14 * a - 223.73 * a * a)
  if (a < 0.34) return -Math.expm1(-8.318 + 42.796 * a - 59.938 * a * a)
  if (a < 0.6) return Math.exp(0.9177 - 4.279 * a - 1.38 * a * a)
  return a < 10 ? Math.exp(1.2937 - 5.709 * a + 0.0186 * a * a) : 3.7e-24
}

/**
 * Computes Lilliefors' test of normality: the Kolmogorov-Smirnov distance with mean and deviation from the values. It
 * needs 5 values.
 */
export function lilliefors(sorted: readonly number[]): Fit | null {
  const z = standardised(sorted, 5)
  if (!z) return null
  const statistic = distance(z.map(normalLower))
  return { statistic, p: dallalWilkinson(statistic, z.length) }
}

/** Returns the largest distance between the empirical distribution and the chances of values in rising order. */
export function distance(chances: readonly number[]): number {
  const n = chances.length
  return chances.reduce((most, chance, i) => Math.max(most, (i + 1) / n - chance, chance - i / n), 0)
}

function dallalWilkinson(d: number, n: number): number {
  const near = n > 100 ? d * (n / 100) ** 0.49 : d
  const size = Math.min(n, 100)
  const p = Math.exp(
    -7.01256 * near * near * (size + 2.78019) +
      2.99587 * near * Math.sqrt(size + 2.78019) -
      0.122119 +
      0.974598 / Math.sqrt(size) +
      1.67997 / size,
  )
  if (p <= 0.1) return p
  const k = (Math.sqrt(n) - 0.01 + 0.85 / Math.sqrt(n)) * d
  const at = (a: number, b: number, c: number, e: number, f: number) =>
    Math.min(1, Math.max(0, a + k * (b + k * (c + k * (e + k * f)))))
  if (k <= 0.302) return 1
  if (k <= 0.5) return at(2.76773, -19.828315, 80.709644, -138.55152, 81.218052)
  if (k <= 0.9) return at(-4.901232, 40.662806, -97.490286, 94.029866, -32.355711)
  return k <= 1.31 ? at(6.198765, -19.558097, 23.186922, -12.234627, 2.423045) : 0
}

export interface Shape {
  statistic: number
  p: number
  /** The z scores of skewness and kurtosis. */
  skewness_z: number
  kurtosis_z: number
}

/**
 * Computes D'Agostino and Pearson's test from g1 and b2 = g2 + 3, the moments' skewness and kurtosis. It needs 20
 * values.
 */
export function dagostinoPearson(n: number, skewness: number, kurtosis: number): Shape | null {
  if (n < 20 || !Number.isFinite(skewness) || !Number.isFinite(kurtosis)) return null
  const y = skewness * Math.sqrt(((n + 1) * (n + 3)) / (6 * (n - 2)))
  const beta = (3 * (n * n + 27 * n - 70) * (n + 1) * (n + 3)) / ((n - 2) * (n + 5) * (n + 7) * (n + 9))
  const w = Math.sqrt(2 * (beta - 1)) - 1
  const scaled = y / Math.sqrt(2 / (w - 1))
  const skewnessZ = Math.asinh(scaled) / Math.sqrt(0.5 * Math.log(w))
  const kurtosisZ = anscombeGlynn(n, kurtosis)
  const statistic = skewnessZ ** 2 + kurtosisZ ** 2
  return { statistic, p: chiSquareUpper(statistic, 2), skewness_z: skewnessZ, kurtosis_z: kurtosisZ }
}

function anscombeGlynn(n: number, kurtosis: number): number {
  const mean = (3 * (n - 1)) / (n + 1)
  const sd = Math.sqrt((24 * n * (n - 2) * (n - 3)) / ((n + 1) ** 2 * (n + 3) * (n + 5)))
  const x = (kurtosis - mean) / sd
  const root =
    ((6 * (n * n - 5 * n + 2)) / ((n + 7) * (n + 9))) *
    Math.sqrt((6 * (n + 3) * (n + 5)) / (n * (n - 2) * (n - 3)))
  const a = 6 + (8 / root) * (2 / root + Math.sqrt(1 + 4 / root ** 2))
  const below = 1 + x * Math.sqrt(2 / (a - 4))
  return (1 - 2 / (9 * a) - Math.cbrt((1 - 2 / a) / below)) / Math.sqrt(2 / (9 * a))
}
