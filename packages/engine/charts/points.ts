/**
 * Makes the plotted values of a chart, as its specification holds them: {x, y, series, by} and the fields that its
 * type adds. Every form (drawing, mermaid, text, tooltip) is made from these. Dates are ISO text on a UTC scale, so
 * that the drawing does not depend on the machine's zone.
 */
import type { ChartType } from '@assay/model/insight'
import { plainLine } from '../printing/escape.ts'
import { printText, printWhole } from '../printing/print.ts'
import { toNumeric } from '../values/numbers.ts'
import { isPlainObject, type Row, ValueError } from '../values/value.ts'
import type { Meanings } from '../verdicts/measure.ts'
import { type ChartEvent, isKnown, type Point, type XKind } from './chart-values.ts'

export interface ChartOptions {
  type: ChartType
  x: string
  y: string[]
  series: string | null
  title: string
  /** The column with one panel for each value. */
  by?: string | null
  /** The measure of each panel, by its name, if the panels are of several metrics. */
  measures?: Meanings | null
  /** The columns of an interval. */
  low?: string | null
  high?: string | null
  /** The totals around the steps of a waterfall. */
  from?: number | null
  to?: number | null
  /** The values that a forecast continues: rows, and the columns of their times and values. */
  history?: { rows: Row[]; x: string; y: string } | null
  /** The events: rows with the column x, or "date", and "label". */
  events?: Row[] | null
  /** The series that the chart is about. It has the accent, and the others are grey. */
  highlight?: string | null
}

/** The most values of a chart; a line below the chart counts the rest. */
export const MAX_POINTS = 5000
/** The most panels of a chart with `by`. */
const MAX_PANELS = 12

export interface Plotted {
  points: Point[]
  left: number
}

/** Prints a value for drawings, because no form of a chart shows line breaks and invisible characters. */
const nameOf = (value: unknown): string => plainLine(printWhole(value))

/** Plots the rows as they are: a value for each row and column of y. */
export function plotted(
  rows: Row[],
  options: ChartOptions,
  kind: XKind,
  titled: (column: string) => string,
): Plotted {
  const points: Point[] = []
  for (const row of rows) {
    for (const name of options.y) {
      const point: Point = { x: xOf(row, options.x, kind), y: valueOf(row, name) }
      if (options.series !== null) point.series = nameOf(row[options.series])
      else if (options.y.length > 1) point.series = titled(name)
      if (options.by) point.by = nameOf(row[options.by])
      if (options.low) point.low = valueOf(row, options.low)
      if (options.high) point.high = valueOf(row, options.high)
      points.push(point)
    }
  }
  return cut(points)
}

function cut(points: Point[]): Plotted {
  const panels = new Set([...new Set(points.map(({ by }) => by))].slice(0, MAX_PANELS))
  const kept = points.filter(({ by }) => panels.has(by)).slice(0, MAX_POINTS)
  return { points: kept, left: points.length - kept.length }
}

/** Returns the value of a column; null if it is missing or infinite. */
function valueOf(row: Row, column: string): number | null {
  const value = row[column] ?? null
  if (value === null) return null
  const found = number(value, column)
  return Number.isFinite(found) ? found : null
}

function number(value: unknown, column: string): number {
  const found = toNumeric(value)
  if (found !== null) return Number(found)
  throw new ValueError(
    `The column ${JSON.stringify(column)} does not hold numbers: ${JSON.stringify(value)}.`,
    'Choose another column, or cast it in SQL.',
  )
}

function xOf(row: Row, column: string, kind: XKind): Point['x'] {
  const value = row[column] ?? null
  if (value === null) return null
  if (kind === 'number') return number(value, column)
  const text = isPlainObject(value) && !('label' in value) ? combination(value) : nameOf(value)
  return kind === 'time' && text.includes('T') && !text.endsWith('Z') ? `${text}Z` : text
}

/** Returns the attributes of a cause, such as "Germany, paid search". */
function combination(where: Row): string {
  return plainLine(Object.values(where).map(printText).join(', '))
}

/** Returns the values that are forecast with their bands, after the end of the known values. */
export function forecastPoints(rows: Row[], options: ChartOptions, kind: XKind): Plotted {
  const [y] = options.y
  const ahead = rows.map((row): Point => {
    const point: Point = { x: xOf(row, options.x, kind), y: valueOf(row, y!), part: 'ahead' }
    if (options.by) point.by = nameOf(row[options.by])
    point.low = valueOf(row, options.low ?? 'low_95')
    point.high = valueOf(row, options.high ?? 'high_95')
    if ('low_80' in row && 'high_80' in row) {
      point.low_80 = valueOf(row, 'low_80')
      point.high_80 = valueOf(row, 'high_80')
    }
    return point
  })
  const panels = [...new Set(ahead.map(({ by }) => by))]
  return cut(
    panels.flatMap((panel) => {
      const own = ahead.filter(({ by }) => by === panel)
      const known = knownOf(options, kind, panel, own)
      const last = known.findLast((point) => point.y !== null)
      const joint = last
        ? [{ ...last, part: 'joint' as const, low: last.y, high: last.y, low_80: last.y, high_80: last.y }]
        : []
      return [...known, ...joint, ...own]
    }),
  )
}

/** Returns the history that is shown: five times as long as the forecast, and at least 36 values. */
function knownOf(
  { history, by }: ChartOptions,
  kind: XKind,
  panel: string | undefined,
  ahead: Point[],
): Point[] {
  if (!history) return []
  const first = String(ahead[0]?.x ?? '')
  const known = history.rows
    .filter((row) => !by || !(by in row) || nameOf(row[by]) === panel)
    .map(
      (row): Point => ({
        x: xOf(row, history.x, kind),
        y: valueOf(row, history.y),
        part: 'history',
        ...(panel === undefined ? {} : { by: panel }),
      }),
    )
    .filter(({ x }) => x !== null && (kind === 'number' ? Number(x) < Number(first) : String(x) < first))
  const ordered = known.toSorted((a, b) => (a.x! < b.x! ? -1 : a.x! > b.x! ? 1 : 0))
  return ordered.slice(-Math.max(36, 5 * ahead.length))
}

/** Tells whether zero belongs to a chart of intervals: they hold it, or it is within twice their span. */
export function zeroIsNear(edges: readonly number[]): boolean {
  const least = edges.reduce((low, edge) => Math.min(low, edge), Number.POSITIVE_INFINITY)
  const most = edges.reduce((high, edge) => Math.max(high, edge), Number.NEGATIVE_INFINITY)
  return least * most <= 0 || Math.min(Math.abs(least), Math.abs(most)) <= 2 * (most - least)
}

/** Returns the steps from one total to the other. The remainder is "Everything else". */
export function waterfallPoints(rows: Row[], options: ChartOptions): Plotted {
  const from = options.from ?? 0
  const points: Point[] = []
  let level = from
  const step = (x: Point['x'], change: number, rest: boolean): void => {
    const part = rest ? 'rest' : change < 0 ? 'down' : 'up'
    points.push({ x, y: change, low: level, high: level + change, part })
    level += change
  }
  if (isKnown(options.from)) points.push({ x: 'Before', y: from, low: from, high: from, part: 'total' })
  for (const row of rows) {
    const change = valueOf(row, options.y[0]!)
    if (change !== null) step(xOf(row, options.x, 'text'), change, false)
  }
  const to = options.to ?? level
  if (Math.abs(to - level) > 1e-9 * Math.max(Math.abs(to), Math.abs(from), 1e-300))
    step('Everything else', to - level, true)
  points.push({ x: !isKnown(options.from) ? 'Total' : 'After', y: to, low: to, high: to, part: 'total' })
  return { points: points.slice(0, MAX_POINTS), left: Math.max(0, points.length - MAX_POINTS) }
}

/** Makes at most 20 bins whose edges are round numbers (1, 2, 2.5 or 5 times a power of ten). */
export function histogram(rows: Row[], column: string): Plotted {
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

/** Returns the events within the values, each with its name. Throws ValueError if an event has no place. */
export function eventsOf(options: ChartOptions, kind: XKind, points: Point[]): ChartEvent[] {
  const rows = options.events ?? []
  const known = points.flatMap(({ x }) => (x === null ? [] : [x]))
  const found = rows.map((row): ChartEvent => {
    const column = [options.x, 'date', 'time', 'at'].find((name) => (row[name] ?? null) !== null)
    if (column === undefined) {
      throw new ValueError(
        'An event needs a position on the x axis.',
        `Give it a column ${JSON.stringify(options.x)} or "date", and a "label".`,
      )
    }
    const x = xOf(row, column, kind)!
    const label = row.label ?? row.name ?? null
    return { x, label: label === null ? '' : plainLine(printText(label)) }
  })
  if (kind === 'text') return found.filter(({ x }) => known.includes(x)).slice(0, MAX_EVENTS)
  const [low, high] = [known.reduce(least, known[0]!), known.reduce(most, known[0]!)]
  return found.filter(({ x }) => x >= low && x <= high).slice(0, MAX_EVENTS)
}

const MAX_EVENTS = 12
const least = (a: string | number, b: string | number): string | number => (b < a ? b : a)
const most = (a: string | number, b: string | number): string | number => (b > a ? b : a)
