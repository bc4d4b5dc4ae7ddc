/** Turns what the search found into causes, each with the part of the change that it makes. */
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
  /** For a ratio: whether its rate moved, or its share of the denominator. */
  kind?: 'rate' | 'mix'
  /** For a ratio: its share of the denominator. */
  weight_before?: number | null
  weight_after?: number | null
  before: number | null
  after: number | null
  /** The value if it had moved as everything else did. */
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
  /** The sums without the causes, before and after. */
  rest: { before: number; after: number } | null
  /** The value before, as it is compared: per day if the periods differ in days. */
  before: number
  after: number
  /** The standard error of the whole change by the noise of its leaves; null if causes stand out. */
  error: number | null
  /** Whether the rows show the noise of the leaves. */
  told: boolean
  /** Whether all parts changed alike; only if no cause stands out. */
  in_all: boolean
  /** Whether causes cancel each other so much that shares of the change mean nothing. */
  cancelling: boolean
  searched: number
  depth: number
  /** Whether `before` is what was expected. */
  beside?: boolean
  /** Whether the change would be another without one single row. */
  one_row?: boolean
  /** Whether the parts by each attribute moved about as the whole did. */
  even?: boolean
  /** For a ratio: the effect of numerators without a denominator. */
  unmatched?: Unmatched | null
  /** The labels of the numerator and the denominator of a ratio. */
  top?: string
  weight?: string
}

/**
 * The largest distance of an even part from the change of the whole, as a share of that change, and the smallest size
 * of a part that counts.
 */
const EVEN = 0.5
const COUNTS = 0.05

const Q = 0.005
const NORMAL_95 = 1.959963984540054
/** A change below this share of the moves inside it is what is left after they cancel. */
const CANCELS = 0.25
/** The fewest leaves that show by themselves what is noise and what moved them all. */
const LEAST_TO_SHOW = 6
/**
 * The fewest earlier changes that show what is usual for the whole. Their spread is multiplied by `WIDER`, because so
 * few show it badly.
 */
const LEAST_CHANGES = 5
const WIDER = 1.5
/** Everything else moved far if it is more than this share above or below what was expected. */
const FAR = 0.5
/** Rates made a change if they made more than this share of it. */
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
  // The spread of earlier changes of the whole is a floor, whatever the rows show.
  const usual = ratio || sides.expected !== undefined ? null : usualChange(pasts)
  const error = usual === null || told.error === null ? told.error : Math.min(told.error, WIDER * usual)
  return { ...told, error, even: isEven(leaves), beside: sides.expected !== undefined }
}

/**
 * Returns the spread of the number of rows. If a part ended, its rows are gone, and the two sides no longer look like a
 * grid. Earlier changes then show the spread.
 */
function spreadOfAll(table: Table, history: readonly Earlier[]): number {
  const all = spreadOfRows([table, ...history])
  return all < 1 ? all : spreadOfRows(history)
}

/** Returns the root mean square of earlier changes of the whole, or null if they are too few. */
function usualChange(pasts: readonly Leaves[]): number | null {
  if (pasts.length < LEAST_CHANGES) return null
  const changes = pasts.map(({ before, after }) => exactSum([...after]) - exactSum([...before]))
  return Math.sqrt(exactSum(changes.map((change) => change * change)) / changes.length)
}

/**
 * Chooses between two readings. If few parts made most of what came, their move looks like the move of everything. So
 * causes that leave everything else far from what was expected give way to fewer causes that leave it as expected. A
 * change without a cause keeps none.
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

/**
 * Returns the segments whose share of the denominator moved. It returns none beside a forecast, where the noise of
 * shares is not known.
 */
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

/** Describes a change without a cause. For a ratio, `size` is the number that its sums are divided by. */
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

/** Tells whether the parts cancel each other, so that the whole is small beside them. */
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
  // If shares moved, the rest is the effect of all other shares and rates on the ratio.
  const others = { before: matched.before, after: matched.after - explained }
  return {
    causes,
    explained: change === null ? null : finite(explained / change),
    rest: effects.mixes.length > 0 ? others : shown ? { before: rate(left, 0), after: rate(left, 1) } : null,
    before,
    after,
    ...lie,
    // If shares also moved the ratio, rates that moved alike explain only a part.
    in_all: lie.in_all && ofRates / (after - before) >= MOSTLY,
    cancelling,
    searched: found.searched + (shares?.searched ?? 0),
    depth: found.depth,
    unmatched,
  }
}
