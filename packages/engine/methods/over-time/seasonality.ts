/**
 * seasonality: finds how long a season lasts, how strong it is, and its shape.
 *
 * It decomposes even steps by STL (numeric/smoothing/stl.ts). The period is one that the calendar suggests (12 months,
 * 7 days, a year, ...) and that the values show beside errors as persistent as a random walk (series/seasons.ts). Among
 * several it takes the strongest. Strength is max(0, 1 - var(R) / var(S + R)) (Wang, Smith and Hyndman 2006). `pattern`
 * is the mean seasonal part by place in the season, 1 for the first row's. The whole series is fetched (at most 50,000
 * times).
 */

import { MONTHS, WEEKDAYS } from '@assay/model/dates'
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { exactMean, variance } from '../../numeric/exact.ts'
import { type Decomposition, stl, stlOptions } from '../../numeric/smoothing/stl.ts'
import { calendarSeasons } from '../../series/calendar-seasons.ts'
import { type Grid, stepName } from '../../series/grid.ts'
import { type ReadSeries, readSeries, SERIES_OPTIONS } from '../../series/read.ts'
import { testSeason } from '../../series/seasons.ts'
import { onTheClock, spanOf } from '../../series/spans.ts'
import { allAlike, seasonTooLong, tooFew } from '../../verdicts/common-doubts.ts'
import { doubt, gradeOf, LIKELY, verdict } from '../../verdicts/verdict.ts'
import { changeOf } from '../../verdicts/words.ts'
import { seriesColumns } from '../shared/columns.ts'
import { diagnosis, integer, moment, number, pAdjusted, rowsWith, text } from '../shared/fields.ts'
import type { Method } from '../shared/method.ts'
import { count, finite, probability } from '../shared/sentence.ts'

const Options = Type.Object(
  {
    ...SERIES_OPTIONS,
    period: Type.Union([Type.Literal('auto'), Type.Integer({ minimum: 2 })], { default: 'auto' }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const METHOD = 'STL decomposition'
const SEASONAL_WINDOW = 11
const LEAST = 8

interface Part {
  place: number
  name: string
  value: number | null
}

export const seasonality: Method = {
  name: 'seasonality',
  options: Options,
  columns: seriesColumns,
  prints: () => true,
  fields: {
    period: integer,
    strength: number,
    p: number,
    p_adjusted: pAdjusted,
    pattern: rowsWith({ place: integer, name: text, value: number }),
    rows: rowsWith({ time: moment, value: number, trend: number, seasonal: number, remainder: number }),
    seasons: rowsWith({ period: integer, strength: number }),
    diagnosis,
  },
  async run(table, options, context) {
    const { value, period: wanted, ...rest } = options as Options
    const read = await readSeries(table, { value, ...rest }, context)
    const { series, grid, rows: observed, seasons } = read
    const n = series.values.length
    const stop = stopOf(read, wanted)
    const strongest = seasons.toSorted((a, b) => b.strength - a.strength)[0]
    const period = wanted === 'auto' ? (strongest?.steps ?? null) : wanted
    const p =
      stop || period === null
        ? null
        : wanted === 'auto'
          ? strongest!.p
          : (testSeason(series.values, observed, period)?.p ?? null)
    const absent = stop !== null || period === null || (wanted === 'auto' && p === null)
    const parts = absent ? null : stl(grid.values, stlOptions(period, SEASONAL_WINDOW, false))
    const pattern = parts
      ? patternOf(grid, parts, period!).map((part) => ({ ...part, value: finite(part.value * series.unit) }))
      : []
    const strength = parts && strengthOf(parts)
    const told = verdict({
      headline: (grade) => headline(read, period, pattern, grade),
      // The season that `auto` finds was tested at 5 % over all candidates.
      grade: wanted === 'auto' && p !== null ? gradeOf(Math.min(p, LIKELY)) : gradeOf(p),
      evidence: evidence(read.measure.label, n, period, strength, p),
      doubts: [
        ...(stop ? [stop] : []),
        ...(absent || gradeOf(p) === 'unclear' ? [] : ofLengths(read, period)),
        ...read.doubts,
      ],
      unfound: wanted === 'auto' ? { period: null, seasons: [] } : {},
    })
    return {
      ...told,
      n,
      method: METHOD,
      period: absent ? null : period,
      strength,
      p,
      pattern,
      rows: parts ? rowsOf(read, parts) : [],
      seasons: seasons.map(({ steps, strength: share }) => ({ period: steps, strength: share })),
      diagnosis: read.diagnosis,
    }
  },
}

function stopOf({ series, grid, measure }: ReadSeries, wanted: Options['period']): Doubt | null {
  const n = series.values.length
  if (n > 1 && series.values.every((value) => value === series.values[0])) return allAlike(measure.label)
  const steps = grid.values.length
  if (wanted !== 'auto') {
    const least = 2 * wanted + 1
    return steps < least ? seasonTooLong(steps, measure.label, wanted, least) : null
  }
  const shortest = Math.min(...calendarSeasons(grid.step).map((period) => 2 * Math.floor(period)))
  const least = Number.isFinite(shortest) ? Math.max(LEAST, shortest) : LEAST
  return steps < least ? tooFew(steps, measure.label, 'two whole seasons need', least) : null
}

/** Returns the doubt that sums of months only have the season of the months' lengths. */
function ofLengths({ series, grid, rows }: ReadSeries, period: number): Doubt[] {
  if (grid.step.unit !== 'months' || grid.step.size !== 1 || period !== 12 || series.kind === 'number')
    return []
  const perDay = series.values.map((value, row) => value / daysOfMonth(String(series.times[row])))
  const p = testSeason(perDay, rows, period)?.p ?? 1
  if (p <= LIKELY) return []
  return [
    doubt('periods_unequal', 'Counted per day of the month no season shows: it is that of their lengths.'),
  ]
}

const daysOfMonth = (time: string): number =>
  new Date(Date.UTC(Number(time.slice(0, 4)), Number(time.slice(5, 7)), 0)).getUTCDate()

function rowsOf({ series, grid }: ReadSeries, parts: Decomposition) {
  return grid.times.map((at, index) => ({
    time: at,
    value: grid.observed[index] ? finite(grid.values[index]! * series.unit) : null,
    trend: finite(parts.trend[index]! * series.unit),
    seasonal: finite(parts.seasonal[index]! * series.unit),
    remainder: finite(parts.remainder[index]! * series.unit),
  }))
}

/** Returns the share of the variation without the trend that the season explains; null if nothing varies. */
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

/** Names a position in the season by the calendar, or by its number. */
function placeName(grid: Grid, place: number, period: number): string {
  const time = String(grid.times[place])
  const { step } = grid
  const month = MONTHS[Number(time.slice(5, 7)) - 1]
  if (step.unit === 'months' && step.size * period === 12) {
    if (step.size === 1) return month ?? time
    if (step.size === 3) return `Q${Math.ceil(Number(time.slice(5, 7)) / 3)}`
  }
  const daily = step.unit === 'days' && step.size === 1
  if ((daily && period === 7) || (step.unit === 'weekdays' && period === step.open.size)) {
    const day = new Date(`${time.slice(0, 10)}T00:00:00Z`).getUTCDay()
    return WEEKDAYS[day] ?? time
  }
  const hourly = step.unit === 'days' && Math.abs(step.size * 24 - 1) < 1e-6
  if (hourly && period === 24) return `${hourOf(grid, place, period).slice(11, 13)}:00`
  if (hourly && period === 168) {
    const local = hourOf(grid, place, period)
    const day = WEEKDAYS[new Date(`${local.slice(0, 10)}T00:00:00Z`).getUTCDay()]
    return `${day} at ${local.slice(11, 13)}:00`
  }
  const yearly = step.unit === 'days' && Math.abs(step.size * period - 365) < 8
  if (yearly && month !== undefined) return `${Number(time.slice(8, 10))} ${month}`
  return `step ${place + 1}`
}

/**
 * Returns a time of the place at the hour that the clocks of the zone show most often. Summer time moves the hour by
 * one.
 */
function hourOf(grid: Grid, place: number, period: number): string {
  const places = grid.times.filter((_, index) => index % period === place)
  const stride = Math.max(1, Math.floor(places.length / 24))
  const times = places
    .filter((_, index) => index % stride === 0)
    .map((time) => String(onTheClock(time, grid)))
  const counted = Map.groupBy(times, (time) => time.slice(11, 13))
  return [...counted.values()].toSorted((a, b) => b.length - a.length)[0]![0]!
}

/** Returns "weekly", "yearly", "daily", or null. */
function seasonName({ step }: Grid, period: number): string | null {
  const days =
    step.unit === 'months'
      ? step.size * period * 30.44
      : step.unit === 'weekdays'
        ? (period * 7) / step.open.size
        : step.unit === 'days'
          ? step.size * period
          : 0
  const named: [number, string][] = [
    [1, 'daily'],
    [7, 'weekly'],
    [365.25, 'yearly'],
  ]
  return named.find(([length]) => Math.abs(days / length - 1) < 0.03)?.[1] ?? null
}

function headline(
  { series, grid, measure }: ReadSeries,
  period: number | null,
  pattern: readonly Part[],
  grade: Grade,
): string {
  if (period === null || pattern.length === 0)
    return `No season shows in ${measure.label} ${spanOf(series, grid)}.`
  const step = stepName(grid.step)
  const length = count(period, step === null || /^\d/u.test(step) ? 'step' : step)
  const name = seasonName(grid, period)
  const season = name === null ? `pattern of ${length}` : `${name} season`
  if (grade === 'unclear') return `A ${season} in ${measure.label} is no more than chance makes.`
  const ordered = pattern.toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0))
  const [high, low] = [ordered[0]!, ordered.at(-1)!]
  const size = (high.value ?? 0) - (low.value ?? 0)
  const sure = grade === 'firm' ? 'clearly' : 'probably'
  const far = (value: number | null): string => `about ${changeOf(value ?? 0, measure, size / 5)}`
  return `There is ${sure} a ${season} in ${measure.label}: highest ${at(high.name)}, ${far(high.value)} above the usual level, and lowest ${at(low.name)}, ${far(low.value)} below.`
}

function at(name: string): string {
  if (WEEKDAYS.some((day) => name.startsWith(day)) || /^\d+ \p{Lu}/u.test(name)) return `on ${name}`
  return /^(step|\d)/u.test(name) ? `at ${name}` : `in ${name}`
}

function evidence(
  value: string,
  n: number,
  period: number | null,
  strength: number | null,
  p: number | null,
): string {
  if (period === null || strength === null) return `${count(n, 'value')} of ${value}.`
  return `${value}: season of ${count(period, 'step')}, strength ${strength.toFixed(2)} of 1 (STL; ${probability(p)}, n = ${count(n, 'value')}).`
}
