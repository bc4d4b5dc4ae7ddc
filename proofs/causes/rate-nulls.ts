/**
 * Counts how often `drivers` names a cause of a ratio in tables in which nothing happened. The tables hold sales per
 * visit of some combinations, before and after, as one row for each combination, day or visit. Rates vary by chance
 * alone (binomial), or also by shocks of each combination and side, or of each day.
 */
import { causesOf } from '../../packages/engine/methods/drivers/causes.ts'
import { emptySums, type Sums } from '../../packages/engine/methods/drivers/leaf-rows.ts'
import type { Earlier, Table } from '../../packages/engine/methods/drivers/leaves.ts'
import type { Options } from '../../packages/engine/methods/drivers/options.ts'
import { normal, type Random, randomFrom } from '../calibration/processes.ts'
import { combinationsOf, draw, earlierChanges, type Kind, SIDES, shareTable } from './tables.ts'

export interface Rows extends Kind {
  rows: 'one' | 'days' | 'visits'
  /** The visits of a middle combination on one side. */
  visits: number
  /** The standard deviation of a rate's own shock on one side, or on one day, as a share of the rate. */
  shock: number
  /** The correlation of a day's shocks with those of the day before. */
  persistence?: number
}

export const RATE_KINDS: Record<string, Rows> = {
  'binomial, a row each': { rows: 'one', visits: 4000, shock: 0 },
  'binomial, few events': { rows: 'one', visits: 200, shock: 0 },
  'binomial, a row a visit': { rows: 'visits', visits: 4000, shock: 0 },
  'shocks of 10 %, a row each': { rows: 'one', visits: 4000, shock: 0.1 },
  'shocks of 30 %, a row each': { rows: 'one', visits: 4000, shock: 0.3 },
  'shocks of 30 %, a row a visit': { rows: 'visits', visits: 4000, shock: 0.3, hidden: true },
  'shocks of 30 %, three earlier changes': { rows: 'one', visits: 4000, shock: 0.3, earlier: 3 },
  'days with shocks of 20 %': { rows: 'days', visits: 4000, shock: 0.2 },
  'days that resemble each other': { rows: 'days', visits: 4000, shock: 0.2, persistence: 0.6 },
}

export const RATE_SHAPES = [
  [2, 2],
  [4, 3],
  [6, 5, 4],
  [8, 6, 10],
]
const DAYS = 28
const RATE = 0.05

function add(sums: Sums, leaf: number, rows: number, top: number, bottom: number, visits: boolean): void {
  sums.rows[leaf]! += rows
  sums.top[leaf]! += top
  sums.bottom[leaf]! += bottom
  sums.top2[leaf]! += visits ? top : top * top
  sums.bottom2[leaf]! += visits ? bottom : bottom * bottom
  sums.product[leaf]! += visits ? top : top * bottom
}

function sideOf(asked: Rows, size: Float64Array, rates: Float64Array, random: Random): Sums {
  const sums = emptySums(size.length)
  const { rows, shock, persistence = 0 } = asked
  for (let leaf = 0; leaf < size.length; leaf++) {
    let state = normal(random)
    const days = rows === 'days' ? DAYS : 1
    for (let day = 0; day < days; day++) {
      const visits = draw(random, size[leaf]! / days)
      const rate = rates[leaf]! * Math.max(0, 1 + shock * state)
      const sales = Math.min(visits, draw(random, visits * rate))
      add(sums, leaf, rows === 'visits' ? visits : 1, sales, visits, rows === 'visits')
      state = persistence * state + Math.sqrt(1 - persistence ** 2) * normal(random)
    }
  }
  return sums
}

export function rateTable(
  asked: Rows,
  sizes: readonly number[],
  random: Random,
): { table: Table; history: Earlier[] } {
  const combinations = combinationsOf(sizes)
  const { n } = combinations
  const size = Float64Array.from({ length: n }, () => asked.visits * Math.exp(0.5 * normal(random)))
  const rates = Float64Array.from({ length: n }, () => RATE * Math.exp(0.3 * normal(random)))
  const later = rates.map((rate, leaf) => rate * 0.9 * (leaf === 0 ? (asked.fall ?? 1) : 1))
  const before = sideOf(asked, size, rates, random)
  const after = sideOf(asked, size, later, random)
  const history = earlierChanges(asked.earlier ?? 0, before, () => sideOf(asked, size, rates, random))
  return { table: { ...combinations, before, after }, history }
}

/**
 * Counts, among `tables` tables from `first` on, those in which any cause is named, and those in which the first
 * combination is.
 */
export function namedIn(asked: Rows, sizes: readonly number[], tables: number, seed: number, first = 0) {
  let [any, found] = [0, 0]
  const by = sizes.map((_, at) => `d${at}`)
  for (let index = first; index < first + tables; index++) {
    const { table, history } = rateTable(asked, sizes, randomFrom(seed * 100_003 + index))
    const { causes } = causesOf(
      table,
      { by, numerator: 'sales', denominator: 'visits' } as Options,
      SIDES,
      history,
    )
    any += causes.length > 0 ? 1 : 0
    found += causes.some(({ where }) => by.every((name) => where[name] === 'v0')) ? 1 : 0
  }
  return { any, found }
}

/** Returns the page's table of ratios, over `tables` tables of each kind and shape from `first` on. */
export const namedInRates = (tables: number, seed: number, first: number) =>
  shareTable(RATE_KINDS, RATE_SHAPES, tables, (kind, sizes) => namedIn(kind, sizes, tables, seed, first).any)
