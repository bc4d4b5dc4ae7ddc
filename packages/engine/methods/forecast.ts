/**
 * forecast: the values to come, with intervals.
 *
 * Exponential smoothing with additive errors, fitted by maximum likelihood and chosen by AICc (numeric/ets.ts); seasons
 * longer than 24 steps are taken out by STL first and their last cycle is repeated. Intervals at 80 and 95% are normal,
 * from the model's variance in closed form. The model is backtested from up to three origins against the seasonal naive
 * forecast (the value one season before), by MASE (Hyndman and Koehler, Int. J. Forecasting 22, 2006). The naive one is
 * used only if it errs less from each of at least two origins. Deciding by the lower mean made forecasts worse (MASE 1.42
 * instead of 1.34 over 100 forecasts of the series of test/accuracy/backtest.ts; the naive one alone 1.90).
 * The whole series is fetched (at most 50,000 times); the latest 500 steps are fitted.
 */
import Type, { type Static } from 'typebox'
import { normalUpperQuantile } from '../numeric/distributions.ts'
import { type EtsParameters, etsForecast, fitEts, formName } from '../numeric/ets.ts'
import { stl, stlOptions } from '../numeric/stl.ts'
import { strongestSeason } from '../series/calendar-seasons.ts'
import { type Grid, gridOf } from '../series/grid.ts'
import { loadSeries, type Time } from '../series/load.ts'
import { seriesColumns } from './shared/columns.ts'
import { integer, moment, number, object, rowsWith, text } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { count, figure, finite, label, tooFew } from './shared/sentence.ts'

const Options = Type.Object(
  {
    time: Type.String(),
    value: Type.String(),
    horizon: Type.Integer({ minimum: 1, maximum: 1000, default: 12 }),
    period: Type.Union([Type.Enum(['auto', 'none']), Type.Integer({ minimum: 2 })], { default: 'auto' }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const LEAST = 6
const MOST_FITTED = 500
/** Whole cycles of a long season that are fitted. */
const CYCLES_FITTED = 4
const NOTHING = { model: null, parameters: null, mase: null, naive_mase: null, points: [], period: null }
const LONGEST_SEASON = 24
const ORIGINS = 3

interface Prediction {
  model: string
  parameters: EtsParameters | null
  /** Mean and variance of each step ahead. */
  steps: { mean: number; variance: number }[]
  /** One-step errors. */
  errors: ArrayLike<number>
}

export const forecast: Method = {
  name: 'forecast',
  options: Options,
  columns: seriesColumns,
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
    mase: number,
    naive_mase: number,
    period: integer,
  },
  async run(table, options) {
    const given = options as Options
    const series = await loadSeries(table, given.time, given.value)
    const grid = gridOf(series)
    const notes = [...series.doubts.map(({ says }) => says), ...grid.notes]
    const n = series.values.length
    if (n < LEAST) {
      const summary = tooFew('a forecast of', given.value, n, LEAST)
      return { summary, n, method: 'ETS', notes, ...NOTHING }
    }
    if (typeof given.period === 'number' && grid.values.length <= 2 * given.period) {
      const summary = `No forecast of ${given.value}: a season of ${count(given.period, 'step')} needs more than ${2 * given.period} steps, and there are ${grid.values.length}. Give a shorter period, or none.`
      return { summary, n, method: 'ETS', notes, ...NOTHING }
    }
    const period = periodOf(given, grid)
    const most = Math.max(MOST_FITTED, CYCLES_FITTED * period)
    const values = grid.values.slice(-most)
    if (grid.values.length > most)
      notes.push(`Fitted to the latest ${most} of ${count(grid.values.length, 'step')}.`)
    const test = backtest(values, period, given.horizon)
    const model = predict(values, period, given.horizon)
    const naive = seasonalNaive(values, period, given.horizon)
    const better = test !== null && test.naiveWins
    const chosen = better || model === null ? naive : model
    const points = pointsOf(grid, chosen, series.unit)
    const lowest = values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY)
    notes.push(
      ...notesOf(
        chosen,
        test,
        better && model !== null ? model.model : null,
        lowest >= 0 && points.some((point) => (point.low_95 ?? 0) < 0),
      ),
    )
    return {
      summary: sentence(
        given.value,
        n,
        chosen.model,
        points,
        test && (better ? { own: test.naive, other: test.model } : { own: test.model, other: test.naive }),
        better,
      ),
      n,
      method: better
        ? 'seasonal naive, better than ETS in a backtest'
        : 'ETS by maximum likelihood, chosen by AICc',
      notes,
      model: chosen.model,
      parameters: chosen.parameters,
      mase: test && finite(better ? test.naive : test.model),
      naive_mase: test && finite(test.naive),
      points,
      period: period > 1 ? period : null,
    }
  },
}

/** The steps of the season that is modelled; 1: none. */
function periodOf(given: Options, grid: Grid): number {
  if (given.period === 'none') return 1
  const period = given.period === 'auto' ? strongestSeason(grid) : given.period
  return period !== null && grid.values.length > 2 * period ? period : 1
}

/** ETS, after STL if the season is long; null if there are too few values for any model. */
function predict(values: readonly number[], period: number, horizon: number): Prediction | null {
  if (values.every((value) => value === values[0])) {
    return {
      model: 'constant',
      parameters: null,
      steps: Array.from({ length: horizon }, () => ({ mean: values[0]!, variance: 0 })),
      errors: [],
    }
  }
  const long = period > LONGEST_SEASON
  const seasonal = long ? stl(values, stlOptions(period, 11, false)).seasonal : null
  const fit = fitEts(
    seasonal ? values.map((value, index) => value - seasonal[index]!) : values,
    long ? 1 : period,
  )
  if (fit === null) return null
  const cycle = seasonal ? seasonal.slice(-period) : [0]
  const steps = etsForecast(fit, fit.final, horizon).map(({ mean, variance }, ahead) => ({
    mean: mean + cycle[ahead % cycle.length]!,
    variance,
  }))
  return {
    model: (long ? 'STL + ' : '') + formName(fit.form),
    parameters: fit.parameters,
    steps,
    errors: fit.errors,
  }
}

/** The value one season before. The variance grows with each season ahead. */
function seasonalNaive(values: readonly number[], period: number, horizon: number): Prediction {
  const errors = values.slice(period).map((value, index) => value - values[index]!)
  const variance = errors.reduce((sum, error) => sum + error * error, 0) / Math.max(1, errors.length)
  const steps = Array.from({ length: horizon }, (_, ahead) => ({
    mean: values[values.length - period + (ahead % period)]!,
    variance: variance * (Math.floor(ahead / period) + 1),
  }))
  return { model: period > 1 ? 'seasonal naive' : 'naive', parameters: null, steps, errors }
}

interface Backtest {
  model: number
  naive: number
  /** Whether the naive forecast erred less from each of at least two origins. */
  naiveWins: boolean
}

/** Mean absolute errors of both forecasts over those of the naive one within the data; null if they cannot be computed. */
function backtest(values: readonly number[], period: number, horizon: number): Backtest | null {
  const ahead = Math.min(horizon, Math.max(1, Math.floor(values.length / 5)))
  const found: { model: number; naive: number }[] = []
  for (let origin = 0; origin < ORIGINS; origin++) {
    const end = values.length - ahead * (origin + 1)
    if (end < Math.max(LEAST, 2 * period + 1)) break
    const known = values.slice(0, end)
    const coming = values.slice(end, end + ahead)
    const model = predict(known, period, ahead)
    if (model === null) break
    const scale = meanSize(seasonalNaive(known, period, 1).errors)
    if (!(scale > 0)) continue
    const miss = ({ steps }: Prediction) =>
      meanSize(coming.map((value, index) => value - steps[index]!.mean)) / scale
    found.push({ model: miss(model), naive: miss(seasonalNaive(known, period, ahead)) })
  }
  if (found.length === 0) return null
  const mean = (pick: (one: { model: number; naive: number }) => number) =>
    found.reduce((sum, one) => sum + pick(one), 0) / found.length
  return {
    model: mean((one) => one.model),
    naive: mean((one) => one.naive),
    naiveWins: found.length > 1 && found.every((one) => one.naive < one.model),
  }
}

function meanSize(errors: ArrayLike<number>): number {
  let sum = 0
  for (let index = 0; index < errors.length; index++) sum += Math.abs(errors[index]!)
  return sum / errors.length
}

interface Point {
  time: Time
  value: number | null
  low_80: number | null
  high_80: number | null
  low_95: number | null
  high_95: number | null
}

function pointsOf(grid: Grid, { steps }: Prediction, unit: number): Point[] {
  const z80 = normalUpperQuantile(0.1)
  const z95 = normalUpperQuantile(0.025)
  return steps.map(({ mean, variance }, index) => {
    const sd = Math.sqrt(variance)
    const at = (z: number) => finite((mean + z * sd) * unit)
    return {
      time: grid.after(index + 1),
      value: at(0),
      low_80: at(-z80),
      high_80: at(z80),
      low_95: at(-z95),
      high_95: at(z95),
    }
  })
}

function notesOf(
  { errors }: Prediction,
  test: Backtest | null,
  beaten: string | null,
  below: boolean,
): string[] {
  const notes: string[] = []
  if (test === null) notes.push('Too few values (or too little variation) to test the forecast on the past.')
  if (test !== null && test.naive < test.model && beaten === null)
    notes.push(
      'The naive forecast erred less in the backtest, but not from each origin, which is too little to prefer it.',
    )
  if (beaten !== null)
    notes.push(`${beaten} did worse than the naive forecast in the backtest, so the naive one is given.`)
  const correlation = lagOne(errors)
  if (beaten === null && errors.length >= 20 && Math.abs(correlation) > 2.5 / Math.sqrt(errors.length)) {
    notes.push(
      `The one-step errors are correlated (${figure(correlation)}): the model misses something, and the intervals may be too narrow.`,
    )
  }
  if (below) notes.push('The interval reaches below 0, where the data never were.')
  return notes
}

function lagOne(errors: ArrayLike<number>): number {
  let whole = 0
  let lagged = 0
  for (let index = 0; index < errors.length; index++) {
    whole += errors[index]! ** 2
    if (index > 0) lagged += errors[index]! * errors[index - 1]!
  }
  return whole > 0 ? lagged / whole : 0
}

function sentence(
  value: string,
  n: number,
  model: string,
  points: readonly Point[],
  test: { own: number; other: number } | null,
  naive: boolean,
): string {
  const told = (point: Point) => {
    const width = point.high_95 === null || point.low_95 === null ? null : (point.high_95 - point.low_95) / 4
    return `${figure(point.value, width)} for ${label(point.time)} (95% interval ${figure(point.low_95, width)} to ${figure(point.high_95, width)})`
  }
  const last = points.length > 1 ? ` and ${told(points.at(-1)!)}` : ''
  const against = naive ? "ETS's" : "the naive forecast's"
  const proof =
    test === null ? '' : `; in a backtest its MASE was ${figure(test.own)}, ${against} ${figure(test.other)}`
  return `${value} is forecast at ${told(points[0]!)}${last}, by ${model} (n = ${count(n, 'value')}${proof}).`
}
