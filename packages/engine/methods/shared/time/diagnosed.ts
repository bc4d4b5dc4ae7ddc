/** Diagnoses the series that is compared by periods. */
import { diagnose } from '../../../series/diagnosis.ts'
import { gridOf } from '../../../series/grid.ts'
import type { Series } from '../../../series/load.ts'
import { powerAbove } from '../sums.ts'
import type { Periods } from './periods.ts'

/** Returns the diagnosis of the daily values, or of the periods if time is a number. */
export function diagnosisOfPeriods(
  missing: 'gap' | 'zero',
  { complete, days, doubts }: Periods,
  time_zone: string,
) {
  const rows =
    days.length > 0
      ? days.map(({ day, value }) => ({ at: day, value }))
      : complete.map(({ start, value }) => ({ at: start, value }))
  const unit = powerAbove(rows.reduce((largest, { value }) => Math.max(largest, Math.abs(value)), 0))
  const daily = days.length > 0
  const series: Series = {
    times: rows.map(({ at }) => (daily ? new Date(at * 86_400_000).toISOString().slice(0, 10) : at)),
    positions: rows.map(({ at }) => at),
    kind: daily ? 'date' : 'number',
    values: rows.map(({ value }) => value / unit),
    unit,
    doubts: [],
  }
  const grid = gridOf(series)
  const observed = [...grid.observed.keys()].filter((row) => grid.observed[row])
  const n = grid.times.length - observed.length
  const treated = missing === 'zero' ? 'zero' : 'missing'
  const partial_last = doubts.some(({ code }) => code === 'period_partial')
  return diagnose(series, grid, observed, { time_zone, partial_last, gaps: { n, treated } }).diagnosis
}
