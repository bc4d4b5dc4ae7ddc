/**
 * Where a number of the text comes from, by the marks that were recorded while the text was written
 * (packages/model/insights/provenance.ts). Pure.
 */
import type { Mark, MarkedTable, Origin } from '@assay/model/provenance'
import type { Insight } from './insights.ts'
import { textOf } from './values.ts'

type Marked = Pick<Insight, 'provenance' | 'tables' | 'analyses' | 'lineage'>

/** A number of the text: its place in the Markdown and, in a marked table, its cell, counted from 0. */
export interface Spot {
  start: number
  end: number
  line?: number
  column?: number
}

export interface Source {
  /** Null for a variable or a field of the run. */
  block: string | null
  /** The place in words: "late_share, row 4". */
  where: string
  /** The row of a table, from 0. */
  row: number | null
  /** Unrounded; null for several cells and for rows that were not kept. */
  value: string | null
}

/** `says`: what is known of a number without sources. */
export interface Traced {
  says: string | null
  sources: Source[]
  /** How many more sources there are. */
  more: number
  /** The filters that the value went through. */
  through: string[]
  fact: string | null
}

const SAYS = {
  absent: 'This insight is from before places were recorded. Run its job again to see them.',
  template: 'It is written in the template, or counts lines of the text; it was not read from data.',
  computed: 'The template computes it from values of its own.',
  model: 'A language model wrote this text, so no place is recorded.',
  lineage: 'It tells how this was computed.',
  unrecorded: 'The text prints more values than are recorded. The blocks below have them.',
}

/** Marks are in the order of the text. */
export function marksIn(marks: readonly Mark[], { start, end }: Spot): Mark[] {
  let low = 0
  let high = marks.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (marks[middle]!.end <= start) low = middle + 1
    else high = middle
  }
  const found: Mark[] = []
  for (; low < marks.length && marks[low]!.start < end; low++) found.push(marks[low]!)
  return found
}

/** The row of the block that a line of the table shows; undefined behind the last. */
function rowAt(runs: MarkedTable['rows'], line: number): number | undefined {
  let left = line
  for (const [first, last] of runs) {
    if (first + left <= last) return first + left
    left -= last - first + 1
  }
  return undefined
}

/** One entry for each value that the number was printed from; mostly one. */
export function traceSpot(insight: Marked, spot: Spot): Traced[] {
  if (!insight.provenance) return [told('absent')]
  const marks = marksIn(insight.provenance, spot)
  return marks.length === 0 ? [told('template')] : marks.map((mark) => traceMark(insight, mark, spot))
}

function told(what: keyof typeof SAYS): Traced {
  return { says: SAYS[what], sources: [], more: 0, through: [], fact: null }
}

function traceMark(insight: Marked, mark: Mark, { line, column }: Spot): Traced {
  if (mark.by) return told(mark.by)
  const { from, more = 0, through = [], fact = null, table } = mark
  const rest = { says: from.length === 0 ? SAYS.computed : null, more, fact }
  const shown = table && column !== undefined ? table.columns[column] : undefined
  const row = table && line !== undefined ? rowAt(table.rows, line) : undefined
  if (!shown || row === undefined)
    return { ...rest, through, sources: from.map((one) => sourceOf(insight, one)) }
  const cell = { ...from[0], row, column: shown.name }
  const fmt = shown.fmt === null ? [] : [`fmt: ${JSON.stringify(shown.fmt)}`]
  return { ...rest, through: fmt, sources: [sourceOf(insight, cell)] }
}

function sourceOf(insight: Marked, origin: Origin): Source {
  const value = valueAt(insight, origin)
  return {
    block: origin.block ?? null,
    where: whereText(origin),
    row: origin.field === undefined ? (origin.row ?? null) : null,
    value: value === undefined || value === null ? null : textOf(value),
  }
}

function whereText(origin: Origin): string {
  const { field, column, variable, run } = origin
  if (variable !== undefined) return `the variable ${variable}`
  if (run !== undefined) return `${run} of the run`
  const place = [column, rowsText(origin)].filter(Boolean).join(', ')
  if (field === undefined) return place
  if (place !== '') return `${place} of ${field}`
  const counted = /^(?:(.+)\.)?size$/.exec(field)
  return counted ? `the count of ${counted[1] ?? 'rows'}` : field
}

/** Rows are counted from 1, as people do. */
function rowsText({ row, rows, count = 0 }: Origin): string {
  const shown = (value: number): string => value.toLocaleString('en')
  if (row !== undefined) return `row ${shown(row + 1)}`
  if (rows === undefined) return ''
  const [first, last] = rows
  const range = `rows ${shown(first + 1)} to ${shown(last + 1)}`
  return count === last - first + 1 ? range : `${shown(count)} of ${range}`
}

/** Undefined for several cells, and for what the insight does not have. */
function valueAt({ tables, analyses, lineage }: Marked, origin: Origin): unknown {
  const { block = '', field, row, rows, column, variable, run } = origin
  if (variable !== undefined) return labelled(pathIn(lineage.variables, variable))
  if (run !== undefined) return pathIn(lineage, run)
  if (rows !== undefined) return undefined
  const table = Object.hasOwn(tables, block) ? tables[block] : undefined
  if (!table) {
    const held = field === undefined ? undefined : pathIn(analyses[block], field)
    if (row === undefined) return Array.isArray(held) ? undefined : held
    return column === undefined ? undefined : pathIn((held as unknown[] | undefined)?.[row], column)
  }
  if (field === 'size') return table.total
  if (row === undefined || column === undefined) return undefined
  const names = table.columns.map(({ name }) => name)
  return pathIn(Object.fromEntries(names.map((name, index) => [name, table.rows[row]?.[index]])), column)
}

/** A period is printed by its label. */
function labelled(value: unknown): unknown {
  return (value as { label?: unknown } | null | undefined)?.label ?? value
}

/** The value behind names with dots; a name may have dots itself. */
function pathIn(value: unknown, names: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, names)) return (value as Record<string, unknown>)[names]
  const [first, ...rest] = names.split('.')
  return rest.length > 0 && Object.hasOwn(value, first!)
    ? pathIn((value as Record<string, unknown>)[first!], rest.join('.'))
    : undefined
}
