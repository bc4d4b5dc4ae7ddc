/**
 * anomalies: the values of a series that are unusually far from what was expected.
 *
 * With seasons, as in R's forecast::tsoutliers: robust STL removes the seasonal part, a smooth curve through the rest
 * (numeric/super-smoother.ts) is the expected value, and values more than three interquartile ranges beyond the quartiles
 * of the remainder are anomalies. Without seasons: Rosner's generalised ESD (numeric/outliers.ts) about such a curve if
 * neighbours are correlated, else (or with `period: none`) about the mean. Seasons under strength 0.6 are ignored, and so
 * are those that `auto` finds in under four whole cycles, because a value would then shape the season it is compared
 * with. The whole series is fetched (at most 50,000 times).
 */
import Type, { type Static } from 'typebox'
import { exactMean } from '../numeric/exact.ts'
import { type EsdStep, generalisedEsd } from '../numeric/outliers.ts'
import { autocorrelations } from '../numeric/seasons.ts'
import { stl, stlOptions } from '../numeric/stl.ts'
import { superSmooth } from '../numeric/super-smoother.ts'
import { seasonsOf } from '../series/calendar-seasons.ts'
import { type Grid, gridOf } from '../series/grid.ts'
import { loadSeries, type Time } from '../series/load.ts'
import { strengthOf } from './seasonality.ts'
import { seriesColumns } from './shared/columns.ts'
import { integer, moment, number, rowsWith } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { count, enumeration, figure, finite, label, percent, tooFew } from './shared/sentence.ts'

const Options = Type.Object(
  {
    time: Type.String(),
    value: Type.String(),
    period: Type.Union([Type.Enum(['auto', 'none']), Type.Integer({ minimum: 2 })], { default: 'auto' }),
    alpha: Type.Number({
      exclusiveMinimum: 0,
      maximum: 0.5,
      default: 0.05,
      description: 'The chance of any false alarm, for ESD.',
    }),
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
const FENCE = 3
const CYCLES = 4

interface Point {
  time: Time
  value: number | null
  expected: number | null
  /** Interquartile ranges beyond the quartile, or the ESD statistic. The sign tells above (+) or below (-). */
  score: number | null
}

interface Found {
  method: string
  outliers: { index: number; score: number }[]
  expected: number[]
  tested: { statistic: number; critical: number }[]
  notes: string[]
}

export const anomalies: Method = {
  name: 'anomalies',
  options: Options,
  columns: seriesColumns,
  fields: {
    points: rowsWith({ time: moment, value: number, expected: number, score: number }),
    tested: rowsWith({ statistic: number, critical: number }),
    period: integer,
  },
  async run(table, options) {
    const given = options as Options
    const series = await loadSeries(table, given.time, given.value)
    const grid = gridOf(series)
    const n = series.values.length
    if (n < LEAST) {
      const summary = tooFew('anomalies of', given.value, n, LEAST)
      return {
        summary,
        n,
        method: 'generalised ESD',
        notes: series.doubts.map(({ says }) => says),
        points: [],
        tested: [],
        period: null,
      }
    }
    const most = given.max ?? Math.min(100, Math.max(1, Math.floor(n / 10)))
    const { period, notes } = periodOf(given, grid)
    const seasonal = period === null ? null : bySeasons(grid, period, most)
    const found = seasonal ?? byEsd(series.values, given, most)
    const times = seasonal ? grid.times : series.times
    const values = seasonal ? grid.values : series.values
    const points = found.outliers.map(
      ({ index, score }): Point => ({
        time: times[index]!,
        value: finite(values[index]! * series.unit),
        expected: finite(found.expected[index]! * series.unit),
        score: finite(score),
      }),
    )
    return {
      summary: sentence(given.value, n, found.method, points),
      n,
      method: found.method,
      notes: [
        ...series.doubts.map(({ says }) => says),
        ...(seasonal ? grid.notes : []),
        ...notes,
        ...found.notes,
      ],
      points,
      tested: found.tested,
      period: seasonal ? period : null,
    }
  },
}

/** The period to remove, with a note if there are too few cycles of it. */
function periodOf(given: Options, grid: Grid): { period: number | null; notes: string[] } {
  const found = given.period === 'auto' ? (seasonsOf(grid)[0]?.steps ?? null) : given.period
  if (found === null || found === 'none') return { period: null, notes: [] }
  if (grid.values.length >= CYCLES * found) return { period: found, notes: [] }
  const few = `There are fewer than ${CYCLES} whole seasons of ${count(found, 'step')}`
  if (given.period === 'auto' || grid.values.length <= 2 * found)
    return { period: null, notes: [`${few}: too few to judge by, so values are judged without seasons.`] }
  return { period: found, notes: [`${few}: what stands out may be part of a season.`] }
}

/** Null if the seasons are too weak to be removed. */
function bySeasons(grid: Grid, period: number, most: number): Found | null {
  const parts = stl(grid.values, stlOptions(period, 11, true))
  if ((strengthOf(parts) ?? 0) < 0.6) return null
  const curve = superSmooth(grid.values.map((value, index) => value - parts.seasonal[index]!))
  const expected = grid.values.map((_, index) => curve[index]! + parts.seasonal[index]!)
  const remainder = grid.values.map((value, index) => value - expected[index]!)
  const seen = remainder.filter((_, index) => grid.observed[index]).toSorted((a, b) => a - b)
  const q1 = quantile(seen, 0.25)
  const q3 = quantile(seen, 0.75)
  // An exactly periodic series has no spread: any deviation beyond rounding is an anomaly.
  const spread = Math.max(q3 - q1, 1e-9)
  const outliers = remainder
    .map((rest, index) => ({
      index,
      score: rest > q3 ? (rest - q3) / spread : rest < q1 ? (rest - q1) / spread : 0,
    }))
    .filter(({ index, score }) => grid.observed[index] && Math.abs(score) > FENCE)
  const kept = outliers
    .toSorted((a, b) => Math.abs(b.score) - Math.abs(a.score) || a.index - b.index)
    .slice(0, most)
    .toSorted((a, b) => a.index - b.index)
  const notes =
    outliers.length > most
      ? [`${outliers.length} values lie beyond the fence; the ${most} farthest are shown.`]
      : []
  return {
    method: 'beyond 3 interquartile ranges after robust STL',
    outliers: kept,
    expected,
    tested: [],
    notes,
  }
}

function byEsd(values: readonly number[], given: Options, most: number): Found {
  const n = values.length
  const notes =
    n < 25
      ? [`With ${count(n, 'value')} the critical values of the test are approximate (25 are wanted).`]
      : []
  const correlated = (autocorrelations(values, 1)[1] ?? 0) > 1.96 / Math.sqrt(n) || isTrending(values)
  const curve = given.period !== 'none' && correlated ? superSmooth(values) : null
  if (curve)
    notes.push('Neighbouring values are alike, so each is judged against a smooth curve through them.')
  const judged = curve ? values.map((value, index) => value - curve[index]!) : values
  const { outliers, steps } = generalisedEsd(judged, Math.min(most, n - 3), given.alpha)
  const out = new Set(outliers)
  const center = exactMean(judged.filter((_, index) => !out.has(index)))
  const scored = steps.slice(0, outliers.length).map((step: EsdStep) => ({
    index: step.index,
    score: Math.sign(judged[step.index]! - center) * step.statistic,
  }))
  return {
    method: `generalised ESD, alpha ${given.alpha}`,
    outliers: scored.toSorted((a, b) => a.index - b.index),
    expected: values.map((_, index) => (curve ? curve[index]! : 0) + center),
    tested: steps.map(({ statistic, critical }) => ({ statistic, critical })),
    notes,
  }
}

/** Whether the order of the values matters, by their plain lag-1 correlation. */
function isTrending(values: readonly number[]): boolean {
  const mean = exactMean(values)
  let whole = 0
  let lagged = 0
  for (const [index, value] of values.entries()) {
    whole += (value - mean) ** 2
    if (index > 0) lagged += (value - mean) * (values[index - 1]! - mean)
  }
  return lagged > (1.96 / Math.sqrt(values.length)) * whole
}

function quantile(sorted: readonly number[], p: number): number {
  const position = (sorted.length - 1) * p
  const low = Math.floor(position)
  const next = sorted[Math.min(low + 1, sorted.length - 1)]!
  return sorted[low]! + (position - low) * (next - sorted[low]!)
}

function sentence(value: string, n: number, method: string, points: readonly Point[]): string {
  if (points.length === 0) return `No value of ${value} stands out (n = ${count(n, 'value')}, ${method}).`
  const farthest = points.toSorted((a, b) => Math.abs(b.score ?? 0) - Math.abs(a.score ?? 0)).slice(0, 3)
  const told = farthest.map(({ time, value: seen, expected }) => {
    const gap = seen === null || expected === null ? null : (seen - expected) / 10
    return `${label(time)} (${figure(seen, gap)} where ${figure(expected, gap)} was expected)`
  })
  const most = points.length > 3 ? ', most of all ' : ': '
  return `${count(points.length, 'value')} of ${value} (${percent(points.length / n)}) ${points.length === 1 ? 'stands' : 'stand'} out${most}${enumeration(told)} (n = ${count(n, 'value')}, ${method}).`
}
