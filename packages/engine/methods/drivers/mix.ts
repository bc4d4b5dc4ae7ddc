/**
 * Splits the change of a ratio into the effect of moved shares of its denominator (mix) and of moved rates (rate). The
 * groups are the segments whose shares moved, each a set of leaves, and the rest: mix = dw (mean r - mean r of the
 * rest), and the remaining change is the mean w times dr of each group. That is Kitagawa's decomposition (J. American
 * Statistical Association 50, 1955) over these groups, with the rest as the base. So a segment that grows is counted
 * whole, and what it displaces is not counted again. All parts add up to the change exactly.
 */
import type { Cell } from '@assay/model/insight'
import type { Leaves } from '../../causes/leaves.ts'
import type { FoundCause } from '../../causes/search.ts'
import { normalTwoSided } from '../../numeric/distributions.ts'
import { exactSum } from '../../numeric/sum.ts'
import { spreadOfRows } from './counts.ts'
import { type Compared, countsIn, leavesOfSum } from './leaf-noise.ts'
import type { Sums } from './leaf-rows.ts'
import type { Table } from './leaves.ts'
import type { Options } from './options.ts'

export interface Moved {
  cause: FoundCause
  effect: number
  /** The standard error of the effect. */
  error: number
  /**
   * For a share that moved: the larger of two chances, that the share did not move and that it did not move the ratio.
   */
  q: number
}

export interface Ends {
  top: [before: number, after: number]
  bottom: [before: number, after: number]
}

/** Numerators of leaves that have no denominator on their side, as orders of a channel whose visits are not counted. */
export interface Unmatched {
  /** Their effect on the ratio, before and after. */
  before: number
  after: number
  /** The values that all of these leaves share. */
  where: Record<string, Cell>
  leaves: number
}

/** The share of the change, or of the whole effect of rates, below which a mix is not reported. */
const LEAST = 0.1
/** The largest q of a cause. */
const MOST_Q = 0.01

/** Returns the denominators as leaves. A denominator that moved as all did is no change of the mix. */
export function leavesOfMix(table: Pick<Table, 'codes' | 'names'>, sums: Compared, options: Options): Leaves {
  const side = ({ rows, bottom, bottom2 }: Sums): Sums => ({
    rows,
    top: bottom,
    top2: bottom2,
    bottom,
    bottom2,
    product: bottom2,
  })
  const bottoms = { before: side(sums.before), after: side(sums.after) }
  return leavesOfSum(table, bottoms, options, {
    days: [1, 1],
    counts: countsIn([bottoms]),
    spread: spreadOfRows([bottoms]),
  })
}

/** Returns the sums of some leaves on both sides. */
export function endsOf(table: Table, leaves: Iterable<number>): Ends {
  const all = [...leaves]
  const of = (side: 'before' | 'after', name: 'top' | 'bottom'): number =>
    exactSum(all.map((leaf) => table[side][name][leaf]!))
  return {
    top: [of('before', 'top'), of('after', 'top')],
    bottom: [of('before', 'bottom'), of('after', 'bottom')],
  }
}

/**
 * Returns the table without numerators that have no denominator, because they have no rate, and the effect of these
 * numerators on the ratio. The effect is null if there are none.
 */
export function matchedOf(
  table: Table,
  by: readonly string[],
): { table: Table; unmatched: Unmatched | null } {
  const leaves = [...table.before.rows.keys()]
  const lone = ([table.before, table.after] as const).map(({ top, bottom }) =>
    leaves.filter((leaf) => bottom[leaf] === 0 && top[leaf] !== 0),
  )
  const all = [...new Set(lone.flat())]
  if (all.length === 0) return { table, unmatched: null }
  const without = (side: Sums, gone: readonly number[]): Sums => {
    const [top, top2] = [side.top.slice(), side.top2.slice()]
    for (const leaf of gone) top[leaf] = top2[leaf] = 0
    return { ...side, top, top2 }
  }
  const added = ({ top, bottom }: Sums, gone: readonly number[]): number =>
    exactSum(gone.map((leaf) => top[leaf]!)) / exactSum([...bottom])
  const where = by.flatMap((name, attribute) => {
    const codes = new Set(all.map((leaf) => table.codes[attribute]![leaf]!))
    const [code] = codes
    return codes.size > 1 || code === table.rare[attribute]
      ? []
      : [[name, table.names[attribute]![code!]!] as const]
  })
  return {
    table: { ...table, before: without(table.before, lone[0]!), after: without(table.after, lone[1]!) },
    unmatched: {
      before: added(table.before, lone[0]!),
      after: added(table.after, lone[1]!),
      where: Object.fromEntries(where),
      leaves: all.length,
    },
  }
}

/**
 * Returns the effects on the ratio of the shares that moved, if they matter beside `change`, and of the rates that
 * moved.
 */
export function effectsOf(
  table: Table,
  change: number,
  mixes: readonly FoundCause[],
  rates: readonly FoundCause[],
): { mixes: Moved[]; rates: Moved[] } {
  const all = [...table.before.rows.keys()]
  const whole = endsOf(table, all)
  const ofRates = (groups: readonly FoundCause[]): Moved[] => rateEffects(table, whole, groups, rates)
  // If they cover all leaves, the last one is what the others displaced.
  const moved = exactSum(mixes.map(({ leaves }) => leaves.length)) < all.length ? mixes : mixes.slice(0, -1)
  const scale = Math.max(Math.abs(change), exactSum(ofRates(moved).map(({ effect }) => Math.abs(effect))))
  let found = mixEffects(table, whole, moved, moved.length)
  for (;;) {
    const told = found.filter(({ effect, q }) => Math.abs(effect) >= LEAST * scale && q <= MOST_Q)
    const kept = told.map(({ cause }) => cause)
    if (told.length === found.length) return { mixes: found, rates: ofRates(kept) }
    found = mixEffects(table, whole, kept, moved.length)
  }
}

const rateOf = ({ top, bottom }: Ends, side: 0 | 1): number => top[side] / bottom[side]

/** Returns the mean of both rates, or the only one, or null if there is none. */
function meanRate(ends: Ends): number | null {
  const rates = ([0, 1] as const).flatMap((side) => (ends.bottom[side] > 0 ? [rateOf(ends, side)] : []))
  return rates.length === 0 ? null : rates.reduce((sum, rate) => sum + rate, 0) / rates.length
}

const weightsOf = (ends: Ends, whole: Ends): [number, number] => [
  ends.bottom[0] / whole.bottom[0],
  ends.bottom[1] / whole.bottom[1],
]

/**
 * Returns the mix effect of each group. `looked` is the number of groups that were tried; the chances are corrected for
 * it (Bonferroni).
 */
function mixEffects(table: Table, whole: Ends, groups: readonly FoundCause[], looked: number): Moved[] {
  const taken = new Set(groups.flatMap(({ leaves }) => [...leaves]))
  const rest = [...table.before.rows.keys()].filter((leaf) => !taken.has(leaf))
  const base = meanRate(endsOf(table, rest)) ?? meanRate(whole)!
  const baseError = errorOfRate(table, rest, base)
  return groups.map((cause) => {
    const ends = endsOf(table, cause.leaves)
    const [before, after] = weightsOf(ends, whole)
    const mean = meanRate(ends) ?? base
    const [shift, gap] = [after - before, mean - base]
    const ofRates = Math.hypot(errorOfRate(table, cause.leaves, mean), baseError)
    const ofShares = cause.error / whole.bottom[1]
    const [effect, error] = [shift * gap, Math.hypot(gap * ofShares, shift * ofRates)]
    const chance = effect === 0 ? 1 : normalTwoSided(effect / error)
    return { cause, effect, error, q: Math.max(cause.q, Math.min(1, looked * chance)) }
  })
}

/** Returns the standard error of the rate of some leaves over both sides, from the spread of their rows. */
function errorOfRate({ before, after }: Table, leaves: Iterable<number>, rate: number): number {
  let [spread, bottom] = [0, 0]
  for (const leaf of leaves)
    for (const side of [before, after]) {
      spread += side.top2[leaf]! - 2 * rate * side.product[leaf]! + rate * rate * side.bottom2[leaf]!
      bottom += side.bottom[leaf]!
    }
  return bottom > 0 ? Math.sqrt(Math.max(0, spread)) / bottom : 0
}

/** Returns the rate effects. Within each group a rate that moved counts by its mean share of the group. */
function rateEffects(
  table: Table,
  whole: Ends,
  groups: readonly FoundCause[],
  rates: readonly FoundCause[],
): Moved[] {
  const groupOf = new Map(groups.flatMap(({ leaves }, index) => [...leaves].map((leaf) => [leaf, index])))
  const inGroup = Map.groupBy(table.before.rows.keys(), (leaf) => groupOf.get(leaf) ?? -1)
  const weights = new Map(
    [...inGroup].map(([group, leaves]) => [group, weightsOf(endsOf(table, leaves), whole)]),
  )
  return rates.map((cause) => {
    const cells = Map.groupBy(cause.leaves, (leaf) => groupOf.get(leaf) ?? -1)
    const effects = [...cells].map(([group, leaves]) => {
      const ends = endsOf(table, leaves)
      const own = weightsOf(ends, whole)
      const of = weights.get(group)!
      if (own.some((weight) => !(weight > 0))) return 0
      const within = (own[0] / of[0] + own[1] / of[1]) / 2
      return ((of[0] + of[1]) / 2) * within * (rateOf(ends, 1) - rateOf(ends, 0))
    })
    return { cause, effect: exactSum(effects), error: cause.error / whole.bottom[1], q: cause.q }
  })
}
