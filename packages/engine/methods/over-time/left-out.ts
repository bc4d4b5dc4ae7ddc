/** Finds the values that a forecast does not learn from: those far from the expectation that the others give. */
import type { Column } from '../../forecasting/design.ts'
import type { ReadSeries } from '../../series/read.ts'
import { seasonColumns } from '../../series/seasons.ts'
import { findSpikes } from '../../series/spikes/spikes.ts'

export interface LeftOut {
  /** The steps of the grid that are left out. */
  rows: number[]
  /** The expected values at these steps, over the series' unit. */
  expected: number[]
}

const ALPHA = 0.01
const MOST = 0.02

/**
 * Returns the values to leave out, which exist only if tails are heavy. Values on known days stay, because they are no
 * accident. Several values at the end stay, because they may be a new level.
 */
export function leftOutOf(
  { series, rows, seasons, diagnosis }: ReadSeries,
  known: readonly Column[],
  levels: readonly Column[],
): LeftOut {
  const none = { rows: [], expected: [] }
  if (!diagnosis.heavy_tails || diagnosis.sparse) return none
  const { values } = series
  const beside = [
    ...seasons.flatMap(({ period }) => seasonColumns(rows, period)),
    ...levels.map((column) => rows.map(column)),
  ]
  const most = Math.max(1, Math.floor(MOST * values.length))
  const { spikes } = findSpikes(values, rows, beside, most, ALPHA)
  const out = new Set(spikes.map(({ index }) => index))
  const n = values.length
  let end = n
  while (out.has(end - 1)) end -= 1
  const kept = spikes.filter(
    ({ index }) => (index < end || n - end === 1) && known.every((column) => column(rows[index]!) === 0),
  )
  return { rows: kept.map(({ index }) => rows[index]!), expected: kept.map(({ expected }) => expected) }
}
