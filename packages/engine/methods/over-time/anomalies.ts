/**
 * anomalies: the values of a series that stand out from what the others lead one to expect.
 *
 * `auto`: each value beside its seasons, levels and neighbours, judged by the tails of the residuals themselves
 * (series/spikes/spikes.ts), so that neither heavy tails nor counts nor a wandering level make an anomaly. `esd` (Rosner 1983)
 * and `fences` (as R's forecast::tsoutliers) are the tests of others, which assume independent normal values.
 * The series travels (at most 50,000 times).
 */
import type { Doubt } from '@assay/model/insight'
import Type, { type Static } from 'typebox'
import type { FoundSeason } from '../../series/calendar-seasons.ts'
import type { Time } from '../../series/load.ts'
import { type ReadSeries, readSeries, SERIES_OPTIONS } from '../../series/read.ts'
import { seasonColumns } from '../../series/seasons.ts'
import { atTime } from '../../series/spans.ts'
import { findSpikes, type Spike } from '../../series/spikes/spikes.ts'
import { allAlike, seasonTooLong, tooFew } from '../../verdicts/common-doubts.ts'
import { opening } from '../../verdicts/measure.ts'
import { gradeOf, verdict } from '../../verdicts/verdict.ts'
import { amount, both } from '../../verdicts/words.ts'
import { seriesColumns } from '../shared/columns.ts'
import { diagnosis as diagnosisField, moment, number, rowsWith } from '../shared/fields.ts'
import type { Method } from '../shared/method.ts'
import { beyondFences, byEsd, type Outliers } from '../shared/outlier-tests.ts'
import { count, finite, probability } from '../shared/sentence.ts'

const Options = Type.Object(
  {
    ...SERIES_OPTIONS,
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
    max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1000,
        description: 'The most anomalies to look for. Default: a tenth of the values, at most 100.',
      }),
    ),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>

const LEAST = 10
const METHOD = 'residuals beside seasons, levels and neighbours, judged by their own tails'
/** Changes of level that are taken out: one for so many values. */
const VALUES_A_LEVEL = 20

interface Point {
  time: Time
  value: number | null
  expected: number | null
  /** What 95 of 100 usual values would lie in at that time; of esd and fences, what is no outlier. */
  low: number | null
  high: number | null
  /** Standard deviations of the usual; of `esd` its statistic, of `fences` interquartile ranges. Below: negative. */
  score: number | null
  /** The chance of any such value where none stands out; null for `fences`. */
  p: number | null
}

interface Found {
  method: string
  points: Point[]
  /** The farthest few, whether they stand out or not. */
  farthest: Point[]
  tested: Outliers['tested']
  p: number | null
  /** Values that stand out by less than `at_least`. */
  small?: number
}

const POINTS = rowsWith({
  time: moment,
  value: number,
  expected: number,
  low: number,
  high: number,
  score: number,
  p: number,
})

export const anomalies: Method = {
  name: 'anomalies',
  options: Options,
  columns: seriesColumns,
  fields: {
    points: POINTS,
    farthest: POINTS,
    tested: rowsWith({ statistic: number, critical: number }),
    period: number,
    diagnosis: diagnosisField,
  },
  async run(table, options, context) {
    const given = options as Options
    const read = await readSeries(table, given, context)
    const { series, diagnosis } = read
    const n = series.values.length
    const stop = stopOf(given, read)
    if (stop) {
      const evidence = `${count(n, 'value')}.`
      const told = verdict({ headline: '', grade: 'unclear', evidence, doubts: [stop, ...read.doubts] })
      return { ...told, n, method: METHOD, points: [], farthest: [], tested: [], period: null, diagnosis }
    }
    const periods = periodsOf(given, read.seasons)
    const most = given.max ?? Math.min(100, Math.max(1, Math.floor(n / 10)))
    const all =
      given.test === 'auto' ? byTails(given, read, periods, most) : byTest(given, read, periods, most)
    const found = aboveFloors(all, given)
    const told = verdict({
      headline: headline(read, found),
      grade: found.points.length === 0 ? 'unclear' : gradeOf(found.p),
      evidence: `${count(found.points.length, 'value')} of ${n} beyond what is usual (${found.method}${found.p === null ? '' : `, ${probability(found.p)}`}).`,
      doubts: read.doubts,
    })
    return {
      ...told,
      n,
      method: found.method,
      points: found.points,
      farthest: found.farthest,
      tested: found.tested,
      period: periods[0] ?? null,
      diagnosis,
    }
  },
}

function stopOf({ period }: Options, { series, grid, measure }: ReadSeries): Doubt | null {
  const n = series.values.length
  if (n < LEAST) return tooFew(n, measure.label, 'to tell what is usual takes', LEAST)
  if (series.values.every((value) => value === series.values[0])) return allAlike(measure.label)
  const steps = grid.values.length
  if (typeof period === 'number' && steps < 2 * period)
    return seasonTooLong(steps, measure.label, period, 2 * period)
  return null
}

function periodsOf({ period }: Options, seasons: readonly FoundSeason[]): number[] {
  if (period === 'none') return []
  return period === 'auto' ? seasons.map((season) => season.period) : [period]
}

/** Without the points that are too small to matter; p is that of the ones that are left. */
function aboveFloors(found: Found, { at_least: floors, test }: Options): Found {
  if (floors === undefined) return found
  const { relative = 0, absolute = 0 } = floors
  const isLarge = ({ value, expected }: Point): boolean => {
    if (value === null || expected === null) return true
    const gap = Math.abs(value - expected)
    return gap >= absolute && gap >= relative * Math.abs(expected)
  }
  const points = found.points.filter(isLarge)
  const chances = points.flatMap(({ p }) => (p === null ? [] : [p]))
  const p = chances.length === 0 || test === 'fences' ? null : Math.min(...chances)
  const farthest = points.length > 0 ? points.toSorted(byScore) : found.farthest
  return { ...found, points, farthest, p, small: found.points.length - points.length }
}

const byScore = (left: Point, right: Point): number => Math.abs(right.score ?? 0) - Math.abs(left.score ?? 0)

function byTails(given: Options, read: ReadSeries, periods: readonly number[], most: number): Found {
  const { series, rows, diagnosis } = read
  const { times } = series
  // Counts are judged as they are; other values stay small enough to be squared.
  const unit = diagnosis.counts ? 1 : series.unit
  const values = diagnosis.counts ? series.values.map((value) => value * series.unit) : series.values
  const levels = diagnosis.level_shifts.slice(0, Math.floor(values.length / VALUES_A_LEVEL))
  const beside = [
    ...periods.flatMap((period) => seasonColumns(rows, period)),
    ...levels.map(({ index }) => values.map((_, row) => (row < index ? 0 : 1))),
  ]
  const { spikes, farthest, scale } = findSpikes(values, rows, beside, most, given.alpha)
  const point = ({ index, expected, low, high, score, p }: Spike): Point => ({
    time: times[index]!,
    value: finite(values[index]! * unit),
    expected: finite(expected * unit),
    low: finite(low * unit),
    high: finite(high * unit),
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
  }
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
  const points = found.outliers
    .toSorted((a, b) => a.index - b.index)
    .map(
      ({ index, score, low, high }): Point => ({
        time: times[index]!,
        value: inUnit(values[index]!),
        expected: inUnit(found.expected[index]!),
        low: inUnit(low),
        high: inUnit(high),
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

/** "On 18 June 2001 revenue was 500, far above the usual 90 to 110." */
function headline({ measure, grid }: ReadSeries, found: Found): string {
  const { points } = found
  const farthest = found.farthest[0]
  if (!farthest) return `No value of ${measure.label} stands out.`
  const when = atTime(farthest.time, grid)
  const { value, low, high } = farthest
  const width = low === null || high === null ? null : (high - low) / 2
  const above = (farthest.score ?? 0) > 0
  const usual =
    low === high || low === null
      ? amount(farthest.expected, measure, width)
      : both([low, high], measure, { step: width })
  if (points.length === 0 && (found.small ?? 0) > 0)
    return `No value of ${measure.label} lies as far from the usual as asked for; ${count(found.small!, 'value')} ${found.small === 1 ? 'stands' : 'stand'} out by less.`
  if (points.length === 0)
    return `No value of ${measure.label} stands out for certain; the farthest, ${amount(value, measure, width)} ${when}, may be chance.`
  const told = `${when} ${measure.label} stood at ${amount(value, measure, width)}, ${above ? 'above' : 'below'} the usual ${usual}`
  if (points.length === 1) return `${opening(told)}.`
  return `${count(points.length, 'value')} of ${measure.label} stand out; ${told}.`
}
