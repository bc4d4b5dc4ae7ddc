/**
 * Finds where a number of the text comes from, by the marks that were recorded while the text was written
 * (packages/model/insights/provenance.ts). Pure.
 */
import { marksIn, rowAt, valueAt, whereText } from '@assay/model/places'
import type { Mark, Origin } from '@assay/model/provenance'
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
  /** The name of the block; null for a variable or a field of the run. */
  block: string | null
  /** The place in words: "late_share, row 4". */
  where: string
  /** The row of a table, from 0. */
  row: number | null
  /** The unrounded value; null for several cells and for rows that were not kept. */
  value: string | null
}

/** The origin of a number. `says` describes a number without sources. */
export interface Traced {
  says: string | null
  sources: Source[]
  /** The number of further sources. */
  more: number
  /** The filters that the value went through. */
  through: string[]
  fact: string | null
}

const SAYS = {
  absent: 'This insight has no record of places. Run its job again to see them.',
  template: 'The template holds this number, or it counts lines of the text. It was not read from data.',
  computed: 'The template computes it from values of its own.',
  model: 'A language model wrote this text, so no place is recorded.',
  lineage: 'It tells how this was computed.',
  unrecorded: 'The text prints more values than are recorded. The blocks below have them.',
}

/** Returns an entry for each value that the number was printed from; mostly one. */
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
