/**
 * Stretches of neighbouring values that leave a series together and come back, such as an outage of a week: each of them lies where
 * its neighbours lead one to expect, so that none stands out by itself, and together they look like a wandering level.
 *
 * A stretch begins and ends with large jumps, one against the other. Beside the line, seasons and levels its mean must lie farther off
 * than errors of any persistence explain (persistent-regression.ts), after a correction for every place and length. It must do so by the
 * normal scores of the values, so that tails make no stretch, or by the chance that its values, of any tails, lie side by side; where
 * the series may be a random walk, as it is and with the sizes of its steps replaced by their normal scores.
 */

import { stepsOrCurve } from '../levels/steps-or-curve.ts'
import { centred } from '../persistence/centre.ts'
import { normalScores } from '../persistence/normal-scores.ts'
import { persistentTest } from '../persistence/persistent-regression.ts'
import { dot, residualsOf } from '../persistence/residuals.ts'
import { lineColumn } from '../seasons.ts'
import { medianOf } from './tails.ts'

export interface Stretch {
  /** Rows: the first, and the one after the last. */
  from: number
  to: number
  /** After the search. */
  p: number
}

type Place = Pick<Stretch, 'from' | 'to'>

/**
 * The longest stretch: a share of the values, and so many. What is longer, up to the second share, is a level that comes back. Shorter than the
 * least are values one by one.
 */
const SHARE = 1 / 6
const SHARE_OF_LEVEL = 1 / 3
const LONGEST = 60
const LEAST = 3
const MOST = 5
/** Jumps that a stretch may begin or end with, and stretches that are tested. */
const JUMPS = 40
const TESTED = 6
/** Standard errors of a mean, by the differences of neighbours, from which a stretch is tested at all. */
const FAR = 4
/** Values on either side of an end that make a step there, and how many times as far as usual steps it must go. */
const BESIDE_END = 5
const STEP = 4
/** Where neighbours are not alike, stretches of all lengths from one place are tests of so many. */
const PLACES = 4
/** Errors of less persistence than this have no order. */
const ALONE = 0.3

/** The most of so many values that is a stretch, and no level. */
export const longestStretch = (n: number): number => Math.min(LONGEST, Math.floor(SHARE * n))

/** The most of so many values that is a level which comes back. */
export const longestLevel = (n: number): number => Math.min(LONGEST, Math.floor(SHARE_OF_LEVEL * n))

/** `beside` are columns that explain the series, without a constant and a line; `alpha` is the chance of any stretch where there is none; `longest` is that of a stretch unless it is given. */
export function findStretches(
  given: readonly number[],
  rows: readonly number[],
  beside: readonly (readonly number[])[],
  alpha: number,
  longest = longestStretch(given.length),
): Stretch[] {
  const values = centred(given)
  const base = [values.map(() => 1), lineColumn(rows), ...beside]
  const found: Stretch[] = []
  while (found.length < MOST) {
    const next = strongest(values, base, longest, alpha)
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
  // What a curve explains as well, as the end of a growth by a share, is no stretch.
  const told = found.filter((stretch) => ends.every((end) => end.stretch !== stretch || steps.includes(end)))
  return told.toSorted((left, right) => left.from - right.from)
}

/** The places at which a stretch of so many values leaves and comes back. */
export const endsOf = ({ from, to }: Place, n: number): number[] =>
  [from, to].filter((index) => index > 0 && index < n)

/** 1 within the stretch. */
export const columnOf = (n: number, { from, to }: Place): number[] =>
  Array.from({ length: n }, (_, row) => (row >= from && row < to ? 1 : 0))

function strongest(
  values: readonly number[],
  base: readonly (readonly number[])[],
  longest: number,
  alpha: number,
): Stretch | null {
  const n = values.length
  if (longest < LEAST || n < 2 * base.length + 8) return null
  const { left } = residualsOf(values, base)
  const scores = normalScores(values)
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

/** The likeliest stretches between large jumps of opposite ways, or from one to an end of the series. */
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
  /** How far steps of so many values lie from none, anywhere in the series. */
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
  /** Whether it leaves or comes back at once; at an end of the series it need not. */
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

/** Without values at its ends that lie nearer to what is usual than to it; null where too few are left. */
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

/** How far each value lies from what the others outside the stretch lead one to expect. */
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

/** Its chance; 1 as soon as that is certainly above `most`. `scores` are the normal scores of the values. */
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

/** The chance that so many neighbours are all among the values as far as the nearest of them, if their order means nothing. */
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
