/**
 * Forecasts a series on even steps. Scale, model and intervals are chosen on its own past.
 *
 * The values are forecast as they are or by their logarithms, whichever is likelier (with the Jacobian). The models of
 * candidates.ts are fitted to the values before the backtest, and forecast the known values from each of its origins.
 * The model with the smallest error is fitted to all values. If its 95 % intervals missed more than 5 %, they are
 * widened by the conformal factor: the quantile of the errors in units of the model's own interval (Vovk, Gammerman and
 * Shafer 2005, with the errors of all horizons together).
 */
import { persistentFits } from '../series/persistence/persistent-fits.ts'
import { type Candidates, candidatesOf, type Known } from './candidates.ts'
import { at, type Column, seasonDesign } from './design.ts'
import { aheadOfIntermittent } from './intermittent.ts'
import { type Ahead, around, mapped, widened } from './prediction.ts'
import { type Repetition, repetitionOf } from './repetition.ts'

export interface Question extends Known {
  horizon: number
  /** Changes of level that the series seems to have. They are kept if the backtest has no larger error with them. */
  levels: readonly Column[]
  /** Whether the values are whole numbers from 0 on. */
  counts: boolean
  /** Whether over half of the values are zero. */
  sparse: boolean
}

export interface Backtest {
  /** The number of past origins from which forecasts were made. */
  origins: number
  /** The number of values of the series. */
  known: number
  /** The mean absolute scaled errors of the model and of the naive forecast. */
  mase: number
  naive: number
  /** The share of values within the model's 95 % intervals, before these are widened. */
  coverage: number
  /** The factor by which the intervals are widened. */
  widened: number
  /**
   * Whether the model's errors are negligible beside the spread of the values, so that no other model can be better.
   */
  exact: boolean
}

export interface Forecast {
  model: string
  log_scale: boolean
  ahead: Ahead[]
  backtest: Backtest | null
  candidates: Candidates | null
}

const ORIGINS = 12
const LEAST = 6
/** A mean of models, or another model, is preferred only if its error is below this share of the first model's. */
const CLEARLY = 0.9
/**
 * The largest error with a change of level, relative to the error without it. With few values the backtest shows less
 * than the test that found the change.
 */
const LEVELS_ERR = { few: 1.02, many: 1 }
const FEW = 60
/** Errors below this share of the range of the values are reported as none. */
const EXACT = 1e-3
/**
 * If each value differs from the one a season before by less than this share, and no model errs less, the last season
 * is repeated.
 */
const NEARLY = 1e-2
/** An error above this multiple of the naive forecast's is larger by more than chance. */
export const WORSE = 1.02
const PREFERRED = ['ets', 'both', 'three', 'line']
export const LAST_SEASON = 'the last season once more'

export function forecastSeries(question: Question): Forecast {
  const { values, horizon } = question
  const own = values.filter((_, row) => question.observed[row])
  if (own.every((value) => value === own[0])) {
    const ahead = Array.from({ length: horizon }, () => around(own[0]!, 0, 0, 0))
    return { model: 'constant', log_scale: false, ahead, backtest: null, candidates: null }
  }
  const again = own.length === values.length ? repetitionOf(values, horizon, question.periods) : null
  // Intermittent demand is forecast by a rate even if its rows repeat, unless its season is known.
  if (again && (!question.sparse || question.periods.includes(again.period))) return repeated(again, own)
  if (question.sparse && own.every((value) => value >= 0)) return intermittent(question, own)
  const log = prefersLog(question, own)
  const back = (ahead: Ahead[]): Ahead[] => (log ? mapped(ahead, Math.exp) : ahead)
  const scaled = log ? values.map((value) => Math.log(Math.max(value, Number.MIN_VALUE))) : values
  const { known, test } = withLevels(question, { ...question, values: scaled }, back)
  const candidates = candidatesOf(known, values.length)
  if (test?.model === 'naive') {
    const ahead = naiveAhead(values, naivePeriod(question), values.length, horizon)
    const wide = ahead.map((one) => widened(one, test.result.widened))
    const told = { ahead: bounded(wide, question.counts), backtest: test.result }
    return { model: LAST_SEASON, log_scale: false, ...told, candidates: null }
  }
  // Nothing shows without a backtest that smoothing follows the series better. The line needs fewer values for a
  // season.
  const model = test?.model ?? 'line'
  const all = candidates?.ahead(values.length, horizon) ?? {}
  const chosen = all[model] ?? all.line
  if (!candidates || !chosen) {
    const ahead = naiveAhead(values, naivePeriod(question), values.length, horizon)
    return { model: 'naive', log_scale: false, ahead, backtest: null, candidates: null }
  }
  const name = candidates.names[all[model] ? model : 'line']!
  const factor = test?.result.widened ?? 1
  return {
    model: log ? `${name}, of logarithms` : name,
    log_scale: log,
    ahead: bounded(back(chosen.map((one) => widened(one, factor))), question.counts),
    backtest: test?.result ?? null,
    candidates,
  }
}

/** Chooses the series without its changes of level, or with them if its error on its own past is no larger. */
function withLevels(
  question: Question,
  plain: Known,
  back: (ahead: Ahead[]) => Ahead[],
): { known: Known; test: Tested | null } {
  const test = backtest(question, plain, back)
  if (question.levels.length === 0) return { known: plain, test }
  const levelled = { ...plain, columns: [...plain.columns, ...question.levels] }
  const other = backtest(question, levelled, back)
  const most = plain.values.length < FEW ? LEVELS_ERR.few : LEVELS_ERR.many
  if (test && !(other && other.result.mase < most * test.result.mase)) return { known: plain, test }
  return { known: levelled, test: other }
}

/** Limits forecasts of counts, which are never below zero. */
function bounded(ahead: Ahead[], counts: boolean): Ahead[] {
  return counts ? mapped(ahead, (value) => Math.max(0, value)) : ahead
}

function intermittent(question: Question, own: readonly number[]): Forecast {
  return {
    model: 'intermittent demand (Teunter, Syntetos and Babai)',
    log_scale: false,
    ahead: aheadOfIntermittent(own, question.horizon),
    backtest: null,
    candidates: null,
  }
}

/** Returns the repetition as a forecast. From every origin after two seasons it is exact. */
function repeated({ period, coming }: Repetition, own: readonly number[]): Forecast {
  const origins = Math.min(ORIGINS, own.length - 2 * period)
  const known = {
    origins,
    known: own.length,
    mase: 0,
    naive: Number.NaN,
    coverage: 1,
    widened: 1,
    exact: true,
  }
  return {
    model: period === 1 ? 'steady growth without noise' : `repetition of ${period} values without noise`,
    log_scale: false,
    ahead: coming.map((value) => around(value, 0, 0, 0)),
    backtest: origins > 0 ? known : null,
    candidates: null,
  }
}

/** Compares the likelihoods of the best persistence beside line and seasons. */
function prefersLog(question: Known, own: readonly number[]): boolean {
  if (own.some((value) => !(value > 0))) return false
  const rows = [...question.observed.keys()].filter((row) => question.observed[row]).slice(-4000)
  const seen = rows.map((row) => question.values[row]!)
  const logs = seen.map(Math.log)
  const best = (y: readonly number[]): number => {
    const seasons = seasonDesign(y, rows, question.periods, question.columns).flatMap(
      ({ columns }) => columns,
    )
    const ramp = rows.map((row) => row / question.values.length)
    const design = [y.map(() => 1), ramp, ...at([...question.columns, ...seasons], rows)]
    return Math.max(...persistentFits(y, design).map(({ likelihood }) => likelihood))
  }
  return best(logs) - logs.reduce((sum, log) => sum + log, 0) > best(seen)
}

function naivePeriod({ periods }: Known): number {
  return Math.round(periods.find((period) => period <= 366) ?? 1)
}

/** Returns the value one season before the end. The interval grows with each season ahead. */
function naiveAhead(values: readonly number[], period: number, end: number, horizon: number): Ahead[] {
  let squares = 0
  for (let row = period; row < end; row++) squares += (values[row]! - values[row - period]!) ** 2
  const scale = Math.sqrt(squares / Math.max(1, end - period))
  return Array.from({ length: horizon }, (_, step) => {
    const value = values[Math.max(0, end - period + (step % period))]!
    return around(value, scale * Math.sqrt(Math.floor(step / period) + 1), 1.2816, 1.96)
  })
}

interface Tested {
  model: string
  result: Backtest
}

/** A known value with its forecast. */
interface Told {
  value: number
  one: Ahead
  /** The forecast on the scale of the model. */
  inner: Ahead
  scaled: number
}

interface Errors {
  sum: number
  all: Told[]
}

function backtest(question: Question, known: Known, back: (ahead: Ahead[]) => Ahead[]): Tested | null {
  const { values, observed, horizon } = question
  const n = values.length
  const period = naivePeriod(question)
  const span = Math.min(Math.max(horizon, 2 * period), Math.floor(n / 3))
  const first = n - span
  if (first < Math.max(LEAST, 2 * period + 1)) return null
  const candidates = candidatesOf(known, first)
  if (!candidates) return null
  const stride = Math.max(1, Math.ceil(span / ORIGINS))
  const errors = new Map<string, Errors>()
  let origins = 0
  for (let end = first; end < n; end += stride) {
    const ahead = Math.min(horizon, n - end)
    const own = candidates.ahead(end, ahead)
    const all = { ...mapValues(own, back), naive: naiveAhead(values, period, end, ahead) }
    origins += 1
    for (const [name, steps] of Object.entries(all)) {
      const found = errors.get(name) ?? { sum: 0, all: [] }
      errors.set(name, found)
      for (const [step, one] of steps.entries()) {
        if (!observed[end + step]) continue
        const value = values[end + step]!
        found.sum += Math.abs(value - one.value)
        const inner = own[name]?.[step]
        found.all.push({ value, one, inner: inner ?? one, scaled: inner ? known.values[end + step]! : value })
      }
    }
  }
  const scale = naiveScale(values, period, first)
  const naive = errors.get('naive')
  if (!naive || naive.all.length === 0 || !(scale > 0)) return null
  const mase = (name: string): number => {
    const found = errors.get(name)
    return found ? found.sum / found.all.length / scale : Number.POSITIVE_INFINITY
  }
  let model = PREFERRED.find((name) => errors.has(name)) ?? 'line'
  for (const name of PREFERRED) if (mase(name) < CLEARLY * mase(model)) model = name
  const range = spanOf(values)
  const errsUnder = (name: string, share: number): boolean => mase(name) * scale <= share * range
  if (period > 1 && mase(model) > WORSE * mase('naive') && errsUnder('naive', NEARLY)) model = 'naive'
  const { all } = errors.get(model)!
  const inside = all.filter(({ value, one }) => value >= one.low_95 && value <= one.high_95).length
  const shares = all.map(({ inner, scaled }) => shareOf(inner, scaled))
  return {
    model,
    result: {
      origins,
      known: n,
      mase: mase(model),
      naive: mase('naive'),
      exact: errsUnder(model, model === 'naive' ? NEARLY : EXACT),
      coverage: inside / all.length,
      widened: wideningOf(shares, Math.max(1, span / Math.min(horizon, span))),
    },
  }
}

/** Returns the distance of a value from the middle, in units of the interval's half on that side. */
function shareOf(inner: Ahead, value: number): number {
  const gap = value - inner.value
  const half = gap < 0 ? inner.value - inner.low_95 : inner.high_95 - inner.value
  return half > 0 ? Math.abs(gap) / half : gap === 0 ? 0 : 10
}

/** The number of stretches of the past that the model's own interval counts as. */
const OWN = 3

/**
 * Returns the 95 % quantile of the errors in units of the interval, at least 1, drawn towards 1. Errors of one stretch
 * of the past are alike, so each stretch as long as the horizon counts as one value.
 */
function wideningOf(shares: readonly number[], stretches: number): number {
  const sorted = shares.toSorted((a, b) => a - b)
  const factor = Math.max(1, sorted[Math.min(sorted.length - 1, Math.ceil(0.95 * (sorted.length + 1)) - 1)]!)
  const trust = stretches / (stretches + OWN)
  return factor ** trust
}

function spanOf(values: readonly number[]): number {
  const [least, most] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  )
  return most - least
}

function naiveScale(values: readonly number[], period: number, end: number): number {
  let sum = 0
  for (let row = period; row < end; row++) sum += Math.abs(values[row]! - values[row - period]!)
  return sum / Math.max(1, end - period)
}

function mapValues<T>(record: Record<string, T>, to: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, to(value)]))
}
