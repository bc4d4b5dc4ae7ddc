/** The causes of a change: what the search found, as the parts of the change that they make. */
import type { Cell } from '@assay/model/insight'
import type { Leaves } from '../../causes/leaves.ts'
import { type Found, type FoundCause, searchCauses } from '../../causes/search.ts'
import { exactSum } from '../../numeric/sum.ts'
import { finite } from '../shared/sentence.ts'
import { spreadOfRows } from './counts.ts'
import { type Compared, countsIn, leavesOfRates, leavesOfSum } from './leaf-noise.ts'
import type { Earlier, Table } from './leaves.ts'
import { type Ends, effectsOf, endsOf, leavesOfMix, matchedOf, type Unmatched } from './mix.ts'
import type { Options } from './options.ts'
import type { Sides } from './sides.ts'

export interface Cause {
  where: Record<string, Cell>
  /** Of a ratio: whether its rate moved, or its share of the denominator. */
  kind?: 'rate' | 'mix'
  /** Of a ratio: its share of the denominator. */
  weight_before?: number | null
  weight_after?: number | null
  before: number | null
  after: number | null
  /** What would have come, had it moved as everything else did. */
  expected: number | null
  change: number | null
  share: number | null
  low: number | null
  high: number | null
  q: number
}

export interface Causes {
  causes: Cause[]
  /** The share of the change that the causes explain. */
  explained: number | null
  /** What is left, before and after. */
  rest: { before: number; after: number } | null
  /** Both sides as they are compared: per day where periods differ. */
  before: number
  after: number
  /** The standard error of the whole change by the noise of its leaves; null where causes stand out. */
  error: number | null
  /** Whether rows tell the noise of leaves. */
  told: boolean
  /** Where no cause stands out: whether the change lies in all parts alike. */
  in_all: boolean
  /** Whether causes pull against each other so much that shares of the change say nothing. */
  cancelling: boolean
  searched: number
  depth: number
  /** Whether `before` is what was expected. */
  beside?: boolean
  /** Whether the parts by each attribute moved much as the whole did. */
  even?: boolean
  /** Of a ratio: what its numerators without a denominator do. */
  unmatched?: Unmatched | null
  /** The labels of the numerator and the denominator of a ratio. */
  top?: string
  weight?: string
}

/** How far a part may stray from the change of the whole, as a share of it, and how small it may be to count. */
const EVEN = 0.5
const COUNTS = 0.05

const Q = 0.005
const NORMAL_95 = 1.959963984540054
/** A change below this share of what moved inside it is the remainder of a cancellation. */
const CANCELS = 0.25
/** Fewer leaves do not tell by themselves what is noise and what moved them all. */
const LEAST_TO_SHOW = 6
/** So many earlier changes tell what is usual of the whole; so few know it badly, so theirs counts for more. */
const LEAST_CHANGES = 5
const WIDER = 1.5
/** Everything else moved far where it is this share above or below what was expected. */
const FAR = 0.5
/** Above this share of the change rates made it. */
const MOSTLY = 0.5

export function causesOf(given: Table, options: Options, sides: Sides, history: readonly Earlier[]): Causes {
  const ratio = options.denominator !== undefined
  const { table, unmatched } = ratio ? matchedOf(given, options.by) : { table: given, unmatched: null }
  const days: [number, number] = sides.per_day ? [sides.before.days, sides.after.days] : [1, 1]
  const known = ratio || options.expected !== undefined || table.noise !== undefined
  const counts = known ? null : countsIn([table, ...history])
  const spread = known ? 1 : spreadOfAll(table, history)
  const make = (sums: Compared, over: [number, number]): Leaves =>
    leavesOfSum(table, sums, options, { days: over, counts, spread })
  const [leaves, ...pasts] = (
    ratio
      ? leavesOfRates(table, [table, ...history])
      : [make(table, days), ...history.map((past) => make(past, past.days))]
  ) as [Leaves, ...Leaves[]]
  const search = (factor: number | null): Found =>
    searchCauses(leaves, {
      depth: options.depth ?? options.by.length,
      q: Q,
      factor,
      history: pasts,
      nameless: table.rare,
    })
  const own = search(options.expected === undefined ? null : 1)
  const found = sides.expected === undefined ? own : besideExpected(own, () => search(1))
  const told = ratio
    ? ofRatio(leaves, { table, unmatched }, options, found, sharesThatMoved(table, options, history))
    : ofSum(leaves, table, options, found)
  // The whole strays no farther than its earlier changes did, whatever its rows let one expect.
  const usual = ratio || sides.expected !== undefined ? null : usualChange(pasts)
  const error = usual === null || told.error === null ? told.error : Math.min(told.error, WIDER * usual)
  return { ...told, error, even: isEven(leaves), beside: sides.expected !== undefined }
}

/** Where a part ended its rows are gone, and both sides look no more like a grid: then earlier changes tell. */
function spreadOfAll(table: Table, history: readonly Earlier[]): number {
  const all = spreadOfRows([table, ...history])
  return all < 1 ? all : spreadOfRows(history)
}

/** The root mean square of earlier changes of the whole; null of too few. */
function usualChange(pasts: readonly Leaves[]): number | null {
  if (pasts.length < LEAST_CHANGES) return null
  const changes = pasts.map(({ before, after }) => exactSum([...after]) - exactSum([...before]))
  return Math.sqrt(exactSum(changes.map((change) => change * change)) / changes.length)
}

/**
 * Where few parts made most of what came, what moved them passes for what everything moved by. So causes beside which everything else
 * moved far give way to fewer beside which everything else came as expected. A change without a cause keeps none.
 */
function besideExpected(own: Found, asExpected: () => Found): Found {
  if (own.causes.length < 2 || Math.abs(own.factor - 1) <= FAR) return own
  const plain = asExpected()
  return plain.causes.length > 0 && plain.causes.length < own.causes.length ? plain : own
}

function isEven({ codes, sizes, before, after }: Leaves): boolean {
  const [was, is] = [exactSum([...before]), exactSum([...after])]
  const whole = is / was - 1
  if (!(was > 0) || !Number.isFinite(whole)) return false
  let most = 0
  const even = codes.every((list, attribute) => {
    const ends = Array.from({ length: sizes[attribute]! }, (): [number, number] => [0, 0])
    for (const [leaf, code] of list.entries()) {
      ends[code]![0] += before[leaf]!
      ends[code]![1] += after[leaf]!
    }
    const large = ends.filter(([own, came]) => Math.max(own, came) >= COUNTS * Math.max(was, is))
    most = Math.max(most, large.length)
    return large.every(([own, came]) => Math.abs(came / own - 1 - whole) <= EVEN * Math.abs(whole))
  })
  return even && most > 1
}

/** The segments whose share of the denominator moved; beside a forecast the noise of shares is not known. */
function sharesThatMoved(table: Table, options: Options, history: readonly Earlier[]): Found | null {
  if (table.noise) return null
  return searchCauses(leavesOfMix(table, table, options), {
    depth: options.depth ?? options.by.length,
    q: Q,
    factor: null,
    history: history.map((past) => leavesOfMix(table, past, options)),
    nameless: table.rare,
  })
}

const sumOver = (values: Float64Array, leaves: Int32Array): number =>
  exactSum([...leaves].map((leaf) => values[leaf]!))

function whereOf(table: Table, options: Options, { where }: FoundCause): Record<string, Cell> {
  return Object.fromEntries(
    where.flatMap((code, index) => (code < 0 ? [] : [[options.by[index]!, table.names[index]![code]!]])),
  )
}

function ofSum(leaves: Leaves, table: Table, options: Options, found: Found): Causes {
  const before = exactSum([...leaves.before])
  const after = exactSum([...leaves.after])
  const rows = found.causes.map((cause) => {
    const was = sumOver(leaves.before, cause.leaves)
    const is = sumOver(leaves.after, cause.leaves)
    return { cause, was, is, expected: was * found.factor, change: is - was, effect: is - was * found.factor }
  })
  const cancelling = cancels(
    after - before,
    rows.map(({ effect }) => effect),
  )
  const whole = cancelling || after === before ? null : after - before
  const sorted = rows.toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
  const causes = sorted.map(
    ({ cause, was, is, expected, change, effect }): Cause => ({
      where: whereOf(table, options, cause),
      before: finite(was),
      after: finite(is),
      expected: finite(expected),
      change: finite(change),
      share: whole === null ? null : finite(effect / whole),
      low: finite(change - NORMAL_95 * cause.error),
      high: finite(change + NORMAL_95 * cause.error),
      q: cause.q,
    }),
  )
  const named = { before: exactSum(rows.map(({ was }) => was)), after: exactSum(rows.map(({ is }) => is)) }
  return {
    causes,
    explained: whole === null ? null : finite(exactSum(rows.map(({ effect }) => effect)) / whole),
    rest: { before: before - named.before, after: after - named.after },
    before,
    after,
    ...lieOf(leaves, found, 1),
    cancelling,
    searched: found.searched,
    depth: found.depth,
  }
}

/** What is known of a change without a cause. `size`: what the sums are over, for a ratio. */
function lieOf({ variances, before, partly }: Leaves, { whereabouts }: Found, size: number) {
  const enough = before.length >= LEAST_TO_SHOW
  const told = variances !== null && (!partly || enough)
  const shown = variances !== null || enough
  return {
    error: shown && whereabouts ? whereabouts.error / size : null,
    told,
    in_all: whereabouts?.in_all ?? false,
  }
}

/** Whether the parts pull against each other: the whole is small beside them. */
function cancels(whole: number, effects: readonly number[]): boolean {
  const gross = exactSum(effects.map(Math.abs))
  return effects.length > 1 && Math.abs(whole) < CANCELS * gross
}

function ofRatio(
  leaves: Leaves,
  { table, unmatched }: ReturnType<typeof matchedOf>,
  options: Options,
  found: Found,
  shares: Found | null,
): Causes {
  const all = [...table.before.rows.keys()]
  const whole = endsOf(table, all)
  const rate = ({ top, bottom }: Ends, side: 0 | 1): number => top[side] / bottom[side]
  const matched = { before: rate(whole, 0), after: rate(whole, 1) }
  const before = matched.before + (unmatched?.before ?? 0)
  const after = matched.after + (unmatched?.after ?? 0)
  const effects = effectsOf(table, after - before, shares?.causes ?? [], found.causes)
  const rows = [
    ...effects.rates.map((moved) => ({ ...moved, kind: 'rate' as const })),
    ...effects.mixes.map((moved) => ({ ...moved, kind: 'mix' as const })),
  ].map((row) => ({ ...row, own: endsOf(table, row.cause.leaves) }))
  const cancelling = cancels(
    after - before,
    rows.map(({ effect }) => effect),
  )
  const change = cancelling || after === before ? null : after - before
  const sorted = rows.toSorted((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
  const causes = sorted.map(
    ({ cause, own, effect, error, kind, q }): Cause => ({
      where: whereOf(table, options, cause),
      kind,
      weight_before: finite(own.bottom[0] / whole.bottom[0]),
      weight_after: finite(own.bottom[1] / whole.bottom[1]),
      before: finite(rate(own, 0)),
      after: finite(rate(own, 1)),
      expected: finite(rate(own, 0) * found.factor),
      change: finite(effect),
      share: change === null ? null : finite(effect / change),
      low: finite(effect - NORMAL_95 * error),
      high: finite(effect + NORMAL_95 * error),
      q,
    }),
  )
  const claimed = new Set(found.causes.flatMap(({ leaves }) => [...leaves]))
  const left = endsOf(
    table,
    all.filter((leaf) => !claimed.has(leaf)),
  )
  const shown = left.bottom[0] > 0 && left.bottom[1] > 0
  const explained = exactSum(rows.map(({ effect }) => effect))
  const lie = lieOf(leaves, found, whole.bottom[1])
  const ofRates = (exactSum([...leaves.after]) - exactSum([...leaves.before])) / whole.bottom[1]
  // Where shares moved, what is left is what all other shares and rates did to the ratio.
  const others = { before: matched.before, after: matched.after - explained }
  return {
    causes,
    explained: change === null ? null : finite(explained / change),
    rest: effects.mixes.length > 0 ? others : shown ? { before: rate(left, 0), after: rate(left, 1) } : null,
    before,
    after,
    ...lie,
    // Where shares moved it, too, rates that moved alike are not all.
    in_all: lie.in_all && ofRates / (after - before) >= MOSTLY,
    cancelling,
    searched: found.searched + (shares?.searched ?? 0),
    depth: found.depth,
    unmatched,
  }
}
