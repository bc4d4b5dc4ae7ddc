/** Measures how well one common shift explains the leaves of an element. */

import { median } from '../numeric/median.ts'
import { varianceOf } from './noise.ts'
import { FLOOR, type State } from './state.ts'

/** The fewest leaves that show the noise within an element. For fewer it is taken as that of ordinary leaves. */
const LEAST_FOR_SPREAD = 4
const TIGHTEST = 0.04

/** Returns the gain in log likelihood over ordinary noise, and the score that the leaves have in common. */
export function explain(state: State, members: Int32Array): { gain: number; shift: number; tight: number } {
  const { scores, noise, weights } = state
  const { s, x } = scores
  let [counts, weight, sum] = [0, 0, 0]
  for (const leaf of members) {
    weight += weights[leaf]!
    sum += weights[leaf]! * s[leaf]!
    counts += (noise.phi * x[leaf]!) / varianceOf(noise, x[leaf]!)
  }
  const ofCounts = counts > members.length / 2
  const shift = ofCounts ? sum / weight : median(Float64Array.from(members, (leaf) => s[leaf]!))
  let tight = 1
  if (!ofCounts && members.length >= LEAST_FOR_SPREAD) {
    const seen =
      1.4826 *
      median(Float64Array.from(members, (leaf) => Math.abs(s[leaf]! - shift) * Math.sqrt(weights[leaf]!)))
    const n = members.length
    tight = Math.max(TIGHTEST, Math.min(1, Math.sqrt((n * seen * seen + 2) / (n + 2))))
  }
  return { gain: gainOf(state, members, { shift, tight }), shift, tight }
}

/** Returns the gain for a given shift and a given spread, as a share of the ordinary one. */
export function gainOf(
  state: State,
  members: Int32Array,
  { shift, tight }: { shift: number; tight: number },
): number {
  const { noise, ordinary } = state
  const { s, x } = state.scores
  let gain = 0
  for (const leaf of members) {
    const scale = tight * Math.sqrt(varianceOf(noise, x[leaf]!))
    const e = (s[leaf]! - shift) / scale
    const moved = Math.exp(-0.5 * e * e) / (scale * 2.5066282746310002)
    gain += Math.log(moved + FLOOR) - ordinary[leaf]!
  }
  return gain
}
