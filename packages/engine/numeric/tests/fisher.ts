/**
 * Computes Fisher's exact test of a table of any shape: the sum over all tables of the same margins that are at most as
 * likely as the observed one, within 1e-7 as in R's fisher.test (Freeman and Halton, Biometrika 38, 1951). Tables are
 * counted one by one, at most 200,000 of them.
 */
import { logChoose, logGamma } from '../gamma.ts'
import { exactSum } from '../sum.ts'
import type { Counts } from './contingency.ts'

const MOST = 200_000

/** Returns the two-sided p-value, or null if there are more tables than the bound. */
export function fisherExact(counts: Counts): number | null {
  const rows = counts.map((row) => exactSum(row))
  const columns = counts[0]!.map((_, j) => exactSum(counts.map((row) => row[j]!)))
  const factorials = logFactorials(exactSum(rows))
  const weightOf = (cell: number) => -factorials[cell]!
  const seen = exactSum(counts.flat().map(weightOf)) + 1e-7
  const weights: number[] = []
  const whole = fill(rows, columns, { weights, weightOf })
  if (!whole) return null
  return shareAtMost(weights, seen)
}

export interface Count {
  n: number
  successes: number
}

/** Returns the same for the successes of two groups of any size. One count determines a table of these margins. */
export function fisherTwoByTwo(a: Count, b: Count): number {
  const successes = a.successes + b.successes
  const from = Math.max(0, successes - b.n)
  const weights: number[] = []
  for (let k = from; k <= Math.min(successes, a.n); k++)
    weights.push(logChoose(a.n, k) + logChoose(b.n, successes - k))
  return shareAtMost(weights, weights[a.successes - from]! + 1e-7)
}

/** Returns the weight of the tables that weigh at most `seen` over the weight of all; weights are logarithms. */
function shareAtMost(weights: readonly number[], seen: number): number {
  const peak = weights.reduce((most, weight) => Math.max(most, weight), Number.NEGATIVE_INFINITY)
  let within = 0
  let total = 0
  for (const weight of weights) {
    const chance = Math.exp(weight - peak)
    total += chance
    if (weight <= seen) within += chance
  }
  return Math.min(1, within / total)
}

interface Search {
  weights: number[]
  weightOf(cell: number): number
}

/** Collects the log weight of every table of these margins. Returns false if there are too many. */
function fill(rows: readonly number[], columns: readonly number[], search: Search): boolean {
  const left = rows.slice()
  const place = (row: number, column: number, open: number, weight: number): boolean => {
    if (column === columns.length - 1) {
      // The last column gets the rest of each row.
      search.weights.push(weight + exactSum(left.map(search.weightOf)))
      return search.weights.length <= MOST
    }
    if (row === rows.length - 1) {
      if (open > left[row]!) return true
      left[row]! -= open
      const go = place(0, column + 1, columns[column + 1]!, weight + search.weightOf(open))
      left[row]! += open
      return go
    }
    const room = left.slice(row + 1).reduce((sum, value) => sum + value, 0)
    const most = Math.min(open, left[row]!)
    for (let cell = Math.max(0, open - room); cell <= most; cell++) {
      left[row]! -= cell
      const go = place(row + 1, column, open - cell, weight + search.weightOf(cell))
      left[row]! += cell
      if (!go) return false
    }
    return true
  }
  return place(0, 0, columns[0]!, 0)
}

function logFactorials(most: number): Float64Array {
  return Float64Array.from({ length: most + 1 }, (_, n) => logGamma(n + 1))
}
