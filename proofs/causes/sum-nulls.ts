/**
 * Counts how often `drivers` names a cause of a sum in tables in which everything fell by a tenth and no part stands
 * out. The tables hold counts or amounts of some combinations, before and after, as one row for each combination or for
 * each event. Each varies by chance (Poisson's law), by shocks of its own on each side, or by shocks that all parts of
 * a value share.
 */
import { causesOf } from '../../packages/engine/methods/drivers/causes.ts'
import { emptySums, type Sums } from '../../packages/engine/methods/drivers/leaf-rows.ts'
import type { Earlier, Table } from '../../packages/engine/methods/drivers/leaves.ts'
import type { Options } from '../../packages/engine/methods/drivers/options.ts'
import { normal, type Random, randomFrom } from '../calibration/processes.ts'
import { combinationsOf, draw, earlierChanges, type Kind, SIDES, shareTable } from './tables.ts'

export interface Parts extends Kind {
  /** A row for each combination, or for each event. */
  rows: 'one' | 'events'
  /** The events of a middle combination on one side. Null for amounts, which do not vary by chance themselves. */
  events: number | null
  /** The standard deviation of a combination's shock on one side, as a share. */
  shock: number
  /** The standard deviation of a shock that all combinations of a value of the first column share. */
  shared?: number
}

export const SUM_KINDS: Record<string, Parts> = {
  'counts of 20, a row each': { rows: 'one', events: 20, shock: 0 },
  'counts of 200, a row each': { rows: 'one', events: 200, shock: 0 },
  'events, 200 each': { rows: 'events', events: 200, shock: 0 },
  'counts of 200 that stray by 5 %, a row each': { rows: 'one', events: 200, shock: 0.05 },
  'counts of 200 that stray by 10 %, a row each': { rows: 'one', events: 200, shock: 0.1 },
  'counts of 200 that stray by 30 %, a row each': { rows: 'one', events: 200, shock: 0.3, hidden: true },
  'events, 200 each, that stray by 10 %': { rows: 'events', events: 200, shock: 0.1 },
  'amounts that stray by 5 %': { rows: 'one', events: null, shock: 0.05 },
  'amounts that stray by 15 %': { rows: 'one', events: null, shock: 0.15 },
  'amounts, values by 5 % and parts by 5 %': { rows: 'one', events: null, shock: 0.05, shared: 0.05 },
  'amounts, values by 10 % and parts by 2 %': { rows: 'one', events: null, shock: 0.02, shared: 0.1 },
  'events, 2,000 each, values by 10 %': { rows: 'events', events: 2000, shock: 0, shared: 0.1 },
  'the same by 30 %': { rows: 'events', events: 2000, shock: 0, shared: 0.3, hidden: true },
  'the same by 30 %, three earlier changes': {
    rows: 'events',
    events: 2000,
    shock: 0,
    shared: 0.3,
    earlier: 3,
  },
}

export const SUM_SHAPES = [
  [2, 2],
  [4, 3],
  [6, 6],
  [6, 5, 4],
  [8, 6, 10],
]

function sideOf(
  { rows, events, shock, shared = 0 }: Parts,
  means: Float64Array,
  codes: Int32Array,
  random: Random,
): Sums {
  const sums = emptySums(means.length)
  const ofValue = new Map<number, number>()
  for (const code of codes) if (!ofValue.has(code)) ofValue.set(code, 1 + shared * normal(random))
  for (const [leaf, mean] of means.entries()) {
    const level = mean * Math.max(0, ofValue.get(codes[leaf]!)! * (1 + shock * normal(random)))
    const value = events === null ? level : draw(random, level)
    sums.rows[leaf] = rows === 'events' ? value : 1
    sums.top[leaf] = value
    sums.top2[leaf] = rows === 'events' ? value : value * value
  }
  return sums
}

export function sumTable(
  asked: Parts,
  sizes: readonly number[],
  random: Random,
): { table: Table; history: Earlier[] } {
  const combinations = combinationsOf(sizes)
  const { n, codes } = combinations
  const means = Float64Array.from({ length: n }, () => (asked.events ?? 100) * Math.exp(0.5 * normal(random)))
  const later = means.map((mean, leaf) => 0.9 * mean * (codes[0]![leaf] === 0 ? (asked.fall ?? 1) : 1))
  const before = sideOf(asked, means, codes[0]!, random)
  const after = sideOf(asked, later, codes[0]!, random)
  const history = earlierChanges(asked.earlier ?? 0, before, () => sideOf(asked, means, codes[0]!, random))
  return { table: { ...combinations, before, after }, history }
}

/**
 * Counts, among `tables` tables from `first` on, those in which any cause is named, the first value is named, and
 * another cause is.
 */
export function namedIn(asked: Parts, sizes: readonly number[], tables: number, seed: number, first = 0) {
  const counted = { any: 0, found: 0, other: 0 }
  const by = sizes.map((_, at) => `d${at}`)
  for (let index = first; index < first + tables; index++) {
    const { table, history } = sumTable(asked, sizes, randomFrom(seed * 100_003 + index))
    const { causes } = causesOf(table, { by, value: 'sales' } as Options, SIDES, history)
    const isFirst = causes.map(({ where }) => Object.keys(where).join() === 'd0' && where.d0 === 'v0')
    counted.any += causes.length > 0 ? 1 : 0
    counted.found += isFirst.includes(true) ? 1 : 0
    counted.other += isFirst.includes(false) ? 1 : 0
  }
  return counted
}

/** Returns the page's table of sums, over `tables` tables of each kind and shape from `first` on. */
export const namedInSums = (tables: number, seed: number, first: number) =>
  shareTable(SUM_KINDS, SUM_SHAPES, tables, (kind, sizes) => namedIn(kind, sizes, tables, seed, first).any)
