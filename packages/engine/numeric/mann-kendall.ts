/**
 * Computes the Mann-Kendall test (Mann 1945; Kendall 1975), with the variance of Hamed and Rao (J. Hydrology 204, 1998)
 * for autocorrelated series and the seasonal form of Hirsch, Slack and Smith (Water Resources Research 18, 1982), as
 * pyMannKendall computes them. A merge sort counts S in n log n.
 */
import { normalQuantile, normalTwoSided } from './distributions.ts'
import { exactMean } from './exact.ts'

export interface MannKendall {
  s: number
  var_s: number
  z: number
  p: number
  tau: number
}

export function mannKendall(values: readonly number[]): MannKendall {
  return tested(score(values))
}

/** Tests with the variance corrected for significant autocorrelation of the detrended ranks. */
export function hamedRao(values: readonly number[], slope: number): MannKendall {
  const { s, variance, pairs } = score(values)
  const n = values.length
  const rank = ranks(values.map((value, index) => value - (index + 1) * slope))
  const center = exactMean(rank)
  const deviations = rank.map((value) => value - center)
  const bound = normalQuantile(0.975) / Math.sqrt(n)
  const scale = lagged(deviations, 0)
  let extra = 0
  for (let lag = 1; lag < (scale > 0 ? n : 0); lag++) {
    const correlation = lagged(deviations, lag) / scale
    if (Math.abs(correlation) > bound) extra += (n - lag) * (n - lag - 1) * (n - lag - 2) * correlation
  }
  const factor = 1 + (2 / (n * (n - 1) * (n - 2))) * extra
  // Strong negative correlation can give a negative variance. The plain variance is then the conservative choice.
  return tested({ s, variance: factor > 0 ? variance * factor : variance, pairs })
}

/** Tests with the scores added up over the seasons. `season` gives the season of each value. */
export function seasonalMannKendall(values: readonly number[], season: readonly number[]): MannKendall {
  const groups = Map.groupBy(values.keys(), (index) => season[index]!)
  const total = { s: 0, variance: 0, pairs: 0 }
  for (const group of groups.values()) {
    const found = score(group.map((index) => values[index]!))
    total.s += found.s
    total.variance += found.variance
    total.pairs += found.pairs
  }
  return tested(total)
}

function tested({ s, variance, pairs }: { s: number; variance: number; pairs: number }): MannKendall {
  const z = s === 0 || variance === 0 ? 0 : (s - Math.sign(s)) / Math.sqrt(variance)
  return { s, var_s: variance, z, p: normalTwoSided(z), tau: pairs === 0 ? 0 : s / pairs }
}

function score(values: readonly number[]): { s: number; variance: number; pairs: number } {
  const n = values.length
  const pairs = n === 0 ? 0 : (n * (n - 1)) / 2
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  let ties = 0
  let correction = 0
  for (const count of counts.values()) {
    ties += (count * (count - 1)) / 2
    correction += count * (count - 1) * (2 * count + 5)
  }
  const s = pairs - ties - 2 * inversions(values)
  return { s, variance: (n * (n - 1) * (2 * n + 5) - correction) / 18, pairs }
}

/** Counts the pairs that stand in falling order. */
export function inversions(values: readonly number[]): number {
  let from = Float64Array.from(values)
  let to = new Float64Array(values.length)
  let found = 0
  for (let width = 1; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length)
      const end = Math.min(start + 2 * width, from.length)
      let left = start
      let right = middle
      for (let index = start; index < end; index++) {
        if (left < middle && (right >= end || from[left]! <= from[right]!)) to[index] = from[left++]!
        else {
          found += middle - left
          to[index] = from[right++]!
        }
      }
    }
    ;[from, to] = [to, from]
  }
  return found
}

/** Returns ranks from 1, with the mean rank among equals. */
export function ranks(values: readonly number[]): number[] {
  const sorted = Float64Array.from(values).toSorted()
  /** Returns how many of the sorted values come before a bound. */
  const countOf = (isBefore: (one: number) => boolean): number => {
    let [low, high] = [0, sorted.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBefore(sorted[middle]!)) low = middle + 1
      else high = middle
    }
    return low
  }
  return values.map((value) => {
    const below = countOf((one) => one < value)
    const most = sorted[below + 1] === value ? countOf((one) => one <= value) : below + 1
    return (below + 1 + most) / 2
  })
}

function lagged(deviations: readonly number[], lag: number): number {
  let sum = 0
  for (let index = lag; index < deviations.length; index++)
    sum += deviations[index]! * deviations[index - lag]!
  return sum
}
