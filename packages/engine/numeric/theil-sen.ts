/**
 * Computes the Theil-Sen slope: the median of the slopes between all pairs (Sen, JASA 63, 1968). Its interval comes
 * from the ranks that the variance of Kendall's S gives, as in R's trend::sens.slope. Up to 2,000 points the slopes are
 * listed and sorted. Above that number a wanted rank is found by bisection, which counts the slopes below a value in n
 * log n.
 */
import { normalUpperQuantile } from './distributions.ts'
import { inversions } from './mann-kendall.ts'

export interface Slope {
  slope: number
  low: number
  high: number
}

const MOST_LISTED = 2000

/** Returns the slope of the pairs (within a season if `season` is given), for x that never falls; null without pairs. */
export function theilSen(
  x: readonly number[],
  y: readonly number[],
  variance: number,
  season?: readonly number[],
): Slope | null {
  const groups = season ? [...Map.groupBy(x.keys(), (index) => season[index]!).values()] : [[...x.keys()]]
  const pairs = groups.reduce((sum, group) => sum + (group.length * (group.length - 1)) / 2, 0)
  if (pairs === 0) return null
  const rank = x.length <= MOST_LISTED ? listed(x, y, groups) : searched(x, y, groups)
  const reach = normalUpperQuantile(0.025) * Math.sqrt(variance)
  const clamp = (value: number) => Math.min(pairs, Math.max(1, Math.round(value)))
  return {
    slope: (rank(Math.floor((pairs + 1) / 2)) + rank(Math.ceil((pairs + 1) / 2))) / 2,
    low: rank(clamp((pairs - reach) / 2)),
    high: rank(clamp((pairs + reach) / 2 + 1)),
  }
}

type Rank = (position: number) => number

function listed(x: readonly number[], y: readonly number[], groups: readonly number[][]): Rank {
  const slopes: number[] = []
  for (const group of groups) {
    for (const [place, from] of group.entries()) {
      for (const to of group.slice(place + 1)) slopes.push((y[to]! - y[from]!) / (x[to]! - x[from]!))
    }
  }
  const sorted = Float64Array.from(slopes).toSorted()
  return (position) => sorted[position - 1]!
}

function searched(x: readonly number[], y: readonly number[], groups: readonly number[][]): Rank {
  // A pair's slope is under m exactly if y - m x falls between the two.
  const below = (m: number) =>
    groups.reduce((sum, group) => sum + inversions(group.map((index) => y[index]! - m * x[index]!)), 0)
  let reach = 0
  for (const group of groups) {
    for (const [place, to] of group.slice(1).entries()) {
      const from = group[place]!
      reach = Math.max(reach, Math.abs((y[to]! - y[from]!) / (x[to]! - x[from]!)))
    }
  }
  return (position) => {
    let low = -reach
    let high = reach
    for (let step = 0; step < 70 && high - low > 1e-15 * reach; step++) {
      const middle = (low + high) / 2
      if (below(middle) >= position) high = middle
      else low = middle
    }
    return high
  }
}
