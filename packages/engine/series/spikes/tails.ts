/**
 * Tests whether the farthest of some values lie farther out than their own tails explain. The tails are not assumed:
 * normal and Student's t with 2 to 30 degrees, alike on both sides or each side by itself, are weighed by their
 * likelihood. The judged values count in the likelihood only as values beyond the farthest of the rest, so that neither
 * their size makes the tails heavy nor their absence makes them light.
 */
import {
  normalTwoSided,
  normalUpperQuantile,
  studentTwoSided,
  studentUpperQuantile,
} from '../../numeric/distributions.ts'
import { logGamma } from '../../numeric/gamma.ts'

/** The degrees of freedom and prior weights. Heavy tails weigh more, because few values hardly show them. */
const TAILS: readonly [df: number, weight: number][] = [
  [Number.POSITIVE_INFINITY, 1],
  [30, 1],
  [12, 1],
  [8, 1.5],
  [6, 2],
  [4, 3],
  [3, 4],
  [2, 3],
]
/** The prior weight of tails that differ by side, and the fewest values that show it. */
const BY_SIDE = 0.3
const LEAST_BY_SIDE = 20

/** Up to twice this number of values are kept one by one. With more, those nearest the centre are joined in classes. */
const CLASSES = 80
const NEWTON = 12
/** The log likelihood of each value that equals its expectation: one over the rounding of numbers. */
const EXACT = -Math.log(1e-12)

export interface Tails {
  /** The chance that the judged values lie so far beyond the next ones; 1 if none is judged. */
  p: number
  /** The log of the likelihood, averaged over the tails. */
  likelihood: number
  center: number
  /** Half the width, above and below the center, of the range of 95 of 100 values, by the likeliest tails. */
  above: number
  below: number
}

interface Row {
  p: number
  likelihood: number
  center: number
  above: number
  below: number
}

/**
 * Judges the rows of `out` as the farthest: returns the chance, given how far the next one lies, that all of them lie
 * beyond the nearest of them. `values` are residuals of one scale. A judged row counts by its distance in `lenient`
 * (its value less one step of the resolution, so that ties and neighbours are no distance).
 */
export function tailsOf(
  values: ArrayLike<number>,
  out: ReadonlySet<number>,
  lenient: ArrayLike<number> = values,
): Tails {
  const kept: number[] = []
  const judged: number[] = []
  for (let row = 0; row < values.length; row++)
    if (out.has(row)) judged.push(lenient[row]!)
    else kept.push(values[row]!)
  const rows = alike(kept, judged)
  if (kept.length >= LEAST_BY_SIDE) rows.push(...bySide(kept, judged))
  const best = rows.reduce((most, row) => (row.likelihood > most.likelihood ? row : most))
  let whole = 0
  let sum = 0
  for (const { p, likelihood } of rows) {
    const weight = Math.exp(likelihood - best.likelihood)
    whole += weight
    sum += weight * p
  }
  return { ...best, p: sum / whole, likelihood: best.likelihood + Math.log(whole) }
}

function alike(kept: readonly number[], judged: readonly number[]): Row[] {
  const center = innerMean(kept)
  const side = sideOf(
    kept.map((value) => Math.abs(value - center)),
    judged.map((value) => Math.abs(value - center)),
  )
  return TAILS.map(([df, weight]) => {
    const { scale, likelihood } = fitSide(side, df)
    const half = scale * halfOf95(df)
    return {
      p: chance(side, scale, df),
      likelihood: likelihood + Math.log(weight),
      center,
      above: half,
      below: half,
    }
  })
}

function bySide(kept: readonly number[], judged: readonly number[]): Row[] {
  const center = medianOf(kept)
  const beyond = (values: readonly number[], sign: number): number[] =>
    values.map((value) => sign * (value - center)).filter((distance) => distance > 0)
  const up = sideOf(beyond(kept, 1), beyond(judged, 1))
  const down = sideOf(beyond(kept, -1), beyond(judged, -1))
  return TAILS.map(([df, weight]) => {
    const above = fitSide(up, df)
    const below = fitSide(down, df)
    const p = Math.min(chance(up, above.scale, df), chance(down, below.scale, df))
    return {
      p: Math.min(1, 2 * p),
      // The second scale costs as much as BIC takes for a parameter.
      likelihood:
        above.likelihood + below.likelihood + Math.log(weight * BY_SIDE) - 0.5 * Math.log(kept.length),
      center,
      above: above.scale * halfOf95(df),
      below: below.scale * halfOf95(df),
    }
  })
}

function chance({ distances, judged }: Side, scale: number, df: number): number {
  if (judged.length === 0) return 1
  const next = survival((distances.at(-1) ?? 0) / scale, df)
  const nearest = survival(Math.min(...judged) / scale, df)
  return next > 0 ? Math.min(1, nearest / next) ** judged.length : 0
}

function survival(z: number, df: number): number {
  return Number.isFinite(df) ? studentTwoSided(z, df) : normalTwoSided(z)
}

const HALVES = new Map(
  TAILS.map(([df]) => [
    df,
    Number.isFinite(df) ? studentUpperQuantile(0.025, df) : normalUpperQuantile(0.025),
  ]),
)

function halfOf95(df: number): number {
  return HALVES.get(df)!
}

interface Side {
  /** The distances, ascending. Several near the center may be joined at their mean. */
  distances: Float64Array
  counts: Float64Array
  judged: readonly number[]
}

function sideOf(distances: readonly number[], judged: readonly number[]): Side {
  const sorted = Float64Array.from(distances).toSorted()
  const n = sorted.length
  if (n <= 2 * CLASSES) return { distances: sorted, counts: new Float64Array(n).fill(1), judged }
  const inner = n - CLASSES
  const width = inner / CLASSES
  const middles = new Float64Array(2 * CLASSES)
  const counts = new Float64Array(2 * CLASSES)
  for (let at = 0; at < CLASSES; at++) {
    const from = Math.floor(at * width)
    const to = Math.floor((at + 1) * width)
    let sum = 0
    for (let row = from; row < to; row++) sum += sorted[row]!
    middles[at] = sum / (to - from)
    counts[at] = to - from
    middles[CLASSES + at] = sorted[inner + at]!
    counts[CLASSES + at] = 1
  }
  return { distances: middles, counts, judged }
}

/** Returns the scale of greatest likelihood, by Newton's method over its logarithm. */
function fitSide(side: Side, df: number): { scale: number; likelihood: number } {
  const { distances, counts, judged } = side
  let squares = 0
  let number = 0
  for (let at = 0; at < distances.length; at++) {
    squares += counts[at]! * distances[at]! ** 2
    number += counts[at]!
  }
  // An exact fit is the likeliest of all, as far as numbers can show.
  if (!(squares > 0)) return { scale: Number.MIN_VALUE, likelihood: number === 0 ? 0 : number * EXACT }
  const last = distances.at(-1)!
  const finite = Number.isFinite(df)
  const constant = finite
    ? logGamma((df + 1) / 2) - logGamma(df / 2) - 0.5 * Math.log(df * Math.PI)
    : -0.5 * Math.log(2 * Math.PI)
  // The scale of normal values is their root mean square, and that of heavier tails is less.
  let log = 0.5 * Math.log(squares / number) + (finite ? 0.5 * Math.log(Math.max(df - 2, 0.7) / df) : 0)
  for (let step = 0; step < NEWTON; step++) {
    const scale = Math.exp(log)
    let score = -number
    let bend = 0
    for (let at = 0; at < distances.length; at++) {
      const z = (distances[at]! / scale) ** 2
      const share = finite ? ((df + 1) * z) / (df + z) : z
      score += counts[at]! * share
      bend += counts[at]! * 2 * (finite ? (share * df) / (df + z) : z)
    }
    if (judged.length > 0) {
      const z = last / scale
      const density = Math.exp(constant - (finite ? ((df + 1) / 2) * Math.log1p((z * z) / df) : 0.5 * z * z))
      const beyond = survival(z, df)
      if (beyond > 0) score += (judged.length * 2 * z * density) / beyond
    }
    const move = Math.max(-1, Math.min(1, score / bend))
    log += move
    if (Math.abs(move) < 1e-4) break
  }
  const scale = Math.exp(log)
  let likelihood = number * (constant - log)
  for (let at = 0; at < distances.length; at++) {
    const z = (distances[at]! / scale) ** 2
    likelihood -= counts[at]! * (finite ? ((df + 1) / 2) * Math.log1p(z / df) : 0.5 * z)
  }
  likelihood += judged.length * Math.log(Math.max(survival(last / scale, df), Number.MIN_VALUE))
  return { scale, likelihood }
}

/** Returns the mean of the middle 80 %. */
function innerMean(values: readonly number[]): number {
  const sorted = Float64Array.from(values).toSorted()
  const cut = Math.floor(sorted.length / 10)
  let sum = 0
  for (let row = cut; row < sorted.length - cut; row++) sum += sorted[row]!
  return sum / (sorted.length - 2 * cut)
}

export function medianOf(values: ArrayLike<number>): number {
  const sorted = Float64Array.from(values).toSorted()
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
