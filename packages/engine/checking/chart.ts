/**
 * Judges `{% chart %}`. Each type must have its arguments, and its columns must exist and hold numbers if numbers are
 * drawn.
 */
import { CHART_TYPES, type ChartType } from '@assay/model/insight'
import type { Template } from '@assay/model/template'
import type { Statement } from '../language/statements.ts'
import { suggest } from '../values/near.ts'
import { argument, positionOf, requireRows, textOf, textsOf } from './arguments.ts'
import { type Judge, judgeColumn } from './expressions.ts'
import { NUMERIC, type Static, withArticle } from './static-values.ts'

interface Around {
  judge: Judge
  /** The values of the named arguments. */
  named: ReadonlyMap<string, Static>
  template: Template
}

/** The types that accept an argument. All types accept the other arguments. */
const TAKEN_BY: Record<string, readonly ChartType[]> = {
  series: ['line', 'bar', 'area', 'point', 'interval', 'heatmap'],
  low: ['interval', 'forecast'],
  high: ['interval', 'forecast'],
  from: ['waterfall'],
  to: ['waterfall'],
  history: ['forecast'],
  events: ['line', 'bar', 'area', 'point', 'forecast'],
  by: ['line', 'bar', 'area', 'point', 'forecast'],
  highlight: ['line', 'bar', 'area', 'point'],
}
const SEVERAL: readonly string[] = ['line', 'bar', 'area', 'point']

export function judgeChart(statement: Statement, rows: Static, around: Around): void {
  const { judge } = around
  requireRows(statement, rows, judge)
  const type = textOf(statement, 'type') ?? 'line'
  const report: Report = (code, name, message, remedy) =>
    judge.report(code, positionOf(statement, name).offset, message, remedy)
  const known = (CHART_TYPES as readonly string[]).includes(type)
  if (!known) {
    const message = `There is no chart of type ${JSON.stringify(type)}.`
    report('bad_value', 'type', message, suggest(type, CHART_TYPES))
  }
  judgeArguments(statement, type, known, report)
  judgeColumns(statement, type, rows, judge)
  for (const name of ['history', 'events']) {
    const given = around.named.get(name)
    if (given?.kind !== 'scalar') continue
    const message = `${name} needs rows, not ${withArticle(given.type)}.`
    report('wrong_type', name, message, 'Name an SQL block, or a list of an analysis such as X.points.')
  }
  judgeEvents(statement, around)
  for (const name of ['from', 'to']) {
    const given = around.named.get(name)
    if (given?.kind !== 'scalar' || given.type === 'other' || NUMERIC.has(given.type)) continue
    report(
      'wrong_type',
      name,
      `${name} is ${withArticle(given.type)}, not a number.`,
      'Write X.before or X.after.',
    )
  }
}

function judgeEvents(statement: Statement, { judge, named }: Around): void {
  const rows = named.get('events')
  if (rows?.kind !== 'rows' || rows.columns === null) return
  const x = textOf(statement, 'x')
  const places = [...(x === null ? [] : [x]), 'date', 'time', 'at']
  if (places.some((name) => rows.columns!.has(name))) return
  const message = `${rows.name} has no column for the position of an event.`
  const names = places[0] === 'date' ? '"date"' : `${JSON.stringify(places[0])} or "date"`
  const remedy = `Give it a column ${names}, and a "label".`
  judge.report('unknown_column', positionOf(statement, 'events').offset, message, remedy)
}

type Report = (code: string, name: string, message: string, remedy: string) => void

function judgeArguments(statement: Statement, type: string, known: boolean, report: Report): void {
  const has = (name: string): boolean => argument(statement, name) !== undefined
  const ahead = type === 'forecast'
  if (!has('x') && !ahead) report('missing_argument', 'x', 'A chart needs x.', 'Write x: "COLUMN".')
  const histogram = type === 'histogram'
  if (!has('y') && !histogram && !ahead) {
    report('missing_argument', 'y', 'A chart needs y.', 'Write y: "COLUMN".')
  }
  if (has('y') && histogram) report('bad_value', 'y', 'A histogram counts the rows by x.', 'Remove y.')
  if (textsOf(statement, 'y').length > 1 && (has('series') || !SEVERAL.includes(type))) {
    report('bad_value', 'y', 'y may only name one column here.', 'Remove the others.')
  }
  if (type === 'heatmap' && !has('series')) {
    const message = 'A heatmap needs series, the column of its rows.'
    report('missing_argument', 'series', message, 'Write series: "COLUMN".')
  }
  if (SEVERAL.includes(type)) judgeHighlight(statement, report)
  for (const [name, types] of Object.entries(TAKEN_BY)) {
    if (!known || !has(name) || types.includes(type as ChartType)) continue
    const message = `A chart of type ${JSON.stringify(type)} takes no ${name}.`
    report('bad_value', name, message, `Remove it, or choose one of ${types.join(', ')}.`)
  }
}

/** Judges the highlight, which is one of several columns of y, or a value of the series. */
function judgeHighlight(statement: Statement, report: Report): void {
  const wanted = textOf(statement, 'highlight')
  const columns = textsOf(statement, 'y').map(({ text }) => text)
  if (wanted === null || argument(statement, 'series') || columns.includes(wanted)) return
  if (columns.length > 1) {
    const message = `y has no column ${JSON.stringify(wanted)} to highlight.`
    report('unknown_column', 'highlight', message, suggest(wanted, columns))
    return
  }
  report('bad_value', 'highlight', 'One series has nothing to stand out from.', 'Remove it, or add series.')
}

function judgeColumns(statement: Statement, type: string, rows: Static, judge: Judge): void {
  const numeric = ['y', 'low', 'high', ...(type === 'histogram' ? ['x'] : [])]
  for (const name of ['y', 'low', 'high', 'x', 'series', 'by']) {
    for (const { text, offset } of textsOf(statement, name)) {
      if (numeric.includes(name)) numberColumn(rows, text, offset, judge)
      else judgeColumn(rows, text, offset, judge)
    }
  }
  const assumed = type === 'interval' ? ['low', 'high'] : type === 'forecast' ? ['low_95', 'high_95'] : []
  for (const [index, column] of assumed.entries()) {
    const name = index === 0 ? 'low' : 'high'
    if (!argument(statement, name)) judgeColumn(rows, column, statement.begin, judge)
  }
}

function numberColumn(rows: Static, column: string, offset: number, judge: Judge): void {
  const type = judgeColumn(rows, column, offset, judge)
  if (type === null || NUMERIC.has(type)) return
  const message = `${JSON.stringify(column)} is ${withArticle(type)}, not a number.`
  judge.report('wrong_type', offset, message, 'Choose another column, or cast it in SQL.')
}
