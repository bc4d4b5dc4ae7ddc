/** What is ordinary at one point of the search: the scores of the leaves that no cause has claimed, their noise, and their spread. */
import { median } from '../numeric/median.ts'
import type { Cuboid, Leaves } from './leaves.ts'
import { fitNoise, type Noise, type Scores, scoresOf, standard, varianceOf } from './noise.ts'

/** Elements of a cuboid that can show a spread between them. */
export const LEAST_ELEMENTS = 6
/** Of a cuboid with more elements this many, evenly taken, show it. */
const MOST_ELEMENTS = 1000

/** The leaves' scores and what is ordinary among those that are free. */
export interface State {
  scores: Scores
  noise: Noise
  claimed: Uint8Array
  /** Normal scores times the root of the weight, and the weights (1 / variance); 0 for claimed and silent leaves. */
  pulls: Float64Array
  weights: Float64Array
  /** The logarithm of the density of an ordinary leaf, with the floor. */
  ordinary: Float64Array
  /** The mean over all free leaves: what the whole strays by is no element's own. */
  whole: number
}

/** The density of a leaf that strays for whatever reason: no leaf counts for more than this floor lets it. */
export const FLOOR = 0.005

export function stateOf(leaves: Leaves, factor: number, claimed: Uint8Array, fixed: boolean): State {
  const scores = scoresOf(leaves, factor)
  const { s, x } = scores
  const n = s.length
  const free = Int32Array.from(s.keys()).filter((leaf) => !claimed[leaf] && !Number.isNaN(s[leaf]!))
  const centre = fixed ? centreOf(scores, free) : 0
  const noise = fitNoise(scores, free, leaves.variances !== null, centre)
  const { z, logDensity } = standard(noise)
  const pulls = new Float64Array(n)
  const weights = new Float64Array(n)
  const ordinary = new Float64Array(n)
  let [pull, heft] = [0, 0]
  for (const leaf of free) {
    const weight = 1 / varianceOf(noise, x[leaf]!)
    weights[leaf] = weight
    pulls[leaf] = z(s[leaf]!, x[leaf]!) * Math.sqrt(weight)
    ordinary[leaf] = Math.log(Math.exp(logDensity(s[leaf]!, x[leaf]!)) + FLOOR)
    pull += pulls[leaf]
    heft += weight
  }
  return { scores, noise, claimed, pulls, weights, ordinary, whole: heft > 0 ? pull / heft : 0 }
}

/**
 * Where the scores of ordinary leaves lie beside an expected value: at 0, unless few are there; then at the peak nearest to it.
 * Refined to the median of the leaves around.
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
    const near = all.filter((value) => Math.abs(value - centre) <= reach)
    if (near.length < 50) return nearest === 40 ? 0 : centre
    const next = median(near)
    const wider = Math.max(0.001, 1.8 * 1.4826 * median(near.map((value) => Math.abs(value - next))))
    if (Math.abs(next - centre) < 1e-6 && Math.abs(wider / reach - 1) < 1e-3) break
    centre = next
    reach = wider
  }
  return centre
}

/** The factor by which most leaves moved, by size; 1 where no half of them agree. */
export function commonFactor({ before, after }: Leaves, claimed: Uint8Array): number {
  const free = [...before.keys()].filter((leaf) => !claimed[leaf] && before[leaf]! > 0 && after[leaf]! >= 0)
  if (free.length < 3) return 1
  const rows = free
    .map((leaf) => ({
      leaf,
      ratio: after[leaf]! / before[leaf]!,
      weight: Math.sqrt(before[leaf]! + after[leaf]!),
    }))
    .toSorted((a, b) => a.ratio - b.ratio)
  const half = rows.reduce((sum, { weight }) => sum + weight, 0) / 2
  let sum = 0
  const middle = rows.find(({ weight }) => (sum += weight) >= half)!.ratio
  if (!(middle > 0)) return 1
  // Around the median ratio, the ratio of sums is the better estimate.
  const near = rows.filter(({ ratio }) => ratio > middle / 2 && ratio < middle * 2)
  const [v, f] = near.reduce(([a, b], { leaf }) => [a + after[leaf]!, b + before[leaf]!], [0, 0])
  return v > 0 && f > 0 ? v / f : 1
}

export interface Sums {
  pull: Float64Array
  weight: Float64Array
}

export function sumsOf({ starts, members }: Cuboid, { pulls, weights }: State): Sums {
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

/** How far the means of ordinary elements differ beyond the noise of their leaves: their median square says. */
export function spreadOf({ pull, weight }: Sums): number {
  const rows: number[] = []
  const stride = Math.max(1, weight.length / MOST_ELEMENTS)
  for (let at = 0; at < weight.length; at += stride) {
    const e = Math.floor(at)
    if (weight[e]! > 0) rows.push(e)
  }
  if (rows.length < LEAST_ELEMENTS) return 0
  const means = Float64Array.from(rows, (e) => pull[e]! / weight[e]!)
  const middle = median(means)
  const squares = means.map((mean) => (mean - middle) ** 2)
  const excess = (tau2: number): number =>
    median(Float64Array.from(rows, (e, row) => squares[row]! / (1 / weight[e]! + tau2))) / 0.4549364231195724
  if (excess(0) <= 1) return 0
  let [low, high] = [0, Math.max(...squares) * 4]
  for (let round = 0; round < 20; round++) {
    const between = (low + high) / 2
    if (excess(between) > 1) low = between
    else high = between
  }
  return Math.sqrt(high)
}
