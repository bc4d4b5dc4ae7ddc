/**
 * seasonality: how long a season lasts, how strong it is, and its shape.
 *
 * STL (numeric/stl.ts) on even steps. The period is one that the calendar suggests (12 months, 7 days, a year, ...) and the
 * values show beside errors as persistent as a random walk (series/seasons.ts); of several the strongest. Strength is max(0, 1 - var(R) /
 * var(S + R)) (Wang, Smith and Hyndman 2006); `pattern` is the mean seasonal part by place in the season, 1 for the first
 * row's. The whole series is fetched (at most 50,000 times).
 */

import { MONTHS, WEEKDAYS } from '@assay/model/dates'
import type { Outcome } from '@assay/model/insight'
import Type, { type Static } from 'typebox'
import { exactMean, variance } from '../numeric/exact.ts'
import { type Decomposition, stl, stlOptions } from '../numeric/stl.ts'
import { seasonsOf } from '../series/calendar-seasons.ts'
import { type Grid, gridOf, stepName } from '../series/grid.ts'
import { loadSeries } from '../series/load.ts'
import { seriesColumns } from './shared/columns.ts'
import { integer, moment, number, rowsWith, text } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { count, finite, label, signed, tooFew } from './shared/sentence.ts'

const Options = Type.Object(
  {
    time: Type.String(),
    value: Type.String(),
    period: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 2 })], { default: 'auto' }),
  },
  { additionalProperties: false },
)

const METHOD = 'STL decomposition'
const SEASONAL_WINDOW = 11

export const seasonality: Method = {
  name: 'seasonality',
  options: Options,
  columns: seriesColumns,
  fields: {
    period: integer,
    strength: number,
    pattern: rowsWith({ place: integer, name: text, value: number }),
    rows: rowsWith({ time: moment, value: number, trend: number, seasonal: number, remainder: number }),
    seasons: rowsWith({ period: integer, strength: number }),
  },
  async run(table, options) {
    const { time, value, period: wanted } = options as Static<typeof Options>
    const series = await loadSeries(table, time, value)
    const grid = gridOf(series)
    const n = series.values.length
    const notes = [...series.doubts.map(({ says }) => says), ...grid.notes]
    const seasons = wanted === 'auto' ? seasonsOf(grid) : []
    const strongest = seasons.toSorted((a, b) => b.strength - a.strength)[0]
    const period = wanted === 'auto' ? (strongest?.steps ?? null) : wanted
    const nothing = (summary: string): Outcome => ({
      summary,
      n,
      method: METHOD,
      notes,
      period,
      strength: null,
      pattern: [],
      rows: [],
      seasons: [],
    })
    if (period === null) {
      return n < 8
        ? nothing(tooFew('seasons of', value, n, 8))
        : nothing(
            `${value} shows no seasons: what repeats is no more than its noise gives (n = ${count(n, 'value')}).`,
          )
    }
    if (grid.values.length <= 2 * period) {
      return nothing(
        `Not enough data for seasons of ${value}: ${count(grid.values.length, 'step')}, and more than two seasons of ${period} are needed.`,
      )
    }
    const parts = stl(grid.values, stlOptions(period, SEASONAL_WINDOW, false))
    const strength = strengthOf(parts)
    const pattern = patternOf(grid, parts, period).map((part) => ({
      ...part,
      value: finite(part.value * series.unit),
    }))
    const rows = grid.times.map((at, index) => ({
      time: at,
      value: grid.observed[index] ? finite(grid.values[index]! * series.unit) : null,
      trend: finite(parts.trend[index]! * series.unit),
      seasonal: finite(parts.seasonal[index]! * series.unit),
      remainder: finite(parts.remainder[index]! * series.unit),
    }))
    if (grid.values.length < 3 * period) notes.push('Under three seasons: the pattern may be chance.')
    return {
      summary: sentence(value, n, grid, period, strength, pattern),
      n,
      method: METHOD,
      notes,
      period,
      strength,
      pattern,
      rows,
      seasons: seasons.map(({ steps, strength: share }) => ({ period: steps, strength: share })),
    }
  },
}

/** The share of the variation without the trend that the season explains; null if nothing varies. */
export function strengthOf({ seasonal, remainder }: Decomposition): number | null {
  const both = variance(seasonal.map((value, index) => value + remainder[index]!))
  return both > 1e-28 ? Math.min(1, Math.max(0, 1 - variance(remainder) / both)) : null
}

function patternOf(grid: Grid, { seasonal }: Decomposition, period: number) {
  return Array.from({ length: period }, (_, place) => {
    const values = seasonal.filter((_, index) => index % period === place)
    return { place: place + 1, name: placeName(grid, place, period), value: exactMean(values) }
  })
}

/** The name of a position in the season: the calendar's name if it has one, else its number. */
function placeName(grid: Grid, place: number, period: number): string {
  const time = String(grid.times[place])
  const { step } = grid
  if (step.unit === 'months' && step.size * period === 12) {
    const month = Number(time.slice(5, 7))
    if (step.size === 1) return MONTHS[month - 1] ?? time
    if (step.size === 3) return `Q${Math.ceil(month / 3)}`
  }
  const daily = step.unit === 'days' && step.size === 1 && period === 7
  if (daily || (step.unit === 'weekdays' && period === 5)) {
    const day = new Date(`${time.slice(0, 10)}T00:00:00Z`).getUTCDay()
    return WEEKDAYS[day] ?? time
  }
  return `place ${place + 1}`
}

function sentence(
  value: string,
  n: number,
  grid: Grid,
  period: number,
  strength: number | null,
  pattern: readonly { name: string; value: number | null }[],
): string {
  const step = stepName(grid.step) ?? 'step'
  const season = `a season of ${count(period, /^\d/.test(step) ? 'step' : step)}`
  if (strength === null)
    return `${value} does not vary about its trend, so it has no seasons (n = ${count(n, 'value')}).`
  const ordered = pattern.toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0))
  const high = ordered[0]!
  const low = ordered.at(-1)!
  const size = (high.value ?? 0) - (low.value ?? 0)
  const word = strength >= 0.6 ? 'strong' : strength >= 0.3 ? 'moderate' : 'weak'
  const at = (name: string) =>
    `${WEEKDAYS.some((day) => day === name) ? 'on' : name.startsWith('place') ? 'at' : 'in'} ${label(name)}`
  const range = ` It is highest ${at(high.name)} (${signed(high.value, size)}) and lowest ${at(low.name)} (${signed(low.value, size)}).`
  return `${value} has ${season}, ${word} (strength ${strength.toFixed(2)} of 1, n = ${count(n, 'value')}, STL).${range}`
}
