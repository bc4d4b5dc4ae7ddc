/**
 * Finds stretches of neighbouring values that leave a series together and return, such as an outage of a week. Each
 * value lies where its neighbours lead one to expect, so none stands out by itself, and together they look like a
 * wandering level.
 *
 * A stretch begins and ends with large jumps in opposite directions. Its mean must lie farther from the line, seasons
 * and levels than errors of any persistence explain (persistent-regression.ts), after a correction for every position
 * and length. One of two tests must show that: the normal scores of the values, so that tails make no stretch, or the
 * chance that its values, of any tails, lie side by side. If the series may be a random walk, it is tested as it is and
 * with the sizes of its steps replaced by their normal scores.
 */

import { stepsOrCurve } from '../levels/steps-or-curve.ts'
import { centred } from '../persistence/centre.ts'
import { normalScores } from '../persistence/normal-scores.ts'
import { persistentTest } from '../persistence/persistent-regression.ts'
import { dot, residualsOf } from '../persistence/residuals.ts'
import { lineColumn } from '../seasons.ts'
import { medianOf } from './tails.ts'

export interface Stretch {
  /** The first row, and the one after the last. */
  from: number
  to: number
  /** The p after the search. */
  p: number
}

type Place = Pick<Stretch, 'from' | 'to'>

/**
 * The longest stretch: a share of the values, and a number. A longer one, up to the second share, is a level that
 * returns. Values of a shorter one are judged one by one.
 */
const SHARE = 1 / 6
const SHARE_OF_LEVEL = 1 / 3
const LONGEST = 60
const LEAST = 3
const MOST = 5
/** The most jumps at which a stretch may begin or end, and the most stretches that are tested. */
const JUMPS = 40
const TESTED = 6
/** The distance from which a stretch is tested, in standard errors of a mean by the differences of neighbours. */
const FAR = 4
/**
 * The number of values on either side of an end that make a step there, and the least size of that step in usual steps.
 */
const BESIDE_END = 5
const STEP = 4
/** The number of tests that the stretches of all lengths from one position count as, if neighbours are not alike. */
const PLACES = 4
/** Errors of less persistence than this have no order. */
const ALONE = 0.3

/** Returns the most of `n` values that are a stretch, and no level. */
export const longestStretch = (n: number): number => Math.min(LONGEST, Math.floor(SHARE * n))

/** Returns the most of `n` values that are a level which returns. */
export const longestLevel = (n: number): number => Math.min(LONGEST, Math.floor(SHARE_OF_LEVEL * n))

/**
 * Finds stretches. `beside` are columns that explain the series, without a constant and a line. `alpha` is the chance
 * of any false stretch. `longest` is the most values of a stretch.
 */
export function findStretches(
  given: readonly number[],
  rows: readonly number[],
  beside: readonly (readonly number[])[],
  alpha: number,
  longest = longestStretch(given.length),
): Stretch[] {
  const values = centred(given)
  const base = [values.map(() => 1), lineColumn(rows), ...beside]
  const scores = normalScores(values)
  const found: Stretch[] = []
  while (found.length < MOST) {
    const next = strongest(values, scores, base, longest, alpha)
    if (!next) break
    found.push(next)
    base.push(columnOf(values.length, next))
  }
  if (found.length === 0) return found
  const ends = found.flatMap((stretch) => endsOf(stretch, values.length).map((index) => ({ index, stretch })))
  const { steps } = stepsOrCurve(
    given,
    rows,
    beside,
    ends.toSorted((one, other) => one.index - other.index),
  )
  // A stretch that a curve explains as well, such as the end of a growth by a share, does not count.
  const told = found.filter((stretch) => ends.every((end) => end.stretch !== stretch || steps.includes(end)))
  return told.toSorted((left, right) => left.from - right.from)
}

/** Returns the positions at which a stretch in a series of `n` values leaves and returns. */
export const endsOf = ({ from, to }: Place, n: number): number[] =>
  [from, to].filter((index) => index > 0 && index < n)

/** Returns a column that is 1 within the stretch, else 0. */
export const columnOf = (n: number, { from, to }: Place): number[] =>
  Array.from({ length: n }, (_, row) => (row >= from && row < to ? 1 : 0))

function strongest(
  values: readonly number[],
  scores: readonly number[],
  base: readonly (readonly number[])[],
  longest: number,
  alpha: number,
): Stretch | null {
  const n = values.length
  if (longest < LEAST || n < 2 * base.length + 8) return null
  const { left } = residualsOf(values, base)
  const seen = new Set<number>()
  let best: Stretch | null = null
  for (const candidate of candidates(left, longest)) {
    const place = trimmed(values, base, candidate)
    if (!place || seen.has(place.from * n + place.to)) continue
    seen.add(place.from * n + place.to)
    const p = chanceOf(values, scores, base, place, longest, Math.min(alpha, best?.p ?? 1))
    if (p <= alpha && p < (best?.p ?? 1)) best = { ...place, p }
  }
  return best
}

/**
 * Returns the likeliest stretches between large jumps in opposite directions, or from a jump to an end of the series.
 */
function candidates(left: Float64Array, longest: number): Place[] {
  const n = left.length
  const jump = (row: number): number => left[row]! - left[row - 1]!
  const sizes = Float64Array.from({ length: n - 1 }, (_, at) => Math.abs(jump(at + 1)))
  const noise = medianOf(sizes) / 0.954
  const least = sizes.toSorted().at(-Math.min(JUMPS, n - 1))!
  const jumps = [...sizes.keys()].map((at) => at + 1).filter((row) => Math.abs(jump(row)) >= least)
  const sums = new Float64Array(n + 1)
  for (let row = 0; row < n; row++) sums[row + 1] = sums[row]! + left[row]!
  const middle = medianOf(left)
  const mean = (from: number, to: number): number => (sums[to]! - sums[from]!) / (to - from)
  const step = (at: number, reach: number): number => mean(at, at + reach) - mean(at - reach, at)
  /** The usual distance from 0 of steps over `reach` values, in the whole series. */
  const usual = new Map<number, number>()
  const usualStep = (reach: number): number => {
    const known = usual.get(reach)
    if (known !== undefined) return known
    const steps = Array.from({ length: Math.max(0, n - 2 * reach + 1) }, (_, at) =>
      Math.abs(step(at + reach, reach)),
    )
    usual.set(reach, medianOf(steps) / 0.6745)
    return usual.get(reach)!
  }
  /** Tells whether the stretch leaves or returns at once. At an end of the series it need not. */
  const leaps = (at: number, longest: number): boolean => {
    const reach = Math.min(longest, at, n - at)
    return at === 0 || at === n || Math.abs(step(at, reach)) > STEP * usualStep(reach)
  }
  const found: { from: number; to: number; size: number }[] = []
  const consider = (from: number, to: number): void => {
    if (to - from < LEAST || to - from > longest) return
    const size = Math.abs(mean(from, to) - middle) * Math.sqrt(to - from)
    const reach = Math.min(BESIDE_END, to - from)
    if (size > FAR * noise && leaps(from, reach) && leaps(to, reach)) found.push({ from, to, size })
  }
  for (const [at, from] of jumps.slice(0, JUMPS).entries()) {
    consider(0, from)
    consider(from, n)
    for (const to of jumps.slice(at + 1, JUMPS)) {
      if (to - from > longest) break
      if (jump(from) * jump(to) < 0) consider(from, to)
    }
  }
  return found.toSorted((one, other) => other.size - one.size).slice(0, TESTED)
}

/** Returns the stretch without values at its ends that lie nearer to the usual ones, or null if too few are left. */
function trimmed(
  values: readonly number[],
  base: readonly (readonly number[])[],
  place: Place,
): Place | null {
  const away = awayOf(values, base, place)
  const height = away.slice(place.from, place.to).reduce((sum, one) => sum + one, 0) / (place.to - place.from)
  const isFar = (row: number): boolean => 2 * away[row]! * Math.sign(height) > Math.abs(height)
  let { from, to } = place
  while (from < to && !isFar(from)) from += 1
  while (to > from && !isFar(to - 1)) to -= 1
  return to - from < LEAST ? null : { from, to }
}

/** Returns how far each value lies from the expectation that the values outside the stretch give. */
function awayOf(values: readonly number[], base: readonly (readonly number[])[], place: Place): Float64Array {
  const column = columnOf(values.length, place)
  const { beside, left } = residualsOf(values, base, [column])
  const rows = [...values.keys()].filter((row) => column[row] === 1)
  const rest = residualsOf(column, base).left
  const size = dot(rest, rest)
  const height = size > 0 ? dot(rest, beside) / size : 0
  for (const row of rows) left[row] = left[row]! + height
  return left
}

/**
 * Returns the chance of a stretch, or 1 as soon as it is certainly above `most`. `scores` are the normal scores of the
 * values.
 */
function chanceOf(
  values: readonly number[],
  scores: readonly number[],
  base: readonly (readonly number[])[],
  place: Place,
  longest: number,
  most: number,
): number {
  const n = values.length
  const stretch = columnOf(n, place)
  const plain = persistentTest(values, base, [stretch])
  if (!plain) return 1
  const each = n * (longest - LEAST + 1)
  if (plain.walk && each * plain.p > most) return 1
  const scored = persistentTest(scores, base, [stretch])
  if (!scored) return 1
  if (!plain.walk && !scored.walk) {
    if (plain.persistence >= ALONE) return Math.min(1, each * scored.p)
    const ranked = Math.max(plain.p, side(values, base, place))
    return Math.min(1, n * PLACES * Math.min(scored.p, ranked))
  }
  const larger = Math.max(plain.p, scored.p)
  if (each * larger > most) return 1
  let level = 0
  const steps = normalScores(values.slice(1).map((value, row) => value - values[row]!))
  const walk = [0, ...steps.map((step) => (level += step))]
  return Math.min(1, each * Math.max(larger, persistentTest(walk, base, [stretch])?.p ?? 1))
}

/**
 * Returns the chance that all values of a stretch are at least as far out as the nearest of them, if their order means
 * nothing.
 */
function side(values: readonly number[], base: readonly (readonly number[])[], place: Place): number {
  const n = values.length
  const length = place.to - place.from
  const away = awayOf(values, base, place)
  const sign = Math.sign(away.slice(place.from, place.to).reduce((sum, one) => sum + one, 0))
  const signed = away.map((one) => sign * one)
  const nearest = Math.min(...signed.slice(place.from, place.to))
  const asFar = signed.filter((one) => one >= nearest).length
  let p = 2
  for (let at = 0; at < length; at++) p *= (asFar - at) / (n - at)
  return Math.min(1, p)
}
