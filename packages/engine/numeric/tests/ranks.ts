/**
 * Computes tests from sums of ranks, which DuckDB can make over any number of rows: Mann and Whitney's (1947),
 * Wilcoxon's of signed ranks (1945), Kruskal and Wallis' (JASA 47, 1952) with Dunn's pairs (Technometrics 6, 1964),
 * Friedman's (1937), and Mood's of scale (1954; ties by the permutation variance of averaged scores, Mielke 1967).
 * Exact for under 50 values without ties, else the normal limit with ties and a continuity correction, as R's
 * wilcox.test has it.
 */
import { chiSquareUpper, normalTwoSided } from '../distributions.ts'
import { exactSum } from '../sum.ts'
import { pairsOf } from './means.ts'

const EXACT = 50

export interface RankTest {
  statistic: number
  z: number | null
  p: number
  exact: boolean
}

/**
 * Computes Mann and Whitney's test from the two sizes, the sum of the first sample's ranks, and the sum of t^3 - t over
 * its ties.
 */
export function mannWhitney(m: number, n: number, rankSum: number, ties: number): RankTest {
  const statistic = rankSum - (m * (m + 1)) / 2
  if (m < EXACT && n < EXACT && ties === 0) {
    const p = twoSided(subsetSums(m, m + n), rankSum - (m * (m + 1)) / 2)
    return { statistic, z: null, p, exact: true }
  }
  const total = m + n
  const variance = ((m * n) / 12) * (total + 1 - ties / (total * (total - 1)))
  return { statistic, ...limit(statistic - (m * n) / 2, variance) }
}

/**
 * Computes the signed rank test from the number of non-zero differences, the sum of the ranks of the positive ones, and
 * the sum of t^3 - t over the ties.
 */
export function signedRank(n: number, rankSum: number, ties: number, zeros = 0): RankTest {
  if (n < EXACT && ties === 0 && zeros === 0) {
    const chances = Array.from({ length: (n * (n + 1)) / 2 + 1 }, () => 0)
    chances[0] = 1
    for (let rank = 1; rank <= n; rank++) {
      for (let sum = chances.length - 1; sum >= 0; sum--) {
        chances[sum] = (chances[sum]! + (sum >= rank ? chances[sum - rank]! : 0)) / 2
      }
    }
    return { statistic: rankSum, z: null, p: twoSided(chances, rankSum), exact: true }
  }
  const variance = (n * (n + 1) * (2 * n + 1)) / 24 - ties / 48
  return { statistic: rankSum, ...limit(rankSum - (n * (n + 1)) / 4, variance) }
}

function limit(distance: number, variance: number): { z: number; p: number; exact: false } {
  if (!(variance > 0)) return { z: 0, p: 1, exact: false }
  const z = (Math.sign(distance) * Math.max(0, Math.abs(distance) - 0.5)) / Math.sqrt(variance)
  return { z, p: normalTwoSided(z), exact: false }
}

/** Returns the chances of each sum of `m` of the ranks 1 to `total`, less the smallest sum. */
function subsetSums(m: number, total: number): number[] {
  const most = m * (total - m)
  const rows = Array.from({ length: m + 1 }, () => Array.from({ length: most + 1 }, () => 0))
  rows[0]![0] = 1
  // The k-th chosen rank r adds r - k. The counts are scaled to chances at the end.
  for (let rank = 1; rank <= total; rank++) {
    for (let k = Math.min(rank, m); k >= Math.max(1, m - (total - rank)); k--) {
      const [from, into, step] = [rows[k - 1]!, rows[k]!, rank - k]
      for (let sum = most; sum >= step; sum--) into[sum]! += from[sum - step]!
    }
  }
  const whole = exactSum(rows[m]!)
  return rows[m]!.map((value) => value / whole)
}

function twoSided(chances: readonly number[], at: number): number {
  const lower = exactSum(chances.slice(0, at + 1))
  const upper = exactSum(chances.slice(at))
  return Math.min(1, 2 * Math.min(lower, upper))
}

export interface RankedSample {
  n: number
  rank_sum: number
}

export interface KruskalWallis {
  statistic: number
  df: number
  p: number
}

/**
 * Computes Kruskal and Wallis' test. `ties` is the sum of t^3 - t over all values. The statistic is NaN if all values
 * are equal.
 */
export function kruskalWallis(samples: readonly RankedSample[], ties: number): KruskalWallis {
  const n = exactSum(samples.map((one) => one.n))
  const spread = exactSum(samples.map((one) => one.n * (one.rank_sum / one.n - (n + 1) / 2) ** 2))
  const statistic = ((12 / (n * (n + 1))) * spread) / (1 - ties / (n ** 3 - n))
  const df = samples.length - 1
  return { statistic, df, p: chiSquareUpper(statistic, df) }
}

export interface RankedPair {
  a: number
  b: number
  z: number
  /** The p, not adjusted. */
  p: number
}

/** Computes Dunn's test of every pair. */
export function dunn(samples: readonly RankedSample[], ties: number): RankedPair[] {
  const n = exactSum(samples.map((one) => one.n))
  const variance = (n * (n + 1)) / 12 - ties / (12 * (n - 1))
  return pairsOf(samples).map(([a, b]) => {
    const [left, right] = [samples[a]!, samples[b]!]
    const distance = left.rank_sum / left.n - right.rank_sum / right.n
    const z = distance / Math.sqrt(variance * (1 / left.n + 1 / right.n))
    return { a, b, z, p: normalTwoSided(z) }
  })
}

/**
 * Computes Friedman's test of `blocks` units under k conditions, from sums of ranks within units and the sum of t^3 - t
 * over units' ties.
 */
export function friedman(rankSums: readonly number[], blocks: number, ties: number): KruskalWallis {
  const k = rankSums.length
  const spread = exactSum(rankSums.map((sum) => (sum - (blocks * (k + 1)) / 2) ** 2))
  const statistic = (12 * spread) / (blocks * k * (k + 1) - ties / (k - 1))
  return { statistic, df: k - 1, p: chiSquareUpper(statistic, k - 1) }
}

/**
 * Computes Mood's test that two samples with one middle have equal spreads. It takes the sum over the first sample of
 * scores (rank - (N + 1) / 2)^2, averaged over ties, and the sums of all scores and of their squares.
 */
export function mood(
  m: number,
  n: number,
  scores: { first: number; all: number; squares: number },
): RankTest {
  const total = m + n
  const mean = scores.all / total
  const variance = ((m * n) / (total * (total - 1))) * (scores.squares - total * mean ** 2)
  const z = variance > 0 ? (scores.first - m * mean) / Math.sqrt(variance) : 0
  return { statistic: scores.first, z, p: normalTwoSided(z), exact: false }
}
