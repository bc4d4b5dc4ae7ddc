/**
 * Measures how large a change must be to be found: tables of few or many combinations, with the noise of counts or with
 * noise of their own, in which one value, one combination or everything fell. It counts tables with the planted cause
 * named exactly, with any other cause named, and with the claim that the change lies in all parts alike.
 */
import type { Leaves } from '../../packages/engine/causes/leaves.ts'
import { searchCauses } from '../../packages/engine/causes/search.ts'
import { normal, type Random, randomFrom } from '../calibration/processes.ts'

export interface Case {
  sizes: readonly number[]
  /**
   * Events of a combination on one side, whose noise the rows show; null for proportional noise, which the rows do not
   * show.
   */
  events: number | null
  noise: number
  /** The part that fell: the first value, the first combination or everything. */
  planted: 'value' | 'combination' | 'all'
  factor: number
}

export interface Outcomes {
  /** The shares of the instances. */
  found: number
  false: number
  in_all: number
}

function instance({ sizes, events, noise, planted, factor }: Case, random: Random): Leaves {
  const n = sizes.reduce((product, size) => product * size, 1)
  const codes = sizes.map((_, attribute) => {
    const below = sizes.slice(attribute + 1).reduce((product, size) => product * size, 1)
    return Int32Array.from({ length: n }, (__, leaf) => Math.floor(leaf / below) % sizes[attribute]!)
  })
  const isIn = (leaf: number): boolean =>
    planted === 'all' || (planted === 'value' ? codes[0]![leaf] === 0 : leaf === 0)
  const mean = Float64Array.from({ length: n }, () => (events ?? 100) * Math.exp(0.5 * normal(random)))
  const draw = (size: number): number => {
    const stray = events === null ? noise * size : Math.sqrt(size + (noise * size) ** 2)
    const value = Math.max(0, size + stray * normal(random))
    return events === null ? value : Math.round(value)
  }
  const before = mean.map(draw)
  const after = mean.map((size, leaf) => draw(isIn(leaf) ? size * factor : size))
  const variances = events === null ? null : { before, after }
  return { codes, sizes, before, after, variances }
}

export function powerOf(asked: Case, instances: number, seed: number): Outcomes {
  const counted = { found: 0, false: 0, in_all: 0 }
  const { sizes, planted } = asked
  const truth =
    planted === 'all' ? '' : sizes.map((_, at) => (planted === 'combination' || at === 0 ? 0 : -1)).join()
  for (let index = 0; index < instances; index++) {
    const leaves = instance(asked, randomFrom(seed * 100_003 + index))
    const { causes, whereabouts } = searchCauses(leaves, { depth: sizes.length, q: 0.005, factor: null })
    const names = causes.map(({ where }) => where.join())
    if (names.includes(truth)) counted.found += 1
    if (names.some((name) => name !== truth)) counted.false += 1
    const sum = (values: Float64Array): number => values.reduce((all, value) => all + value, 0)
    const change = Math.abs(sum(leaves.after) - sum(leaves.before))
    if (whereabouts?.in_all && change >= 2 * whereabouts.error) counted.in_all += 1
  }
  const share = (count: number): number => count / instances
  return { found: share(counted.found), false: share(counted.false), in_all: share(counted.in_all) }
}

const SHAPES = [
  [4, 3],
  [6, 6],
  [6, 5, 4],
  [8, 6, 10],
]
const NOISES: Pick<Case, 'events' | 'noise'>[] = [
  { events: 20, noise: 0 },
  { events: 200, noise: 0 },
  { events: null, noise: 0.05 },
  { events: null, noise: 0.15 },
]

/** Returns a row for each case, and the largest share in which the fall of one part is reported as one of all parts. */
export function powerTable(instances: number, seed: number): { rows: string[]; wrong: number } {
  let most = 0
  const shown = (share: number): string => `${Math.round(100 * share)}`
  const rows = SHAPES.flatMap((sizes) =>
    NOISES.map((noise) => {
      const of = (planted: Case['planted'], factor: number): Outcomes =>
        powerOf({ sizes, ...noise, planted, factor }, instances, seed)
      const falls = [of('value', 0.7), of('value', 0.4), of('combination', 0.4)]
      const all = of('all', 0.8)
      const wrong = Math.max(...falls.map(({ in_all }) => in_all))
      most = Math.max(most, wrong)
      const kind = noise.events === null ? `${100 * noise.noise} % of its own` : `counts of ${noise.events}`
      const n = sizes.reduce((product, size) => product * size, 1)
      const cells = [...falls.map(({ found }) => found), wrong, all.in_all, all.false].map(shown)
      return `| ${n} (${sizes.join(' x ')}) | ${kind} | ${cells.join(' | ')} |`
    }),
  )
  return { rows, wrong: most }
}
