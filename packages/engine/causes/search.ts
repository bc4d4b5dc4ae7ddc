/**
 * Searches for causes: the fewest elements, over all combinations of attributes, that lie farther out than ordinary
 * leaves.
 *
 * Round by round: the noise is fitted to the leaves that no cause has claimed (noise.ts); every element of every cuboid
 * is tested for a common shift of its leaves, against their noise and against the spread between ordinary elements of
 * its cuboid; among those that pass, the one that explains the leaves best is taken, and its leaves are claimed. The
 * measure is a likelihood: all leaves of an element moved by one factor (the ripple effect: Li et al., Squeeze, ISSRE
 * 2019), against ordinary noise, with a floor under both so that no single leaf decides. An element whose leaves moved
 * only in some of its parts gives way to those parts. The search ends when nothing left stands out.
 *
 * False discoveries: the p value of the k-th cause times all elements searched over k is at most q (Benjamini and
 * Hochberg 1995).
 */
import { benjaminiHochberg } from '../methods/shared/multiplicity.ts'
import { normalTwoSided, studentTwoSided } from '../numeric/distributions.ts'
import { median } from '../numeric/median.ts'
import { type Asked as ApartAsked, apartOf } from './apart.ts'
import { chanceOfShift, FEW } from './doubt.ts'
import { explain, gainOf } from './explain.ts'
import { attributeSets, type Cuboid, cuboidOf, type Leaves } from './leaves.ts'
import { merged } from './merged.ts'
import { type Noise, type Scores, scoresOf, varianceOf } from './noise.ts'
import {
  commonFactor,
  commonFactorOf,
  LEAST_ELEMENTS,
  type State,
  spreadOf,
  stateOf,
  sumsOf,
} from './state.ts'
import { type Whereabouts, whereaboutsOf } from './whereabouts.ts'

export interface SearchOptions {
  /** The number of attributes that a cause may combine. */
  depth: number
  /** The share of false ones among the causes. */
  q: number
  /** The factor by which everything moved; null if it is estimated from the leaves. */
  factor: number | null
  /** The same leaves over earlier pairs of periods: they show what is ordinary. */
  history?: readonly Leaves[]
  /** For each attribute a code that no cause may name, or -1. */
  nameless?: readonly number[]
}

export interface FoundCause {
  /** For each attribute the code of the value, or -1. */
  where: number[]
  /** The leaves in it that no earlier cause claimed. */
  leaves: Int32Array
  p: number
  q: number
  /** The standard error of the sum of its leaves under ordinary noise. */
  error: number
}

export interface Found {
  causes: FoundCause[]
  /** The number of elements that were tested. */
  searched: number
  depth: number
  /** The factor by which everything else moved. */
  factor: number
  noise: Noise
  /** Says where the change lies if no cause stands out. */
  whereabouts: Whereabouts | null
}

/** The most members of all cuboids together. With more, causes combine fewer attributes. */
const MOST_MEMBERS = 24_000_000
const MOST_CAUSES = 40
/**
 * A leaf may be another cause if its score lies farther than `LARGE`, and than `FAR_OUT` standard deviations, from the
 * centre. At most a share of `MOST_OUT` of at least `LEAST_AROUND` leaves may be such.
 */
const LARGE = 0.5
const FAR_OUT = 6
const MOST_OUT = 1 / 3
const LEAST_AROUND = 8

export function searchCauses(leaves: Leaves, options: SearchOptions): Found {
  const n = leaves.before.length
  let depth = Math.min(options.depth, leaves.codes.length)
  while (depth > 1 && attributeSets(leaves.codes.length, depth).length * n > MOST_MEMBERS) depth -= 1
  const cuboids = attributeSets(leaves.codes.length, depth).map((set) => cuboidOf(leaves, set))
  const claimed = new Uint8Array(n)
  const common = commonFactorOf(leaves)
  let factor = options.factor ?? common(claimed) ?? 1
  const searched = cuboids.reduce((sum, cuboid) => sum + informative(cuboid, leaves), 0)
  const causes: (FoundCause & { factor?: number })[] = []
  const fixed = options.factor !== null
  const history = (options.history ?? []).map((past) => scoresOf(past, commonFactor(past, null) ?? 1))
  let state = stateOf(leaves, factor, claimed, fixed, history)
  const most = searched > 0 ? MOST_CAUSES : 0
  while (causes.length < most) {
    const level = (options.q * (causes.length + 1)) / searched
    const next: (FoundCause & { factor?: number }) | null =
      nextCause(leaves, cuboids, state, { level, fixed, history, nameless: options.nameless ?? [] }) ??
      apart(leaves, cuboids, { claimed, level, ...options, history })
    if (!next) break
    for (const leaf of next.leaves) claimed[leaf] = 1
    causes.push(next)
    if (!fixed) factor = common(claimed) ?? next.factor ?? (isGone(leaves, claimed) ? 0 : factor)
    state = stateOf(leaves, factor, claimed, fixed, history)
  }
  const named = withQ(merged(leaves, causes, factor), searched).filter(({ q }) => q <= options.q)
  const found = fixed
    ? { causes: named, factor }
    : besideTheLeast(leaves, named, factor, options.q / searched)
  const whereabouts = found.causes.length === 0 && n > 0 ? whereaboutsOf(leaves, cuboids, state) : null
  return { ...found, searched, depth, noise: state.noise, whereabouts }
}

/** Tells whether all leaves beside the causes fell to nothing. */
function isGone({ before, after }: Leaves, claimed: Uint8Array): boolean {
  let was = 0
  for (let leaf = 0; leaf < claimed.length; leaf++) {
    if (claimed[leaf]) continue
    if (after[leaf] !== 0) return false
    was += before[leaf]!
  }
  return was > 0
}

/**
 * Handles causes that took all leaves and all moved the same way. The one that moved least is then the common move and
 * no cause. The others stay causes if they differ from it by more than the noise of both.
 */
function besideTheLeast(
  { before, after }: Leaves,
  causes: FoundCause[],
  factor: number,
  level: number,
): { causes: FoundCause[]; factor: number } {
  const taken = new Set(causes.flatMap((cause) => [...cause.leaves]))
  const left = [...before.keys()].some(
    (leaf) => !taken.has(leaf) && (before[leaf] !== 0 || after[leaf] !== 0),
  )
  const moved = causes.map((cause) => {
    const sum = (values: Float64Array): number => cause.leaves.reduce((all, leaf) => all + values[leaf]!, 0)
    const [was, is] = [sum(before), sum(after)]
    return { cause, was, is, ratio: is / was, error: cause.error / was }
  })
  const sameWay = new Set(moved.map(({ ratio }) => Math.sign(ratio - factor))).size === 1
  if (left || !sameWay || !moved.every(({ was, ratio }) => was > 0 && ratio > 0)) return { causes, factor }
  const least = moved.toSorted(
    (a, b) => Math.abs(Math.log(a.ratio / factor)) - Math.abs(Math.log(b.ratio / factor)),
  )[0]!
  const others = moved.filter(
    ({ cause, ratio, error }) =>
      cause !== least.cause &&
      normalTwoSided((ratio - least.ratio) / Math.hypot(error, least.error)) <= level,
  )
  return { causes: others.map(({ cause }) => cause), factor: least.ratio }
}

function informative(cuboid: Cuboid, { before, after }: Leaves): number {
  let count = 0
  for (let e = 0; e + 1 < cuboid.starts.length; e++) {
    for (let at = cuboid.starts[e]!; at < cuboid.starts[e + 1]!; at++) {
      const leaf = cuboid.members[at]!
      if (before[leaf] !== 0 || after[leaf] !== 0) {
        count += 1
        break
      }
    }
  }
  return count
}

/** Corrects after Benjamini and Hochberg over all searched elements. An element that was not named counts as p = 1. */
function withQ(causes: readonly Omit<FoundCause, 'q'>[], searched: number): FoundCause[] {
  const adjusted = benjaminiHochberg(causes.map(({ p }) => p))
  return causes.map((cause, index) => ({
    ...cause,
    q: Math.min(1, (adjusted[index]! * searched) / Math.max(1, causes.length)),
  }))
}

/**
 * Returns the chance of an equal or larger shift of the element if nothing happened. The spread is estimated from
 * `values` values.
 */
function chance(pull: number, weight: number, { sure }: Noise, spread: number, values: number): number {
  const [own, between] = [1 / weight, spread * spread]
  const t = pull / weight / Math.sqrt(own + between)
  // The degrees of freedom follow Welch and Satterthwaite, from those of each part of the variance.
  const doubt = own ** 2 / sure + between ** 2 / Math.max(4, values - 1)
  const df = (own + between) ** 2 / doubt
  return df > 1e4 ? normalTwoSided(t) : studentTwoSided(t, df)
}

interface Candidate {
  cuboid: Cuboid
  leaves: Int32Array
  p: number
  gain: number
  shift: number
  tight: number
  /** The spread between ordinary elements of the cuboid. */
  spread: number
}

interface Asked {
  level: number
  fixed: boolean
  nameless: readonly number[]
  /** The scores of earlier changes. */
  history: readonly Scores[]
}

/**
 * Returns the lower bound of p among few leaves. It is 0 if there are many leaves, or if earlier periods show what is
 * ordinary.
 */
type Doubt = (attributes: readonly number[], members: Int32Array) => number

function doubtOf(leaves: Leaves, cuboids: readonly Cuboid[], state: State, { fixed, history }: Asked): Doubt {
  const free = [...state.weights.keys()].filter((leaf) => state.weights[leaf]! > 0)
  if (free.length >= FEW) return () => 0
  const out = farOut(state, free)
  return (attributes, members) => {
    const inside = new Set(members)
    const others = free.filter((leaf) => !inside.has(leaf))
    const ordinary = others.filter((leaf) => !out.has(leaf))
    const cuboid = cuboids.find((one) => String(one.attributes) === String(attributes))
    if (!cuboid || others.length === 0) return 0
    // One of two halves moved relative to the other. apart.ts decides which.
    if (
      history.length === 0 &&
      members.length > 1 &&
      new Set(others.map((leaf) => cuboid.element[leaf])).size === 1
    )
      return 1
    return chanceOfShift(leaves, state.scores, {
      cuboid,
      members: [...members],
      others: ordinary,
      fixed,
      history,
    })
  }
}

/**
 * Finds the few leaves that lie far beyond the noise of the others, by medians, and may be other causes. They are left
 * out of the ordinary spread, because otherwise two causes among twelve leaves would hide each other.
 */
function farOut({ scores: { s, x }, noise }: State, free: readonly number[]): Set<number> {
  const out = free.filter((leaf) => {
    const away = Math.abs(s[leaf]! - noise.centre)
    return away > LARGE && away > FAR_OUT * Math.sqrt(varianceOf(noise, x[leaf]!))
  })
  return new Set(free.length >= LEAST_AROUND && out.length <= MOST_OUT * free.length ? out : [])
}

function nextCause(
  leaves: Leaves,
  cuboids: readonly Cuboid[],
  state: State,
  asked: Asked,
): FoundCause | null {
  const { level, nameless } = asked
  let best: Candidate | null = null
  const doubt = doubtOf(leaves, cuboids, state, asked)
  const spreads = new Map<number, number[]>()
  for (const cuboid of cuboids) {
    const sums = sumsOf(cuboid, state.pulls, state.weights)
    const elements = cuboid.starts.length - 1
    const own = spreadOf(cuboid, state)
    const peers = spreads.get(cuboid.attributes.length) ?? []
    spreads.set(cuboid.attributes.length, [...peers, own])
    const values = fewestValues(leaves, cuboid.attributes) * (1 + state.past.length)
    const spread = elements * (1 + state.past.length) >= LEAST_ELEMENTS ? own : Math.max(0, ...peers)
    for (let e = 0; e < elements; e++) {
      const weight = sums.weight[e]!
      if (weight === 0 || isNameless(leaves, cuboid, cuboid.members[cuboid.starts[e]!]!, nameless)) continue
      const pull = sums.pull[e]! - state.whole * weight
      if (Math.abs(pull) < 3 * Math.sqrt(weight)) continue
      const known = chance(pull, weight, state.noise, spread, values)
      if (known > level) continue
      const members = cuboid.members
        .subarray(cuboid.starts[e], cuboid.starts[e + 1])
        .filter((leaf) => state.weights[leaf]! > 0)
      const p = Math.max(known, doubt(cuboid.attributes, members))
      if (p > level) continue
      const { gain, shift, tight } = explain(state, members)
      if (gain > (best?.gain ?? PRICE) * (1 + 1e-9))
        best = {
          cuboid,
          leaves: members,
          p,
          gain,
          shift,
          tight,
          spread,
        }
    }
  }
  return best && causeOf(leaves, state, narrowed(leaves, state, best, { level, doubt }))
}

/** Returns the smallest number of values among the attributes, which is the number of regions that show a spread. */
function fewestValues(leaves: Leaves, attributes: readonly number[]): number {
  return Math.min(...attributes.map((attribute) => leaves.sizes[attribute]!))
}

/** The least gain of one more cause, in units of log likelihood. */
const PRICE = 5

/** Returns the candidate, or its best part if leaving out the ordinary parts pays for naming the others one by one. */
function narrowed(
  leaves: Leaves,
  state: State,
  candidate: Candidate,
  asked: { level: number; doubt: Doubt },
): Candidate {
  const own = candidate.cuboid.attributes
  for (const attribute of leaves.codes.keys()) {
    if (own.includes(attribute) || own.length + 1 > leaves.codes.length) continue
    const parts = Map.groupBy(candidate.leaves, (leaf) => leaves.codes[attribute]![leaf]!)
    if (parts.size < 2) continue
    let [dropped, kept, best] = [0, 0, null as Candidate | null]
    for (const part of parts.values()) {
      const members = Int32Array.from(part)
      const gain = gainOf(state, members, candidate)
      if (gain <= 0 && isOrdinary(state, members, candidate)) dropped -= gain
      if (gain <= PRICE) continue
      kept += 1
      if (gain <= (best?.gain ?? 0)) continue
      const weight = members.reduce((total, leaf) => total + state.weights[leaf]!, 0)
      const pull = members.reduce((total, leaf) => total + state.pulls[leaf]!, -state.whole * weight)
      const { spread } = candidate
      const values = fewestValues(leaves, own) * (1 + state.past.length)
      const attributes = [...own, attribute].toSorted((a, b) => a - b)
      const p = Math.max(chance(pull, weight, state.noise, spread, values), asked.doubt(attributes, members))
      const cuboid = { ...candidate.cuboid, attributes }
      best = { cuboid, leaves: members, p, spread, ...explain(state, members) }
    }
    if (best && best.p <= asked.level && dropped > PRICE * Math.max(1, kept - 1))
      return narrowed(leaves, state, best, asked)
  }
  return candidate
}

/**
 * Tells whether most leaves of the part lie nearer to the centre than to the shift. Leaves that another cause moved are
 * not ordinary.
 */
function isOrdinary({ scores, noise }: State, members: Int32Array, { shift }: Candidate): boolean {
  const middle = median(Float64Array.from(members, (leaf) => scores.s[leaf]!))
  return Math.abs(middle - noise.centre) < Math.abs(shift - noise.centre) / 2
}

function isNameless(
  leaves: Leaves,
  { attributes }: Cuboid,
  leaf: number,
  nameless: readonly number[],
): boolean {
  for (const attribute of attributes)
    if (leaves.codes[attribute]![leaf] === (nameless[attribute] ?? -1)) return true
  return false
}

type Asking = Pick<SearchOptions, 'factor' | 'nameless'> & Pick<ApartAsked, 'claimed' | 'level' | 'history'>

/** Returns, among few leaves, an element that stands apart from all others (apart.ts). */
function apart(
  leaves: Leaves,
  cuboids: readonly Cuboid[],
  { claimed, level, factor, history, nameless = [] }: Asking,
): (FoundCause & { factor: number }) | null {
  const found = apartOf(leaves, cuboids, {
    claimed,
    level,
    fixed: factor,
    history,
    isNameless: (cuboid, leaf) => isNameless(leaves, cuboid, leaf, nameless),
  })
  if (!found) return null
  const { cuboid, leaves: members, p, error } = found
  return { where: whereOf(leaves, cuboid, members), leaves: members, p, q: 1, error, factor: found.factor }
}

const whereOf = ({ codes }: Leaves, { attributes }: Cuboid, members: Int32Array): number[] =>
  codes.map((own, attribute) => (attributes.includes(attribute) ? own[members[0]!]! : -1))

function causeOf(leaves: Leaves, state: State, candidate: Candidate): FoundCause {
  const { cuboid, leaves: members, p, spread } = candidate
  const where = whereOf(leaves, cuboid, members)
  let [variance, whole] = [0, 0]
  for (const leaf of members) {
    const size = Math.max(Math.abs(leaves.before[leaf]! * state.factor), Math.abs(leaves.after[leaf]!))
    variance += varianceOf(state.noise, state.scores.x[leaf]!) * size * size
    whole += size
  }
  return { where, leaves: members, p, q: 1, error: Math.sqrt(variance + (spread * whole) ** 2) }
}
