/**
 * Tells steps from curves. A rise that is steep compared with its noise, straight or bent, looks like a staircase in
 * each of its parts. So a test of one step against one level finds false changes. The steps are therefore compared with
 * polynomials and a spline, alone and with the remaining steps, of the values and of their logarithms. The criterion is
 * Schwarz's (Annals of Statistics 6, 1978): each degree costs one parameter, and each step costs two, its position and
 * its size. The errors may be as persistent as a random walk.
 */
import { centred } from '../persistence/centre.ts'
import { persistentTest } from '../persistence/persistent-regression.ts'
import { dot, residualsOf } from '../persistence/residuals.ts'
import {
  besidePersistence,
  besideSpline,
  likeliestFit,
  type StepModel,
  sizesOf,
} from '../persistence/step-models.ts'
import { medianOf } from '../spikes/tails.ts'

/** The degrees that are tried: a level, a line, and up to a wave and a half. */
const DEGREES = [0, 1, 2, 3, 4, 6]
const PER_STEP = 2
/**
 * The criterion must fall by this much for a curve with the same steps: strong evidence by Kass and Raftery (JASA 90,
 * 1995).
 */
const STRONG = 6
/**
 * A value farther from the middle of its neighbours than this multiple of the usual distance does not count, because
 * one spike would hide every step.
 */
const SPIKE = 8
const NEIGHBOURS = 3
const NEAR_FARTHEST = 0.25
/**
 * The number of values on either side of a step that show the lines between which it leaps. Its chance is that of any
 * leap in the series.
 */
const REACH = 40
const LEAP = 0.01
/** A smaller number of such values, because a distant corner bends the lines. */
const NEAR = 15
const LEAP_NEAR = 0.01
const LEAST_REACH = 8
/** The most further steps that are searched, and the fewest values between two. */
const MOST_FURTHER = 20
const LEAST_PART = 4

export interface Curve {
  /** The degree of the polynomial; 0 without one. */
  degree: number
  /** Whether the curve is one of the logarithms. */
  log: boolean
}

export interface StepsBeside<Step> extends Curve {
  steps: Step[]
}

/** Returns Legendre polynomials of the degrees from 0 on, over the rows. */
export function polynomials(rows: readonly number[], degree: number): number[][] {
  const first = rows[0]!
  const length = rows.at(-1)! - first || 1
  const x = rows.map((row) => (2 * (row - first)) / length - 1)
  const columns = [x.map(() => 1), x]
  for (let k = 1; k < degree; k++)
    columns.push(
      x.map((at, row) => ((2 * k + 1) * at * columns[k]![row]! - k * columns[k - 1]![row]!) / (k + 1)),
    )
  return columns.slice(0, degree + 1)
}

/**
 * Returns the steps that remain beside the likeliest curve, or all of them if levels are likeliest. `index` is the
 * first row after a step.
 */
export function stepsOrCurve<Step extends { index: number }>(
  given: readonly number[],
  rows: readonly number[],
  waves: readonly (readonly number[])[],
  steps: readonly Step[],
): StepsBeside<Step> {
  const places = steps.map(({ index }) => index)
  const own = withoutSpikes(centred(given), waves, places)
  const plain = chosen(own, rows, waves, places)
  // The logarithms of growth by a share lie on a line. Their likelihood is computed on the values' own scale.
  const logs = given.every((value) => value > 0)
    ? withoutSpikes(
        given.map((value) => Math.log(value)),
        waves,
        places,
      )
    : null
  const logged = logs && chosen(logs, rows, waves, places)
  const scale = logs ? 2 * logs.reduce((sum, log) => sum + log, 0) : 0
  const log = logged !== null && logged.criterion + scale < plain.criterion
  const { kept, degree } = log ? logged : plain
  if (degree === 0) return { steps: [...steps], degree, log: false }
  const told = log ? logs! : own
  const leaps = kept.filter((_, nth) =>
    isLeap(
      told,
      waves,
      kept.map((at) => places[at]!),
      nth,
    ),
  )
  return { steps: leaps.map((at) => steps[at]!), degree, log }
}

/** Tells whether the values leap from one line to another at a step. No single curve fits every series. */
function isLeap(
  values: readonly number[],
  waves: readonly (readonly number[])[],
  places: readonly number[],
  nth: number,
): boolean {
  const place = places[nth]!
  const rest = withoutWaves(values, waves, places).rest
  const leaps = (reach: number, chance: number): boolean => {
    const from = Math.max(places[nth - 1] ?? 0, place - reach)
    const to = Math.min(places[nth + 1] ?? values.length, place + reach)
    if (place - from < LEAST_REACH || to - place < LEAST_REACH) return true
    const part = rest.slice(from, to)
    const column = (of: (row: number) => number): number[] => part.map((_, at) => of(from + at - place + 0.5))
    const lines = [column(() => 1), column((row) => row), column((row) => Math.max(0, row))]
    const fit = persistentTest(part, lines, [column((row) => (row < 0 ? 0 : 1))])
    return fit === null || fit.p <= chance
  }
  return leaps(NEAR, LEAP_NEAR) && leaps(REACH, (LEAP * REACH) / Math.max(REACH, values.length))
}

interface Chosen {
  /** The steps that remain. */
  kept: number[]
  degree: number
  criterion: number
}

function chosen(
  values: readonly number[],
  rows: readonly number[],
  waves: readonly (readonly number[])[],
  places: readonly number[],
): Chosen {
  const n = values.length
  const curve = polynomials(rows, DEGREES.at(-1)!)
  const all = besidePersistence([...curve, ...waves], values, places)
  const own = (degree: number): number[] => [
    ...Array.from({ length: degree + 1 }, (_, at) => at),
    ...waves.map((_, at) => curve.length + at),
  ]
  const criterionOf = (likelihood: number, parameters: number, kept: number): number =>
    -2 * likelihood + Math.log(n) * (parameters + PER_STEP * kept)
  const whole = [...places.keys()]
  const first = curve.length + waves.length
  const level = likeliestFit(all, [...own(0), ...whole.map((at) => first + at)], n)
  if (!level) return { kept: whole, degree: 0, criterion: Number.POSITIVE_INFINITY }
  const levels = { kept: whole, degree: 0, criterion: criterionOf(level.likelihood, 0, whole.length) }
  let best = levels
  const consider = (
    models: readonly StepModel[],
    base: number[],
    from: number,
    degree: number,
    parameters: number,
  ): void => {
    let kept = whole
    let before = Number.POSITIVE_INFINITY
    for (;;) {
      const columns = [...base, ...kept.map((at) => from + at)]
      const fit = likeliestFit(models, columns, n)
      if (!fit) return
      const criterion = criterionOf(fit.likelihood, parameters, kept.length)
      if (criterion >= before) return
      // A fit with fewer steps cannot be likelier.
      if (criterion - Math.log(n) * PER_STEP * kept.length >= best.criterion) return
      before = criterion
      const asked = criterion + (kept.length === whole.length ? STRONG : 0)
      if (asked < best.criterion) best = { kept, degree, criterion: asked }
      if (kept.length === 0) return
      const sizes = sizesOf(fit.factor, columns.length, kept.length)
      const weakest = sizes.indexOf(Math.min(...sizes))
      kept = kept.filter((_, at) => at !== weakest)
    }
  }
  // The highest degree is the likeliest. If it does not win beside all steps, no lower degree does.
  const highest = likeliestFit(all, [...own(DEGREES.at(-1)!), ...whole.map((at) => first + at)], n)
  const least = highest ? -2 * highest.likelihood : Number.NEGATIVE_INFINITY
  for (const degree of DEGREES)
    if (degree === 0 || least + Math.log(n) * degree < best.criterion)
      consider(all, own(degree), first, degree, degree)
  const line = [...curve.slice(0, 2), ...waves]
  consider(besideSpline(line, values, places), [...line.keys()], line.length, DEGREES.at(-1)!, 2)
  if (best.degree === 0) return levels
  // The tests may have missed steps, and levels without these steps cannot compete with a curve.
  const more = [...places, ...furtherSteps(values, waves, places)]
  if (more.length === places.length) return best
  const base = [curve[0]!, ...waves]
  const stairs = likeliestFit(
    besidePersistence(base, values, more),
    [...base, ...more].map((_, at) => at),
    n,
  )
  const criterion = stairs ? criterionOf(stairs.likelihood, 0, more.length) : Number.POSITIVE_INFINITY
  return criterion < best.criterion ? { ...levels, criterion } : best
}

/**
 * Returns steps between the known ones that reduce the squares of independent values enough, each the best one of its
 * part.
 */
function furtherSteps(
  values: readonly number[],
  waves: readonly (readonly number[])[],
  known: readonly number[],
): number[] {
  const n = values.length
  const { rest, squares: whole } = withoutWaves(values, waves, known)
  const sums = new Float64Array(n + 1)
  for (let row = 0; row < n; row++) sums[row + 1] = sums[row]! + rest[row]!
  const bounds = [0, ...known, n]
  let squares = whole
  const found: number[] = []
  while (found.length < MOST_FURTHER) {
    let [gain, place] = [0, 0]
    for (const [at, to] of bounds.slice(1).entries()) {
      const from = bounds[at]!
      for (let row = from + LEAST_PART; row <= to - LEAST_PART; row++) {
        const apart = (sums[row]! - sums[from]!) / (row - from) - (sums[to]! - sums[row]!) / (to - row)
        const own = (apart ** 2 * (row - from) * (to - row)) / (to - from)
        if (own > gain) [gain, place] = [own, row]
      }
    }
    if (!(n * Math.log(squares / (squares - gain)) > PER_STEP * Math.log(n))) break
    squares -= gain
    found.push(place)
    bounds.splice(
      bounds.findIndex((bound) => bound > place),
      0,
      place,
    )
  }
  return found
}

/** Returns the values without their seasons, which are fitted together with the steps. */
function withoutWaves(
  values: readonly number[],
  waves: readonly (readonly number[])[],
  places: readonly number[],
): { rest: number[]; squares: number } {
  const steps = places.map((place) => values.map((_, row) => (row < place ? 0 : 1)))
  const { beside, left } = residualsOf(values, [values.map(() => 1), ...steps], waves)
  return { rest: values.map((value, row) => value - (beside[row]! - left[row]!)), squares: dot(left, left) }
}

/**
 * Moves values that lie far from the middle of their neighbours between these neighbours, after Hampel. Seasons are
 * removed for the comparison.
 */
function withoutSpikes(
  given: ArrayLike<number>,
  waves: readonly (readonly number[])[],
  places: readonly number[],
): number[] {
  const values = Array.from(given)
  const { rest } = withoutWaves(values, waves, places)
  const away = rest.map((value, row) => {
    const reach = Math.min(NEIGHBOURS, row, rest.length - 1 - row)
    return value - medianOf(rest.slice(row - reach, row + reach + 1))
  })
  const sizes = away.map(Math.abs)
  const far = Math.max(SPIKE * medianOf(sizes), NEAR_FARTHEST * Math.max(...sizes))
  const isFar = (row: number): boolean => sizes[row]! > far
  return values.map((value, row) => {
    if (!isFar(row)) return value
    let [left, right] = [row - 1, row + 1]
    while (left > 0 && isFar(left)) left -= 1
    while (right < values.length - 1 && isFar(right)) right += 1
    const share = (row - left) / (right - left)
    return value - rest[row]! + (1 - share) * rest[left]! + share * rest[right]!
  })
}
