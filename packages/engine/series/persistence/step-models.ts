/**
 * Computes regressions on columns and steps. Once the products of all are made, any part of them may be chosen. The
 * errors are as persistent as a random walk, or lie about a smooth curve.
 */
import { factorAt, type Moments, momentsOf, persistences } from './persistent-regression.ts'
import { dot } from './residuals.ts'

/** Gives the products of columns, steps and, last, the values, under one model of the errors after another. */
export interface StepModel {
  moments: Moments
  /** The persistences that are tried. */
  persistences: readonly number[]
  /** The logarithms of the spreads that divide the columns, without persistence. */
  spreads: number
}

export interface StepFit {
  likelihood: number
  /** The lower Cholesky factor of the products. */
  factor: Float64Array
}

/**
 * The n-th curve bends once in this many values. They give the variances of the changes of slope over that of the
 * noise.
 */
const BENDS = [1000, 300, 100, 30, 10]
/** An error below this is rounding. */
const FOLLOWED = 1e-14

/** Makes models with errors from independent ones to a random walk. */
export function besidePersistence(
  columns: readonly (readonly number[])[],
  values: readonly number[],
  places: readonly number[],
): StepModel[] {
  const grid = persistences(values.length, false).map(({ a }) => a)
  return [{ moments: withSteps(columns, values, places), persistences: grid, spreads: 0 }]
}

/**
 * Makes models of a line whose slope is a random walk, beneath noise. That is a smoothing spline (Wahba, J. Royal
 * Statistical Society B 40, 1978). The recursions of Kalman (1960) whiten columns and values, for each size of the
 * changes of slope.
 */
export function besideSpline(
  columns: readonly (readonly number[])[],
  values: readonly number[],
  places: readonly number[],
): StepModel[] {
  const n = values.length
  // A slope that accumulates steps of this variance over so many values moves the curve by as much as the noise.
  return BENDS.filter((length) => length < n).map((length) => {
    const filter = filterOf(n, length ** -3)
    const white = [
      ...columns.map((column) => whitened(column, filter)),
      ...places.map((place) => whitenedStep(place, n, filter)),
      whitened(values, filter),
    ]
    return { moments: productsOf(white), persistences: [0], spreads: filter.spreads }
  })
}

/** Returns the likeliest fit of the chosen columns, or null if they depend on each other. */
export function likeliestFit(
  models: readonly StepModel[],
  columns: readonly number[],
  n: number,
): StepFit | null {
  let best: StepFit | null = null
  for (const { moments, persistences: grid, spreads } of models) {
    const own = picked(moments, columns)
    const fitAt = (a: number): StepFit | null => {
      const factor = factorAt(own, a)
      if (!factor) return null
      const rest = factor[own.size ** 2 - 1]! ** 2
      return { likelihood: -0.5 * (n * Math.log(rest / n) - Math.log(1 - a * a) + spreads), factor }
    }
    const found = likeliestOf(grid, fitAt)
    if (found && (!best || found.likelihood > best.likelihood)) best = found
  }
  return best
}

/** Every so many persistences are tried first, then those beside the likeliest ones of these. */
const STRIDE = 4

/** Returns the likeliest fit over the grid, along which the likelihood rises and falls slowly. */
function likeliestOf(grid: readonly number[], fitAt: (a: number) => StepFit | null): StepFit | null {
  const fits = new Map<number, StepFit | null>()
  const likelihoodAt = (place: number): number => {
    if (!fits.has(place)) fits.set(place, fitAt(grid[place]!))
    return fits.get(place)?.likelihood ?? Number.NEGATIVE_INFINITY
  }
  const last = grid.length - 1
  const coarse = [...new Set([...grid.keys()].filter((place) => place % STRIDE === 0).concat(last))]
  const top = coarse.toSorted((one, other) => likelihoodAt(other) - likelihoodAt(one)).slice(0, 2)
  let best = top[0]!
  for (const middle of top)
    for (let place = Math.max(0, middle - STRIDE + 1); place <= Math.min(last, middle + STRIDE - 1); place++)
      if (likelihoodAt(place) > likelihoodAt(best)) best = place
  return fits.get(best) ?? null
}

/** Kalman's gains, row by row, for a slope that walks from 0 with steps of one variance beneath noise. */
interface Filter {
  gains: Float64Array
  turns: Float64Array
  scales: Float64Array
  /** The sum of the logarithms of the spreads. */
  spreads: number
}

function filterOf(n: number, step: number): Filter {
  const [gains, turns, scales] = [new Float64Array(n), new Float64Array(n), new Float64Array(n)]
  // The variances of the next level and slope, and their covariance.
  let [level, slope, both] = [0, 0, 0]
  let spreads = 0
  for (let t = 0; t < n; t++) {
    const spread = level + 1
    const [gain, turn] = [level / spread, both / spread]
    gains[t] = gain
    turns[t] = turn
    scales[t] = 1 / Math.sqrt(spread)
    spreads += Math.log(spread)
    const kept = { level: level - gain * level, both: both - gain * both, slope: slope - turn * both }
    level = kept.level + 2 * kept.both + kept.slope
    both = kept.both + kept.slope
    slope = kept.slope + step
  }
  return { gains, turns, scales, spreads }
}

/** Rows that are independent of each other. They are zero before `from` and from the end on. */
interface White {
  from: number
  rows: Float64Array
}

function whitened(column: ArrayLike<number>, { gains, turns, scales }: Filter): White {
  const n = column.length
  const rows = new Float64Array(n)
  let [level, slope] = [0, 0]
  for (let t = 0; t < n; t++) {
    const error = column[t]! - level
    rows[t] = error * scales[t]!
    slope += turns[t]! * error
    level += gains[t]! * error + slope
  }
  return { from: 0, rows }
}

/** Returns the whitened step, 0 before `place` and 1 from it on, until the curve has followed it. */
function whitenedStep(place: number, n: number, { gains, turns, scales }: Filter): White {
  const rows = new Float64Array(n - place)
  let [level, slope] = [0, 0]
  for (let t = place; t < n; t++) {
    const error = 1 - level
    rows[t - place] = error * scales[t]!
    slope += turns[t]! * error
    level += gains[t]! * error + slope
    if (Math.abs(error) + Math.abs(slope) < FOLLOWED)
      return { from: place, rows: rows.subarray(0, t - place) }
  }
  return { from: place, rows }
}

function productsOf(columns: readonly White[]): Moments {
  const size = columns.length
  const same = new Float64Array(size * size)
  for (let i = 0; i < size; i++)
    for (let j = 0; j <= i; j++) same[i * size + j] = productOf(columns[i]!, columns[j]!)
  const none = new Float64Array(size * size)
  return { size, same, neighbours: none, before: none, first: none }
}

function productOf(one: White, other: White): number {
  const from = Math.max(one.from, other.from)
  const to = Math.min(one.from + one.rows.length, other.from + other.rows.length)
  if (from >= to) return 0
  return dot(
    one.rows.subarray(from - one.from, to - one.from),
    other.rows.subarray(from - other.from, to - other.from),
  )
}

/**
 * Returns products of the columns, of a step at each position (0 before it, 1 from it on), and of the values as the
 * last column.
 */
function withSteps(
  columns: readonly (readonly number[])[],
  values: readonly number[],
  places: readonly number[],
): Moments {
  const n = values.length
  const known = momentsOf([...columns, values])
  const given = [...columns, values]
  const size = given.length + places.length
  const [base, last] = [columns.length, size - 1]
  const make = (): Float64Array => new Float64Array(size * size)
  const moments: Moments = { size, same: make(), neighbours: make(), before: make(), first: make() }
  const set = (i: number, j: number, [same, neighbours, before, first]: readonly number[]): void => {
    const at = Math.max(i, j) * size + Math.min(i, j)
    moments.same[at] = same!
    moments.neighbours[at] = neighbours!
    moments.before[at] = before!
    moments.first[at] = first!
  }
  const placeOf = (at: number): number => (at < base ? at : last)
  for (let i = 0; i < given.length; i++)
    for (let j = 0; j <= i; j++) {
      const at = i * known.size + j
      set(placeOf(i), placeOf(j), [
        known.same[at]!,
        known.neighbours[at]!,
        known.before[at]!,
        known.first[at]!,
      ])
    }
  for (const [at, column] of given.entries()) {
    const from = new Float64Array(n + 1)
    for (let row = n - 1; row >= 0; row--) from[row] = from[row + 1]! + column[row]!
    const end = column[n - 1]!
    for (const [nth, place] of places.entries())
      set(base + nth, placeOf(at), [
        from[place]!,
        from[place + 1]! + from[place - 1]! - end,
        from[place]! - end,
        0,
      ])
  }
  for (const [i, one] of places.entries())
    for (const [j, other] of places.slice(0, i + 1).entries()) {
      const [early, late] = one < other ? [one, other] : [other, one]
      const beside = n - late - 1 + (n - Math.max(early, late - 1)) - 1
      set(base + i, base + j, [n - late, beside, n - late - 1, 0])
    }
  return moments
}

function picked({ size, same, neighbours, before, first }: Moments, columns: readonly number[]): Moments {
  const kept = [...columns, size - 1]
  const width = kept.length
  const pick = (from: Float64Array): Float64Array => {
    const to = new Float64Array(width * width)
    for (let i = 0; i < width; i++)
      for (let j = 0; j <= i; j++) to[i * width + j] = from[kept[i]! * size + kept[j]!]!
    return to
  }
  return {
    size: width,
    same: pick(same),
    neighbours: pick(neighbours),
    before: pick(before),
    first: pick(first),
  }
}

/** Returns how many standard errors each of the last columns before the values lies from zero, up to a common scale. */
export function sizesOf(factor: Float64Array, columns: number, last: number): number[] {
  const width = columns + 1
  const at = (row: number, column: number): number => factor[row * width + column]!
  const found = new Float64Array(columns)
  for (let row = columns - 1; row >= 0; row--) {
    let sum = at(columns, row)
    for (let other = row + 1; other < columns; other++) sum -= at(other, row) * found[other]!
    found[row] = sum / at(row, row)
  }
  return Array.from({ length: last }, (_, nth) => {
    const column = columns - last + nth
    const inverse = new Float64Array(columns)
    let variance = 0
    for (let row = column; row < columns; row++) {
      let sum = row === column ? 1 : 0
      for (let other = column; other < row; other++) sum -= at(row, other) * inverse[other]!
      inverse[row] = sum / at(row, row)
      variance += inverse[row]! ** 2
    }
    return Math.abs(found[column]!) / Math.sqrt(variance)
  })
}
