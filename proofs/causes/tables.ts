/** The parts that the simulated tables of sums and of ratios share: combinations, two sides, and counts. */
import type { Sums } from '../../packages/engine/methods/drivers/leaf-rows.ts'
import type { Earlier, Table } from '../../packages/engine/methods/drivers/leaves.ts'
import type { Sides } from '../../packages/engine/methods/drivers/sides.ts'
import { normal, poisson, type Random } from '../calibration/processes.ts'

const SIDE = { where: 'true', label: '', named: '', days: 1 }
export const SIDES: Sides = {
  before: SIDE,
  after: SIDE,
  per_day: false,
  doubts: [],
  history: [],
  unfinished: null,
}

/** Draws a count by Poisson's law, or a large one by the normal law. */
export const draw = (random: Random, mean: number): number =>
  mean < 400 ? poisson(random, mean) : Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)))

/** Returns every combination of attributes, which have `sizes` values each. */
export function combinationsOf(sizes: readonly number[]): Omit<Table, 'before' | 'after'> {
  const n = sizes.reduce((product, size) => product * size, 1)
  const codes = sizes.map((size, attribute) => {
    const below = sizes.slice(attribute + 1).reduce((product, one) => product * one, 1)
    return Int32Array.from({ length: n }, (_, leaf) => Math.floor(leaf / below) % size)
  })
  const names = sizes.map((count) => Array.from({ length: count }, (_, code) => `v${code}`))
  return { codes, names, rare: sizes.map(() => -1), kept: null, n }
}

/**
 * Returns `earlier` changes before the one that ends with `before`, the latest first. `side` draws the leaves of one
 * side.
 */
export function earlierChanges(earlier: number, before: Sums, side: () => Sums): Earlier[] {
  const history: Earlier[] = []
  for (let next = before; history.length < earlier; next = history.at(-1)!.before)
    history.push({ before: side(), after: next, days: [1, 1] })
  return history
}

/** A kind of simulated tables. */
export interface Kind {
  /** The factor of the first value or combination on the side after. */
  fall?: number
  /** The number of earlier changes that are also known. */
  earlier?: number
  /**
   * Whether shocks exceed what rows and few parts can show. The share of named causes is then printed without a
   * promised bound.
   */
  hidden?: boolean
}

/**
 * Returns a row for each kind and a column for each shape, with the share of tables in which a cause is named, and the
 * largest share that is promised. `named` counts these tables. It is not called if there are no `tables`.
 */
export function shareTable<K extends Kind>(
  kinds: Record<string, K>,
  shapes: readonly (readonly number[])[],
  tables: number,
  named: (kind: K, sizes: readonly number[]) => number,
): { rows: string[]; most: number } {
  let most = 0
  const rows = (tables > 0 ? Object.entries(kinds) : []).map(([name, kind]) => {
    const cells = shapes.map((sizes) => {
      const share = named(kind, sizes) / tables
      if (!kind.hidden) most = Math.max(most, share)
      return (100 * share).toFixed(1)
    })
    return `| ${name} | ${cells.join(' | ')} |`
  })
  return { rows, most }
}
