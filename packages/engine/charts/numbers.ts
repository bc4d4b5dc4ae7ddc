/** The numbers of a chart as text, shown beside each drawing because paper and terminals have no tooltip. */
import type { Chart } from '@assay/model/insight'
import { formatCount } from '../printing/format.ts'
import { chartLeftOut, chartPoints, type Point } from './spec.ts'

const MOST_LISTED = 12
const MOST_SERIES = 6

/** At most 6 significant digits, without thousands separators, so that the text can be read back as a number. */
export function shortNumber(value: number): string {
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(6))
  return String(rounded === 0 ? 0 : rounded)
}

/** "2001-04-01T00:00:00Z" becomes its date; other times lose seconds that are zero. */
export function shortX(x: Point['x']): string {
  if (typeof x === 'number') return shortNumber(x)
  return (x ?? 'none').replace(/^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(:00(?:\.0+)?)?Z$/, (_, day, time) =>
    time === '00:00' ? String(day) : `${day} ${time}`,
  )
}

export interface Series {
  /** Empty if there is only one series. */
  name: string
  points: Point[]
}

/** The distinct values in order of first appearance. */
export function seriesOf(points: Point[]): Series[] {
  const found = new Map<string, Point[]>()
  for (const point of points) {
    const name = point.series ?? ''
    const list = found.get(name)
    if (list) list.push(point)
    else found.set(name, [point])
  }
  return [...found].map(([name, list]) => ({ name, points: list }))
}

/** A plain sentence; empty for a chart without values. */
export function chartNumbers(chart: Chart): string {
  const points = chartPoints(chart)
  const known = points.filter((point) => point.y !== null)
  if (known.length === 0) return 'No values.'
  const left = chartLeftOut(chart)
  const cut =
    left === 0
      ? ''
      : ` Only the first ${formatCount(points.length)} of ${formatCount(points.length + left)} values are drawn.`
  return `${sentence(chart, points)}.${cut}`
}

function sentence(chart: Chart, points: Point[]): string {
  if (chart.type === 'histogram') return histogramNumbers(points)
  const series = seriesOf(points)
  const few = (chart.type === 'bar' || chart.type === 'pie') && points.length <= MOST_LISTED
  if (few) {
    return points
      .map((point) => {
        const name = point.series === undefined ? shortX(point.x) : `${shortX(point.x)}, ${point.series}`
        return `${name}: ${point.y === null ? 'none' : shortNumber(point.y)}`
      })
      .join('; ')
  }
  const more = series.length - MOST_SERIES
  const shown = series.slice(0, MOST_SERIES).map((one) => rangeNumbers(one))
  return [...shown, ...(more > 0 ? [`${more} more series`] : [])].join('; ')
}

function rangeNumbers({ name, points }: Series): string {
  const known = points.filter((point): point is Point & { y: number } => point.y !== null)
  if (known.length === 0) return `${name}: no values`
  const lowest = known.reduce((best, point) => (point.y < best.y ? point : best))
  const highest = known.reduce((best, point) => (point.y > best.y ? point : best))
  const at = (point: Point & { y: number }): string => `${shortNumber(point.y)} (${shortX(point.x)})`
  const count = `${formatCount(known.length)} ${known.length === 1 ? 'value' : 'values'}`
  const missing = points.length - known.length
  const head = `${name === '' ? '' : `${name}: `}${count}${missing > 0 ? `, ${missing} missing` : ''}`
  return `${head}, lowest ${at(lowest)}, highest ${at(highest)}, last ${at(known.at(-1)!)}`
}

function histogramNumbers(points: Point[]): string {
  const total = points.reduce((sum, point) => sum + (point.y ?? 0), 0)
  const fullest = points.reduce((best, point) => ((point.y ?? 0) > (best.y ?? 0) ? point : best))
  const range = `${shortX(points[0]!.x)} to ${shortNumber(points.at(-1)!.x2 ?? 0)}`
  const bin = `${shortX(fullest.x)} to ${shortNumber(fullest.x2 ?? 0)}`
  return `${formatCount(total)} values from ${range}, most (${formatCount(fullest.y ?? 0)}) from ${bin}`
}
