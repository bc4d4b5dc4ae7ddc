/**
 * Computes Kendall's tau-b (Biometrika 33, 1945), counted in n log n after Knight (JASA 61, 1966). p is exact without
 * ties under 50 values. Else it is the normal limit with the variance under ties (Kendall, Rank Correlation Methods,
 * 1970), as in R's cor.test.
 */
import { normalTwoSided } from '../distributions.ts'
import { inversions } from '../mann-kendall.ts'
import { exactSum } from '../sum.ts'

const EXACT = 50

export interface Kendall {
  tau: number
  z: number | null
  p: number
  exact: boolean
}

/** Returns the test, or null for fewer than two values or a constant column. */
export function kendall(x: readonly number[], y: readonly number[]): Kendall | null {
  const n = x.length
  const order = [...x.keys()].toSorted((a, b) => x[a]! - x[b]! || y[a]! - y[b]!)
  const ordered = order.map((index) => y[index]!)
  const [tiesX, tiesY] = [tied(x), tied(y)]
  const both = pairsTied(order.map((index) => [x[index]!, y[index]!] as const))
  const pairs = (n * (n - 1)) / 2
  const width = Math.sqrt(pairs - tiesX.pairs) * Math.sqrt(pairs - tiesY.pairs)
  if (!(width > 0)) return null
  const score = pairs - tiesX.pairs - tiesY.pairs + both - 2 * inversions(ordered)
  const tau = Math.min(1, Math.max(-1, score / width))
  if (n < EXACT && tiesX.pairs === 0 && tiesY.pairs === 0) {
    return { tau, z: null, p: exactP(n, (pairs - score) / 2), exact: true }
  }
  const variance =
    (n * (n - 1) * (2 * n + 5) - tiesX.third - tiesY.third) / 18 +
    (tiesX.cubes * tiesY.cubes) / (9 * n * (n - 1) * (n - 2)) +
    (2 * tiesX.pairs * tiesY.pairs) / (n * (n - 1))
  const z = variance > 0 ? score / Math.sqrt(variance) : 0
  return { tau, z, p: normalTwoSided(z), exact: false }
}

interface Ties {
  pairs: number
  cubes: number
  third: number
}

function tied(values: readonly number[]): Ties {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  const sum = (term: (t: number) => number) => exactSum([...counts.values()].map(term))
  return {
    pairs: sum((t) => (t * (t - 1)) / 2),
    cubes: sum((t) => t * (t - 1) * (t - 2)),
    third: sum((t) => t * (t - 1) * (2 * t + 5)),
  }
}

function pairsTied(ordered: readonly (readonly [number, number])[]): number {
  let found = 0
  let run = 1
  for (let i = 1; i <= ordered.length; i++) {
    const same = ordered[i]?.[0] === ordered[i - 1]![0] && ordered[i]?.[1] === ordered[i - 1]![1]
    if (same) run++
    else {
      found += (run * (run - 1)) / 2
      run = 1
    }
  }
  return found
}

/** Returns twice the smaller tail of the number of pairs in falling order among permutations of n. */
function exactP(n: number, falling: number): number {
  const most = (n * (n - 1)) / 2
  let chances = [1]
  for (let size = 2; size <= n; size++) {
    const length = (size * (size - 1)) / 2 + 1
    const next = Array.from({ length }, () => 0)
    for (const [sum, chance] of chances.entries()) {
      for (let more = 0; more < size; more++) next[sum + more]! += chance / size
    }
    chances = next
  }
  const tail = exactSum(chances.slice(0, Math.min(falling, most - falling) + 1))
  return Math.min(1, 2 * tail)
}
