/**
 * Fits the ordinary noise: how far leaves lie from their expectation if nothing happens.
 *
 * The score of a leaf is s = (v - f) / max(|v|, |f|). v is the observed value, and f the expected one times the factor
 * by which everything moved. It lies between -1 and 1 if both have one sign. Its variance is tau^2 + phi u / max^2:
 * noise in proportion to size, and noise as of counts, with u the variance that the rows show (or the size itself).
 * Both are fitted to the leaves that no cause has claimed, in bins by u / max^2, separately on each side of the centre,
 * by medians. So neither skewed noise nor causes in fewer than half of the leaves mislead the fit. Tails are Student's
 * t, with the degrees of freedom that the far quantiles show.
 */
import { normalUpperQuantile, studentUpper } from '../numeric/distributions.ts'
import { logGamma } from '../numeric/gamma.ts'
import { nth } from '../numeric/median.ts'
import type { Leaves } from './leaves.ts'

export interface Scores {
  /** The score; NaN for a leaf with nothing expected and nothing observed. */
  s: Float64Array
  /** The value u / max^2 of each leaf. */
  x: Float64Array
}

export interface Noise {
  /** The score of an ordinary leaf. */
  centre: number
  tau2: number
  phi: number
  /** Whether x comes from the rows. */
  known: boolean
  /** The factor by which the scale on each side differs from the common one. */
  sides: { below: number; above: number }
  /** Degrees of freedom of the tails; Infinity for normal ones. */
  df: number
  /** The degrees of freedom of the scale itself: the number of leaves that show it. */
  sure: number
}

/**
 * The least size of values on both sides of zero, in multiples of their noise. The score of a smaller value shows
 * nothing.
 */
const AROUND_ZERO = 3
/** A leaf above this has fewer than 20 events, since x is 1 over its events. */
const FEW_EVENTS = 0.05
/** The fewest leaves that show how noise depends on size. */
const LEAST_FOR_SIZE = 30
/** The same number if the rows also show the noise. */
const LEAST_BESIDE_ROWS = 150
/** The fewest leaves that show how much more noise there is than the rows show. The rows count as 8 leaves. */
const LEAST_FOR_FACTOR = 6
const ROWS_COUNT_AS = 8
/** The efficiency of a scale by the median of sizes, relative to the standard deviation. Its error widens the tails. */
const EFFICIENCY = 0.37
const MEDIAN = 0.6744897501960817

export function scoresOf(leaves: Leaves, factor: number): Scores {
  const n = leaves.before.length
  const s = new Float64Array(n)
  const x = new Float64Array(n)
  const { before, after, variances } = leaves
  const around = variances !== null && [before, after].some((values) => values.some((value) => value < 0))
  for (let leaf = 0; leaf < n; leaf++) {
    const f = before[leaf]! * factor
    const v = after[leaf]!
    const told = variances ? variances.after[leaf]! + variances.before[leaf]! * factor * factor : null
    const size = Math.max(Math.abs(f), Math.abs(v), around ? AROUND_ZERO * Math.sqrt(told!) : 0)
    s[leaf] = size > 0 ? (v - f) / size : Number.NaN
    const u = told ?? size
    x[leaf] = size > 0 ? u / size / size : 0
  }
  return { s, x }
}

/**
 * Returns the variance of the score of a leaf under `noise`. If the rows show the noise and the leaf has few events,
 * the variance is at least that of the rows, because the calm of large leaves says nothing about a leaf with two
 * events.
 */
export const varianceOf = ({ tau2, phi, known }: Noise, x: number): number =>
  tau2 + (known && x > FEW_EVENTS ? Math.max(1, phi) : phi) * x

export function fitNoise(scores: Scores, free: Int32Array, known: boolean, centre: number): Noise {
  const { s, x } = scores
  const order = free.filter((leaf) => !Number.isNaN(s[leaf]!))
  const noise: Noise = {
    centre,
    tau2: 0,
    phi: 0,
    known,
    sides: { below: 1, above: 1 },
    df: Infinity,
    sure: Infinity,
  }
  const n = order.length
  if (n === 0) return { ...noise, tau2: 1 }
  if (n < (known ? LEAST_BESIDE_ROWS : LEAST_FOR_SIZE)) return fewLeaves(noise, scores, order, known)
  const bins = Math.min(16, Math.max(1, Math.floor(n / 50)))
  const rows = binned(scores, order, centre, bins)
  Object.assign(noise, twoParts(rows))
  noise.tau2 = Math.max(noise.tau2, 1e-12)
  const proportional = order.filter((leaf) => noise.tau2 >= noise.phi * x[leaf]!)
  if (proportional.length > n / 2) withTails(noise, scores, proportional)
  const sure = EFFICIENCY * (n / 2)
  return { ...noise, sure: sure > 500 ? Infinity : sure }
}

/** Returns the leaves in bins of equal number by x: the squared scale of each and its middle x. */
function binned(
  { s, x }: Scores,
  order: Int32Array,
  centre: number,
  bins: number,
): { r: number; x: number }[] {
  const n = order.length
  const sorted = new Float64Array(n)
  for (let at = 0; at < n; at++) sorted[at] = x[order[at]!]!
  sorted.sort()
  const ends = Array.from({ length: bins }, (_, bin) => sorted[Math.ceil(((bin + 1) * n) / bins) - 1]!)
  const counts = new Int32Array(bins)
  const places = new Uint8Array(n)
  for (let at = 0; at < n; at++) {
    let bin = 0
    while (x[order[at]!]! > ends[bin]!) bin += 1
    places[at] = bin
    counts[bin]! += 1
  }
  const sizes = Array.from(counts, (count) => new Float64Array(count))
  for (let at = n - 1; at >= 0; at--)
    sizes[places[at]!]![--counts[places[at]!]!] = Math.abs(s[order[at]!]! - centre)
  return sizes.flatMap((part, bin) =>
    part.length === 0 ? [] : [{ r: scaleOf(part) ** 2, x: sorted[Math.floor(((bin + 0.5) * n) / bins)]! }],
  )
}

/** Returns, for few leaves, the variance of the rows times one factor of at least 1 for what they do not show. */
function fewLeaves(noise: Noise, { s, x }: Scores, order: Int32Array, known: boolean): Noise {
  const { centre } = noise
  if (known) {
    const squares = Float64Array.from(
      order,
      (leaf) => (s[leaf]! - centre) ** 2 / Math.max(x[leaf]!, 1e-300),
    ).toSorted()
    const middle = squares[(squares.length - 1) >> 1]! / MEDIAN ** 2
    if (order.length < LEAST_FOR_FACTOR) return { ...noise, phi: 1, tau2: 1e-12 }
    const seen = EFFICIENCY * order.length
    const phi = (ROWS_COUNT_AS + seen * Math.max(1, middle)) / (ROWS_COUNT_AS + seen)
    return { ...noise, phi, tau2: 1e-12, sure: 12 + seen }
  }
  const scale = scaleOf(Float64Array.from(order, (leaf) => Math.abs(s[leaf]! - centre)))
  return { ...noise, tau2: Math.max(scale ** 2, 1e-12), sure: Math.max(1, 0.3 * order.length) }
}

/** Returns the scale of sizes: their median, or a higher quantile if the median is 0. */
function scaleOf(sizes: Float64Array): number {
  for (const [share, z] of [
    [0.5, MEDIAN],
    [0.75, 1.1503],
    [0.9, 1.6449],
    [0.99, 2.5758],
  ] as const) {
    const value = nth(sizes, Math.floor(share * (sizes.length - 1)))
    if (value > 0) return value / z
  }
  return 0
}

/** Fits r = tau2 + phi x by least squares on relative errors, both at least 0. */
export function twoParts(rows: readonly { r: number; x: number }[]): { tau2: number; phi: number } {
  let tau2 = Math.min(...rows.map(({ r }) => r))
  let phi = 0
  for (let round = 0; round < 20; round++) {
    let [w0, w1, w2, y0, y1] = [0, 0, 0, 0, 0]
    for (const { r, x } of rows) {
      const weight = 1 / Math.max(tau2 + phi * x, r / 10, 1e-24) ** 2
      w0 += weight
      w1 += weight * x
      w2 += weight * x * x
      y0 += weight * r
      y1 += weight * x * r
    }
    const whole = w0 * w2 - w1 * w1
    let [a, b] = [y0 / w0, 0]
    if (whole > 1e-9 * w0 * w2) {
      a = (w2 * y0 - w1 * y1) / whole
      b = (w0 * y1 - w1 * y0) / whole
      if (b < 0) [a, b] = [y0 / w0, 0]
      else if (a < 0) [a, b] = [0, y1 / w2]
    }
    tau2 = a
    phi = b
  }
  return { tau2, phi }
}

/** Sets the scale of each side, and the tails. */
function withTails(noise: Noise, { s, x }: Scores, order: Int32Array): void {
  const { centre } = noise
  const sized = (sign: number): Float64Array => {
    const sizes = new Float64Array(order.length)
    let side = 0
    for (const leaf of order) {
      const away = (s[leaf]! - centre) * sign
      if (away > 0) sizes[side++] = away / Math.sqrt(varianceOf(noise, x[leaf]!))
    }
    return sizes.subarray(0, side)
  }
  const below = sized(-1)
  const above = sized(1)
  if (below.length >= 20 && above.length >= 20)
    noise.sides = { below: Math.max(scaleOf(below), 0.05), above: Math.max(scaleOf(above), 0.05) }
  const all = new Float64Array(below.length + above.length)
  for (let row = 0; row < below.length; row++) all[row] = below[row]! / noise.sides.below
  for (let row = 0; row < above.length; row++) all[below.length + row] = above[row]! / noise.sides.above
  const far = all.length >= 2000 ? 0.995 : all.length >= 200 ? 0.98 : 0.95
  const seen = nth(all, Math.floor(far * (all.length - 1))) / MEDIAN
  noise.df = degrees(seen, far)
}

const TAILS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 15, 20, 40]
const quantiles = new Map<number, number[]>()

/**
 * Returns the degrees of freedom of a t whose quantile of sizes at `far`, over that at the half, is `seen` (relative to
 * the normal's).
 */
function degrees(seen: number, far: number): number {
  const upper = (df: number, p: number): number => {
    let [low, high] = [0, 1e6]
    for (let round = 0; round < 80; round++) {
      const middle = (low + high) / 2
      if (studentUpper(middle, df) > p) low = middle
      else high = middle
    }
    return low
  }
  let table = quantiles.get(far)
  if (!table) {
    table = TAILS.map((df) => upper(df, (1 - far) / 2) / upper(df, 0.25))
    quantiles.set(far, table)
  }
  if (seen * MEDIAN <= table.at(-1)! * MEDIAN) return Infinity
  const at = table.findIndex((ratio) => ratio <= seen)
  if (at <= 0) return TAILS[0]!
  const [r0, r1] = [table[at - 1]!, table[at]!]
  return TAILS[at - 1]! + ((r0 - seen) / (r0 - r1)) * (TAILS[at]! - TAILS[at - 1]!)
}

/** Turns scores into normal ones, and returns their densities, under a noise. */
export interface Standard {
  /** Returns a normal score with the same chance of a value farther out. */
  z(s: number, x: number): number
  /** Returns the logarithm of the density of s. */
  logDensity(s: number, x: number): number
}

const STEPS = 64
const REACH = 60

export function standard(noise: Noise): Standard {
  const { centre, sides, df } = noise
  const scaled = (s: number, x: number): number => {
    const e = (s - centre) / Math.sqrt(varianceOf(noise, x))
    return e < 0 ? e / sides.below : e / sides.above
  }
  const scale = (s: number, x: number): number =>
    Math.sqrt(varianceOf(noise, x)) * (s < centre ? sides.below : sides.above)
  if (df === Infinity)
    return {
      z: scaled,
      logDensity: (s, x) => -0.5 * scaled(s, x) ** 2 - 0.9189385332046727 - Math.log(scale(s, x)),
    }
  // The scale is that of the middle half, and the middle half of a t is wider than that of a normal.
  const stretch = tQuartile(df) / MEDIAN
  const table = Float64Array.from({ length: STEPS * REACH + 1 }, (_, step) =>
    step === 0
      ? 0
      : Math.min(37, normalUpperQuantile(Math.max(1e-300, studentUpper((step / STEPS) * stretch, df)))),
  )
  const constant =
    logGamma((df + 1) / 2) - logGamma(df / 2) - 0.5 * Math.log(df * Math.PI) + Math.log(stretch)
  return {
    z(s, x) {
      const e = scaled(s, x)
      const at = Math.min(Math.abs(e), REACH - 1e-6) * STEPS
      const below = Math.floor(at)
      const size = table[below]! + (at - below) * (table[below + 1]! - table[below]!)
      return e < 0 ? -size : size
    },
    logDensity(s, x) {
      const t = scaled(s, x) * stretch
      return constant - ((df + 1) / 2) * Math.log1p((t * t) / df) - Math.log(scale(s, x))
    },
  }
}

function tQuartile(df: number): number {
  let [low, high] = [0, 10]
  for (let round = 0; round < 60; round++) {
    const middle = (low + high) / 2
    if (studentUpper(middle, df) > 0.25) low = middle
    else high = middle
  }
  return low
}
