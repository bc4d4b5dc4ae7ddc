/**
 * Prints `{% table %}`: rows as a GitHub table. Cells are padded so that the raw text is readable in a terminal or an
 * e-mail. Numbers are aligned to the right. A line under the table says how many rows are not shown.
 */
import type { ColumnType } from '@assay/model/insight'
import { suggest } from '../values/near.ts'
import { rowsInfo } from '../values/rows.ts'
import { isPlainObject, Markdown, type Row, toCell, ValueError } from '../values/value.ts'
import { type Meanings, NO_MEANINGS, titleOf } from '../verdicts/measure.ts'
import { escapeMarkdown } from './escape.ts'
import { formatCount, formatValue } from './format.ts'
import { printNumber, printText } from './print.ts'

export type Align = 'left' | 'right' | 'center'

export interface TableOptions {
  limit?: number
  /** The columns to show, in order, with their headings. */
  columns?: { name: string; heading: string }[]
  /** The format codes by column; under "" a code for all numeric columns. */
  fmt?: Record<string, string>
  /** The alignments by column; under "" one for all columns. */
  align?: Record<string, Align>
}

const DEFAULT_TABLE_LIMIT = 20
const WIDEST_PADDED = 60
const NUMERIC: readonly ColumnType[] = ['integer', 'number', 'decimal']

interface Shown {
  name: string
  heading: string
  align: Align
  fmt: string | null
}

/** A table as Markdown. */
export interface PrintedTable {
  table: string
  /** The shown columns and rows. */
  columns: { name: string; fmt: string | null }[]
  rows: Row[]
  /** Says how many rows there are if not all are shown; else "". */
  note: string
  /** The count of all rows in the words of the note. */
  total: string
}

/**
 * Returns the table. Headings and formats are those of the options, or else of the meanings. Throws ValueError for
 * columns and format codes that do not exist.
 */
export function markdownTable(
  rows: Row[],
  options: TableOptions = {},
  meanings: Meanings = NO_MEANINGS,
): PrintedTable {
  const { columns, total } = rowsInfo(rows)
  const limit = options.limit ?? DEFAULT_TABLE_LIMIT
  const known = columns.map((column) => column.name)
  for (const name of [...Object.keys(options.fmt ?? {}), ...Object.keys(options.align ?? {})]) {
    if (name !== '' && known.length > 0) requireColumn(name, known)
  }
  const wanted = options.columns ?? known.map((name) => ({ name, heading: titleOf(meanings, name) }))
  if (total === 0 || wanted.length === 0)
    return { table: '*No rows.*', columns: [], rows: [], note: '', total: '' }
  const shown = wanted.map(({ name, heading }): Shown => {
    requireColumn(name, known)
    const numeric = NUMERIC.includes(columns.find((column) => column.name === name)!.type)
    const align = ownOf(options.align, name) ?? options.align?.[''] ?? (numeric ? 'right' : 'left')
    const fmt =
      ownOf(options.fmt, name) ??
      (numeric ? options.fmt?.[''] : undefined) ??
      meanings.get(name.toLowerCase())?.fmt ??
      null
    return { name, heading, align, fmt }
  })
  const top = rows.slice(0, limit)
  const body = top.map((row) => shown.map((column) => cellText(row[column.name], column.fmt)))
  const table = layOut(
    shown.map(({ heading }) => escapeMarkdown(heading)),
    body,
    shown.map(({ align }) => align),
  )
  const all = formatCount(total)
  const note = total > top.length ? `*${formatCount(top.length)} of ${all} rows.*` : ''
  return { table, columns: shown.map(({ name, fmt }) => ({ name, fmt })), rows: top, note, total: all }
}

/** Returns what the options say of a column, which may have a name such as `__proto__`. */
function ownOf<T>(options: Record<string, T> | undefined, name: string): T | undefined {
  return options && Object.hasOwn(options, name) ? options[name] : undefined
}

function requireColumn(name: string, known: string[]): void {
  if (!known.includes(name)) {
    throw new ValueError(`There is no column ${JSON.stringify(name)}.`, suggest(name, known))
  }
}

function cellText(value: unknown, fmt: string | null): string {
  if (value instanceof Markdown) return value.toString()
  if (fmt !== null) return escapeMarkdown(formatValue(toCell(value), fmt))
  const cell = toCell(value)
  const nested = typeof cell === 'object' && cell !== null
  return escapeMarkdown(nested ? (selection(value) ?? JSON.stringify(cell, shortNumber)) : printText(value))
}

/**
 * Returns values of columns, such as the `where` of a cause: "country DE, channel paid"; the whole is "all". Null for
 * deeper values.
 */
function selection(value: unknown): string | null {
  if (!isPlainObject(value)) return null
  const entries = Object.entries(value)
  if (entries.some(([, one]) => typeof one === 'object' && one !== null)) return null
  return entries.length === 0
    ? 'all'
    : entries.map(([name, one]) => `${name} ${one === null ? '(none)' : printText(one)}`).join(', ')
}

const shortNumber = (_key: string, value: unknown): unknown =>
  typeof value === 'number' ? Number(printNumber(value)) : value

/** Lays out the table. Cells must be escaped already. */
export function layOut(headings: string[], rows: string[][], aligns: Align[]): string {
  const widths = headings.map((heading, index) => {
    const cells = [heading, ...rows.map((row) => row[index]!)]
    return Math.min(WIDEST_PADDED, Math.max(3, ...cells.map(textWidth)))
  })
  const line = (cells: string[]): string =>
    `| ${cells.map((cell, index) => pad(cell, widths[index]!, aligns[index]!)).join(' | ')} |`
  const rule = widths.map((width, index) => {
    const align = aligns[index]!
    if (align === 'left') return '-'.repeat(width)
    return align === 'right' ? `${'-'.repeat(width - 1)}:` : `:${'-'.repeat(width - 2)}:`
  })
  return [line(headings), `| ${rule.join(' | ')} |`, ...rows.map(line)].join('\n')
}

function pad(cell: string, width: number, align: Align): string {
  const missing = Math.max(0, width - textWidth(cell))
  if (align === 'right') return ' '.repeat(missing) + cell
  if (align === 'left') return cell + ' '.repeat(missing)
  const before = Math.floor(missing / 2)
  return ' '.repeat(before) + cell + ' '.repeat(missing - before)
}

/**
 * Returns the columns that a text takes in a terminal: two for East Asian wide letters and emoji, none for combining
 * marks.
 */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const letter of text) {
    if (/\p{M}|\u200d/u.test(letter)) continue
    const wide =
      /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
    width += wide.test(letter) ? 2 : 1
  }
  return width
}
