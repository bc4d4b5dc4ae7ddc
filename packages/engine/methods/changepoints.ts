/**
 * changepoints: where the level of a series changed, and by how much.
 *
 * PELT for the mean of normal values with the MBIC penalty (numeric/changepoint-search.ts). The noise comes from the
 * differences of neighbours (median absolute deviation), which level changes do not disturb; where the differences at
 * lags 1 and 2 show autocorrelation rho, its long-run variance is taken, (1 + rho) / (1 - rho) times as large. Seasons
 * are not modelled. The whole series is fetched (at most 50,000 times).
 */
import Type, { type Static } from 'typebox'
import { pelt } from '../numeric/changepoint-search.ts'
import { exactMean } from '../numeric/exact.ts'
import { detectPeriod } from '../numeric/seasons.ts'
import { seriesColumns } from './shared/columns.ts'
import { calendarPeriods, gridOf } from './shared/grid.ts'
import type { Method } from './shared/method.ts'
import { count, enumeration, figure, finite, label, signed, tooFew } from './shared/sentence.ts'
import { loadSeries, type Series, type Time } from './shared/series.ts'

const Options = Type.Object({ time: Type.String(), value: Type.String() }, { additionalProperties: false })

const METHOD = 'PELT, normal mean, MBIC penalty'
const LEAST = 8

interface Point {
  /** Rows of the old regime, from the start of the series. */
  index: number
  /** The first time of the new regime. */
  time: Time
  before: number | null
  after: number | null
  change: number | null
}

export const changepoints: Method = {
  name: 'changepoints',
  options: Options,
  columns: seriesColumns,
  fields: ['points', 'noise'],
  async run(table, options) {
    const { time, value } = options as Static<typeof Options>
    const series = await loadSeries(table, time, value)
    const n = series.values.length
    if (n < LEAST) {
      const summary = tooFew('changes of level in', value, n, LEAST)
      return { summary, n, method: METHOD, notes: series.notes, points: [], noise: null }
    }
    const center = exactMean(series.values)
    const centered = series.values.map((one) => one - center)
    const { variance, rho } = noiseOf(centered)
    const changes = pelt(centered, variance)
    const points = pointsOf(series, changes)
    const notes = [...series.notes]
    if (rho > 0)
      notes.push(`Neighbouring values are correlated (${figure(rho)}); the noise was taken larger for it.`)
    if (variance === 0)
      notes.push('Over half of the values equal the one before, so there is no noise to judge changes by.')
    const grid = gridOf(series)
    if (detectPeriod(grid.values, calendarPeriods(grid.step)) !== null) {
      notes.push('The series has seasons, which this method takes for changes of level where they are long.')
    }
    if (changes.length > n / 10)
      notes.push('So many changes speak for a drift rather than for steps; see its trend.')
    return {
      summary: sentence(value, n, points),
      n,
      method: METHOD,
      notes,
      points,
      noise: finite(Math.sqrt(variance) * series.unit),
    }
  },
}

/** Long-run variance and lag-1 correlation from differences, which a level change affects at one point only. */
function noiseOf(values: readonly number[]): { variance: number; rho: number } {
  const first = scaleOf(values, 1) ** 2
  if (first === 0) return { variance: steadyNoise(values), rho: 0 }
  const raw = scaleOf(values, 2) ** 2 / first - 1
  const rho = raw > 2 / Math.sqrt(values.length) ? Math.min(0.9, raw) : 0
  return { variance: (first * (1 + rho)) / (2 * (1 - rho) ** 2), rho }
}

/** If most neighbours are equal the median is 0; the mean square of the differences still bounds the noise. */
function steadyNoise(values: readonly number[]): number {
  let sum = 0
  for (let index = 1; index < values.length; index++) sum += (values[index]! - values[index - 1]!) ** 2
  return sum / (2 * (values.length - 1))
}

/** 1.4826 times the median size of the differences at a lag. */
function scaleOf(values: readonly number[], lag: number): number {
  const sizes = values
    .slice(lag)
    .map((value, index) => Math.abs(value - values[index]!))
    .toSorted((a, b) => a - b)
  const middle = (sizes[Math.floor((sizes.length - 1) / 2)]! + sizes[Math.ceil((sizes.length - 1) / 2)]!) / 2
  return 1.482602218505602 * middle
}

function pointsOf(series: Series, changes: readonly number[]): Point[] {
  const bounds = [0, ...changes, series.values.length]
  const means = bounds.slice(1).map((end, index) => exactMean(series.values.slice(bounds[index], end)))
  return changes.map((index, place) => ({
    index,
    time: series.times[index]!,
    before: finite(means[place]! * series.unit),
    after: finite(means[place + 1]! * series.unit),
    change: finite((means[place + 1]! - means[place]!) * series.unit),
  }))
}

function sentence(value: string, n: number, points: readonly Point[]): string {
  if (points.length === 0)
    return `No change of level is detectable in ${value} (n = ${count(n, 'value')}, PELT with MBIC).`
  const largest = points.toSorted((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0)).slice(0, 3)
  const told = largest
    .toSorted((a, b) => a.index - b.index)
    .map(
      ({ time, before, after, change }) =>
        `from ${figure(before, change)} to ${figure(after, change)} (${signed(change, change)}) at ${label(time)}`,
    )
  const more = points.length > 3 ? '; the largest: ' : ': '
  return `The level of ${value} changed ${points.length === 1 ? 'once' : `${points.length} times`}${more}${enumeration(told)} (n = ${count(n, 'value')}, PELT with MBIC).`
}
