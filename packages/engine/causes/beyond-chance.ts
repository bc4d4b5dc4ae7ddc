/**
 * Estimates how much rates vary beyond single events. One row of 4,000 visits and 200 orders shows the chance variation
 * of 200 orders, and not what else moved the rate. The leaves show the rest together, by medians, so that causes in
 * fewer than half of them count little. One standard error of the median is added. With too few leaves a share is
 * assumed.
 */

import { median, SQUARED_NORMAL_MEDIAN } from '../numeric/median.ts'
import { commonFactor } from './state.ts'

export interface RateSides {
  /** The expected and the observed numerators, and their variances by single events. */
  expected: Float64Array
  came: Float64Array
  v0: Float64Array
  v1: Float64Array
}

/** The relative standard error of the median of the square of one normal value. */
const ERROR = 2.33
const LEAST_TO_SHOW = 6
const ASSUMED = 0.12
const MOST = 8
const HALVINGS = 40

/**
 * Returns the standard deviation of a rate beyond chance, on each side, as a share of the rate. `grouped` are the
 * leaves whose rows do not show it, of this change and of earlier ones.
 */
export function beyondChance(changes: readonly (RateSides & { grouped: readonly number[] })[]): number {
  const n = changes.reduce((sum, { grouped }) => sum + grouped.length, 0)
  if (n === 0) return 0
  if (n < LEAST_TO_SHOW) return ASSUMED
  const factors = changes.map(
    ({ expected, came }) => commonFactor({ before: expected, after: came }, null) ?? 1,
  )
  const target = SQUARED_NORMAL_MEDIAN / (1 + ERROR / Math.sqrt(n))
  const distances = new Float64Array(n)
  const strays = (share: number): number => {
    let at = 0
    for (const [index, { expected, came, v0, v1, grouped }] of changes.entries()) {
      const factor = factors[index]!
      for (const leaf of grouped) {
        const [was, is] = [factor * expected[leaf]!, came[leaf]!]
        const noise = v0[leaf]! * factor ** 2 + v1[leaf]! + share ** 2 * (was ** 2 + is ** 2)
        // If the noise is 0, each distance is beyond chance.
        distances[at++] = is === was ? 0 : (is - was) ** 2 / noise
      }
    }
    return median(distances)
  }
  if (strays(0) <= target) return 0
  let [low, high] = [0, MOST]
  for (let round = 0; round < HALVINGS; round++) {
    const middle = (low + high) / 2
    if (strays(middle) > target) low = middle
    else high = middle
  }
  return high
}
