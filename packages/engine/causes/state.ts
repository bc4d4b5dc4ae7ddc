/**
 * Holds the ordinary state at one point of the search: the scores of the leaves that no cause has claimed, their noise,
 * and their spread.
 */
import { studentTwoSided } from '../numeric/distributions.ts'
import { median, SQUARED_NORMAL_MEDIAN } from '../numeric/median.ts'
import type { Cuboid, Leaves } from './leaves.ts'
import { fitNoise, type Noise, type Scores, type Standard, scoresOf, standard, varianceOf } from './noise.ts'

/** The fewest elements of a cuboid that show a spread between them. */
export const LEAST_ELEMENTS = 6
/** The share of elements among leaves above which most hold one leaf. */
const SINGLE = 0.7
/** The largest normal score that counts in the spread, because a mixture of moved and ordinary leaves is no spread. */
const FAR = 3
/** The fewest free leaves with which the move of the whole can be told from that of one leaf. */
const LEAST_FOR_WHOLE = 200
/** The most elements of a cuboid that are used for its spread; of more, an even sample is taken. */
const MOST_ELEMENTS = 1000
/**
 * A leaf with more than this share of the weight, among at least so many leaves, nearly decides the common factor
 * alone.
 */
const HEAVY = 0.25
const LEAST_BESIDE_HEAVY = 6
/** The p below which the heaviest leaf counts as having moved differently from the others. */
const APART = 0.001

export type Pulls = Pick<State, 'pulls' | 'weights' | 'calm' | 'whole'>

/** The leaves' scores and what is ordinary among those that are free. */
export interface State {
  /** The factor by which everything moved. */
  factor: number
  scores: Scores
  noise: Noise
  claimed: Uint8Array
  /**
   * The normal scores times the root of the weight, and the weights (1 / variance); 0 for claimed and silent leaves.
   */
  pulls: Float64Array
  weights: Float64Array
  /** The pulls with normal scores cut at 3, so that a few outlying leaves count less. */
  calm: Float64Array
  /** The logarithm of the density of an ordinary leaf, with the floor. */
  ordinary: Float64Array
  /** The mean over all free leaves. The move of the whole belongs to no element. */
  whole: number
  /** The same leaves over earlier periods, under the same noise. */
  past: Pulls[]
}

/** The floor of the density, which bounds what a single leaf can count. */
export const FLOOR = 0.005

export function stateOf(
  leaves: Leaves,
  factor: number,
  claimed: Uint8Array,
  fixed: boolean,
  history: readonly Scores[],
): State {
  const scores = scoresOf(leaves, factor)
  const { s, x } = scores
  const free = freeOf(scores, claimed)
  const centre = fixed ? centreOf(scores, free) : 0
  const known = leaves.variances !== null
  const all = history.length === 0 ? scores : together(scores, free, history)
  const noise = fitNoise(all, history.length === 0 ? free : freeOf(all, null), known, centre)
  const judge = standard(noise)
  const ordinary = new Float64Array(s.length)
  for (const leaf of free) ordinary[leaf] = Math.log(Math.exp(judge.logDensity(s[leaf]!, x[leaf]!)) + FLOOR)
  const past = history.map((one) => pullsOf(one, freeOf(one, null), noise, judge))
  return { factor, scores, noise, claimed, ordinary, past, ...pullsOf(scores, free, noise, judge) }
}

function freeOf({ s }: Scores, claimed: Uint8Array | null): Int32Array {
  const free = new Int32Array(s.length)
  let n = 0
  for (let leaf = 0; leaf < s.length; leaf++)
    if (!claimed?.[leaf] && !Number.isNaN(s[leaf]!)) free[n++] = leaf
  return free.subarray(0, n)
}

function together(scores: Scores, free: Int32Array, history: readonly Scores[]): Scores {
  const join = (name: 's' | 'x'): Float64Array => {
    const all = new Float64Array(free.length + history.reduce((sum, one) => sum + one.s.length, 0))
    for (const [at, leaf] of free.entries()) all[at] = scores[name][leaf]!
    let at = free.length
    for (const one of history) {
      all.set(one[name], at)
      at += one.s.length
    }
    return all
  }
  return { s: join('s'), x: join('x') }
}

function pullsOf({ s, x }: Scores, free: Int32Array, noise: Noise, { z }: Standard): Pulls {
  const pulls = new Float64Array(s.length)
  const weights = new Float64Array(s.length)
  const calm = new Float64Array(s.length)
  let [pull, heft] = [0, 0]
  for (const leaf of free) {
    const weight = 1 / varianceOf(noise, x[leaf]!)
    weights[leaf] = weight
    const score = z(s[leaf]!, x[leaf]!)
    pulls[leaf] = score * Math.sqrt(weight)
    calm[leaf] = Math.max(-FAR, Math.min(FAR, score)) * Math.sqrt(weight)
    pull += pulls[leaf]
    heft += weight
  }
  return { pulls, weights, calm, whole: free.length >= LEAST_FOR_WHOLE ? pull / heft : 0 }
}

/**
 * Returns the centre of the scores of ordinary leaves: 0, or the nearest peak if few leaves lie at 0, refined to the
 * median of the leaves around it.
 */
function centreOf({ s }: Scores, free: Int32Array): number {
  if (free.length < 200) return 0
  const bins = 81
  const counts = new Float64Array(bins)
  for (const leaf of free) counts[Math.min(bins - 1, Math.max(0, Math.round((s[leaf]! + 1) * 40)))]! += 1
  const smooth = counts.map((count, bin) => (counts[bin - 1] ?? 0) + 2 * count + (counts[bin + 1] ?? 0))
  const highest = Math.max(...smooth.subarray(1, bins - 1))
  const peaks = [...smooth.keys()].filter(
    (bin) =>
      smooth[bin]! >= 0.25 * highest &&
      smooth[bin]! >= (smooth[bin - 1] ?? 0) &&
      smooth[bin]! >= (smooth[bin + 1] ?? 0),
  )
  const nearest = peaks.toSorted((a, b) => Math.abs(a - 40) - Math.abs(b - 40))[0] ?? 40
  let centre = nearest / 40 - 1
  let reach = 0.05
  const all = Float64Array.from(free, (leaf) => s[leaf]!)
  for (let round = 0; round < 25; round++) {
    const near = within(all, centre, reach)
    if (near.length < 50) return nearest === 40 ? 0 : centre
    const next = median(near)
    for (const [at, value] of near.entries()) near[at] = Math.abs(value - next)
    const wider = Math.max(0.001, 1.8 * 1.4826 * median(near))
    if (Math.abs(next - centre) < 1e-6 && Math.abs(wider / reach - 1) < 1e-3) break
    centre = next
    reach = wider
  }
  return centre
}

function within(values: Float64Array, centre: number, reach: number): Float64Array {
  const near = new Float64Array(values.length)
  let n = 0
  for (const value of values) if (Math.abs(value - centre) <= reach) near[n++] = value
  return near.subarray(0, n)
}

/** The leaves that show the common move, by their ratios in ascending order. */
interface Moved {
  leaf: Int32Array
  was: Float64Array
  is: Float64Array
  ratio: Float64Array
  weight: Float64Array
}

/** Returns the factor by which most leaves moved, by size; null if there are too few leaves to tell. */
export type CommonFactor = (claimed: Uint8Array | null) => number | null

/**
 * Returns a function that is called again and again for the same leaves with other claims. It sorts the leaves once.
 */
export function commonFactorOf({ before, after }: Pick<Leaves, 'before' | 'after'>): CommonFactor {
  const all = movedOf(before, after)
  const sizes = new Float64Array(all.leaf.length)
  return (claimed) => {
    const free = claimed === null ? all : keptOf(all, (at) => claimed[all.leaf[at]!] === 0)
    if (free.leaf.length < 3) return null
    const { was, is, ratio, weight } = withoutHeavy(free)
    const half = sumOf(weight) / 2
    let [sum, at] = [0, 0]
    while ((sum += weight[at]!) < half) at += 1
    const middle = ratio[at]!
    if (!(middle > 0)) return null
    // The ratio of sums around the median ratio is the better estimate.
    const n = ratio.length
    for (let row = 0; row < n; row++) sizes[row] = Math.abs(ratio[row]! / middle - 1)
    const reach = 3 * median(sizes.subarray(0, n))
    let [before, after] = [0, 0]
    for (let row = 0; row < n; row++) {
      if (Math.abs(ratio[row]! / middle - 1) > reach) continue
      before += was[row]!
      after += is[row]!
    }
    return after > 0 && before > 0 ? after / before : null
  }
}

export const commonFactor = (
  leaves: Pick<Leaves, 'before' | 'after'>,
  claimed: Uint8Array | null,
): number | null => commonFactorOf(leaves)(claimed)

function movedOf(before: Float64Array, after: Float64Array): Moved {
  const known = [...before.keys()].filter((leaf) => before[leaf]! > 0 && after[leaf]! >= 0)
  const ratios = after.map((is, leaf) => is / before[leaf]!)
  const leaf = Int32Array.from(known).toSorted((a, b) => ratios[a]! - ratios[b]! || a - b)
  const of = (value: (at: number) => number): Float64Array => Float64Array.from(leaf, value)
  return {
    leaf,
    was: of((at) => before[at]!),
    is: of((at) => after[at]!),
    ratio: of((at) => ratios[at]!),
    weight: of((at) => Math.sqrt(before[at]! + after[at]!)),
  }
}

function keptOf(rows: Moved, keeps: (at: number) => boolean): Moved {
  const kept = new Int32Array(rows.leaf.length)
  let n = 0
  for (let at = 0; at < kept.length; at++) if (keeps(at)) kept[n++] = at
  const of = (values: Float64Array): Float64Array => {
    const own = new Float64Array(n)
    for (let at = 0; at < n; at++) own[at] = values[kept[at]!]!
    return own
  }
  const leaf = new Int32Array(n)
  for (let at = 0; at < n; at++) leaf[at] = rows.leaf[kept[at]!]!
  return { leaf, was: of(rows.was), is: of(rows.is), ratio: of(rows.ratio), weight: of(rows.weight) }
}

function sumOf(values: Float64Array): number {
  let sum = 0
  for (let at = 0; at < values.length; at++) sum += values[at]!
  return sum
}

/**
 * Returns the leaves without the heaviest one if it would decide the common factor alone and the others moved
 * differently beyond their noise. That is a t test of its ratio against theirs, with the jackknife's error (Tukey
 * 1958).
 */
function withoutHeavy(rows: Moved): Moved {
  const { weight, ratio } = rows
  if (weight.length < LEAST_BESIDE_HEAVY) return rows
  let heaviest = 0
  for (let at = 1; at < weight.length; at++) if (weight[at]! > weight[heaviest]!) heaviest = at
  if (weight[heaviest]! <= HEAVY * sumOf(weight)) return rows
  const others = keptOf(rows, (at) => at !== heaviest)
  const [was, is] = [sumOf(others.was), sumOf(others.is)]
  const n = others.leaf.length
  let squares = 0
  for (let at = 0; at < n; at++) squares += ((is - others.is[at]!) / (was - others.was[at]!) - is / was) ** 2
  const error = Math.max(Math.sqrt(((n - 1) / n) * squares), 1e-9 * (is / was))
  return studentTwoSided((ratio[heaviest]! - is / was) / error, n - 1) < APART ? others : rows
}

export interface Sums {
  pull: Float64Array
  weight: Float64Array
}

export function sumsOf({ starts, members }: Cuboid, pulls: Float64Array, weights: Float64Array): Sums {
  const elements = starts.length - 1
  const pull = new Float64Array(elements)
  const weight = new Float64Array(elements)
  for (let e = 0; e < elements; e++) {
    let [p, w] = [0, 0]
    for (let at = starts[e]!; at < starts[e + 1]!; at++) {
      p += pulls[members[at]!]!
      w += weights[members[at]!]!
    }
    pull[e] = p
    weight[e] = w
  }
  return { pull, weight }
}

/**
 * Returns how far the means of ordinary elements differ beyond the noise of their leaves, from their median square, now
 * and before.
 */
export function spreadOf(cuboid: Cuboid, state: State): number {
  // If elements are single leaves, their noise is that of leaves.
  if (cuboid.starts.length - 1 > SINGLE * cuboid.members.length) return 0
  const variances: number[] = []
  const squares: number[] = []
  const means = new Float64Array(Math.min(MOST_ELEMENTS + 1, cuboid.starts.length))
  for (const { calm, weights } of [state, ...state.past]) {
    const { pull, weight } = sumsOf(cuboid, calm, weights)
    const rows: number[] = []
    const stride = Math.max(1, weight.length / MOST_ELEMENTS)
    for (let at = 0; at < weight.length; at += stride) {
      const e = Math.floor(at)
      if (weight[e]! > 0) rows.push(e)
    }
    if (rows.length < 2) continue
    for (const [at, e] of rows.entries()) means[at] = pull[e]! / weight[e]!
    const middle = median(means.subarray(0, rows.length))
    for (const e of rows) {
      squares.push((pull[e]! / weight[e]! - middle) ** 2)
      variances.push(1 / weight[e]!)
    }
  }
  return squares.length < LEAST_ELEMENTS ? 0 : excessOf(squares, variances)
}

function excessOf(squares: readonly number[], variances: readonly number[]): number {
  const ratios = new Float64Array(squares.length)
  const excess = (tau2: number): number => {
    for (let row = 0; row < ratios.length; row++) ratios[row] = squares[row]! / (variances[row]! + tau2)
    return median(ratios) / SQUARED_NORMAL_MEDIAN
  }
  if (excess(0) <= 1) return 0
  let [low, high] = [0, Math.max(...squares) * 4]
  for (let round = 0; round < 20; round++) {
    const between = (low + high) / 2
    if (excess(between) > 1) low = between
    else high = between
  }
  return Math.sqrt(high)
}
