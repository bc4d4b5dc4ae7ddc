/**
 * anomalies: finds the values of a series that stand out from the expectation that the others give.
 *
 * `auto` compares each value with its seasons, levels and neighbours. It judges by the tails of the residuals
 * themselves (series/spikes/spikes.ts), so that heavy tails, counts and a wandering level make no anomaly. `esd`
 * (Rosner 1983) and `fences` (as R's forecast::tsoutliers) are published tests that assume independent normal values.
 * The series is fetched (at most 50,000 times), and for a ratio of sums the series of its rates. A list in `by` scans
 * segments (../scan/scan.ts).
 */
import type { Series } from '../../series/load.ts'
import { type ReadSeries, readSeries } from '../../series/read.ts'
import { atTime, between } from '../../series/spans.ts'
import { type Measure, opening } from '../../verdicts/measure.ts'
import { gradeOf, stopped, verdict } from '../../verdicts/verdict.ts'
import { amount, both } from '../../verdicts/words.ts'
import { readWhole } from '../scan/load.ts'
import { checkMeasure } from '../scan/measures.ts'
import { EVENTS, scan } from '../scan/scan.ts'
import { diagnosis as diagnosisField, number, rowsWith, text } from '../shared/fields.ts'
import type { Method } from '../shared/method.ts'
import { count, figure, probability } from '../shared/sentence.ts'
import {
  FAR,
  type Found,
  findPoints,
  METHOD,
  noneOf,
  Options,
  OUT,
  POINT,
  type Point,
  periodsOf,
  stopOf,
} from './anomaly-points.ts'

const POINTS = rowsWith({ ...POINT, says: text })

export const anomalies: Method = {
  name: 'anomalies',
  options: Options,
  either: [[['value'], ['numerator', 'denominator']]],
  columns(options) {
    const { time, value, numerator, denominator } = options as Options
    const numbers = Object.entries({ value, numerator, denominator })
    return [
      { option: 'time', column: time, numeric: false },
      ...numbers.flatMap(([option, column]) =>
        column === undefined ? [] : [{ option, column, numeric: true }],
      ),
    ]
  },
  prints: () => true,
  fields: {
    points: POINTS,
    farthest: POINTS,
    tested: rowsWith({ statistic: number, critical: number }),
    period: number,
    diagnosis: diagnosisField,
  },
  news: { lists: ['events', 'points'], key: ['time', 'where'] },
  scan: { fields: EVENTS, run: scan },
  async run(table, options, context) {
    const given = options as Options
    checkMeasure(given)
    const { value } = given
    const read = await (value === undefined
      ? readWhole(table, given, context)
      : readSeries(table, { ...given, value }, context))
    const { series, diagnosis } = read
    const n = series.values.length
    const stop = stopOf(given, read)
    if (stop) {
      const told = stopped(`${count(n, 'value')}.`, stop, read.doubts)
      return { ...told, n, method: METHOD, points: [], farthest: [], tested: [], period: null, diagnosis }
    }
    const found = findPoints(given, read)
    const told = verdict({
      headline: headline(read, found, given),
      grade: found.points.length === 0 ? 'unclear' : gradeOf(found.p),
      evidence: `${count(found.points.length, 'value')} of ${figure(n)} beyond what is usual (${found.method}${found.p === null ? '' : `, ${probability(found.p)}`}).`,
      doubts: read.doubts,
    })
    return {
      ...told,
      n,
      method: found.method,
      points: found.points.map((point) => ({ ...point, says: sentenceOf(point, read) })),
      farthest: found.farthest.map((point) => ({ ...point, says: sentenceOf(point, read) })),
      tested: found.tested,
      period: periodsOf(given, read.seasons)[0] ?? null,
      diagnosis,
    }
  },
}

/** Tells whether a value differs from its expectation only by rounding. Such a value is never the farthest. */
const isRounding = ({ value, expected }: Point): boolean =>
  value !== null && expected !== null && Math.abs(value - expected) <= 1e-9 * Math.abs(value)

/** Tells whether a value is usual. If most values are equal, the farthest of the others may be usual. */
const isUsual = ({ value, low, high }: Point): boolean =>
  value !== null && low !== null && high !== null && value >= low && value <= high

function usualAt({ low, high, expected }: Point, measure: Measure): { width: number | null; usual: string } {
  const width = low === null || high === null ? null : (high - low) / 2
  const range = both([low, high], measure, { step: width })
  const plain = low === high || low === null || range.startsWith('about')
  return { width, usual: plain ? amount(expected, measure, width) : range }
}

/** Says "500 on 18 June 2001, where 90 to 110 is usual". */
function sentenceOf(point: Point, { measure, grid }: ReadSeries): string {
  const { width, usual } = usualAt(point, measure)
  return `${amount(point.value, measure, width)} ${atTime(point.time, grid)}, where ${usual} is usual`
}

/** Says "On 18 June 2001 revenue was 500, far above the usual 90 to 110." */
function headline({ measure, grid, series }: ReadSeries, found: Found, options: Options): string {
  const { points } = found
  const farthest = found.farthest[0]
  if (!farthest || (points.length === 0 && (isRounding(farthest) || isUsual(farthest))))
    return `${noneOf(measure.label, options, OUT)}.`
  const when = atTime(farthest.time, grid)
  const { width, usual } = usualAt(farthest, measure)
  const { value } = farthest
  const above = (farthest.score ?? 0) > 0
  if (points.length === 0 && (found.small ?? 0) > 0)
    return `${noneOf(measure.label, options, FAR)}; ${count(found.small!, 'value')} ${found.small === 1 ? 'stands' : 'stand'} out by less.`
  if (points.length === 0)
    return `${noneOf(measure.label, options, ['stands out for certain', 'stand out for certain'])}; the farthest, ${amount(value, measure, width)} ${when}, may be chance.`
  const far = `stood at ${amount(value, measure, width)}, ${above ? 'above' : 'below'} the usual ${usual}`
  const told = `${when} ${measure.label} ${far}`
  const again = points.filter(({ time }) => found.yearly?.includes(time)).length
  if (points.length === 1) return `${opening(told)}${again === 1 ? ', as on that day each year' : ''}.`
  const row = inARow(points, farthest, series)
  const span = row.length < LEAST_ROW ? null : between(row[0]!.time, row.at(-1)!.time, grid)
  if (span !== null && row.length === points.length && row.every((point) => point.value === value))
    return `${opening(span)} ${measure.label} ${far}.`
  const part = again === points.length ? 'all' : 2 * again > points.length ? 'most' : `${again}`
  const which =
    again > 0
      ? `, ${part} of them on the same days each year`
      : span === null
        ? ''
        : `, ${row.length === points.length ? '' : `${row.length} of them `}in a row ${span}`
  return `${count(points.length, 'value')} of ${measure.label} stand out${which}; ${told}.`
}

/** The fewest neighbouring values that stand out and are described as one stretch. */
const LEAST_ROW = 3

/** Returns the points around one that stand out without a usual value between them, in order of time. */
function inARow(points: readonly Point[], around: Point, { times }: Series): Point[] {
  const known = new Map(points.map((point) => [point.time, point]))
  const middle = times.indexOf(around.time)
  let [first, last] = [middle, middle]
  while (known.has(times[first - 1]!)) first -= 1
  while (known.has(times[last + 1]!)) last += 1
  return times.slice(first, last + 1).flatMap((time) => known.get(time) ?? [])
}
