/**
 * Whether sums are counts, in whatever unit they are told: 23,400 jobs and 23.4 thousand are the same counts, and have the same
 * causes. The unit is 1, or the decimal of which all values are whole multiples, or the largest such number: seven pounds a ticket.
 * Values that stray farther than counts do are no counts for the search: their noise is taken from the leaves.
 * And whether the rows of sums come as events do, their number by chance, or lie on a grid, one for each day, say, of which some are missing.
 */
import { commonFactor } from '../../causes/state.ts'
import { chiSquareLower } from '../../numeric/distributions.ts'
import { median } from '../../numeric/median.ts'
import { exactSum } from '../../numeric/sum.ts'
import type { Sums } from './leaf-rows.ts'

export interface Counts {
  /** What one event is in the values. */
  unit: number
  /** Noise beyond that of counts, as a share of the value: assumed where too few values could show it. */
  beyond: number
}

interface Pair {
  before: Float64Array
  after: Float64Array
}

const POWERS = [0, -1, -2, -3, -4, -5, -6]
/** How near a whole multiple is, in parts of a unit and of the value. */
const NEAR = 1e-9
/** The median of a chi-square with one degree of freedom. */
const MEDIAN = 0.4549364231195724
/** Changes that stray by twice the noise of counts are not those of counts. */
const MOST_DISPERSION = 4
const LEAST_TO_SHOW = 6
const ASSUMED = 0.05

/** 1, 0.1 and so on to a millionth: the first of which all values, none below 0, are whole multiples; null where none is. */
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
 * Null where the values are no counts. `pairs`: both sides now, and those of earlier changes. Rounded values have common multiples of 2
 * and 5 as counts of packs do: such a unit is taken where they stray as its counts do.
 */
export function countsOf(pairs: readonly Pair[]): Counts | null {
  const lists = pairs.flatMap(({ before, after }) => [before, after])
  const unit = unitOf(lists)
  if (unit === null) return null
  const most = commonDivisor(lists, unit)
  const shown = dispersion(pairs, unit)
  if (shown === null) return { unit: unit * (isRound(most) ? 1 : most), beyond: ASSUMED }
  // The unit in which they stray most nearly as counts do.
  const packed = shown > Math.sqrt(most)
  if ((packed ? shown / most : shown) > MOST_DISPERSION) return null
  return { unit: packed ? unit * most : unit, beyond: 0 }
}

/** How much more than counts of the unit the values stray, by their median; null of too few. */
function dispersion(pairs: readonly Pair[], unit: number): number | null {
  const squares = pairs.flatMap(({ before, after }) => {
    const factor = commonFactor({ before, after }, null) ?? 1
    return Array.from(before, (value, leaf): number => {
      const noise = unit * (after[leaf]! + factor * factor * value)
      return noise > 0 ? (after[leaf]! - factor * value) ** 2 / noise : Number.NaN
    }).filter(Number.isFinite)
  })
  return squares.length < LEAST_TO_SHOW ? null : median(Float64Array.from(squares)) / MEDIAN
}

/** The largest whole number of units of which all values are multiples (Euclid); 1 of values beyond 2^53 units. */
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

/** Whether a number has no prime factor beside 2 and 5. */
function isRound(number: number): boolean {
  let left = number
  for (const prime of [2, 5]) while (left % prime === 0) left /= prime
  return left === 1
}

/** Events are taken for a grid once in so many times. */
const RARELY = 0.001

/**
 * The variance of the number of rows of a leaf over the number: 1 of events, far less of a grid with gaps. From the dispersion of pairs of
 * counts (Fisher's index over both sides), which is chi-square for events: less than 1 only where events make that once in 1,000 times.
 * `pairs`: both sides now, and of earlier changes, latest first; those that share a period with the one before are left out. Rows of 1 each are
 * counts, and no values on a grid.
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
  // A part that ended hides the grid of all others. It may be any of them, so that theirs has to be rarer.
  const left = Math.max(0, sum - most)
  return df > 2 && (df + 1) * chiSquareLower(left, df - 1) < RARELY ? left / (df - 1) : 1
}
