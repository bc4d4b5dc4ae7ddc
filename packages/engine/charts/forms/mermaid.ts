/**
 * Writes charts as mermaid fences, which GitHub, GitLab, Obsidian and Notion draw. `xychart-beta` is the name that old
 * and new versions know. The result is null if mermaid cannot draw the chart well: it has no legend, no missing
 * values, no exponents, no scatter, and its categories overlap beyond two dozen.
 */

import type { Chart } from '@assay/model/insight'
import { plainLine } from '../../printing/escape.ts'
import { chartLabels, chartPoints, chartXKind, type Point } from '../chart-values.ts'
import { shortX, titleText } from '../labels.ts'
import { liesOnSide } from '../marks/scales.ts'

import { seriesOf } from './numbers.ts'

const MOST_CATEGORIES = 24
const DRAWN: readonly Chart['type'][] = ['line', 'area', 'bar', 'histogram', 'pie', 'funnel']
const MOST_SLICES = 12

export function mermaidChart(chart: Chart): string | null {
  const points = chartPoints(chart)
  if (points.length === 0 || points.some((point) => point.y === null || point.x === null)) return null
  if (seriesOf(points).length > 1 || chart.by || !DRAWN.includes(chart.type)) return null
  const lines = chart.type === 'pie' ? pie(chart, points) : xychart(chart, points)
  return lines && ['```mermaid', ...lines, '```'].join('\n')
}

/**
 * Returns a text that is safe as a label. Quotes end a label, "%%{" would begin a directive, and "#" or ";" an entity.
 * A longer text would extend beyond the page.
 */
function label(text: string, most = 40): string {
  const clean = plainLine(text)
    .replace(/["`]/g, "'")
    .replace(/%+/g, '%')
    .replace(/[#;{}\\<>]/g, ' ')
  const letters = Array.from(clean.replace(/ +/g, ' ').trim())
  const shown = letters.length <= most ? letters.join('') : `${letters.slice(0, most - 1).join('')}…`
  return `"${shown || ' '}"`
}

/** Returns a number as mermaid reads it, a count with all its digits; null if it would need an exponent. */
function plainNumber(value: number): string | null {
  const text = String(Number.isInteger(value) ? value : Number(value.toPrecision(6)))
  return text.includes('e') ? null : text
}

function plainNumbers(points: Point[]): string[] | null {
  const texts = points.map((point) => plainNumber(point.y!))
  return texts.every((text) => text !== null) ? texts : null
}

function pie(chart: Chart, points: Point[]): string[] | null {
  const values = plainNumbers(points)
  if (!values || points.length > MOST_SLICES || points.some((point) => point.y! <= 0)) return null
  const title = chart.title === '' ? '' : ` title ${label(chart.title, 120).slice(1, -1)}`
  return [
    `pie showData${title}`,
    ...points.map((point, index) => `    ${label(shortX(point.x))} : ${values[index]}`),
  ]
}

function xychart(chart: Chart, points: Point[]): string[] | null {
  const values = plainNumbers(points)
  if (!values || points.length > MOST_CATEGORIES) return null
  const bars = chart.type === 'bar' || chart.type === 'histogram' || chart.type === 'funnel'
  const name = (point: Point): string =>
    chart.type === 'histogram' ? `${shortX(point.x)} to ${shortX(point.x2 ?? 0)}` : shortX(point.x)
  const range = axisRange(
    points.map((point) => point.y!),
    bars || chart.type === 'area',
  )
  const { x, y } = chartLabels(chart)
  // Long names overlap below bars, but have room beside horizontal bars.
  const onSide = chart.type === 'funnel' || liesOnSide(chart.type, chartXKind(chart), points)
  return [
    `xychart-beta${onSide ? ' horizontal' : ''}`,
    ...(chart.title === '' ? [] : [`    title ${label(chart.title, 120)}`]),
    `    x-axis ${label(x ? titleText(x) : chart.x)} [${points.map((point) => label(name(point))).join(', ')}]`,
    `    y-axis ${label(y ? titleText(y) : (chart.y[0] ?? ''))}${range}`,
    `    ${bars ? 'bar' : 'line'} [${values.join(', ')}]`,
  ]
}

/**
 * Returns the range of the axis. Mermaid starts its axis at the least value, but bars need zero, and a single value
 * needs some room.
 */
function axisRange(values: number[], fromZero: boolean): string {
  let low = Math.min(...values, ...(fromZero ? [0] : []))
  let high = Math.max(...values, ...(fromZero ? [0] : []))
  if (low === high) {
    low -= Math.abs(low) || 1
    high += Math.abs(high) || 1
  } else if (!fromZero) return ''
  const [from, to] = [plainNumber(low), plainNumber(high)]
  return from === null || to === null ? '' : ` ${from} --> ${to}`
}
