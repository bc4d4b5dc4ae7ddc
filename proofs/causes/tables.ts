/** What the simulated tables of sums and of ratios share: their combinations, their two sides, and counts. */
import type { Table } from '../../packages/engine/methods/drivers/leaves.ts'
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

/** A count by Poisson's law. Large ones are drawn by the normal law. */
export const draw = (random: Random, mean: number): number =>
  mean < 400 ? poisson(random, mean) : Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)))

/** Every combination of attributes with so many values each. */
export function combinationsOf(sizes: readonly number[]): Omit<Table, 'before' | 'after'> {
  const n = sizes.reduce((product, size) => product * size, 1)
  const codes = sizes.map((size, attribute) => {
    const below = sizes.slice(attribute + 1).reduce((product, one) => product * one, 1)
    return Int32Array.from({ length: n }, (_, leaf) => Math.floor(leaf / below) % size)
  })
  const names = sizes.map((count) => Array.from({ length: count }, (_, code) => `v${code}`))
  return { codes, names, rare: sizes.map(() => -1), kept: null, n }
}
