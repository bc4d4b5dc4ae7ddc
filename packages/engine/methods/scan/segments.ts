/** The segments of a scan: the whole, and what some values of the columns select, each as a series of its own. */
import type { Cell } from '@assay/model/insight'
import { attributeSets } from '../../causes/leaves.ts'
import { type Diagnosis, diagnose } from '../../series/diagnosis.ts'
import { gridOf } from '../../series/grid.ts'
import type { Series } from '../../series/load.ts'
import type { ReadSeries } from '../../series/read.ts'
import { powerAbove } from '../shared/sums.ts'
import type { Scanned } from './scanned.ts'

export interface Segment {
  /** The code of the value of each column of `by`, or -1. The whole has -1 everywhere. */
  codes: number[]
  where: Record<string, Cell>
  /** The value at each step of the whole's grid; NaN for a ratio without a denominator. */
  values: Float64Array
  /** The numerator and denominator of a ratio at each step. */
  ends: Ends | null
}

export interface Ends {
  top: Float64Array
  bottom: Float64Array
}

/** The most segments that are scanned beside the whole; the largest are kept. */
export const MOST_SEGMENTS = 60

/**
 * Returns the segments with a value other than 0 in at least half of the steps, the largest first. `left` is the number
 * of segments that are not scanned.
 */
export function segmentsOf(
  scanned: Scanned,
  by: readonly string[],
  depth: number,
): { segments: Segment[]; left: number } {
  const observed = scanned.whole.rows.length
  const found = attributeSets(by.length, Math.min(depth, by.length)).flatMap((set) =>
    segmentsOver(scanned, by, set),
  )
  const whole = wholeOf(scanned, by)
  // A column with one value gives the whole again.
  const own = found.filter((segment) => !sameAs(segment, whole, scanned.whole.rows))
  const dense = own.filter(
    ({ values, ends }) => 2 * (ends?.top ?? values).filter((value) => value !== 0).length >= observed,
  )
  const size = ({ values, ends }: Segment): number =>
    (ends?.bottom ?? values).reduce((sum, value) => sum + Math.abs(value), 0)
  const sized = dense
    .map((segment) => ({ segment, size: size(segment) }))
    .toSorted((a, b) => b.size - a.size)
    .map(({ segment }) => segment)
  return { segments: sized.slice(0, MOST_SEGMENTS), left: own.length - Math.min(sized.length, MOST_SEGMENTS) }
}

/** Returns one segment for each combination of values of some columns. */
function segmentsOver(scanned: Scanned, by: readonly string[], set: readonly number[]): Segment[] {
  const steps = scanned.whole.grid.values.length
  const { top, bottom } = scanned.rows.sums
  const groups = new Map<string, Segment & { sums: Ends }>()
  const ofLeaf = Array.from(scanned.codes[0]!, (_, leaf) => {
    const codes = by.map((_name, at) => (set.includes(at) ? scanned.codes[at]![leaf]! : -1))
    const key = codes.join()
    const known = groups.get(key)
    if (known) return known
    const where = Object.fromEntries(set.map((at) => [by[at]!, scanned.rows.names[at]![codes[at]!]!]))
    const sums = { top: new Float64Array(steps), bottom: new Float64Array(steps) }
    const made = { codes, where, values: sums.top, ends: null, sums }
    groups.set(key, made)
    return made
  })
  for (const [row, leaf] of scanned.leaf.entries()) {
    const step = scanned.step[row]!
    if (step < 0) continue
    ofLeaf[leaf]!.sums.top[step]! += top[row]!
    if (scanned.ratio) ofLeaf[leaf]!.sums.bottom[step]! += bottom[row]!
  }
  return [...groups.values()].map(({ codes, where, sums }) =>
    scanned.ratio
      ? { codes, where, values: ratesOf(sums), ends: sums }
      : { codes, where, values: sums.top, ends: null },
  )
}

const ratesOf = ({ top, bottom }: Ends): Float64Array =>
  top.map((sum, step) => (bottom[step]! > 0 ? sum / bottom[step]! : Number.NaN))

function sameAs(segment: Segment, whole: Segment, rows: readonly number[]): boolean {
  const alike = (own: Float64Array, all: Float64Array): boolean => rows.every((row) => own[row] === all[row])
  if (!segment.ends || !whole.ends) return alike(segment.values, whole.values)
  return alike(segment.ends.top, whole.ends.top) && alike(segment.ends.bottom, whole.ends.bottom)
}

/** Returns the whole as a segment. */
export function wholeOf(scanned: Scanned, by: readonly string[]): Segment {
  const codes = by.map(() => -1)
  const { grid, series } = scanned.whole
  const [segment] = scanned.ratio ? segmentsOver(scanned, by, []) : []
  const values = Float64Array.from(grid.values, (value) => value * series.unit)
  return segment ?? { codes, where: {}, values, ends: null }
}

/** Returns the series of a segment over the steps of the whole, with a diagnosis of its own. */
export function seriesOf({ values, ends }: Segment, { whole, event }: Scanned): ReadSeries {
  const { grid, diagnosis: known } = whole
  const rows = whole.rows.filter((row) => !Number.isNaN(values[row]!))
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
  const seen = ends ? [...made.observed.keys()].filter((step) => made.observed[step]) : rows
  const found = diagnose(series, made, seen, known)
  const level_shifts = withThoseOf(whole.diagnosis.level_shifts, found.diagnosis.level_shifts, series)
  const diagnosis = { ...found.diagnosis, level_shifts }
  const read = { ...whole, ...found, diagnosis, series, grid: made, rows: seen, doubts: [] }
  if (!ends) return read
  return { ...read, sizes: { denominators: rows.map((row) => ends.bottom[row]!), event } }
}

/** Changes of level at most this many steps apart are one change. */
const NEAR = 5

/** Gives a segment the changes of level of the whole. A segment shows less clearly than the whole when a change was. */
function withThoseOf(
  whole: Diagnosis['level_shifts'],
  own: Diagnosis['level_shifts'],
  { times }: Series,
): Diagnosis['level_shifts'] {
  const shared = whole
    .map(({ time }) => ({ index: times.indexOf(time), time }))
    .filter(({ index }) => index > 0)
  const others = own.filter(({ index }) => shared.every((one) => Math.abs(one.index - index) > NEAR))
  return [...shared, ...others].toSorted((a, b) => a.index - b.index)
}
