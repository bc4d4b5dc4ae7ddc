/** The segments of a scan: the whole, and what some values of the columns select, each as a series of its own. */
import type { Cell } from '@assay/model/insight'
import { attributeSets } from '../../causes/leaves.ts'
import { diagnose } from '../../series/diagnosis.ts'
import { gridOf } from '../../series/grid.ts'
import type { Series } from '../../series/load.ts'
import type { ReadSeries } from '../../series/read.ts'
import { powerAbove } from '../shared/sums.ts'
import type { Scanned } from './load.ts'

export interface Segment {
  /** For each column of `by` the code of its value, or -1; all -1: the whole. */
  codes: number[]
  where: Record<string, Cell>
  /** The value at each step of the whole's grid. */
  values: Float64Array
}

/** Segments that are scanned beside the whole, the largest. */
export const MOST_SEGMENTS = 60

/** Those with something in at least half of the steps, the largest first; `left` counts the others that were not scanned. */
export function segmentsOf(
  scanned: Scanned,
  by: readonly string[],
  depth: number,
): { segments: Segment[]; left: number } {
  const steps = scanned.whole.grid.values.length
  const observed = scanned.whole.rows.length
  const found: Segment[] = []
  for (const set of attributeSets(by.length, Math.min(depth, by.length))) {
    const groups = new Map<string, Segment>()
    const ofLeaf = Array.from(scanned.codes[0]!, (_, leaf): Segment => {
      const codes = by.map((_name, at) => (set.includes(at) ? scanned.codes[at]![leaf]! : -1))
      const key = codes.join()
      const known = groups.get(key)
      if (known) return known
      const where = Object.fromEntries(set.map((at) => [by[at]!, scanned.rows.names[at]![codes[at]!]!]))
      const made = { codes, where, values: new Float64Array(steps) }
      groups.set(key, made)
      return made
    })
    for (const [row, leaf] of scanned.leaf.entries()) {
      const step = scanned.step[row]!
      if (step >= 0) ofLeaf[leaf]!.values[step]! += scanned.rows.sums.top[row]!
    }
    found.push(...groups.values())
  }
  // One value alone is the whole once more.
  const own = found.filter(({ values }) => !sameAs(values, scanned.whole))
  const dense = own.filter(({ values }) => 2 * values.filter((value) => value !== 0).length >= observed)
  const size = ({ values }: Segment): number => values.reduce((sum, value) => sum + Math.abs(value), 0)
  const sized = dense
    .map((segment) => ({ segment, size: size(segment) }))
    .toSorted((a, b) => b.size - a.size)
    .map(({ segment }) => segment)
  return { segments: sized.slice(0, MOST_SEGMENTS), left: own.length - Math.min(sized.length, MOST_SEGMENTS) }
}

function sameAs(values: Float64Array, { grid, rows, series }: ReadSeries): boolean {
  return rows.every((row) => values[row] === grid.values[row]! * series.unit)
}

/** The whole as a segment. */
export function wholeOf({ grid, series }: ReadSeries, by: readonly string[]): Segment {
  const values = Float64Array.from(grid.values, (value) => value * series.unit)
  return { codes: by.map(() => -1), where: {}, values }
}

/** The series of a segment over the steps of the whole, with a diagnosis of its own. */
export function seriesOf({ values }: Segment, whole: ReadSeries): ReadSeries {
  const { rows, grid, diagnosis: known } = whole
  const own = rows.map((row) => values[row]!)
  const unit = powerAbove(own.reduce((most, value) => Math.max(most, Math.abs(value)), 0))
  const series: Series = {
    ...whole.series,
    times: rows.map((row) => grid.times[row]!),
    positions: rows.map((row) => grid.positions[row]!),
    values: own.map((value) => value / unit),
    unit,
    doubts: [],
  }
  const made = gridOf(series)
  const found = diagnose(series, made, rows, known)
  return { ...whole, ...found, series, grid: made, doubts: [] }
}
