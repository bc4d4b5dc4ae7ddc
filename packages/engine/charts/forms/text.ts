/**
 * Writes charts as Unicode in a fence, for terminals and e-mails: sparklines for lines, bars for categories, a grid
 * for points.
 */

import type { Chart } from '@assay/model/insight'
import { fenced, plainLine } from '../../printing/escape.ts'
import { textWidth } from '../../printing/tables.ts'
import { chartLeftOut, chartPoints, chartXKind, measureAt, type Point } from '../chart-values.ts'
import { funnelText, shortX } from '../labels.ts'

import { chartNumbers, numberText, seriesOf } from './numbers.ts'
import { clip, heatmapText, intervalsText, padded, stepsText } from './text-forms.ts'

const SPARKS = '▁▂▃▄▅▆▇█'
const SPARK_WIDTH = 60
const BAR_WIDTH = 40
const MOST_BARS = 40

export function textChart(chart: Chart): string {
  const points = chartPoints(chart)
  const lines = chart.title === '' ? [] : [plainLine(chart.title)]
  // Bars show their numbers beside them.
  const listed = areBars(chart, points) && chartLeftOut(chart) === 0 && !chart.by
  lines.push(...panels(chart, points), ...(listed ? [] : [plainLine(chartNumbers(chart))]))
  return fenced(lines.join('\n'), 'text')
}

/** Writes a drawing for each panel, below its name. */
function panels(chart: Chart, points: Point[]): string[] {
  if (!chart.by) return drawing(chart, points)
  const names = [...new Set(points.map(({ by }) => by))]
  return names.flatMap((name) => [
    `${clip(name ?? '')}:`,
    ...drawing(
      chart,
      points.filter(({ by }) => by === name),
    ),
  ])
}

function areBars(chart: Chart, points: Point[]): boolean {
  const categories = ['bar', 'pie', 'histogram', 'funnel'].includes(chart.type)
  const drawn = categories || (chartXKind(chart) === 'text' && chart.type !== 'point')
  return drawn && points.length <= MOST_BARS && points.some((point) => point.y !== null)
}

function drawing(chart: Chart, points: Point[]): string[] {
  if (!points.some((point) => point.y !== null)) return []
  if (chart.type === 'waterfall') return stepsText(chart, points)
  if (chart.type === 'interval') return intervalsText(chart, points)
  if (chart.type === 'heatmap') return heatmapText(points)
  if (chart.type === 'forecast') return [forecastLine(points)]
  if (chart.type === 'point' && chartXKind(chart) !== 'text') return grid(points)
  if (areBars(chart, points)) return bars(chart, points)
  const series = seriesOf(points)
  const width = Math.max(...series.map(({ name }) => textWidth(clip(name))))
  return series.map(({ name, points: own }) => {
    const spark = sparkline(own.map((point) => point.y))
    return name === '' ? spark : `${padded(clip(name), width)} ${spark}`
  })
}

/** Writes one letter for each value or for the mean of a group of values, and a blank for an unknown one. */
function sparkline(values: (number | null)[]): string {
  const width = Math.min(SPARK_WIDTH, values.length)
  const means = Array.from({ length: width }, (_, index) => {
    const from = Math.floor((index * values.length) / width)
    const to = Math.floor(((index + 1) * values.length) / width)
    const known = values.slice(from, to).filter((value) => value !== null)
    return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
  })
  const known = means.filter((value) => value !== null)
  const [low, high] = [Math.min(...known), Math.max(...known)]
  return means
    .map((value) => {
      if (value === null) return ' '
      const share = high === low ? 0.5 : (value - low) / (high - low)
      return SPARKS[Math.min(SPARKS.length - 1, Math.floor(share * SPARKS.length))]!
    })
    .join('')
}

/** Writes the known values, a bar, and the expected values. */
function forecastLine(points: Point[]): string {
  const line = sparkline(points.map(({ y }) => y))
  const known = points.filter(({ part }) => part === 'history').length
  const end = Math.round((known / points.length) * line.length)
  return known === 0 ? line : `${line.slice(0, end)}│${line.slice(end)}`
}

function bars(chart: Chart, points: Point[]): string[] {
  const name = (point: Point): string => {
    const x = chart.type === 'histogram' ? `${shortX(point.x)} to ${shortX(point.x2 ?? 0)}` : shortX(point.x)
    return clip(point.series === undefined ? x : `${x}, ${point.series}`)
  }
  const first = points[0]!.y ?? 0
  const ending = (point: Point): string =>
    chart.type === 'funnel' ? funnelText(measureAt(chart, point), point.y, first) : numberText(chart, point)
  const width = Math.max(...points.map((point) => textWidth(name(point))))
  const longest = Math.max(...points.map((point) => Math.abs(point.y ?? 0))) || 1
  return points.map((point) => {
    if (point.y === null) return `${padded(name(point), width)} none`
    const eighths = Math.round((Math.abs(point.y) / longest) * BAR_WIDTH * 8)
    const full = (point.y < 0 ? '░' : '█').repeat(Math.floor(eighths / 8))
    const part = eighths % 8 === 0 || point.y < 0 ? '' : '▏▎▍▌▋▊▉'[(eighths % 8) - 1]!
    return `${padded(name(point), width)} ${full}${part} ${ending(point)}`
  })
}

/** Writes a grid of points. A cell marks one, two to four, or more of them. */
function grid(points: Point[]): string[] {
  const [rows, columns] = [12, 48]
  const known = points.flatMap((point) => {
    const x = typeof point.x === 'string' ? Date.parse(point.x) : point.x
    return point.y === null || x === null || Number.isNaN(x) ? [] : [[x, point.y] as const]
  })
  const cell = (value: number, all: number[], count: number): number => {
    const [low, high] = [Math.min(...all), Math.max(...all)]
    return high === low ? 0 : Math.min(count - 1, Math.floor(((value - low) / (high - low)) * count))
  }
  const [xs, ys] = [known.map(([x]) => x), known.map(([, y]) => y)]
  const counts = Array.from({ length: rows }, () => Array.from({ length: columns }, () => 0))
  for (const [x, y] of known) counts[rows - 1 - cell(y, ys, rows)]![cell(x, xs, columns)]!++
  const sign = (count: number): string => (count === 0 ? ' ' : count === 1 ? '·' : count < 5 ? '•' : '●')
  return counts.map((row) => `│${row.map(sign).join('').trimEnd()}`).concat(`└${'─'.repeat(columns)}`)
}
