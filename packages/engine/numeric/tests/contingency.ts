/**
 * Tests tables of counts: Pearson's chi-square of independence (Phil. Mag. 50, 1900) with Cramer's V (1946), the
 * Cochran-Mantel-Haenszel test over strata in its general form (Landis, Heyman and Koch, Int. Stat. Rev. 46, 1978), the
 * common odds ratio of Mantel and Haenszel (JNCI 22, 1959) with the interval of Robins, Breslow and Greenland
 * (Biometrics 42, 1986), and the Breslow-Day test of equal odds ratios (IARC 1980). No continuity correction is made.
 */
import { chiSquareUpper, normalUpperQuantile } from '../distributions.ts'
import { solveLinear } from '../linear.ts'
import { exactSum } from '../sum.ts'

/** A table of counts, one list for each row. */
export type Counts = readonly (readonly number[])[]

export interface ChiSquare {
  statistic: number
  df: number
  p: number
  /** Cramer's V, from 0 (independent) to 1. */
  v: number
  /** The smallest count that independence would give. */
  least_expected: number
  /** The share of cells with an expected count below 5. */
  thin: number
}

/** Computes Pearson's chi-square test of independence. Returns null if fewer than two rows or columns hold counts. */
export function chiSquare(counts: Counts): ChiSquare | null {
  const table = filled(counts)
  if (table.length < 2 || table[0]!.length < 2) return null
  const { rows, columns, total } = marginsOf(table)
  const terms: number[] = []
  const expected: number[] = []
  for (const [i, row] of table.entries()) {
    for (const [j, seen] of row.entries()) {
      const mean = (rows[i]! * columns[j]!) / total
      expected.push(mean)
      terms.push((seen - mean) ** 2 / mean)
    }
  }
  const statistic = exactSum(terms)
  const df = (rows.length - 1) * (columns.length - 1)
  return {
    statistic,
    df,
    p: chiSquareUpper(statistic, df),
    v: Math.min(1, Math.sqrt(statistic / (total * Math.min(rows.length - 1, columns.length - 1)))),
    least_expected: expected.reduce((least, mean) => Math.min(least, mean), Number.POSITIVE_INFINITY),
    thin: expected.filter((mean) => mean < 5).length / expected.length,
  }
}

/** Returns the table without rows and columns that hold nothing. */
function filled(counts: Counts): number[][] {
  const width = counts[0]?.length ?? 0
  const kept = Array.from({ length: width }, (_, j) => j).filter((j) => counts.some((row) => row[j]! > 0))
  return counts.filter((row) => row.some((n) => n > 0)).map((row) => kept.map((j) => row[j]!))
}

function marginsOf(table: Counts): { rows: number[]; columns: number[]; total: number } {
  const rows = table.map((row) => exactSum(row))
  const columns = table[0]!.map((_, j) => exactSum(table.map((row) => row[j]!)))
  return { rows, columns, total: exactSum(rows) }
}

export interface Stratified {
  statistic: number
  df: number
  p: number
}

/**
 * Computes the Cochran-Mantel-Haenszel test: whether rows and columns go together inside the strata, which are tables
 * of one shape. Strata of fewer than two rows show nothing and are skipped. Returns null if all strata are skipped.
 */
export function cochranMantelHaenszel(strata: readonly Counts[]): Stratified | null {
  const told = strata.filter((table) => exactSum(table.flat()) > 1)
  if (told.length === 0) return null
  const rowsKept = kept(told, (table) => marginsOf(table).rows)
  const columnsKept = kept(told, (table) => marginsOf(table).columns)
  const [rows, columns] = [rowsKept.length - 1, columnsKept.length - 1]
  if (rows < 1 || columns < 1) return null
  const df = rows * columns
  const excess = Array.from({ length: df }, () => 0)
  const covariance = Array.from({ length: df }, () => Array.from({ length: df }, () => 0))
  for (const whole of told) {
    const table = rowsKept.map((i) => columnsKept.map((j) => whole[i]![j]!))
    addStratum(table, { excess, covariance, columns })
  }
  const solved = solveLinear(covariance, excess)
  if (!solved) return null
  const statistic = exactSum(solved.map((value, index) => value * excess[index]!))
  return { statistic, df, p: chiSquareUpper(statistic, df) }
}

/** Returns the rows (or columns) that hold counts in some stratum. */
function kept(strata: readonly Counts[], margins: (table: Counts) => number[]): number[] {
  const sums = strata.map(margins)
  return sums[0]!.map((_, index) => index).filter((index) => sums.some((margin) => margin[index]! > 0))
}

function addStratum(
  table: Counts,
  into: { excess: number[]; covariance: number[][]; columns: number },
): void {
  const { rows, columns, total } = marginsOf(table)
  const of = (a: number): [number, number] => [Math.floor(a / into.columns), a % into.columns]
  for (const a of into.excess.keys()) {
    const [i, j] = of(a)
    into.excess[a]! += table[i]![j]! - (rows[i]! * columns[j]!) / total
    for (const b of into.excess.keys()) {
      const [k, l] = of(b)
      const byRow = rows[i]! * ((i === k ? total : 0) - rows[k]!)
      const byColumn = columns[j]! * ((j === l ? total : 0) - columns[l]!)
      into.covariance[a]![b]! += ((byRow / total) * (byColumn / total)) / (total - 1)
    }
  }
}

export interface CommonOdds {
  ratio: number
  low: number
  high: number
  /** Breslow and Day's test that the strata share one odds ratio; null if it cannot be made. */
  homogeneity: Stratified | null
}

/** Returns the common odds ratio of strata of two rows and two columns, or null if it is 0 or infinite. */
export function commonOdds(strata: readonly Counts[], confidence: number): CommonOdds | null {
  const parts = strata
    .map((table) => ({ table, total: exactSum(table.flat()) }))
    .filter(({ total }) => total > 0)
    .map(({ table: [first, second], total }) => {
      const [a, b, c, d] = [first![0]!, first![1]!, second![0]!, second![1]!]
      return { r: (a * d) / total, s: (b * c) / total, p: (a + d) / total, q: (b + c) / total }
    })
  const r = exactSum(parts.map((part) => part.r))
  const s = exactSum(parts.map((part) => part.s))
  if (!(r > 0 && s > 0)) return null
  const sum = (term: (part: (typeof parts)[number]) => number) => exactSum(parts.map(term))
  const variance =
    sum((one) => one.p * one.r) / (2 * r * r) +
    sum((one) => one.p * one.s + one.q * one.r) / (2 * r * s) +
    sum((one) => one.q * one.s) / (2 * s * s)
  const reach = normalUpperQuantile((1 - confidence) / 2) * Math.sqrt(variance)
  const ratio = r / s
  return {
    ratio,
    low: ratio * Math.exp(-reach),
    high: ratio * Math.exp(reach),
    homogeneity: breslowDay(strata, ratio),
  }
}

function breslowDay(strata: readonly Counts[], ratio: number): Stratified | null {
  const terms: number[] = []
  for (const [first, second] of strata) {
    const [a, b, c, d] = [first![0]!, first![1]!, second![0]!, second![1]!]
    const [row, column, total] = [a + b, a + c, a + b + c + d]
    if (row === 0 || column === 0 || row === total || column === total) continue
    const mean = expectedCell(row, column, total, ratio)
    const variance =
      1 / (1 / mean + 1 / (row - mean) + 1 / (column - mean) + 1 / (total - row - column + mean))
    if (variance > 0) terms.push((a - mean) ** 2 / variance)
  }
  if (terms.length < 2) return null
  const statistic = exactSum(terms)
  return { statistic, df: terms.length - 1, p: chiSquareUpper(statistic, terms.length - 1) }
}

/** Returns the expected count of the first cell under the margins and an odds ratio. */
function expectedCell(row: number, column: number, total: number, ratio: number): number {
  if (Math.abs(ratio - 1) < 1e-12) return (row * column) / total
  const a = 1 - ratio
  const b = total - row - column + ratio * (row + column)
  const c = -ratio * row * column
  const root = Math.sqrt(b * b - 4 * a * c)
  return (-2 * c) / (b + root)
}
