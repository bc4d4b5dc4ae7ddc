/**
 * Finds causes among few leaves. There a cause is a large part of the leaves to which the noise is fitted: one value of
 * six holds a sixth of them, one of two holds half, and its shift looks like noise. So each element of two leaves or
 * more is also tested against the noise that remains if it has a shift of its own (doubt.ts). Each leaf of the element
 * must have moved with it, so that a single outlying leaf makes no cause.
 */
import { chanceOfShift, FEW } from './doubt.ts'
import type { Cuboid, Leaves } from './leaves.ts'
import { type Scores, scoresOf } from './noise.ts'
import { chanceOfOne } from './one-leaf.ts'
import { commonFactor } from './state.ts'

/**
 * A leaf moved with its element if it moved at least `PART` of the shift, or lies within `NEAR` standard deviations of
 * it.
 */
const PART = 0.5
const NEAR = 2
const HALVINGS = 40
/** The fewest other leaves that show what is ordinary beside a single one. */
const LEAST_BESIDE_ONE = 4
/** The fewest and the most values of a column among which two that stand apart are searched. */
const LEAST_VALUES = 5
const MOST_VALUES = 20

export interface Apart {
  cuboid: Cuboid
  leaves: Int32Array
  p: number
  /** The standard error of the sum of its leaves under ordinary noise. */
  error: number
  /** The factor by which everything else moved. */
  factor: number
}

interface Explaining extends Apart {
  /** The logarithm of the likelihood of all free leaves. */
  likelihood: number
}

export interface Asked {
  claimed: Uint8Array
  /** The factor by which everything moved, if it is known; null if the other leaves give it. */
  fixed: number | null
  level: number
  /** The scores of earlier changes. */
  history: readonly Scores[]
  isNameless(cuboid: Cuboid, leaf: number): boolean
}

/**
 * Returns the element that, with a shift of its own, explains all free leaves best. Returns null if none passes, or if
 * there are many leaves.
 */
export function apartOf(leaves: Leaves, cuboids: readonly Cuboid[], asked: Asked): Apart | null {
  const free = [...leaves.before.keys()].filter(
    (leaf) => !asked.claimed[leaf] && (leaves.before[leaf] !== 0 || leaves.after[leaf] !== 0),
  )
  if (free.length < 4 || free.length >= FEW) return null
  let best: Explaining | null = null
  for (const cuboid of cuboids) {
    const parts = Map.groupBy(free, (leaf) => cuboid.element[leaf]!)
    for (const [element, members] of halfOf(parts, (others) => factorOf(leaves, others, asked.claimed))) {
      const left = free.length - members.length
      if (!isAsked(leaves, members.length, left, asked) || asked.isNameless(cuboid, members[0]!)) continue
      const found = test(leaves, cuboids, { cuboid, element, members, free }, asked)
      if (found && found.likelihood > (best?.likelihood ?? -Infinity)) best = found
    }
  }
  return best ?? (asked.history.length === 0 ? ofTwo(leaves, cuboids, free, asked) : null)
}

/**
 * Returns the surer of two values of a column that hide each other: each stands apart from all leaves beside both. Any
 * other value may have been the second, so the bound is divided by their number.
 */
function ofTwo(
  leaves: Leaves,
  cuboids: readonly Cuboid[],
  free: readonly number[],
  asked: Asked,
): Apart | null {
  let [best, worst]: [Apart | null, number] = [null, Infinity]
  for (const cuboid of cuboids.filter(({ attributes }) => attributes.length === 1)) {
    const parts = [...Map.groupBy(free, (leaf) => cuboid.element[leaf]!)].filter(
      ([, members]) => !asked.isNameless(cuboid, members[0]!),
    )
    if (parts.length < LEAST_VALUES || parts.length > MOST_VALUES) continue
    const level = asked.level / (parts.length - 1)
    for (const [at, one] of parts.entries())
      for (const other of parts.slice(at + 1)) {
        const alone = ([element, members]: typeof one, [, hidden]: typeof one): Apart | null => {
          if (!isAsked(leaves, members.length, free.length - members.length - hidden.length, asked))
            return null
          const beside = free.filter((leaf) => !hidden.includes(leaf))
          return test(leaves, cuboids, { cuboid, element, members, free: beside }, { ...asked, level })
        }
        const first = alone(one, other)
        const second = first && alone(other, one)
        if (!second) continue
        const pair = Math.max(first.p, second.p)
        if (pair < worst) [best, worst] = [first.p <= second.p ? first : second, pair]
      }
  }
  return best
}

/** Tells whether an element can be tested: a single leaf only if nothing but the other leaves shows their noise. */
function isAsked({ variances }: Leaves, members: number, left: number, { history }: Asked): boolean {
  if (members > 1) return left >= 2
  return left >= LEAST_BESIDE_ONE && variances === null && history.length === 0
}

/**
 * Returns the half to test. Two halves explain the leaves equally well, so it is the one that leaves the smaller move
 * of everything else.
 */
function halfOf(parts: Map<number, number[]>, factorOfRest: (others: readonly number[]) => number) {
  if (parts.size !== 2) return [...parts]
  const [one, other] = [...parts] as [[number, number[]], [number, number[]]]
  const away = ([, others]: [number, number[]]): number => Math.abs(Math.log(factorOfRest(others)))
  return [away(other) <= away(one) ? one : other]
}

interface Element {
  cuboid: Cuboid
  element: number
  members: number[]
  free: readonly number[]
}

function test(
  leaves: Leaves,
  cuboids: readonly Cuboid[],
  { cuboid, element, members, free }: Element,
  { fixed, level, claimed, history }: Asked,
): Explaining | null {
  const others = free.filter((leaf) => cuboid.element[leaf] !== element)
  const factor = fixed ?? factorOf(leaves, others, claimed)
  if (!(factor > 0)) return null
  const scores = scoresOf(leaves, factor)
  const noise = noiseOf(leaves, scores, members, others)
  const { s } = scores
  const { shift } = meanOf(members, s, noise.variance)
  const sign = Math.sign(shift)
  const movedAlong = members.every(
    (leaf) =>
      sign * s[leaf]! >= PART * Math.abs(shift) ||
      Math.abs(s[leaf]! - shift) <= NEAR * Math.sqrt(noise.variance(leaf)),
  )
  if (Math.abs(shift) < 1e-9 || !movedAlong) return null
  const p =
    members.length > 1
      ? chanceOfShift(leaves, scores, { cuboid, members, others, fixed: fixed !== null, history })
      : chanceOfOne(
          s[members[0]!]!,
          Float64Array.from(others, (leaf) => s[leaf]!),
          fixed !== null,
        )
  if (p > level) return null
  const between = betweenOf(cuboids, { cuboid, others, s }, noise.variance)
  let [squares, whole] = [0, 0]
  for (const leaf of members) {
    const size = Math.max(Math.abs(leaves.before[leaf]! * factor), Math.abs(leaves.after[leaf]!))
    squares += noise.variance(leaf) * size ** 2
    whole += size
  }
  const error = Math.sqrt(squares + between * whole ** 2)
  return { cuboid, leaves: Int32Array.from(members), p, error, factor, likelihood: noise.likelihood }
}

/** Returns the factor by which the other leaves moved; with fewer than three leaves it is the ratio of their sums. */
function factorOf(leaves: Leaves, others: readonly number[], claimed: Uint8Array): number {
  const taken = new Uint8Array(claimed.length).fill(1)
  for (const leaf of others) taken[leaf] = 0
  const sum = (values: Float64Array): number => others.reduce((all, leaf) => all + values[leaf]!, 0)
  return commonFactor(leaves, taken) ?? sum(leaves.after) / sum(leaves.before)
}

type Variance = (leaf: number) => number

/**
 * Returns the variance of each score that the rows show, and the shared part that makes the residuals as large as
 * expected.
 */
function noiseOf(
  { variances }: Leaves,
  { s, x }: Scores,
  members: number[],
  others: readonly number[],
): { variance: Variance; likelihood: number } {
  const told = (leaf: number): number => (variances === null ? 0 : x[leaf]!)
  const n = members.length + others.length
  const at = (shared: number) => {
    const variance = (leaf: number): number => Math.max(1e-18, told(leaf) + shared)
    const { shift } = meanOf(members, s, variance)
    const ofOthers = others.reduce((sum, leaf) => sum + s[leaf]! ** 2 / variance(leaf), 0)
    const squares = members.reduce((sum, leaf) => sum + (s[leaf]! - shift) ** 2 / variance(leaf), ofOthers)
    return { variance, squares }
  }
  let [low, high] = [0, 4]
  for (let round = 0; round < HALVINGS && at(0).squares > n - 2; round++) {
    const middle = (low + high) / 2
    if (at(middle).squares > n - 2) low = middle
    else high = middle
  }
  const { variance, squares } = at(low === 0 && at(0).squares <= n - 2 ? 0 : high)
  const spread = members.concat(others).reduce((sum, leaf) => sum + Math.log(variance(leaf)), 0)
  return { variance, likelihood: -(spread + squares) / 2 }
}

function meanOf(members: readonly number[], s: Float64Array, variance: Variance) {
  let [pull, weight] = [0, 0]
  for (const leaf of members) {
    pull += s[leaf]! / variance(leaf)
    weight += 1 / variance(leaf)
  }
  return { shift: pull / weight, weight }
}

interface Beside {
  cuboid: Cuboid
  others: readonly number[]
  s: Float64Array
}

/**
 * Returns the variance of the other elements beyond their leaves' noise. A column of two values has only one other
 * element, so the variance is then taken from the other columns.
 */
function betweenOf(cuboids: readonly Cuboid[], { cuboid, others, s }: Beside, variance: Variance): number {
  const order = cuboid.attributes.length
  const spreadIn = ({ element }: Cuboid) => {
    const means = [...Map.groupBy(others, (leaf) => element[leaf]!).values()].map((part) =>
      meanOf(part, s, variance),
    )
    const m = means.length
    if (m < 2) return null
    const middle = means.reduce((sum, { shift }) => sum + shift, 0) / m
    const squares = means.reduce((sum, { shift }) => sum + (shift - middle) ** 2, 0) / (m - 1)
    const noise = means.reduce((sum, { weight }) => sum + 1 / weight, 0) / m
    return Math.max(0, squares - noise) * (1 + 1 / m)
  }
  const peers = cuboids.filter((other) => other !== cuboid && other.attributes.length === order)
  return spreadIn(cuboid) ?? Math.max(0, ...peers.map((other) => spreadIn(other) ?? 0))
}
