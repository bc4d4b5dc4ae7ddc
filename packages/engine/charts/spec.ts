/** Makes a Chart with its Vega-Lite specification from the rows of `{% chart %}`. */

import type { Chart } from '@assay/model/insight'
import { suggest } from '../values/near.ts'
import { rowsInfo } from '../values/rows.ts'
import { type Row, ValueError } from '../values/value.ts'
import { type Meanings, measureOf, NO_MEANINGS } from '../verdicts/measure.ts'
import { isKnown, type Kept, type Label, type Point, type XKind } from './chart-values.ts'
import { labelOf } from './labels.ts'
import { layersOf } from './marks/layers.ts'
import { LOOK, WIDE } from './marks/look.ts'
import {
  type ChartOptions,
  eventsOf,
  forecastPoints,
  histogram,
  type Plotted,
  plotted,
  waterfallPoints,
} from './points.ts'

/**
 * Makes the chart. Axes and series are titled by what the template says of their columns. Throws ValueError if a
 * column does not exist or is not numeric.
 */
export function makeChart(
  id: string,
  rows: Row[],
  options: ChartOptions,
  meanings: Meanings = NO_MEANINGS,
): Chart {
  const { columns, block } = rowsInfo(rows)
  requireColumns(
    options,
    columns.map((column) => column.name),
  )
  const type = columns.find((column) => column.name === options.x)?.type
  const kind: XKind =
    type === 'date' || type === 'timestamp'
      ? 'time'
      : type === 'integer' || type === 'number' || type === 'decimal'
        ? 'number'
        : 'text'
  const { points, left } = pointsOf(rows, options, kind, meanings)
  const kept: Kept = {
    x: kind,
    left_out: left,
    labels: {
      x: labelOf(meanings, options.x),
      y: yLabel(options, meanings),
      ...(options.series === null ? {} : { series: labelOf(meanings, options.series) }),
      ...(options.by ? { by: labelOf(meanings, options.by) } : {}),
    },
  }
  if (options.by && options.measures) kept.panels = panelLabels(points, options.measures)
  const target = targetOf(options, meanings)
  if (target !== null) kept.target = target
  const events = eventsOf(options, kind, points)
  if (events.length > 0) kept.events = events
  const { x, y, series, title, by } = options
  const spec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    usermeta: kept,
    ...(title === '' ? {} : { title }),
    data: { values: points },
    ...layersOf({
      ...options,
      highlight: highlightOf(options, meanings),
      points,
      kept,
      good: goodOf(options, meanings),
      width: WIDE,
    }),
    config: LOOK,
  }
  return { id, type: options.type, title, block: block ?? '', x, y, series, ...(by ? { by } : {}), spec }
}

function requireColumns(options: ChartOptions, known: string[]): void {
  const { x, y, series, by, low, high } = options
  for (const name of [x, ...y, series, by, low, high]) {
    if (isKnown(name) && known.length > 0 && !known.includes(name)) {
      throw new ValueError(`There is no column ${JSON.stringify(name)}.`, suggest(name, known))
    }
  }
}

/** Returns the name of the series to highlight. Several columns of y are series by their labels. */
function highlightOf({ y, highlight }: ChartOptions, meanings: Meanings): string | null {
  if (!highlight) return null
  return y.length > 1 ? labelOf(meanings, highlight).title : highlight
}

function pointsOf(rows: Row[], options: ChartOptions, kind: XKind, meanings: Meanings): Plotted {
  if (options.type === 'histogram') return histogram(rows, options.x)
  if (options.type === 'waterfall') return waterfallPoints(rows, options)
  if (options.type === 'forecast') return forecastPoints(rows, options, kind)
  return plotted(rows, options, kind, (name) => labelOf(meanings, name).title)
}

/** Returns the label of y. Several columns share an axis, which has the unit and the format that all of them have. */
function yLabel({ type, y, history }: ChartOptions, meanings: Meanings): Kept['labels']['y'] {
  if (type === 'histogram') return { title: 'Rows', unit: null, fmt: null }
  if (type === 'forecast' && history) return { ...labelOf(meanings, history.y) }
  const all = y.map((name) => labelOf(meanings, name))
  const [first] = all
  if (all.length === 1) return first!
  const same = (name: 'unit' | 'fmt'): string | null =>
    all.every((one) => one[name] === first![name]) ? first![name] : null
  return { title: '', unit: same('unit'), fmt: same('fmt') }
}

function panelLabels(points: Point[], measures: Meanings): Record<string, Label> {
  const names = new Set(points.flatMap(({ by = '' }) => (measures.has(by.toLowerCase()) ? [by] : [])))
  return Object.fromEntries([...names].map((name) => [name, labelOf(measures, name)]))
}

const measured = ({ type, y, history }: ChartOptions): string | null =>
  type === 'forecast' && history ? history.y : y.length === 1 ? y[0]! : null

function targetOf(options: ChartOptions, meanings: Meanings): number | null {
  const name = measured(options)
  const drawn = ['line', 'bar', 'area', 'point', 'forecast', 'interval'].includes(options.type)
  return name === null || !drawn ? null : measureOf(meanings, name).target
}

function goodOf(options: ChartOptions, meanings: Meanings): 'up' | 'down' | 'none' {
  const name = measured(options)
  return name === null ? 'none' : measureOf(meanings, name).good
}
