/**
 * changepoints: where the level of a series changed, and by how much.
 *
 * The strongest change of level is taken where it is more than its noise (series/level-shift.ts), then each side is
 * searched in the same way: binary segmentation (Vostrikova 1981) with a test in place of a penalty. The noise may be as
 * persistent as a random walk and have heavy tails. Seasons that the series shows, and a line where it rises or falls,
 * stand beside the change. The series travels (at most 50,000 times).
 */
import Type, { type Static } from 'typebox'
import { exactMean, squaredDeviations } from '../numeric/exact.ts'
import { exactSum } from '../numeric/sum.ts'
import { seasonsOf } from '../series/calendar-seasons.ts'
import { gridOf } from '../series/grid.ts'
import { changesOf } from '../series/level-changes.ts'
import { loadSeries, type Series, type Time } from '../series/load.ts'
import { seriesColumns } from './shared/columns.ts'
import { integer, moment, number, rowsWith } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { count, enumeration, figure, finite, label, signed, tooFew } from './shared/sentence.ts'

const Options = Type.Object({ time: Type.String(), value: Type.String() }, { additionalProperties: false })

const METHOD = 'binary segmentation, level beside persistent noise'
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
  fields: {
    points: rowsWith({ index: integer, time: moment, before: number, after: number, change: number }),
    noise: number,
  },
  async run(table, options) {
    const { time, value } = options as Static<typeof Options>
    const series = await loadSeries(table, time, value)
    const n = series.values.length
    if (n < LEAST) {
      const summary = tooFew('changes of level in', value, n, LEAST)
      return {
        summary,
        n,
        method: METHOD,
        notes: series.doubts.map(({ says }) => says),
        points: [],
        noise: null,
      }
    }
    const grid = gridOf(series)
    const rows = [...grid.observed.keys()].filter((row) => grid.observed[row])
    const seasons = seasonsOf(grid)
    const changes = changesOf(series.values, rows, seasons)
    const points = pointsOf(series, changes)
    const notes = series.doubts.map(({ says }) => says)
    if (changes.length > n / 10)
      notes.push('So many changes speak for a drift rather than for steps; see its trend.')
    return {
      summary: sentence(value, n, points),
      n,
      method: METHOD,
      notes,
      points,
      noise: finite(noiseOf(series.values, changes) * series.unit),
    }
  },
}

/** The standard deviation of the values about the level of their part. */
function noiseOf(values: readonly number[], changes: readonly number[]): number {
  const bounds = [0, ...changes, values.length]
  const squares = bounds.slice(1).map((end, index) => squaredDeviations(values.slice(bounds[index], end)))
  return Math.sqrt(exactSum(squares) / Math.max(1, values.length - changes.length - 1))
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
  if (points.length === 0) return `No change of level is detectable in ${value} (n = ${count(n, 'value')}).`
  const largest = points.toSorted((a, b) => Math.abs(b.change ?? 0) - Math.abs(a.change ?? 0)).slice(0, 3)
  const told = largest
    .toSorted((a, b) => a.index - b.index)
    .map(
      ({ time, before, after, change }) =>
        `from ${figure(before, change)} to ${figure(after, change)} (${signed(change, change)}) at ${label(time)}`,
    )
  const more = points.length > 3 ? '; the largest: ' : ': '
  return `The level of ${value} changed ${points.length === 1 ? 'once' : `${points.length} times`}${more}${enumeration(told)} (n = ${count(n, 'value')}).`
}
