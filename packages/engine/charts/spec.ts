/**
 * `{% chart %}`: from rows to a Chart. Its Vega-Lite specification holds the plotted values as {x, y, series}, so that every
 * other form (mermaid, text) is drawn from the same numbers. Dates are ISO text on a UTC scale: the drawing does not
 * depend on the machine's zone.
 */
import type { Chart, ChartType } from '@assay/model/insight'
import { printWhole } from '../printing/print.ts'
import { suggest } from '../values/near.ts'
import { toNumeric } from '../values/numbers.ts'
import { rowsInfo } from '../values/rows.ts'
import { type Row, ValueError } from '../values/value.ts'
import { type Meanings, NO_MEANINGS, titleOf } from '../verdicts/measure.ts'

export interface ChartOptions {
  type: ChartType
  x: string
  y: string[]
  series: string | null
  title: string
}

/** One plotted value. For histograms x and x2 are the edges of the bin. */
export interface Point {
  x: string | number | null
  y: number | null
  series?: string
  x2?: number
}

export type XKind = 'time' | 'number' | 'text'

/** The most values of a chart; a line below the chart counts the rest. */
export const MAX_POINTS = 5000

/** Axes and series are titled by what the template says of their columns. Throws ValueError if a column does not exist or is not numeric. */
export function makeChart(
  id: string,
  rows: Row[],
  options: ChartOptions,
  meanings: Meanings = NO_MEANINGS,
): Chart {
  const titled = (name: string): string => titleOf(meanings, name)
  const { columns, block } = rowsInfo(rows)
  const known = columns.map((column) => column.name)
  for (const name of [options.x, ...options.y, ...(options.series === null ? [] : [options.series])]) {
    if (known.length > 0 && !known.includes(name)) {
      throw new ValueError(`There is no column ${JSON.stringify(name)}.`, suggest(name, known))
    }
  }
  const type = columns.find((column) => column.name === options.x)?.type
  const kind: XKind =
    type === 'date' || type === 'timestamp'
      ? 'time'
      : type === 'integer' || type === 'number' || type === 'decimal'
        ? 'number'
        : 'text'
  const { points, left } =
    options.type === 'histogram' ? histogram(rows, options.x) : plotted(rows, options, kind, titled)
  const spec = specification(options, kind, points, left, titled)
  return { id, block: block ?? '', ...options, spec }
}

/** The values of a chart, as its specification holds them. */
export function chartPoints(chart: Chart): Point[] {
  return (chart.spec.data as { values?: Point[] } | undefined)?.values ?? []
}

export function chartXKind(chart: Chart): XKind {
  return (chart.spec.usermeta as { x?: XKind } | undefined)?.x ?? 'text'
}

/** The title of an axis, as the specification has it. */
export function axisTitle(chart: Chart, axis: 'x' | 'y'): string | null {
  const encoded = chart.spec.encoding as Partial<Record<'x' | 'y', { title?: string | null }>> | undefined
  return encoded?.[axis]?.title ?? null
}

/** The number of values that were left out. */
export function chartLeftOut(chart: Chart): number {
  return (chart.spec.usermeta as { left_out?: number } | undefined)?.left_out ?? 0
}

type Titled = (column: string) => string

function plotted(
  rows: Row[],
  options: ChartOptions,
  kind: XKind,
  titled: Titled,
): { points: Point[]; left: number } {
  const points: Point[] = []
  for (const row of rows) {
    const given = row[options.x] ?? null
    const x = given === null ? null : kind === 'number' ? number(given, options.x) : xText(given, kind)
    for (const name of options.y) {
      const value = row[name] ?? null
      const y = value === null ? null : finite(number(value, name))
      const series =
        options.series !== null ? printWhole(row[options.series]) : options.y.length > 1 ? titled(name) : null
      points.push(series === null ? { x, y } : { x, y, series })
    }
  }
  return { points: points.slice(0, MAX_POINTS), left: Math.max(0, points.length - MAX_POINTS) }
}

function number(value: unknown, column: string): number {
  const found = toNumeric(value)
  if (found !== null) return Number(found)
  throw new ValueError(
    `The column ${JSON.stringify(column)} does not hold numbers: ${JSON.stringify(value)}.`,
    'Choose another column, or cast it in SQL.',
  )
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)

function xText(value: unknown, kind: XKind): string {
  const text = printWhole(value)
  return kind === 'time' && text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text
}

/** At most 20 bins whose edges are round numbers (1, 2, 2.5 or 5 times a power of ten). */
function histogram(rows: Row[], column: string): { points: Point[]; left: number } {
  const values = rows
    .filter((row) => (row[column] ?? null) !== null)
    .map((row) => number(row[column], column))
    .filter(Number.isFinite)
  if (values.length === 0) return { points: [], left: 0 }
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const value of values) {
    low = Math.min(low, value)
    high = Math.max(high, value)
  }
  const step = roundStep(high / 20 - low / 20 || Math.abs(low) / 10)
  const first = Math.floor(low / step)
  const count = Math.max(1, Math.floor(high / step) - first + 1)
  const bins = Array.from({ length: count }, () => 0)
  for (const value of values) {
    const index = Math.min(count - 1, Math.max(0, Math.floor(value / step) - first))
    bins[index] = bins[index]! + 1
  }
  const edge = (index: number): number => Number(((first + index) * step).toPrecision(15))
  return { points: bins.map((y, index) => ({ x: edge(index), x2: edge(index + 1), y })), left: 0 }
}

function roundStep(least: number): number {
  if (least < 1e-290) return 1
  const power = 10 ** Math.floor(Math.log10(least))
  const step = [1, 2, 2.5, 5, 10].find((factor) => factor * power >= least * (1 - 1e-12)) ?? 10
  return step * power
}

/** Vega without a canvas assumes 8 pixels a letter, which is too much; this cuts labels at about 40 letters. */
const LABEL_LIMIT = 320

const MARKS: Record<ChartType, Record<string, unknown>> = {
  line: { type: 'line', interpolate: 'linear' },
  area: { type: 'area', opacity: 0.8, line: true },
  bar: { type: 'bar' },
  point: { type: 'point', filled: true },
  pie: { type: 'arc' },
  histogram: { type: 'bar' },
}

function specification(
  options: ChartOptions,
  kind: XKind,
  values: Point[],
  left: number,
  titled: Titled,
): Record<string, unknown> {
  const spec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    usermeta: { x: kind, left_out: left },
    ...(options.title === '' ? {} : { title: options.title }),
    width: 640,
    height: options.type === 'pie' ? 320 : 300,
    data: { values },
    mark: MARKS[options.type],
    encoding: encoding(options, kind, values, titled),
    config: { font: 'system-ui, sans-serif', view: { stroke: null }, legend: { labelLimit: LABEL_LIMIT } },
  }
  return spec
}

function encoding(
  options: ChartOptions,
  kind: XKind,
  values: Point[],
  titled: Titled,
): Record<string, unknown> {
  const x = titled(options.x)
  const series = new Set(values.flatMap((point) => (point.series === undefined ? [] : [point.series])))
  const hasSeries = series.size > 0
  const scheme = series.size > 10 ? { scale: { scheme: 'tableau20' } } : {}
  const color = hasSeries
    ? {
        color: {
          field: 'series',
          type: 'nominal',
          sort: null,
          title: options.series && titled(options.series),
          ...scheme,
        },
      }
    : {}
  const yTitle = options.y.length === 1 ? titled(options.y[0]!) : null
  if (options.type === 'pie') {
    return {
      theta: { field: 'y', type: 'quantitative', stack: true },
      color: { field: 'x', type: 'nominal', sort: null, title: x },
      order: { field: 'y', type: 'quantitative', sort: 'descending' },
    }
  }
  if (options.type === 'histogram') {
    return {
      x: { field: 'x', type: 'quantitative', title: x, bin: { binned: true } },
      x2: { field: 'x2' },
      y: { field: 'y', type: 'quantitative', title: 'rows' },
    }
  }
  const distinct = new Set(values.map((point) => point.x)).size
  const bars = options.type === 'bar' && distinct <= 40
  const grouped = bars && hasSeries ? { xOffset: { field: 'series', sort: null } } : {}
  return {
    x: { field: 'x', title: x, ...xScale(kind, bars, options.type, values) },
    y: {
      field: 'y',
      type: 'quantitative',
      title: yTitle,
      ...(options.type === 'line' || options.type === 'point' ? { scale: { zero: false } } : {}),
    },
    ...color,
    ...grouped,
  }
}

function xScale(kind: XKind, bars: boolean, type: ChartType, values: Point[]): Record<string, unknown> {
  if (kind === 'text' || bars) {
    const labels = [...new Set(values.map(({ x }) => String(x)))]
    const letters = labels.reduce((sum, label) => sum + label.length + 2, 0)
    return {
      type: 'ordinal',
      sort: null,
      axis: { labelAngle: letters <= 90 ? 0 : -40, labelLimit: LABEL_LIMIT },
    }
  }
  if (kind === 'time') return { type: 'temporal', scale: { type: 'utc' } }
  const axis = values.every(({ x }) => isYear(x)) ? { axis: { format: 'd' } } : {}
  return { type: 'quantitative', ...axis, ...(type === 'bar' ? {} : { scale: { zero: false } }) }
}

/** Whole numbers that look like years get no separators. */
function isYear(x: Point['x']): boolean {
  return typeof x === 'number' && Number.isInteger(x) && x >= 1000 && x < 3000
}
