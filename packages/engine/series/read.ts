/**
 * Reads the series of a method over time: its values on even steps, without an unfinished last period, with the one
 * diagnosis that all methods share and the doubts that follow from it.
 */
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { MethodContext, Relation } from '../methods/shared/method.ts'
import { count, figure } from '../methods/shared/sentence.ts'
import { type Measure, measureOf } from '../verdicts/measure.ts'
import { dayInWords, timeInWords } from '../verdicts/times.ts'
import { doubt } from '../verdicts/verdict.ts'
import type { FoundSeason } from './calendar-seasons.ts'
import { type Diagnosis, diagnose } from './diagnosis.ts'
import { countedStep, type Grid, gridOf, unitOf } from './grid.ts'
import type { LevelChange } from './level-changes.ts'
import { loadSeries, type Series, type Time } from './load.ts'
import { type Cut, firstCut, lastCut } from './partial.ts'
import { onTheClock } from './spans.ts'
import type { Sizes } from './spikes/by-size.ts'

/** The options of every method over a series. */
export const SERIES_OPTIONS = {
  time: Type.String(),
  value: Type.String(),
  partial: Type.Enum(['leave_out', 'keep'], {
    default: 'leave_out',
    description: 'An unfinished first or last period: left out, or kept as it is.',
  }),
  missing: Type.Enum(['gap', 'zero'], {
    default: 'gap',
    description: 'A time without a row: unknown, or zero.',
  }),
}

export interface SeriesOptions {
  time: string
  value: string
  partial: 'leave_out' | 'keep'
  missing: 'gap' | 'zero'
}

export interface ReadSeries {
  /** The values that the method works on, over `series.unit`. */
  series: Series
  /** The same values on even steps. Values that are not observed are interpolated. */
  grid: Grid
  /** The step of each value of `series`. */
  rows: number[]
  seasons: FoundSeason[]
  changes: LevelChange[]
  /** The columns that bend the line of the series. There are none if the line is straight. */
  bends: number[][]
  measure: Measure
  diagnosis: Diagnosis
  doubts: Doubt[]
  /** For a ratio: the denominators of the values of `series`. */
  sizes?: Sizes
}

export async function readSeries(
  table: Relation,
  options: SeriesOptions,
  context: MethodContext,
): Promise<ReadSeries> {
  const loaded = await loadSeries(table, options.time, options.value, context.time_zone)
  const measure = measureOf(context.meanings, options.value)
  const cut = await withoutPartial(loaded, options, context)
  const gapped = gridOf(cut.series)
  const missing = gapped.observed.filter((observed, step) => !observed && !gapped.skipped.has(step)).length
  const { series, grid } =
    options.missing === 'zero' && missing > 0
      ? withZeros(cut.series, gapped)
      : { series: cut.series, grid: gapped }
  const rows = [...grid.observed.keys()].filter((row) => grid.observed[row])
  const { diagnosis, seasons, changes, bends, one_far } = diagnose(series, grid, rows, {
    time_zone: context.time_zone,
    partial_last: cut.last,
    gaps: { n: missing, treated: options.missing === 'zero' ? 'zero' : 'missing' },
  })
  const doubts = [...cut.doubts, ...doubtsOf({ series, grid, diagnosis, one_far }, options)]
  return { series, grid, rows, seasons, changes, bends, measure, diagnosis, doubts }
}

interface WithoutPartial {
  series: Series
  last: boolean
  doubts: Doubt[]
}

async function withoutPartial(
  series: Series,
  options: SeriesOptions,
  context: MethodContext,
): Promise<WithoutPartial> {
  const { step, ends } = gridOf(series)
  const doubts: Doubt[] = []
  let kept = series
  // Steps below a day count by the moment, others by the day.
  const within = step.unit === 'days' && step.size < 1
  const [begin, end] = within ? [series.positions[0]!, series.positions.at(-1)!] : [ends.first, ends.last]
  const last = series.times.length === 0 ? null : await lastCut(step, end, begin, context, series.time_zone)
  const first = series.times.length < 2 ? null : await firstCut(step, begin, end, context)
  const keeps = options.partial === 'keep'
  if (last) {
    doubts.push(doubt('period_partial', lastSays(series, unitOf(step), last, keeps)))
    if (!keeps) kept = slice(kept, 0, -1)
  }
  if (first !== null) {
    const named = timeInWords(series.times[0]!, unitOf(step))
    const done = keeps ? 'It is counted as it is.' : 'It is left out.'
    doubts.push(
      doubt(
        'period_partial',
        `The first period, ${named}, has data from ${typeof first === 'string' ? first : dayInWords(first)} on. ${done}`,
      ),
    )
    if (!keeps) kept = slice(kept, 1)
  }
  return { series: kept, last: last !== null, doubts }
}

function lastSays(series: Series, unit: ReturnType<typeof unitOf>, cut: Cut, keeps: boolean): string {
  const named = timeInWords(onTheClock(series.times.at(-1)!, series), unit)
  const reason =
    cut.by === 'clock'
      ? 'is not over yet'
      : cut.by === 'period'
        ? `is cut off by the report's period after ${dayInWords(cut.until - 1)}`
        : `has data only until ${cut.at ?? dayInWords(cut.until - 1)}`
  return `The last period, ${named}, ${reason}. ${keeps ? 'It is counted as it is.' : 'It is left out.'}`
}

function slice(series: Series, from: number, to?: number): Series {
  return {
    ...series,
    times: series.times.slice(from, to),
    positions: series.positions.slice(from, to),
    values: series.values.slice(from, to),
  }
}

/** Returns every step of the grid that clocks show as a value of the series, with zero for a step without a row. */
function withZeros(series: Series, grid: Grid): { series: Series; grid: Grid } {
  const observed = grid.values.map((_, step) => !grid.skipped.has(step))
  const values = grid.values.map((value, step) => (grid.observed[step] || !observed[step] ? value : 0))
  const shown = <Value>(all: readonly Value[]): Value[] => all.filter((_, step) => observed[step])
  const filled = {
    ...series,
    times: shown(grid.times),
    positions: shown(grid.positions),
    values: shown(values),
  }
  return { series: filled, grid: { ...grid, values, observed } }
}

const isYear = (time: Time): boolean =>
  typeof time === 'number' && Number.isInteger(time) && time >= 1000 && time < 3000

interface Doubted {
  series: Series
  grid: Grid
  diagnosis: Diagnosis
  one_far: boolean
}

function doubtsOf({ series, grid, diagnosis, one_far }: Doubted, options: SeriesOptions): Doubt[] {
  const doubts: Doubt[] = []
  const { gaps } = diagnosis
  const step = series.times.every(isYear) ? 'year' : countedStep(grid.step)
  if (gaps.n > 0) {
    // A row without a number is still a row, so only the value is missing.
    const what = series.doubts.some(({ code }) => code === 'rows_left_out') ? 'value' : 'row'
    const gone = `${figure(gaps.n)} of ${count(grid.times.length, step)} ${gaps.n === 1 ? 'has' : 'have'} no ${what}`
    const zero = options.missing === 'zero'
    const says = zero
      ? 'Each counts as zero (missing: zero).'
      : `If no ${what} means zero, write missing: zero.`
    doubts.push(doubt('days_missing', `${gone}. ${says}`))
  }
  if (diagnosis.sparse)
    doubts.push(doubt('sparse', 'Most of the values are zero or missing, so single values say little.'))
  if (diagnosis.autocorrelated)
    doubts.push(
      doubt(
        'series_autocorrelated',
        (diagnosis.autocorrelation ?? 0) > 0
          ? 'Neighbouring values are alike, so together they tell less than their number suggests.'
          : 'Neighbouring values swing to and fro: a high one is often followed by a low one.',
      ),
    )
  if (diagnosis.heavy_tails)
    doubts.push(
      doubt(
        'tails_heavy',
        `${one_far ? 'One value lies' : 'A few values lie'} much farther out than the rest.`,
      ),
    )
  if (grid.step.unit === 'order' && series.times.length > 3)
    doubts.push(
      doubt(
        'times_uneven',
        'The times are not evenly spaced; the values are taken one step apart, in their order.',
      ),
    )
  doubts.push(...series.doubts)
  return doubts
}
