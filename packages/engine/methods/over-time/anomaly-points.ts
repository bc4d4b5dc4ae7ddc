/** Finds the values of one series that stand out: the options, and how values are judged. */
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import type { FoundSeason } from '../../series/calendar-seasons.ts'
import type { Time } from '../../series/load.ts'
import { type ReadSeries, SERIES_OPTIONS } from '../../series/read.ts'
import { seasonColumns } from '../../series/seasons.ts'
import { findInSeries } from '../../series/spikes/of-series.ts'
import type { Residuals, Spike } from '../../series/spikes/spikes.ts'
import { allAlike, seasonTooLong, tooFew } from '../../verdicts/common-doubts.ts'
import { boundsOf } from '../../verdicts/words.ts'
import { moment, number } from '../shared/fields.ts'
import { beyondFences, byEsd, type Outliers } from '../shared/outlier-tests.ts'
import { finite } from '../shared/sentence.ts'

export const Options = Type.Object(
  {
    ...SERIES_OPTIONS,
    value: Type.Optional(SERIES_OPTIONS.value),
    numerator: Type.Optional(
      Type.String({ description: 'With `denominator`, in place of `value`: a ratio of sums.' }),
    ),
    denominator: Type.Optional(Type.String()),
    period: Type.Union([Type.Enum(['auto', 'none']), Type.Number({ minimum: 2 })], {
      default: 'auto',
      description: 'How many steps a season lasts, as 7 or 365.25.',
    }),
    test: Type.Enum(['auto', 'esd', 'fences'], {
      default: 'auto',
      description:
        'auto judges by the tails of the values themselves; esd and fences assume independent normal values.',
    }),
    alpha: Type.Number({
      exclusiveMinimum: 0,
      maximum: 0.5,
      default: 0.05,
      description: 'The chance of any false alarm.',
    }),
    at_least: Type.Optional(
      Type.Object(
        {
          relative: Type.Optional(
            Type.Number({ exclusiveMinimum: 0, description: 'A share of what was expected, as 0.2.' }),
          ),
          absolute: Type.Optional(
            Type.Number({ exclusiveMinimum: 0, description: 'In the unit of the values.' }),
          ),
        },
        {
          additionalProperties: false,
          description:
            'How far a value must lie from what was expected to be told; both, where both are given.',
        },
      ),
    ),
    latest: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Only what stands out in the last so many values is told.' }),
    ),
    max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description:
          'The most anomalies to look for. Default: a tenth of the values, at most 100, and those that stand out together.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type Options = Static<typeof Options>

export const METHOD = 'residuals beside seasons, levels and neighbours, judged by their own tails'
const LEAST = 10

/** The fields of a point in the outcome. A point of a single series also has a sentence (`says`). */
export const POINT = {
  time: moment,
  value: number,
  expected: number,
  low: number,
  high: number,
  score: number,
  p: number,
}

export interface Point {
  time: Time
  value: number | null
  expected: number | null
  /**
   * The range in which 95 of 100 usual values lie at that time. For esd and fences it is the range without outliers.
   */
  low: number | null
  high: number | null
  /**
   * The distance in standard deviations of usual values, negative below. For `esd` it is the statistic, for `fences` it
   * is in interquartile ranges.
   */
  score: number | null
  /** The chance of any such value if none stands out; null for `fences`. */
  p: number | null
}

export interface Found {
  method: string
  points: Point[]
  /** The few farthest points, whether they stand out or not. */
  farthest: Point[]
  tested: Outliers['tested']
  p: number | null
  /** The times of points on days that stand out every year. */
  yearly?: Time[]
  /** The residual of each value, for `auto` only. */
  residuals?: Residuals | null
  /** The number of values that stand out by less than `at_least`. */
  small?: number
}

export function stopOf({ period }: Options, { series, grid, measure }: ReadSeries): Doubt | null {
  const n = series.values.length
  if (n < LEAST) return tooFew(n, measure.label, 'to tell what is usual takes', LEAST)
  if (series.values.every((value) => value === series.values[0])) return allAlike(measure.label)
  const steps = grid.values.length
  if (typeof period === 'number' && steps < 2 * period)
    return seasonTooLong(steps, measure.label, period, 2 * period)
  return null
}

export function periodsOf({ period }: Options, seasons: readonly FoundSeason[]): number[] {
  if (period === 'none') return []
  return period === 'auto' ? seasons.map((season) => season.period) : [period]
}

export const OUT = ['stands out', 'stand out'] as const
export const FAR = [
  'lies as far from the usual as asked for',
  'lie as far from the usual as asked for',
] as const

/** Says "No value of orders stands out" about the values that are asked for. The verb comes in its two forms. */
export function noneOf(
  label: string,
  { latest }: Pick<Options, 'latest'>,
  [stands, stand]: readonly [string, string],
): string {
  if (latest === undefined) return `No value of ${label} ${stands}`
  if (latest === 1) return `The latest value of ${label} does not ${stand}`
  return `None of the latest ${latest} values of ${label} ${stands}`
}

/** Returns what stands out by the chosen test, without points that are too small or too old to be reported. */
export function findPoints(given: Options, read: ReadSeries): Found {
  const n = read.series.values.length
  const periods = periodsOf(given, read.seasons)
  const most = given.max ?? Math.min(100, Math.max(1, Math.floor(n / 10)))
  const all = given.test === 'auto' ? byTails(given, read, periods, most) : byTest(given, read, periods, most)
  return told(all, given, read)
}

/** Tells whether a point lies as far from its expectation as `at_least` asks. */
export function isLarge({ at_least: floors }: Options, { value, expected }: Point): boolean {
  if (value === null || expected === null) return true
  const { relative = 0, absolute = 0 } = floors ?? {}
  const gap = Math.abs(value - expected)
  return gap >= absolute && gap >= relative * Math.abs(expected)
}

/** Removes the points that are not asked for. p is that of the points that remain. */
function told(found: Found, options: Options, { series }: ReadSeries): Found {
  const { at_least: floors, latest, test } = options
  if (floors === undefined && latest === undefined) return found
  const late = latest === undefined ? null : new Set(series.times.slice(-latest))
  const isLate = ({ time }: Point): boolean => late === null || late.has(time)
  const points = found.points.filter((point) => isLarge(options, point) && isLate(point))
  const chances = points.flatMap(({ p }) => (p === null ? [] : [p]))
  const p = chances.length === 0 || test === 'fences' ? null : Math.min(...chances)
  const farthest = points.length > 0 ? points.toSorted(byScore) : found.farthest.filter(isLate)
  const small = found.points.filter((point) => isLate(point) && !isLarge(options, point)).length
  return { ...found, points, farthest, p, small }
}

const byScore = (left: Point, right: Point): number => Math.abs(right.score ?? 0) - Math.abs(left.score ?? 0)

/** Returns a function that limits a usual value to the possible range of the measure. */
function bounding({ measure, series }: ReadSeries): (value: number) => number | null {
  const known = series.values.map((value) => value * series.unit)
  const [least, most] = boundsOf(measure, known)
  return (value) => finite(Math.min(most, Math.max(least, value)))
}

function byTails(given: Options, read: ReadSeries, periods: readonly number[], most: number): Found {
  const { series, rows, diagnosis, sizes = null } = read
  const bounded = bounding(read)
  const { times } = series
  // Counts are judged as they are. Other values are scaled, so that their squares do not overflow.
  const unit = diagnosis.counts ? 1 : series.unit
  const values = diagnosis.counts ? series.values.map((value) => value * series.unit) : series.values
  // The values are divided by the unit of the series.
  const own = sizes && { ...sizes, event: sizes.event === null ? null : sizes.event / unit }
  const { found, yearly, stretches } = findInSeries(
    {
      values,
      rows,
      waves: periods.flatMap((period) => seasonColumns(rows, period)),
      levels: diagnosis.level_shifts.map(({ index }) => index),
      days: daysOf(read),
      sizes: own,
    },
    most,
    given.alpha,
  )
  const { farthest, scale, residuals } = found
  const inStretches = stretches.reduce((sum, { from, to }) => sum + to - from, 0)
  const spikes = found.spikes.slice(0, given.max ?? most + inStretches)
  const point = ({ index, expected, low, high, score, p }: Spike): Point => ({
    time: times[index]!,
    value: finite(values[index]! * unit),
    expected: bounded(expected * unit),
    low: bounded(low * unit),
    high: bounded(high * unit),
    score: finite(score),
    p,
  })
  const by = scale === 'plain' ? '' : `, by their ${scale}`
  const p = spikes.length === 0 ? null : Math.min(...spikes.map((spike) => spike.p))
  return {
    method: METHOD + by,
    points: spikes.toSorted((left, right) => left.index - right.index).map(point),
    farthest: farthest.map(point),
    tested: [],
    p,
    residuals: residuals && { ...residuals, expected: residuals.expected.map((value) => value * unit) },
    yearly: spikes.filter(({ index }) => yearly.has(index)).map(({ index }) => times[index]!),
  }
}

/** Returns whole days for a series of days or working days, or null for other steps. */
function daysOf({ series, grid }: ReadSeries): number[] | null {
  const daily = grid.step.unit === 'weekdays' || (grid.step.unit === 'days' && grid.step.size === 1)
  return daily && series.kind !== 'number' ? series.positions.map(Math.floor) : null
}

function byTest(given: Options, read: ReadSeries, periods: readonly number[], most: number): Found {
  const { series, grid } = read
  const esd = given.test === 'esd'
  const values = esd ? series.values : grid.values
  const times = esd ? series.times : grid.times
  const period = periods[0] === undefined ? null : Math.round(periods[0])
  const found = esd
    ? byEsd(values, given.alpha, most)
    : beyondFences(values, grid.observed, values.length > 2 * (period ?? 0) ? period : null, most)
  const inUnit = (value: number): number | null => finite(value * series.unit)
  const bounded = bounding(read)
  const points = found.outliers
    .toSorted((a, b) => a.index - b.index)
    .map(
      ({ index, score, low, high }): Point => ({
        time: times[index]!,
        value: inUnit(values[index]!),
        expected: bounded(found.expected[index]! * series.unit),
        low: bounded(low * series.unit),
        high: bounded(high * series.unit),
        score: finite(score),
        p: esd ? given.alpha : null,
      }),
    )
  return {
    method: found.method,
    points,
    farthest: points.toSorted((left, right) => Math.abs(right.score ?? 0) - Math.abs(left.score ?? 0)),
    tested: found.tested,
    p: esd && points.length > 0 ? given.alpha : null,
  }
}
