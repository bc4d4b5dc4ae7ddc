/**
 * forecast: forecasts the values to come, with intervals.
 *
 * The season is one that the series shows (there may be several), or the given `period`. Scale, model and intervals are
 * chosen on the series' own past (forecasting/forecast-series.ts). The models are a line with persistent errors,
 * exponential smoothing, theta, means of these, and intermittent demand. `events` names a column of known days in the
 * past and the future. An unfinished last period is left out. The series is fetched (at most 50,000 times).
 */
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { type Column, harmonics, stepAt } from '../../forecasting/design.ts'
import {
  type Backtest,
  type Forecast,
  forecastSeries,
  LAST_SEASON,
  WORSE,
} from '../../forecasting/forecast-series.ts'
import type { Ahead } from '../../forecasting/prediction.ts'
import type { EtsParameters } from '../../numeric/smoothing/ets-model.ts'
import { calendarSeasons } from '../../series/calendar-seasons.ts'
import { countedStep, type Grid } from '../../series/grid.ts'
import { mostLevels } from '../../series/level-changes.ts'
import type { Series, Time } from '../../series/load.ts'
import { type ReadSeries, readSeries, SERIES_OPTIONS } from '../../series/read.ts'
import { begunSeasons, testSeason } from '../../series/seasons.ts'
import { atTime, inWords } from '../../series/spans.ts'
import { allAlike, seasonTooLong, tooFew } from '../../verdicts/common-doubts.ts'
import { opening } from '../../verdicts/measure.ts'
import { verbFor } from '../../verdicts/nouns.ts'
import { doubt, type Finding, stopped, verdict } from '../../verdicts/verdict.ts'
import { amount, both, boundsOf } from '../../verdicts/words.ts'
import { numberSql, seriesColumns, timeColumn } from '../shared/columns.ts'
import {
  diagnosis as diagnosisField,
  integer,
  moment,
  number,
  object,
  rowsWith,
  text,
} from '../shared/fields.ts'
import { type Method, quote, type Relation } from '../shared/method.ts'
import { count, figure, finite } from '../shared/sentence.ts'
import { loadEvents } from '../shared/time/events.ts'
import { type LeftOut, leftOutOf } from './left-out.ts'

const Period = Type.Number({ minimum: 2 })
const Options = Type.Object(
  {
    ...SERIES_OPTIONS,
    horizon: Type.Integer({ minimum: 1, maximum: 1000, default: 12 }),
    period: Type.Union(
      [Type.Enum(['auto', 'none']), Period, Type.Array(Period, { minItems: 1, maxItems: 4 })],
      {
        default: 'auto',
        description: 'How many steps a season lasts, as 12 or 365.25; a list for several: [7, 365.25].',
      },
    ),
    events: Type.Optional(
      Type.String({
        description:
          'A column of known days: a name, true, or a number on each such day, else null, false or 0. Days to come stand in rows with a time and no value.',
      }),
    ),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const LEAST = 6
const METHOD = 'models chosen by a backtest'
/** The fewest origins and values of a backtest that decides anything. */
const ORIGINS = 6
const LEAST_TO_JUDGE = 24
/**
 * The correlation of values that swing to and fro, beyond which they are taken for a season of two steps, and the
 * chance of such a swing.
 */
const TO_AND_FRO = -0.7
const ALTERNATES = 0.01

interface Point {
  time: Time
  value: number | null
  low_80: number | null
  high_80: number | null
  low_95: number | null
  high_95: number | null
}

const NOTHING = {
  points: [],
  model: null,
  parameters: null,
  log_scale: null,
  mase: null,
  naive_mase: null,
  coverage: null,
  origins: null,
  period: null,
  periods: [],
  events: [],
}

export const forecast: Method = {
  name: 'forecast',
  options: Options,
  columns: (options) => [
    ...seriesColumns(options),
    ...(typeof options.events === 'string'
      ? [{ option: 'events', column: options.events, numeric: false }]
      : []),
  ],
  prints: () => true,
  fields: {
    points: rowsWith({
      time: moment,
      value: number,
      low_80: number,
      high_80: number,
      low_95: number,
      high_95: number,
    }),
    model: text,
    parameters: Type.Union([
      object({ alpha: number, beta: number, gamma: number, phi: number }),
      Type.Null(),
    ]),
    log_scale: Type.Union([Type.Boolean(), Type.Null()]),
    mase: number,
    naive_mase: number,
    coverage: number,
    origins: integer,
    period: number,
    periods: Type.Array(Type.Number()),
    events: rowsWith({ name: text, days: integer, coming: integer }),
    diagnosis: diagnosisField,
  },
  async run(table, options, context) {
    const given = options as Options
    const read = await readSeries(given.events ? untilNow(table, given) : table, given, context)
    const { series, grid, diagnosis } = read
    const n = series.values.length
    const stop = stopOf(given, read)
    if (stop) {
      const told = stopped(`${count(n, 'value')}.`, stop, read.doubts)
      return { ...told, n, method: METHOD, ...NOTHING, diagnosis }
    }
    const periods = periodsOf(given, read)
    const events = given.events
      ? await loadEvents(table, given.time, given.events, context.time_zone, grid, given.horizon)
      : []
    const unit = diagnosis.counts ? series.unit : 1
    const levels = levelsOf(read)
    const out = leftOutOf(
      read,
      events.map(({ column }) => column),
      levels,
    )
    const expected = new Map(out.rows.map((row, place) => [row, out.expected[place]!]))
    const found = forecastSeries({
      values: grid.values.map((value, row) => (expected.get(row) ?? value) * unit),
      observed: grid.observed.map((seen, row) => seen && !expected.has(row)),
      periods,
      columns: [...events.map(({ column }) => column), ...begunOf(given, read)],
      levels,
      horizon: Math.max(given.horizon, grid.rowAfter(given.horizon)),
      counts: diagnosis.counts,
      sparse: isSparse(series.values),
    })
    const points = pointsOf(read, comingOf(grid, found.ahead, given.horizon), series.unit / unit)
    const told = verdict({
      ...finding(read, points, found),
      doubts: [...doubtsOf(found, read), ...withLeftOut(read, out)],
      mild: ['constant'],
    })
    return {
      ...told,
      n,
      method: found.backtest ? METHOD : 'too few values to choose a model by a backtest',
      points,
      model: found.model,
      parameters: parametersOf(found),
      log_scale: found.log_scale,
      mase: found.backtest && finite(found.backtest.mase),
      naive_mase: found.backtest && finite(found.backtest.naive),
      coverage: found.backtest && finite(found.backtest.coverage),
      origins: found.backtest?.origins ?? null,
      period: periods[0] ?? null,
      periods,
      events: events.map(({ name, days, coming }) => ({ name, days, coming })),
      diagnosis,
    }
  },
}

/** Returns the rows up to the last value. Later rows of a calendar only say which days are known. */
function untilNow(table: Relation, { time, value }: Options): Relation {
  const [at, number] = [quote(timeColumn(table, time).name), numberSql(table, 'value', value)]
  const last = `(select max(${at}) filter (isfinite(${number})) from ${table.relation})`
  return {
    ...table,
    relation: `(select * from ${table.relation} where ${at} is null or isfinite(${number}) or ${at} <= ${last})`,
  }
}

function stopOf({ period }: Options, { series, grid, measure }: ReadSeries): Doubt | null {
  const n = series.values.length
  if (n < LEAST) return tooFew(n, measure.label, 'a forecast needs', LEAST)
  const longest = typeof period === 'number' ? period : Array.isArray(period) ? Math.max(...period) : 0
  const steps = grid.values.length
  if (steps < 2 * longest) return seasonTooLong(steps, measure.label, longest, 2 * longest)
  return null
}

function periodsOf({ period }: Options, read: ReadSeries): number[] {
  if (period === 'none') return []
  if (period === 'auto') return alternates(read) ? [2] : read.seasons.map((season) => season.period)
  return typeof period === 'number' ? [period] : period.toSorted((a, b) => a - b)
}

/** Tells whether every second value is alike. That is a season, though not one of the calendar. */
function alternates({ seasons, diagnosis, series, rows }: ReadSeries): boolean {
  if (seasons.length > 0 || (diagnosis.autocorrelation ?? 0) > TO_AND_FRO) return false
  return (testSeason(series.values, rows, 2)?.p ?? 1) <= ALTERNATES
}

/** Returns the waves of seasons that are too short to be named. */
function begunOf({ period }: Options, { series, rows, seasons, grid }: ReadSeries): Column[] {
  if (period !== 'auto') return []
  const begun = begunSeasons(series.values, rows, calendarSeasons(grid.step), seasons)
  return begun.flatMap((one) => harmonics(one, 1))
}

function isSparse(values: readonly number[]): boolean {
  return 2 * values.filter((value) => value === 0).length > values.length
}

function levelsOf({ diagnosis, rows }: ReadSeries): Column[] {
  const most = mostLevels(rows.length)
  return most === 0 ? [] : diagnosis.level_shifts.slice(-most).map(({ index }) => stepAt(rows[index]!))
}

/** Returns the forecast of each time to come, which is that of its row. */
function comingOf(grid: Grid, ahead: readonly Ahead[], horizon: number): Ahead[] {
  return Array.from({ length: horizon }, (_, step) => ahead[grid.rowAfter(step + 1) - 1]!)
}

function pointsOf({ grid, series, measure }: ReadSeries, ahead: readonly Ahead[], unit: number): Point[] {
  const known = series.values.map((value) => value * series.unit)
  const [least, most] = boundsOf(measure, known)
  const bounded = (value: number): number | null => finite(Math.min(most, Math.max(least, value * unit)))
  return ahead.map((one, step) => ({
    time: grid.after(step + 1),
    value: bounded(one.value),
    low_80: bounded(one.low_80),
    high_80: bounded(one.high_80),
    low_95: bounded(one.low_95),
    high_95: bounded(one.high_95),
  }))
}

function parametersOf({ candidates, model }: Forecast): EtsParameters | null {
  return model.includes('ETS') ? (candidates?.smoothing?.fit?.parameters ?? null) : null
}

function doubtsOf({ backtest }: Forecast, { series, measure }: ReadSeries): Doubt[] {
  const doubts: Doubt[] = []
  if (backtest !== null && isWorse(backtest))
    doubts.push(
      doubt(
        'not_forecastable',
        `${opening(measure.label)} cannot be forecast: on past values, repeating what was last seen came closer.`,
      ),
    )
  const n = series.values.length
  if (isConstant(series)) doubts.push(allAlike(measure.label))
  if (n < LEAST_TO_JUDGE)
    doubts.push(
      doubt(
        'history_short',
        `${count(n, 'value')} cannot tell a trend from a change of level, so the value may lie outside its range more often than one time in twenty.`,
      ),
    )
  return doubts
}

/** Returns the doubts of the series. The doubt about heavy tails names the values that are left out. */
function withLeftOut({ doubts, series, grid, measure }: ReadSeries, out: LeftOut): Doubt[] {
  if (out.rows.length === 0) return [...doubts]
  const row = out.rows[0]!
  const value = amount(grid.values[row]! * series.unit, measure)
  const at = inWords(grid.times[row]!, grid)
  const others = out.rows.length > 1 ? `, as are ${out.rows.length - 1} more` : ''
  const told = doubt(
    'tails_heavy',
    `The value of ${at}, ${value}, stands far out and is left out of what the forecast learns from${others}.`,
  )
  return [told, ...doubts.filter(({ code }) => code !== 'tails_heavy')]
}

const isConstant = ({ values }: Series): boolean => values.every((value) => value === values[0])

function isWorse({ origins, known, mase, naive, exact }: Backtest): boolean {
  return !exact && origins >= ORIGINS && known >= LEAST_TO_JUDGE && mase > WORSE * naive
}

/** Returns why no forecast of the past was compared with the values that came. */
function untried({ model }: Forecast): string {
  if (model === 'constant') return 'beside what stands far out nothing ever changed, so no range can be told'
  return model.startsWith('intermittent')
    ? 'this is an average over many times, which values that are mostly zero can hardly confirm'
    : 'this cannot be tried on its own past'
}

/** Tells whether most times have no row, and these count as missing and not as zero. */
const isRare = ({ grid, diagnosis: { gaps } }: ReadSeries): boolean =>
  gaps.treated === 'missing' && 2 * gaps.n > grid.times.length

/**
 * Says "Revenue is expected to be 120 in June 2001 (most likely 110 to 130), and ...", with "may be" if it is unclear.
 */
function finding(read: ReadSeries, points: readonly Point[], found: Forecast): Finding {
  const { measure, grid, series } = read
  const rare = isRare(read)
  const told = ({ time, value, low_95, high_95 }: Point): string => {
    const half = low_95 === null || high_95 === null ? null : (high_95 - low_95) / 2
    const shown = amount(value, measure, half)
    const range = both([low_95, high_95], measure, { step: half })
    // A range that reads like the value has no width to show.
    const likely = low_95 === high_95 || range === `about ${shown}` ? '' : ` (very likely ${range})`
    return `${shown}${likely} ${atTime(time, grid)}`
  }
  const far = points.at(-1)!
  const level = ['value', 'low_95', 'high_95'].every(
    (key) => points[0]![key as 'value'] === far[key as 'value'],
  )
  const last = points.length === 1 ? '' : `, and ${level ? `as much ${atTime(far.time, grid)}` : told(far)}`
  const { backtest } = found
  const known = series.values.length
  const better = backtest !== null && (backtest.exact || backtest.mase < backtest.naive)
  const unsure = isConstant(series)
    ? 'nothing shows whether that may change'
    : known < LEAST_TO_JUDGE
      ? `${count(known, 'value')} are too few to rely on it`
      : rare
        ? `most ${countedStep(grid.step)}s have no row, and it holds for one that has a row`
        : backtest === null
          ? untried(found)
          : 'on its own past the forecast was no better than repeating what was last seen'
  const errs = backtest?.exact
    ? `errs by less than a ${found.model === LAST_SEASON ? 'hundredth' : 'thousandth'} of the range of the values`
    : `MASE ${figure(backtest?.mase ?? null)}, of the naive forecast ${figure(backtest?.naive ?? null)}`
  const proof = backtest
    ? `; backtest from ${count(backtest.origins, 'origin')}: ${errs}, ${Math.round(100 * backtest.coverage)} % within the model's 95 % interval${backtest.widened > 1.005 ? `, which is widened by ${figure(backtest.widened)}` : ''}`
    : ''
  return {
    headline: (grade) =>
      grade === 'unclear'
        ? `${opening(measure.label)} may be ${told(points[0]!)}${last}, but ${unsure}.`
        : `${opening(measure.label)} ${verbFor(measure.label)} expected to be ${told(points[0]!)}${last}.`,
    grade: better && known >= LEAST_TO_JUDGE && !rare ? 'likely' : 'unclear',
    evidence: `${found.model} (n = ${count(known, 'value')}${proof}).`,
  }
}
