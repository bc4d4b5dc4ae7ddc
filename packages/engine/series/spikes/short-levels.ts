/**
 * Separates stretches from changes of level. A level that returns soon is a stretch (stretches.ts), and one that lasts
 * is a level. A long stretch is reported as a level too, which begins and ends.
 */
import type { LevelChange } from '../level-changes.ts'
import { stepsOrCurve } from '../levels/steps-or-curve.ts'
import { endsOf, findStretches, longestStretch, type Stretch } from './stretches.ts'

/** The distance from an end of a stretch within which a change of level is that end. */
const NEAR = 2
/** The most values of the latest level that may still be a stretch. */
const NEW = 14
/** The fewest values of a stretch that are a level. */
const LEAST_LEVEL = 5
/** The chance of any false short level. */
const ALPHA = 0.01

/** Returns a column for each change of level. `changes` are the numbers of rows before them. */
export const stepsAt = (n: number, changes: readonly number[]): number[][] =>
  changes.map((index) => Array.from({ length: n }, (_, row) => (row < index ? 0 : 1)))

/**
 * Returns all changes of level, ascending: those that last and the ends of stretches. `waves` are columns of the
 * seasons.
 */
export function withShortLevels(
  changes: readonly LevelChange[],
  values: readonly number[],
  rows: readonly number[],
  waves: readonly (readonly number[])[],
): LevelChange[] {
  const n = values.length
  const levels = changes.map(({ index }) => index)
  const { stretches } = findBesideLevels(values, rows, waves, levels, ALPHA)
  const short = stretches.filter(({ from, to }) => to - from >= LEAST_LEVEL)
  const ends = short.flatMap(({ from, to, p }) => endsOf({ from, to }, n).map((index) => ({ index, p })))
  if (short.length === 0) return [...changes]
  const lasting = changes.filter(({ index }) => !short.some((one) => isEndOf(one, index)))
  const all = [...lasting, ...ends].toSorted((one, other) => one.index - other.index)
  const { degree, log } = stepsOrCurve(values, rows, waves, all)
  return all.map((one) => ({ ...one, curve: { degree, log } }))
}

/**
 * Returns the stretches, and the changes of level that are not their ends. The chance of any false stretch is `alpha`.
 */
export function findBesideLevels(
  values: readonly number[],
  rows: readonly number[],
  waves: readonly (readonly number[])[],
  levels: readonly number[],
  alpha: number,
): { stretches: Stretch[]; others: number[] } {
  const n = values.length
  const beside = (changes: readonly number[]): Stretch[] =>
    findStretches(values, rows, [...waves, ...stepsAt(n, changes)], alpha)
  const lasting = withoutShort(levels, n)
  // One end of a stretch may have been taken for a change of level.
  const known = beside(lasting)
  const stretches = known.length > 0 || lasting.length === 0 ? known : beside([])
  return { stretches, others: levels.filter((index) => !stretches.some((one) => isEndOf(one, index))) }
}

const isEndOf = ({ from, to }: Stretch, index: number): boolean => index >= from - NEAR && index <= to + NEAR

/**
 * Removes levels that may be the ends of a stretch, because another one lies within the length of a stretch or the
 * series ends soon.
 */
function withoutShort(levels: readonly number[], n: number): number[] {
  const longest = longestStretch(n)
  return levels.filter(
    (index, at) =>
      index - (levels[at - 1] ?? Number.NEGATIVE_INFINITY) > longest &&
      (levels[at + 1] ?? Number.POSITIVE_INFINITY) - index > longest &&
      n - index > Math.min(longest, NEW),
  )
}
