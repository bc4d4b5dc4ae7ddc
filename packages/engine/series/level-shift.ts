/**
 * Finds the strongest change of level in a series and tests whether it exceeds the noise. Each position is tried. The
 * persistence of the errors is averaged over as in persistent-regression.ts, with the best position for each
 * persistence. The p-value is corrected for the search: near white noise neighbouring positions are nearly copies (4 ln
 * n + 4 of them count), in a random walk each is a test of its own (both by simulation, docs/calibration.md).
 * Three checks guard against false changes. The test is made on the values and on their normal scores, and the larger p
 * holds, so that tails alone make no level. The change must hold with values weighted by their spread
 * (even-weights.ts), because a growing spread makes levels by chance. It must also hold without the farthest value of
 * its shorter side, because one spike near an end is no level.
 */
import { fUpper } from '../numeric/distributions.ts'
import { evenWeights } from './even-weights.ts'
import { centred } from './persistence/centre.ts'
import { normalScores } from './persistence/normal-scores.ts'
import {
  emptyMoments,
  fillFactor,
  fillMoments,
  type Moments,
  persistences,
  WALK_WITHIN,
} from './persistence/persistent-regression.ts'
import { medianOf } from './spikes/tails.ts'

export interface LevelShift {
  /** The number of rows before the change. */
  index: number
  /** How far the level moves, in the values' own unit. */
  size: number
  p: number
}

/** The least share of the rows on either side. */
const EDGE = 0.05
const LEAST = 4
/** The fewest rows beyond a change that are a level. */
const LEAST_OUTSIDE = 2
/** The p value from which a change is not reported. */
const TOLD = 0.05
/** The most positions that are tried first in a long series. */
const PLACES = 400
/** The most jumps that are tried in addition: one for each `VALUES_A_JUMP` values, at most `JUMPS`. */
const JUMPS = 50
const VALUES_A_JUMP = 20
/**
 * Every sixth of these positions is tried for each persistence. The others are tried only for persistences whose log
 * likelihood lies within this distance of the highest.
 */
const SPARSE = 6
const FAR = 10
/** A weight below this is neglected. */
const NEGLIGIBLE = 1e-9
/** The shares below which the rest of a step, and of the values, after the other columns is rounding. */
const SHARE = 1e-13
const ROUNDING = 1e-20

/**
 * Returns the strongest shift. Returns null if there are too few rows, or if p is certainly not below `alpha`. `base`
 * holds the columns that otherwise explain the series, without a constant.
 */
export function strongestShift(
  given: readonly number[],
  base: readonly (readonly number[])[],
  alpha = Number.POSITIVE_INFINITY,
): LevelShift | null {
  const begun = beginShift(given, base)
  return begun && begun.p < alpha ? begun.finish(alpha) : null
}

export interface BegunShift {
  /** The p of the values alone. That of the shift is not below it. */
  p: number
  /** Returns the shift, or null if its p is certainly not below `alpha`. */
  finish(alpha: number): LevelShift | null
}

/** Tries each position for the values alone, and returns null if there are too few rows. */
export function beginShift(
  given: readonly number[],
  base: readonly (readonly number[])[],
): BegunShift | null {
  const values = centred(given)
  const n = values.length
  const edge = Math.max(LEAST, Math.round(EDGE * n))
  if (n < 3 * edge || n < 2 * base.length + 8) return null
  const search = searchBeside(base, n, edge)
  const plain = search(values)
  if (!plain) return null
  const finish = (alpha: number): LevelShift | null => {
    const scored = search(normalScores(values))
    if (!scored) return null
    const best = scored.p > plain.p ? scored : plain
    if (best.p >= alpha) return null
    const index = base.length === 0 ? nearer(values, best.index, plain.index) : best.index
    const shift = { index, size: meanStep(values, index), p: best.p }
    if (best.p > TOLD) return shift
    const even = searchBeside(base, n, edge, evenWeights(values, base, index))(values)
    const p = Math.max(best.p, even?.p ?? 1)
    if (p >= alpha) return null
    if (p > TOLD) return { ...shift, p }
    const less = search(normalScores(withoutFarthest(values, index, shift.size)))
    return { ...shift, p: Math.max(p, less?.p ?? 1) }
  }
  return { p: plain.p, finish }
}

/**
 * Returns the position of two at which the values lie nearer to the medians of both sides, because scores by rank hide
 * distances.
 */
function nearer(values: readonly number[], one: number, other: number): number {
  if (one === other) return one
  const away = (side: readonly number[]): number => {
    const middle = medianOf(side)
    return side.reduce((sum, value) => sum + Math.abs(value - middle), 0)
  }
  const apart = (index: number): number => away(values.slice(0, index)) + away(values.slice(index))
  return apart(other) < apart(one) ? other : one
}

/**
 * Returns the values with one value replaced. It is the one on the shorter side that makes most of the step, and it
 * gets the median of the other side.
 */
function withoutFarthest(values: readonly number[], index: number, size: number): number[] {
  const after = values.length - index <= index
  const [side, other] = after
    ? [values.slice(index), values.slice(0, index)]
    : [values.slice(0, index), values.slice(index)]
  const up = after === size > 0
  const farthest = up ? Math.max(...side) : Math.min(...side)
  const place = (after ? index : 0) + side.indexOf(farthest)
  return values.with(place, medianOf(other))
}

interface Best {
  f: number
  index: number
  likelihood: number
}

type Search = (y: readonly number[]) => { index: number; p: number } | null

/**
 * Returns a search for the step of values, all beside the same columns. What does not depend on the values is computed
 * once: the products and the factors of the columns, and the positions.
 */
function searchBeside(
  base: readonly (readonly number[])[],
  n: number,
  edge: number,
  weights: Float64Array = new Float64Array(n).fill(1),
): Search {
  const weighed = (column: readonly number[]): Float64Array => {
    const to = new Float64Array(n)
    for (let row = 0; row < n; row++) to[row] = column[row]! * weights[row]!
    return to
  }
  const columns = [weights.slice(), ...base.map(weighed)]
  const last = columns.length
  const moments = emptyMoments(last + 1)
  for (let i = 0; i < last; i++) fillMoments(moments, columns, i)
  const grid = persistences(n, false)
  const besides = grid.map(({ a }) => besideAt(moments, n, a))
  const sums = emptySums(last + 1, weights)
  const room: Room = { raw: new Float64Array(last), products: new Float64Array(last) }
  for (let i = 0; i < last; i++) fillSums(sums, columns[i]!, i, weights)
  const stride = Math.max(1, Math.floor(n / PLACES))
  const first = placesOf(n, edge, SPARSE * stride)
  const others = placesOf(n, edge, stride).filter((index) => (index - edge) % (SPARSE * stride) !== 0)
  return (y) => {
    columns[last] = weighed(y)
    fillMoments(moments, columns, last)
    fillSums(sums, columns[last], last, weights)
    const scans = besides.map((beside) => scanOf(beside, moments, sums, room))
    const jumps = largestJumps(y, edge)
    for (const scan of scans) {
      scan?.look(first)
      scan?.look(jumps)
    }
    const likely = likelyOf(scans)
    for (const scan of likely) scan.look(others)
    if (stride > 1) {
      const near = new Set(likely.map((scan) => scan.best()))
      const around = [...near].flatMap((middle) =>
        Array.from({ length: 2 * stride - 1 }, (_, step) => middle - stride + 1 + step),
      )
      const inside = [...new Set(around)].filter((index) => index >= edge && index <= n - edge)
      for (const scan of likely) scan.look(inside)
    }
    const best = scans.map((scan) => scan?.end() ?? { f: 0, index: 0, likelihood: Number.NEGATIVE_INFINITY })
    const found = combined(grid, best, n, n - 2 * edge + 1)
    if (!found || (found.index > 2 * edge && found.index < n - 2 * edge)) return found
    // A change nearer to an end than the tried positions shows at the nearest tried one. It lies beyond if it fits
    // better there.
    const scan = scans[best.findIndex(({ likelihood }) => likelihood === found.likelihood)]!
    scan.look(outside(found.index, edge, n))
    return { ...found, index: scan.best() }
  }
}

/** Returns the positions between those that are tried and the nearer end of the series. */
function outside(index: number, edge: number, n: number): number[] {
  const [from, to] = index < n / 2 ? [LEAST_OUTSIDE, edge - 1] : [n - edge + 1, n - LEAST_OUTSIDE]
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at)
}

/** Returns every `stride`th position. */
function placesOf(n: number, edge: number, stride: number): number[] {
  const places: number[] = []
  for (let index = edge; index <= n - edge; index += stride) places.push(index)
  return places
}

/**
 * Returns the positions of the largest jumps. A step between two tried positions shows at both, except in a random
 * walk.
 */
function largestJumps(y: readonly number[], edge: number): number[] {
  const n = y.length
  const jumps = new Float64Array(n - 2 * edge + 1)
  for (let at = 0; at < jumps.length; at++) jumps[at] = Math.abs(y[edge + at]! - y[edge + at - 1]!)
  const most = Math.min(JUMPS, Math.ceil(n / VALUES_A_JUMP))
  const least = jumps.toSorted().at(-most) ?? 0
  const places: number[] = []
  for (let at = 0; at < jumps.length && places.length < most; at++)
    if (jumps[at]! >= least) places.push(edge + at)
  return places
}

/** Returns the persistences that may count, by their likeliest step so far, and always the last one. */
function likelyOf(scans: readonly (Scan | null)[]): Scan[] {
  const ends = scans.map((scan) => scan?.end().likelihood ?? Number.NEGATIVE_INFINITY)
  const top = Math.max(...ends)
  return scans.filter(
    (scan, place) => scan !== null && (ends[place]! >= top - FAR || place === scans.length - 1),
  ) as Scan[]
}

/**
 * The products of a step at each row with each column: of the same rows, of neighbours on either side, of the last row.
 */
interface Sums {
  /** The products of all columns at a row, side by side. */
  same: Float64Array
  neighbours: Float64Array
  last: Float64Array
  /** The products of the step with itself. */
  own: { same: Float64Array; neighbours: Float64Array; last: number }
}

function emptySums(width: number, weights: Float64Array): Sums {
  const n = weights.length
  const own = {
    same: new Float64Array(n + 1),
    neighbours: new Float64Array(n + 1),
    last: weights[n - 1]! ** 2,
  }
  for (let row = n - 1; row >= 0; row--) {
    const weight = weights[row]!
    own.same[row] = own.same[row + 1]! + weight ** 2
    own.neighbours[row] = own.neighbours[row + 1]! + (row + 1 < n ? 2 * weight * weights[row + 1]! : 0)
  }
  const make = (): Float64Array => new Float64Array((n + 1) * width)
  return { same: make(), neighbours: make(), last: new Float64Array(width), own }
}

/** Fills in the sums of column `i`. */
function fillSums(
  { same, neighbours, last }: Sums,
  column: Float64Array,
  i: number,
  weights: Float64Array,
): void {
  const n = weights.length
  const width = last.length
  for (let row = n - 1; row >= 0; row--) {
    const weight = weights[row]!
    const beside = (row > 0 ? column[row - 1]! : 0) + (row + 1 < n ? column[row + 1]! : 0)
    same[row * width + i] = same[(row + 1) * width + i]! + weight * column[row]!
    neighbours[row * width + i] = neighbours[(row + 1) * width + i]! + weight * beside
  }
  last[i] = weights[n - 1]! * column[n - 1]!
}

interface Scan {
  look(places: readonly number[]): void
  /** Returns the position that fits best so far. */
  best(): number
  end(): Best
}

/** Room for the products of one step with the columns, before and after the columns before them are taken out. */
interface Room {
  raw: Float64Array
  products: Float64Array
}

/** What a step at each row keeps beside the columns at one persistence, whatever the values are. */
interface Beside {
  a: number
  /** The factor of the columns. Its last row belongs to the values. */
  factor: Float64Array
  /**
   * The products of the step with itself after the columns are taken out, by row; 0 until it is computed. Beside a
   * constant alone they cost less than their memory, and are null.
   */
  lefts: Float64Array | null
}

/** Returns null if the columns depend on each other. */
function besideAt(moments: Moments, n: number, a: number): Beside | null {
  const factor = new Float64Array(moments.size ** 2)
  for (let i = 0; i < moments.size - 1; i++) if (!fillFactor(factor, moments, a, i)) return null
  return { a, factor, lefts: moments.size > 2 ? new Float64Array(n + 1) : null }
}

/**
 * Tries a step (0 before `index`, 1 from it on) at each position, at one persistence. The products of the step with each
 * column come from that column's sums. What is left of the step is the same for all values beside these columns.
 * All persistences share the room.
 */
function scanOf(beside: Beside | null, moments: Moments, sums: Sums, { raw, products }: Room): Scan | null {
  if (!beside) return null
  const { a, factor, lefts } = beside
  const width = moments.size
  const size = width - 1
  const n = sums.own.same.length - 1
  fillFactor(factor, moments, a, size)
  const { same, neighbours, last, own } = sums
  const end = a * a
  const square = 1 + end
  const coefficients = coefficientsOf(factor, size)
  /** Returns what is left of the step once the columns are taken out of it. */
  const leftOf = (index: number): number => {
    let left = square * own.same[index]! - a * own.neighbours[index]! - end * own.last
    const whole = left
    for (let i = 0, at = 0; i < size; i++, at += width) {
      let rest = raw[i]!
      for (let j = 0; j < i; j++) rest -= factor[at + j]! * products[j]!
      rest /= factor[at + i]!
      left -= rest * rest
      products[i] = rest
    }
    return left > SHARE * whole ? left : Number.POSITIVE_INFINITY
  }
  let explained = 0
  let best = 0
  const look = (index: number): void => {
    const from = index * width
    let rest = square * same[from + size]! - a * neighbours[from + size]! - end * last[size]!
    for (let i = 0; i < size; i++) {
      const product = square * same[from + i]! - a * neighbours[from + i]! - end * last[i]!
      raw[i] = product
      rest -= coefficients[i]! * product
    }
    const left = lefts?.[index] || leftOf(index)
    if (lefts) lefts[index] = left
    const gain = (rest * rest) / left
    if (gain > explained) {
      explained = gain
      best = index
    }
  }
  return {
    look(places) {
      for (const index of places) look(index)
    },
    best: () => best,
    end: () => ({ index: best, ...fitWith(factor, width, explained, n, a) }),
  }
}

/** Returns the coefficients of the columns for the values, which are the last row of the factor. */
function coefficientsOf(factor: Float64Array, size: number): Float64Array {
  const width = size + 1
  const found = new Float64Array(size)
  for (let row = size - 1; row >= 0; row--) {
    let sum = factor[size * width + row]!
    for (let other = row + 1; other < size; other++) sum -= factor[other * width + row]! * found[other]!
    found[row] = sum / factor[row * width + row]!
  }
  return found
}

/**
 * Returns F of a step that explains this much, and the likelihood. The likelihood omits the step's own size, because
 * that depends on its position.
 */
function fitWith(factor: Float64Array, width: number, explained: number, n: number, a: number) {
  const size = width - 1
  const df = n - width
  let total = 0
  let logs = 0
  for (let j = 0; j < width; j++) total += factor[size * width + j]! ** 2
  for (let j = 0; j < size; j++) logs += 2 * Math.log(factor[j * width + j]!)
  const rest = Math.max(ROUNDING * total, factor[width * width - 1]! ** 2 - explained) / df
  return { f: explained / rest, likelihood: -0.5 * (df * Math.log(rest) + logs - Math.log(1 - a * a)) }
}

function combined(
  grid: readonly { a: number; weight: number }[],
  best: readonly Best[],
  n: number,
  places: number,
): { index: number; p: number; likelihood: number } | null {
  const top = Math.max(...best.map(({ likelihood }) => likelihood))
  if (!Number.isFinite(top)) return null
  const few = Math.min(places, 4 * Math.log(n) + 4)
  let whole = 0
  let sum = 0
  let last = 1
  for (const [place, { a, weight }] of grid.entries()) {
    const { f, likelihood } = best[place]!
    const share = weight * Math.exp(likelihood - top)
    if (share < NEGLIGIBLE && place < grid.length - 1) continue
    const tests = few + (places - few) * Math.max(0, a) ** 4
    last = -Math.expm1(tests * Math.log1p(-fUpper(f, 1, n - 2)))
    whole += share
    sum += share * last
  }
  const walk = top - best.at(-1)!.likelihood <= WALK_WITHIN
  const index = best.find(({ likelihood }) => likelihood === top)!.index
  return { index, p: walk ? Math.max(sum / whole, last) : sum / whole, likelihood: top }
}

function meanStep(values: readonly number[], index: number): number {
  const mean = (from: number, to: number): number => {
    let sum = 0
    for (let row = from; row < to; row++) sum += values[row]!
    return sum / (to - from)
  }
  return mean(index, values.length) - mean(0, index)
}
