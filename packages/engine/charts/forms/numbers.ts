/** Writes the numbers of a chart as text, shown beside each drawing because paper and terminals have no tooltip. */

import type { Chart } from '@assay/model/insight'
import { formatCount } from '../../printing/format.ts'
import {
  chartEvents,
  chartLabels,
  chartLeftOut,
  chartPoints,
  chartTarget,
  isKnown,
  measureAt,
  type Point,
} from '../chart-values.ts'
import { funnelText, shortX, stepText, valueText, xText } from '../labels.ts'

const MOST_LISTED = 12
const MOST_SERIES = 6

/**
 * Writes a number with at most 6 significant digits, without thousands separators, so that the text can be read back
 * as a number.
 */
export function shortNumber(value: number): string {
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(6))
  return String(rounded === 0 ? 0 : rounded)
}

export interface Series {
  /** The name of the series; empty if there is only one. */
  name: string
  points: Point[]
}

/** Returns the distinct series in order of first appearance. */
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

/** Returns a plain sentence; empty for a chart without values. */
export function chartNumbers(chart: Chart): string {
  const points = chartPoints(chart)
  const known = points.filter((point) => point.y !== null)
  if (known.length === 0) return 'No values.'
  const left = chartLeftOut(chart)
  const cut =
    left === 0
      ? ''
      : ` Only the first ${formatCount(points.length)} of ${formatCount(points.length + left)} values are drawn.`
  return `${sentence(chart, points)}.${marksText(chart)}${cut}`
}

/** Returns the target and the events that are drawn, as text. */
function marksText(chart: Chart): string {
  const [target, events] = [chartTarget(chart), chartEvents(chart)]
  const aim = target === null ? '' : ` Target: ${valueText(chartLabels(chart).y, target)}.`
  const happened = events.map(
    ({ x, label }) => `${xText(chart, { x, y: null })}${label === '' ? '' : ` ${label}`}`,
  )
  return `${aim}${happened.length === 0 ? '' : ` Events: ${happened.join('; ')}.`}`
}

function sentence(chart: Chart, points: Point[]): string {
  if (chart.type === 'histogram') return histogramNumbers(points)
  const own = OWN_SENTENCES[chart.type]
  if (own) return own(chart, points)
  const few = (chart.type === 'bar' || chart.type === 'pie') && points.length <= MOST_LISTED
  if (few) {
    return points
      .map((point) => {
        const name = point.series === undefined ? shortX(point.x) : `${shortX(point.x)}, ${point.series}`
        return `${name}: ${numberText(chart, point)}`
      })
      .join('; ')
  }
  const series = panelsOf(points)
  const more = series.length - MOST_SERIES
  const shown = series.slice(0, MOST_SERIES).map((one) => rangeNumbers(chart, one))
  return [...shown, ...(more > 0 ? [`${more} more series`] : [])].join('; ')
}

/** Returns the series of each panel of small multiples, named after both. */
function panelsOf(points: Point[]): Series[] {
  const panels = Map.groupBy(points, ({ by }) => by)
  return [...panels].flatMap(([by, own]) =>
    seriesOf(own).map((one) => (by === undefined ? one : { ...one, name: nameIn(by, one.name) })),
  )
}

const nameIn = (by: string, name: string): string => (name === '' ? by : `${by}, ${name}`)

/** Writes a number by the format of the column, else so that it can be read back as a number. */
export function numberText(chart: Chart, point: Point): string {
  const label = measureAt(chart, point)
  if (point.y === null) return 'none'
  return label?.fmt ? valueText({ ...label, unit: null }, point.y) : shortNumber(point.y)
}

function rangeNumbers(chart: Chart, { name, points }: Series): string {
  const known = points.filter((point): point is Point & { y: number } => point.y !== null)
  if (known.length === 0) return `${name}: no values`
  const lowest = known.reduce((best, point) => (point.y < best.y ? point : best))
  const highest = known.reduce((best, point) => (point.y > best.y ? point : best))
  const at = (point: Point & { y: number }): string => `${numberText(chart, point)} (${shortX(point.x)})`
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

const nameOf = (chart: Chart, point: Point): string =>
  [point.by, xText(chart, point), point.series].filter((part) => part !== undefined).join(', ')

const OWN_SENTENCES: Partial<Record<Chart['type'], (chart: Chart, points: Point[]) => string>> = {
  waterfall: (chart, points) =>
    points.map((point) => `${nameOf(chart, point)}: ${stepText(measureAt(chart, point), point)}`).join('; '),
  funnel: (chart, points) =>
    points
      .map(
        (point) =>
          `${nameOf(chart, point)}: ${funnelText(measureAt(chart, point), point.y, points[0]!.y ?? 0)}`,
      )
      .join('; '),
  interval: (chart, points) =>
    points
      .slice(0, MOST_LISTED)
      .map((point) => `${nameOf(chart, point)}: ${intervalText(chart, point)}`)
      .join('; ') + (points.length > MOST_LISTED ? `; ${points.length - MOST_LISTED} more` : ''),
  forecast: forecastNumbers,
  heatmap: heatmapNumbers,
}

/** Writes an interval, such as "2.1 (1.5 to 2.7)". */
export function intervalText(chart: Chart, point: Point): string {
  const { y, low, high } = point
  const label = measureAt(chart, point)
  if (!isKnown(low) || !isKnown(high)) return valueText(label, y)
  const plain = label && { ...label, unit: null }
  return `${valueText(label, y)} (${valueText(plain, low)} to ${valueText(plain, high)})`
}

function forecastNumbers(chart: Chart, points: Point[]): string {
  const ahead = points.filter(({ part }) => part === 'ahead')
  const known = points.filter(({ part, y }) => part === 'history' && y !== null)
  const [first, last] = [ahead[0], ahead.at(-1)]
  const parts = [
    ...(known.length === 0
      ? []
      : [
          `known until ${xText(chart, known.at(-1)!)}: ${valueText(measureAt(chart, known.at(-1)), known.at(-1)!.y)}`,
        ]),
    ...(first ? [`expected ${xText(chart, first)}: ${intervalText(chart, first)}`] : []),
    ...(last && last !== first ? [`${xText(chart, last)}: ${intervalText(chart, last)}`] : []),
  ]
  const text = parts.join('; ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function heatmapNumbers(chart: Chart, points: Point[]): string {
  const known = points.filter((point): point is Point & { y: number } => point.y !== null)
  const lowest = known.reduce((best, point) => (point.y < best.y ? point : best))
  const highest = known.reduce((best, point) => (point.y > best.y ? point : best))
  const at = (point: Point): string =>
    `${valueText(measureAt(chart, point), point.y)} (${nameOf(chart, point)})`
  return `${formatCount(known.length)} cells, lowest ${at(lowest)}, highest ${at(highest)}`
}
