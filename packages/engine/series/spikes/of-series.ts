/** What stands out of a whole series: values one by one, stretches of neighbours (stretches.ts), and days that do so every year. */
import { mostLevels } from '../level-changes.ts'
import { findBesideYearly } from './beside-yearly.ts'
import type { Sizes } from './by-size.ts'
import { findSpikes, type Spike, type Spikes } from './spikes.ts'
import { findStretches, longestStretch, type Stretch } from './stretches.ts'

export interface InSeries {
  values: readonly number[]
  /** The step of each value, ascending. */
  rows: readonly number[]
  /** Columns of its seasons. */
  waves: readonly (readonly number[])[]
  /** Rows before each change of level, ascending. */
  levels: readonly number[]
  /** Of each value, in days since 1970-01-01; null where the steps are no days. */
  days: readonly number[] | null
  sizes?: Sizes | null
}

/** The share of alpha for stretches. */
const STRETCHES = 0.05
/** A change of level so near to an end of a stretch is that end. */
const NEAR = 2
/** A level of at most so many values, the latest, may still be a stretch. */
const NEW = 14
/** Standard deviations by which a value of a stretch itself lies out. */
const OUT = 3

/** At most `most` values one by one, and all stretches; the chance of any false one of all kinds is `alpha`. */
export function findInSeries(
  { values, rows, waves, levels, days, sizes = null }: InSeries,
  most: number,
  alpha: number,
): { found: Spikes; yearly: ReadonlyMap<number, number>; stretches: Stretch[] } {
  const steps = (changes: readonly number[]): number[][] =>
    changes.map((index) => values.map((_, row) => (row < index ? 0 : 1)))
  const stretchesBeside = (changes: readonly number[]): Stretch[] =>
    findStretches(values, rows, [...waves, ...steps(changes)], STRETCHES * alpha)
  const lasting = withoutShort(levels, values.length)
  // One end of a stretch may have been taken for a change of level.
  const known = stretchesBeside(lasting)
  const stretches = known.length > 0 || lasting.length === 0 ? known : stretchesBeside([])
  const others = levels.filter(
    (index) => !stretches.some(({ from, to }) => index >= from - NEAR && index <= to + NEAR),
  )
  const beside = [...waves, ...steps(others.slice(0, mostLevels(values.length)))]
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

/** Without those that may be the ends of a stretch: they come one after the other within so many values, or the series ends soon. */
function withoutShort(levels: readonly number[], n: number): number[] {
  const longest = longestStretch(n)
  return levels.filter(
    (index, at) =>
      index - (levels[at - 1] ?? Number.NEGATIVE_INFINITY) > longest &&
      (levels[at + 1] ?? Number.POSITIVE_INFINITY) - index > longest &&
      n - index > Math.min(longest, NEW),
  )
}
