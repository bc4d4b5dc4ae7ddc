/** Forecasts the next step of one series from its seasons, trend and changes of level, by its own diagnosis. */
import { stepAt } from '../../forecasting/design.ts'
import { forecastSeries } from '../../forecasting/forecast-series.ts'
import { diagnose } from '../../series/diagnosis.ts'
import { gridOf } from '../../series/grid.ts'
import { mostLevels } from '../../series/level-changes.ts'
import type { Series, Time } from '../../series/load.ts'
import { powerAbove } from '../shared/sums.ts'

/** The times of a series. `value` is NaN if it is not known. */
export interface Past {
  times: Time[]
  positions: number[]
  kind: 'number' | 'date'
  values: number[]
}

export interface Next {
  value: number
  /** The standard deviation of the forecast. */
  error: number
}

/** Half the width of a 95 % interval of a normal distribution, in standard deviations. */
const HALF = 1.959963984540054
const LEAST = 6

/** Forecasts the step `ahead` steps after the last. Returns null if fewer than 6 values are known. */
export function oneAhead(past: Past, ahead = 1): Next | null {
  const known = [...past.values.keys()].filter((row) => Number.isFinite(past.values[row]!))
  if (known.length < LEAST) return null
  const unit = powerAbove(Math.max(...known.map((row) => Math.abs(past.values[row]!))))
  const series: Series = {
    times: known.map((row) => past.times[row]!),
    positions: known.map((row) => past.positions[row]!),
    kind: past.kind,
    values: known.map((row) => past.values[row]! / unit),
    unit,
    doubts: [],
  }
  const grid = gridOf(series)
  const rows = [...grid.observed.keys()].filter((row) => grid.observed[row])
  const { diagnosis, seasons } = diagnose(series, grid, rows, {
    time_zone: 'UTC',
    partial_last: false,
    gaps: { n: grid.observed.length - rows.length, treated: 'missing' },
  })
  const levels = mostLevels(rows.length)
  const found = forecastSeries({
    values: grid.values,
    observed: grid.observed,
    periods: seasons.map(({ period }) => period),
    columns: [],
    levels:
      levels === 0 ? [] : diagnosis.level_shifts.slice(-levels).map(({ index }) => stepAt(rows[index]!)),
    horizon: ahead,
    counts: false,
    sparse: false,
  }).ahead.at(-1)!
  return { value: found.value * unit, error: ((found.high_95 - found.low_95) / 2 / HALF) * unit }
}
