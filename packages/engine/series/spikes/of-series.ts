/**
 * Finds what stands out of a whole series: values one by one, stretches of neighbours (stretches.ts), and days that
 * stand out every year.
 */
import { mostLevels } from '../level-changes.ts'
import { findBesideYearly } from './beside-yearly.ts'
import type { Sizes } from './by-size.ts'
import { findBesideLevels, stepsAt } from './short-levels.ts'
import { findSpikes, type Spike, type Spikes } from './spikes.ts'
import type { Stretch } from './stretches.ts'

export interface InSeries {
  values: readonly number[]
  /** The step of each value, ascending. */
  rows: readonly number[]
  /** The columns of its seasons. */
  waves: readonly (readonly number[])[]
  /** The number of rows before each change of level, ascending. */
  levels: readonly number[]
  /** The day of each value, in days since 1970-01-01; null if the steps are no days. */
  days: readonly number[] | null
  sizes?: Sizes | null
}

/** The share of alpha for stretches. */
const STRETCHES = 0.05
/** The distance in standard deviations at which a value of a stretch stands out by itself. */
const OUT = 3

/** Returns at most `most` values one by one, and all stretches. The chance of any false one of all kinds is `alpha`. */
export function findInSeries(
  { values, rows, waves, levels, days, sizes = null }: InSeries,
  most: number,
  alpha: number,
): { found: Spikes; yearly: ReadonlyMap<number, number>; stretches: Stretch[] } {
  const { stretches, others } = findBesideLevels(values, rows, waves, levels, STRETCHES * alpha)
  const beside = [...waves, ...stepsAt(values.length, others.slice(0, mostLevels(values.length)))]
  const away = new Map(
    stretches.flatMap(({ from, to, p }) =>
      Array.from({ length: to - from }, (_, at): [number, number] => [from + at, p]),
    ),
  )
  const { found, yearly } = findBesideYearly(
    (aside, left) =>
      findSpikes(values, rows, beside, most, left, { aside: new Map([...aside, ...away]), sizes }),
    days,
    (1 - STRETCHES) * alpha,
  )
  // A value at an end of a stretch may belong to it by chance.
  const isTold = ({ index, score }: Spike): boolean =>
    !away.has(index) || yearly.has(index) || Math.abs(score) > OUT
  return { found: { ...found, spikes: found.spikes.filter(isTold) }, yearly, stretches }
}
