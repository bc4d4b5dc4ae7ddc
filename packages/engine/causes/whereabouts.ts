/**
 * Tells whether a change without a cause lies in all parts alike, or whether that is not known.
 * It lies in all parts if two conditions hold. First, without any one element the rest moved at least half as far, in
 * proportion, as the whole, so no single element made the change. Second, in each set of columns whose elements are
 * large enough to show such a change, two thirds of them by size moved at least half as far, so no few elements made
 * it. If no set is large enough, noise may hide a cause.
 */
import { exactSum } from '../numeric/sum.ts'
import type { Cuboid, Leaves } from './leaves.ts'
import { varianceOf } from './noise.ts'
import { type State, spreadOf } from './state.ts'

export interface Whereabouts {
  /** The standard error of the whole change if only ordinary noise moved it. */
  error: number
  /** Whether the change lies in all parts alike. */
  in_all: boolean
}

/** The least move of a part, as a share of the relative move of the whole. */
const HALF = 0.5
const MOST_BY_SIZE = 2 / 3

interface Element {
  change: number
  /** The size: the sum of the larger of both sides over the leaves. */
  size: number
  variance: number
}

export function whereaboutsOf(leaves: Leaves, cuboids: readonly Cuboid[], state: State): Whereabouts {
  // If everything moved beyond noise, no leaf is left for a fit, and the noise of the rows is used.
  const fitted = state.weights.some((weight) => weight > 0)
  const noise = fitted ? state.noise : { ...state.noise, tau2: 0, phi: leaves.variances ? 1 : 0 }
  const all = Array.from(leaves.before, (_, leaf) => elementOf(leaves, { ...state, noise }, leaf))
  const whole = sumOf(all)
  const sets = cuboids.map((cuboid) => ({ cuboid, elements: elementsOf(cuboid, all) }))
  const between = sets
    .filter(({ cuboid }) => cuboid.attributes.length === 1)
    .map(({ cuboid, elements }) => {
      const spread = spreadOf(cuboid, state)
      return exactSum(elements.map(({ size }) => (spread * size) ** 2))
    })
  const error = Math.sqrt(whole.variance + Math.max(0, ...between))
  return {
    error,
    in_all:
      whole.size > 0 &&
      whole.change !== 0 &&
      liesInAll(
        whole,
        sets.map(({ elements }) => elements),
      ),
  }
}

function liesInAll(whole: Element, sets: readonly Element[][]): boolean {
  const pace = whole.change / whole.size
  const movedAlike = ({ change, size }: Pick<Element, 'change' | 'size'>): boolean =>
    change / size / pace >= HALF
  let shown = false
  for (const elements of sets) {
    for (const { change, size } of elements) {
      const rest = { change: whole.change - change, size: whole.size - size }
      if (rest.size > 1e-9 * whole.size && !movedAlike(rest)) return false
    }
    if (elements.length < 2 || !showsWell(elements, Math.abs(pace))) continue
    shown = true
    const alike = exactSum(elements.filter(movedAlike).map(({ size }) => size))
    if (alike < MOST_BY_SIZE * whole.size) return false
  }
  return shown
}

/** Tells whether at least half of the elements, by size, vary by noise at most half as far as the whole moved. */
function showsWell(elements: readonly Element[], pace: number): boolean {
  const clear = elements.filter(({ size, variance }) => size > 0 && Math.sqrt(variance) <= HALF * pace * size)
  return 2 * exactSum(clear.map(({ size }) => size)) >= exactSum(elements.map(({ size }) => size))
}

function elementOf({ before, after }: Leaves, { scores, noise, factor }: State, leaf: number): Element {
  const [was, is] = [before[leaf]!, after[leaf]!]
  const judged = Math.max(Math.abs(was * factor), Math.abs(is))
  const variance = judged > 0 ? varianceOf(noise, scores.x[leaf]!) * judged * judged : 0
  return { change: is - was, size: Math.max(Math.abs(was), Math.abs(is)), variance }
}

function elementsOf({ starts, members }: Cuboid, all: readonly Element[]): Element[] {
  return Array.from({ length: starts.length - 1 }, (_, element) =>
    sumOf([...members.subarray(starts[element], starts[element + 1])].map((leaf) => all[leaf]!)),
  ).filter(({ size }) => size > 0)
}

function sumOf(elements: readonly Element[]): Element {
  const sum: Element = { change: 0, size: 0, variance: 0 }
  for (const { change, size, variance } of elements) {
    sum.change += change
    sum.size += size
    sum.variance += variance
  }
  return sum
}
