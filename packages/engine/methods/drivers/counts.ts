/**
 * Whether sums are counts, in whatever unit they are told: 23,400 jobs and 23.4 thousand are the same counts, and have the same
 * causes. The unit is 1, or the decimal of which all values are whole multiples. Values that stray farther than
 * counts do are no counts for the search: their noise is taken from the leaves.
 */
import { commonFactor } from '../../causes/state.ts'
import { median } from '../../numeric/median.ts'

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

/** Null where the values are no counts. `pairs`: both sides now, and those of earlier changes. */
export function countsOf(pairs: readonly Pair[]): Counts | null {
  const unit = unitOf(pairs.flatMap(({ before, after }) => [before, after]))
  if (unit === null) return null
  const squares = pairs.flatMap(({ before, after }) => {
    const factor = commonFactor({ before, after }, null) ?? 1
    return Array.from(before, (value, leaf): number => {
      const noise = unit * (after[leaf]! + factor * factor * value)
      return noise > 0 ? (after[leaf]! - factor * value) ** 2 / noise : Number.NaN
    }).filter(Number.isFinite)
  })
  if (squares.length < LEAST_TO_SHOW) return { unit, beyond: ASSUMED }
  return median(Float64Array.from(squares)) > MOST_DISPERSION * MEDIAN ? null : { unit, beyond: 0 }
}
