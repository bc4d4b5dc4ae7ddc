/**
 * Computes the distribution of the Kolmogorov-Smirnov distance. For one sample of up to 500 values it is the exact
 * matrix power of Marsaglia, Tsang and Wang (J. Stat. Softw. 8, 2003), and in the far tail twice Smirnov's one-sided
 * sum (Birnbaum and Tingey 1951). Above 500 values it is that sum below 0.05, and else the limit with Vrbik's
 * correction (2018). For two samples it is the share of lattice paths that leave the band, exact also with ties
 * (Schroer and Trenkler, Comput. Stat. Data Anal. 20, 1995), or the limit.
 */
import { logGamma } from '../gamma.ts'

const EXACT_VALUES = 500
/** The largest product of sample sizes for which two samples are compared exactly. */
export const EXACT_PATHS = 1_000_000

/** Returns P(D >= d) of one sample of `n` against a distribution that was known before. */
export function kolmogorovUpper(d: number, n: number): number {
  if (!(d > 0)) return d <= 0 ? 1 : Number.NaN
  if (d >= 1) return 0
  const tail = 2 * smirnovUpper(d, n)
  if (tail < 1e-3) return tail
  if (n > EXACT_VALUES) {
    // The chance of both sides at once is under p^4, which is too small to matter here.
    if (tail < 0.05) return tail
    const root = Math.sqrt(n) * d
    return kolmogorovLimit(root + 1 / (6 * Math.sqrt(n)) + (root - 1) / (4 * n))
  }
  return Math.min(1, Math.max(0, 1 - marsaglia(d, n)))
}

/** Returns P(K > x) of Kolmogorov's limit, by its theta form below 1. */
export function kolmogorovLimit(x: number): number {
  if (!(x > 0)) return 1
  if (x < 1) {
    let sum = 0
    for (let k = 1; k < 40; k += 2) sum += Math.exp((-k * k * Math.PI ** 2) / (8 * x * x))
    return 1 - (Math.sqrt(2 * Math.PI) / x) * sum
  }
  let sum = 0
  for (let k = 1; k < 40; k++) sum += (k % 2 === 1 ? 2 : -2) * Math.exp(-2 * k * k * x * x)
  return Math.min(1, sum)
}

function smirnovUpper(d: number, n: number): number {
  let sum = 0
  for (let j = 0; j <= Math.floor(n * (1 - d)); j++) {
    const rest = 1 - d - j / n
    if (rest <= 0 && j < n) continue
    const choose = logGamma(n + 1) - logGamma(j + 1) - logGamma(n - j + 1)
    sum += Math.exp(choose + (j - 1) * Math.log(d + j / n) + (n - j === 0 ? 0 : (n - j) * Math.log(rest)))
  }
  return d * sum
}

/** Returns P(D < d). */
function marsaglia(d: number, n: number): number {
  const k = Math.ceil(n * d)
  const size = 2 * k - 1
  const h = k - n * d
  const matrix = Array.from({ length: size }, (_, i) =>
    Array.from({ length: size }, (__, j) => (i - j + 1 < 0 ? 0 : 1)),
  )
  for (let i = 0; i < size; i++) {
    matrix[i]![0]! -= h ** (i + 1)
    matrix[size - 1]![i]! -= h ** (size - i)
  }
  matrix[size - 1]![0]! += 2 * h - 1 > 0 ? (2 * h - 1) ** size : 0
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      for (let g = 1; g <= i - j + 1; g++) matrix[i]![j]! /= g
    }
  }
  const { power, exponent } = powerOf(matrix, n)
  let result = power[k - 1]![k - 1]!
  let scale = exponent
  for (let i = 1; i <= n; i++) {
    result *= i / n
    if (result < 1e-140) {
      result *= 1e140
      scale -= 140
    }
  }
  return result * 10 ** scale
}

function powerOf(matrix: number[][], n: number): { power: number[][]; exponent: number } {
  if (n === 1) return { power: matrix, exponent: 0 }
  const half = powerOf(matrix, Math.floor(n / 2))
  let power = product(half.power, half.power)
  let exponent = 2 * half.exponent
  if (n % 2 === 1) power = product(matrix, power)
  const middle = Math.floor(matrix.length / 2)
  if (power[middle]![middle]! > 1e140) {
    power = power.map((row) => row.map((value) => value * 1e-140))
    exponent += 140
  }
  return { power, exponent }
}

function product(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number[][] {
  return a.map((row) => {
    const result = row.map(() => 0)
    for (const [k, factor] of row.entries()) {
      if (factor === 0) continue
      for (const [j, value] of b[k]!.entries()) result[j]! += factor * value
    }
    return result
  })
}

export interface TwoSamples {
  statistic: number
  p: number
  exact: boolean
}

/** Compares two samples, each in rising order. */
export function kolmogorovTwoSamples(a: readonly number[], b: readonly number[]): TwoSamples {
  const [m, n] = [a.length, b.length]
  const { statistic, ends } = band(a, b)
  if (m * n > EXACT_PATHS) {
    return { statistic, p: kolmogorovLimit(Math.sqrt((m / (m + n)) * n) * statistic), exact: false }
  }
  // Distances are compared as whole numbers: |i n - j m| against the statistic times m n.
  const bound = Math.round(statistic * m * n)
  let before: number[] = []
  for (let i = 0; i <= m; i++) {
    const row: number[] = []
    for (let j = 0; j <= n; j++) {
      const out = ends[i + j]! && Math.abs(i * n - j * m) >= bound
      const left = i > 0 ? (i / (i + j)) * before[j]! : 0
      const below = j > 0 ? (j / (i + j)) * row[j - 1]! : 0
      row.push(out ? 1 : left + below)
    }
    before = row
  }
  return { statistic, p: bound === 0 ? 1 : Math.min(1, before[n]!), exact: true }
}

/** Returns the largest distance, and after how many pooled values each tie ends. */
function band(a: readonly number[], b: readonly number[]): { statistic: number; ends: boolean[] } {
  const ends: boolean[] = [true]
  let [i, j, statistic] = [0, 0, 0]
  while (i < a.length || j < b.length) {
    const value = Math.min(a[i] ?? Number.POSITIVE_INFINITY, b[j] ?? Number.POSITIVE_INFINITY)
    while (i < a.length && a[i] === value) i++
    while (j < b.length && b[j] === value) j++
    while (ends.length < i + j) ends.push(false)
    ends.push(true)
    statistic = Math.max(statistic, Math.abs(i / a.length - j / b.length))
  }
  return { statistic, ends }
}
