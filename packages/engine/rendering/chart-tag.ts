/** Evaluates `{% chart %}`: reads its arguments and records the chart. A placeholder stands in the Markdown. */

import {
  CHART_TYPES,
  type Chart,
  type ChartType,
  chartPlaceholder,
  type Outcome,
  type Table,
} from '@assay/model/insight'
import type { MetricInfo } from '@assay/model/metric'
import type { Template } from '@assay/model/template'
import { isKnown } from '../charts/chart-values.ts'
import type { ChartOptions } from '../charts/points.ts'
import { makeChart } from '../charts/spec.ts'
import type { Tag } from '../language/interpreter.ts'
import { METRIC, type MetricOfRows, meaningOf } from '../metrics/meaning.ts'
import { plainLine } from '../printing/escape.ts'
import { suggest } from '../values/near.ts'
import { toNumeric } from '../values/numbers.ts'
import { rowsInfo, tableRows } from '../values/rows.ts'
import { type Row, ValueError } from '../values/value.ts'
import { type Meanings, opening } from '../verdicts/measure.ts'
import { optionsOf, rowsOf, standalone, text, texts, type Values } from './tag-values.ts'

/** The blocks of a template and their results. */
export interface Ran {
  template: Template
  blocks: ReadonlyMap<string, Table | Outcome>
  metricOf: (block: string) => MetricOfRows | null
}

/** Returns the meanings of the columns of rows, from the template and from the one metric that they come from. */
export function meaningsOf(rows: Row[], { template, metricOf }: Ran): Meanings {
  const { block } = rowsInfo(rows)
  return (block === null ? null : metricOf(block)?.meanings) ?? template.columns
}

export function chartTag(charts: Chart[], ran: Ran): Tag {
  return (statement, valueOf) => {
    const rows = rowsOf(valueOf(statement.expressions[0]!), 'chart')
    const values = optionsOf(statement, valueOf)
    const id = `chart-${charts.length + 1}`
    const options = chartOptions(values, rows, ran)
    charts.push(makeChart(id, byLabel(rows, options, ran), options, meaningsOf(rows, ran)))
    return standalone(chartPlaceholder(id))
  }
}

const metricsIn = ({ blocks }: Template): MetricInfo[] =>
  blocks.flatMap((block) => (block.kind === 'sql' ? (block.metrics ?? []).map(({ info }) => info) : []))

/**
 * Returns the rows of a block over several metrics with the label of each metric in place of its name in the column
 * `metric`, by which the chart has panels or series.
 */
function byLabel(rows: Row[], { by, series }: ChartOptions, { template }: Ran): Row[] {
  const names = [by, series].filter((name) => name === METRIC)
  if (names.length === 0) return rows
  const labels = new Map<unknown, string>(
    metricsIn(template).map(({ metric, label }) => [metric, opening(label)]),
  )
  return rows.map((row) => ({ ...row, [METRIC]: labels.get(row[METRIC]) ?? row[METRIC] }))
}

/** Returns the meaning of each metric's values, by its label in lower case. */
const measuresIn = (template: Template): Meanings =>
  new Map(metricsIn(template).map((info) => [opening(info.label).toLowerCase(), meaningOf(info)]))

function typeOf(values: Values): ChartType {
  const type = text(values, 'type') ?? 'line'
  const found = CHART_TYPES.find((known) => known === type)
  if (found) return found
  throw new ValueError(`There is no chart of type ${JSON.stringify(type)}.`, suggest(type, CHART_TYPES))
}

function chartOptions(values: Values, rows: Row[], ran: Ran): ChartOptions {
  const type = typeOf(values)
  const ahead = type === 'forecast'
  const x = text(values, 'x') ?? (ahead ? 'time' : null)
  const given = texts(values, 'y')
  const y = given.length === 0 && ahead ? ['value'] : given
  if (x === null) throw new ValueError('A chart needs x.', 'Write x: "column".')
  if (y.length === 0 && type !== 'histogram') throw new ValueError('A chart needs y.', 'Write y: "column".')
  if (y.length > 0 && type === 'histogram') {
    throw new ValueError('A histogram counts the rows by x.', 'Remove y.')
  }
  const series = text(values, 'series')
  const one = series !== null || !['line', 'bar', 'area', 'point'].includes(type)
  if (y.length > 1 && one) throw new ValueError('y may only name one column here.', 'Remove the others.')
  if (type === 'heatmap' && series === null) {
    throw new ValueError('A heatmap needs series, the column of its rows.', 'Write series: "column".')
  }
  const interval = type === 'interval'
  return {
    type,
    x,
    y,
    series,
    title: plainLine(text(values, 'title') ?? ''),
    by: text(values, 'by'),
    measures: text(values, 'by') === METRIC && y.join() === 'value' ? measuresIn(ran.template) : null,
    low: text(values, 'low') ?? (interval ? 'low' : null),
    high: text(values, 'high') ?? (interval ? 'high' : null),
    from: numberOf(values, 'from'),
    to: numberOf(values, 'to'),
    history: ahead ? historyOf(values, rows, { x, y: y[0]! }, ran) : null,
    events: eventRows(values, rows, { type, x }, ran),
    highlight: text(values, 'highlight'),
  }
}

/** Returns the given events, or else, for a chart over time, those of the one metric that the rows come from. */
function eventRows(
  values: Values,
  rows: Row[],
  { type, x }: { type: ChartType; x: string },
  { metricOf }: Ran,
): Row[] | null {
  if (isKnown(values.get('events'))) return rowsOf(values.get('events'), 'events')
  const { block } = rowsInfo(rows)
  if (block === null || x !== 'time' || !WITH_EVENTS.has(type)) return null
  const events = metricOf(block)?.events ?? []
  return events.length === 0 ? null : events.map(({ date, label }) => ({ date, label }))
}

const WITH_EVENTS = new Set<ChartType>(['line', 'bar', 'area', 'point'])

type History = NonNullable<ChartOptions['history']>

function numberOf(values: Values, name: string): number | null {
  const value = values.get(name) ?? null
  if (value === null) return null
  const found = toNumeric(value)
  if (found !== null) return Number(found)
  throw new ValueError(`${name} must be a number.`, `Write ${name}: X.before, or a number.`)
}

/** Returns the given rows, or else those from which the forecast was made. */
function historyOf(
  values: Values,
  rows: Row[],
  own: { x: string; y: string },
  { template, blocks }: Ran,
): History | null {
  const given = values.get('history') ?? null
  if (given !== null) {
    const history = rowsOf(given, 'history')
    const known = rowsInfo(history).columns.map(({ name }) => name)
    for (const name of Object.values(own)) {
      if (known.length > 0 && !known.includes(name)) {
        throw new ValueError(
          `history has no column ${JSON.stringify(name)}.`,
          'Name its columns as those of the forecast.',
        )
      }
    }
    return { rows: history, ...own }
  }
  const { block } = rowsInfo(rows)
  const analysis = template.blocks.find(({ name }) => name === block)
  if (analysis?.kind !== 'analysis' || analysis.method !== 'forecast') return null
  const { time, value } = analysis.options
  const table = blocks.get(analysis.of)
  if (typeof time !== 'string' || typeof value !== 'string' || !table || 'summary' in table) return null
  return { rows: tableRows(analysis.of, table), x: time, y: value }
}
