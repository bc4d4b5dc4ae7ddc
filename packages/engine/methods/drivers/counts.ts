/**
 * Tells whether sums are counts, in any unit: 23,400 jobs and 23.4 thousand are the same counts and have the same
 * causes. The unit is 1, or the decimal of which all values are whole multiples, or the largest such number, for
 * example 7 pounds for a ticket. Values that vary more than counts do are not counts for the search: their noise is
 * taken from the leaves. It also tells whether rows come as events, whose number is random, or lie on a grid, for
 * example one row for each day, with gaps.
 */
import { commonFactor } from '../../causes/state.ts'
import { chiSquareLower } from '../../numeric/distributions.ts'
import { median, SQUARED_NORMAL_MEDIAN } from '../../numeric/median.ts'
import { exactSum } from '../../numeric/sum.ts'
import type { Sums } from './leaf-rows.ts'

export interface Counts {
  /** The value of one event. */
  unit: number
  /** Noise beyond that of counts, as a share of the value. It is assumed if there are too few values to show it. */
  beyond: number
}

interface Pair {
  before: Float64Array
  after: Float64Array
}

const POWERS = [0, -1, -2, -3, -4, -5, -6]
/** The tolerance of a whole multiple, as a share of the unit and of the value. */
const NEAR = 1e-9
/** Values whose changes vary by more than this times the noise of counts are not counts. */
const MOST_DISPERSION = 4
const LEAST_TO_SHOW = 6
const ASSUMED = 0.05

/**
 * Returns the first of 1, 0.1 and so on to a millionth of which all values are whole multiples. Returns null if there
 * is none or a value is below 0.
 */
export function unitOf(lists: readonly Float64Array[]): number | null {
  if (lists.some((values) => values.some((value) => !(value >= 0)))) return null
  if (lists.every((values) => values.every((value) => value === 0))) return 1
  const power = POWERS.find((one) => lists.every((values) => values.every((value) => isWhole(value, one))))
  return power === undefined ? null : 10 ** power
}

function isWhole(value: number, power: number): boolean {
  const times = value * 10 ** -power
  return Math.abs(times - Math.round(times)) <= NEAR * Math.max(1, Math.min(times, 1e5))
}

/**
 * Returns the unit of counts, or null if the values are no counts. `pairs` are both sides now and those of earlier
 * changes. Rounded values share factors of 2 and 5, as counts of packs do, so such a unit is taken only if the values
 * vary as its counts would.
 */
export function countsOf(pairs: readonly Pair[]): Counts | null {
  const lists = pairs.flatMap(({ before, after }) => [before, after])
  const unit = unitOf(lists)
  if (unit === null) return null
  const most = commonDivisor(lists, unit)
  const shown = dispersion(pairs, unit)
  if (shown === null) return { unit: unit * (isRound(most) ? 1 : most), beyond: ASSUMED }
  // This is the unit in which the values vary most nearly as counts do.
  const packed = shown > Math.sqrt(most)
  if ((packed ? shown / most : shown) > MOST_DISPERSION) return null
  return { unit: packed ? unit * most : unit, beyond: 0 }
}

/** Returns how many times more than counts of the unit the values vary, by the median; null if they are too few. */
function dispersion(pairs: readonly Pair[], unit: number): number | null {
  const squares = pairs.flatMap(({ before, after }) => {
    const factor = commonFactor({ before, after }, null) ?? 1
    return Array.from(before, (value, leaf): number => {
      const noise = unit * (after[leaf]! + factor * factor * value)
      return noise > 0 ? (after[leaf]! - factor * value) ** 2 / noise : Number.NaN
    }).filter(Number.isFinite)
  })
  return squares.length < LEAST_TO_SHOW ? null : median(Float64Array.from(squares)) / SQUARED_NORMAL_MEDIAN
}

/**
 * Returns the largest whole number of units of which all values are multiples (Euclid), or 1 if values exceed 2^53
 * units.
 */
function commonDivisor(lists: readonly Float64Array[], unit: number): number {
  let found = 0
  for (const values of lists)
    for (const value of values) {
      let [a, b] = [Math.round(value / unit), found]
      if (a > Number.MAX_SAFE_INTEGER) return 1
      while (b > 0) [a, b] = [b, a % b]
      found = a
      if (found === 1) return 1
    }
  return Math.max(1, found)
}

/** Tells whether a number has no prime factors other than 2 and 5. */
function isRound(number: number): boolean {
  let left = number
  for (const prime of [2, 5]) while (left % prime === 0) left /= prime
  return left === 1
}

/** The chance to take events for a grid. */
const RARELY = 0.001

/**
 * Returns the variance of the number of rows of a leaf over that number: 1 for events, far less for a grid with gaps.
 * It comes from the dispersion of pairs of counts (Fisher's index over both sides), which is chi-square for events. It
 * is below 1 only if events would show that less than once in 1,000 times. `pairs` are both sides now and of earlier
 * changes, latest first; a pair that shares a period with the one before is left out. Rows that are all 1 are counts,
 * not values on a grid.
 */
export function spreadOfRows(pairs: readonly { before: Sums; after: Sums }[]): number {
  const ones = pairs.every(({ before, after }) =>
    [before, after].every(({ rows, top }) => top.every((value, leaf) => value === rows[leaf])),
  )
  if (ones) return 1
  let [sum, df, most] = [0, 0, 0]
  for (const { before, after } of pairs.filter((_, index) => index % 2 === 0)) {
    const factor =
      commonFactor({ before: before.rows, after: after.rows }, null) ??
      exactSum([...after.rows]) / exactSum([...before.rows])
    if (!(factor > 0) || !Number.isFinite(factor)) continue
    const squares = Array.from(before.rows, (was, leaf): number => {
      const noise = after.rows[leaf]! + factor * factor * was
      return noise > 0 ? (after.rows[leaf]! - factor * was) ** 2 / noise : Number.NaN
    }).filter(Number.isFinite)
    sum += exactSum(squares)
    df += Math.max(0, squares.length - 1)
    most = Math.max(most, ...squares)
  }
  if (df > 0 && chiSquareLower(sum, df) < RARELY) return sum / df
  // A part that ended hides the grid of all others. Any part may be the one, so the chance is corrected for their
  // number.
  const left = Math.max(0, sum - most)
  return df > 2 && (df + 1) * chiSquareLower(left, df - 1) < RARELY ? left / (df - 1) : 1
}
