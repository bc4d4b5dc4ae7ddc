/**
 * Refuses a table in text whose values or names would silently be read in the wrong place. The cases are: several rows
 * of names; the names of a second table below; a first row with another separator; and rows with one value more than
 * there are columns. The engine ignores the last value of such a row if it is empty, and all values before it would be
 * shifted.
 */
import type { Dialect } from '@assay/model/dialect'
import { SourceError } from '../source.ts'
import { isBlank, type TextRecord } from './records.ts'
import { plainKindOf } from './values.ts'

export function unreadable(shown: string, reason: string): SourceError {
  return new SourceError(`${JSON.stringify(shown)} cannot be read: ${reason}`)
}

export const brief = (text: string): string =>
  JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text)

const textOf = ({ values }: TextRecord): string => brief(values.join(' | '))

const SKIP = 'write "bad_rows: skip" in the source to leave such rows out and count them.'

/**
 * Throws SourceError for wider rows. A declared row of names allows each row to end with a separator. Returns true if
 * there are such rows and they are to be left out.
 */
export function refuseWiderRows(
  rows: readonly TextRecord[],
  width: number,
  declared: Dialect,
  shown: string,
): boolean {
  const wider = rows.filter(({ values }) => values.length === width + 1 && values.at(-1) === '')
  const [first] = wider
  if (!first) return false
  if (wider.length < rows.length) {
    if (declared.bad_rows === 'skip') return true
    throw unreadable(
      shown,
      `line ${first.line} has ${width + 1} values where ${width} are expected, and the last is empty: ${textOf(first)}. Correct it, or ${SKIP}`,
    )
  }
  if (declared.header === undefined) throw unreadable(shown, eachRowWider(width))
  return false
}

/** Throws SourceError if no row has as many values as there are names, so that the row of names is at fault. */
export function refuseOtherWidth(
  names: TextRecord,
  rows: readonly TextRecord[],
  declared: Dialect,
  shown: string,
): void {
  const named = names.values.length
  const width = rows[0]?.values.length ?? named
  // A single row may be the wrong one itself.
  if (declared.header !== undefined || width === named || rows.length < 2) return
  if (rows.some(({ values }) => values.length !== width)) return
  if (width === named + 1 && rows.some(({ values }) => values.at(-1) === '')) return
  const slashed = rows.some(({ values }) => values.slice(0, -1).some((value) => value.endsWith('\\')))
    ? ' A backslash before a separator means nothing here: put such a value between quotes.'
    : ''
  const columns = `${named} ${named === 1 ? 'column' : 'columns'}`
  throw unreadable(
    shown,
    `line ${names.line} names ${columns}, and each row has ${width} ${width === 1 ? 'value' : 'values'}: ${textOf(names)}.${slashed} Correct the row of names, or write "skip: ${names.line}, header: false" in the source to call the columns column0, column1, and so on.`,
  )
}

/** Checks the same for a text whose rows were counted. `begins`: the first value of a wider row. */
export function refuseWiderCounts(
  { all, wider, begins }: { all: number; wider: number; begins: string },
  width: number,
  declared: Dialect,
  shown: string,
): void {
  if (wider === 0) return
  if (wider < all)
    throw unreadable(
      shown,
      `${wider} of its ${all} rows have ${width + 1} values where ${width} are expected, and the last is empty; one begins with ${brief(begins)}. Correct them, or ${SKIP}`,
    )
  if (declared.header === undefined) throw unreadable(shown, eachRowWider(width))
}

const eachRowWider = (width: number): string =>
  `each row has ${width + 1} values, of which the last is empty, and ${width} ${width === 1 ? 'column is' : 'columns are'} named. Write "header: true" in the source if the names belong to the first ${width}, else correct the row of names.`

interface Found {
  records: readonly TextRecord[]
  /** The index of the record that names the columns, or of the first row. */
  from: number
  header: { is: boolean }
}

/** The fewest columns of numbers, dates or times that distinguish a row of names from a row of data. */
const TYPED_LEAST = 2
/** The number of neighbouring rows that show what a column holds. */
const BESIDE = 50

/**
 * Throws SourceError if other rows hold the names. `header: true` says that only the first row names the columns, and
 * `false` that none does.
 */
export function refuseNamesElsewhere(
  { records, from, header }: Found,
  declared: Dialect,
  shown: string,
): void {
  if (declared.header !== undefined) return
  const first = records[from]!
  if (!header.is) {
    const above = records.slice(0, from).findLast((record) => !isBlank(record))
    if (above && declared.skip === undefined && isDivided(above, first.values.length))
      throw unreadable(
        shown,
        `line ${above.line} seems to name the columns, with another separator than the lines below: ${textOf(above)}. Correct it, or write "header: false" in the source if it is a title.`,
      )
    return
  }
  const rows = records.slice(from + 1)
  const filled = rows.filter((record) => !isBlank(record))
  const missing = new Set(declared.missing)
  const [second, ...others] = filled
  if (second && looksLikeNames(second, others, missing))
    throw unreadable(
      shown,
      `line ${second.line} holds texts above numbers or dates, like a second row of names: ${textOf(second)}. Write "skip: ${second.line - 1}" in the source to take the names from it, or "header: true" if it is a row of the table.`,
    )
  for (const [index, record] of rows.entries()) {
    // A row of another width is reported when it is loaded.
    if (isBlank(record) || record.values.length !== first.values.length) continue
    const repeats =
      record.values.length > 1 &&
      record.values.every((value, at) => value.trim() === first.values[at]?.trim())
    const below = index > 0 && isBlank(rows[index - 1]!) && filled[0] !== record
    const above = below ? filled.slice(0, Math.min(BESIDE, filled.indexOf(record))) : []
    if (repeats || (below && looksLikeNames(record, above, missing)))
      throw unreadable(
        shown,
        `line ${record.line} ${repeats ? 'repeats the names of the columns' : 'holds texts below numbers or dates, like the names of a second table'}: ${textOf(record)}. Give each table a file of its own, or write "header: true" in the source if it is a row of the table.`,
      )
  }
}

/** Tells whether a row has no number, date or time in columns that otherwise hold only those. */
function looksLikeNames(
  { values }: TextRecord,
  others: readonly TextRecord[],
  missing: ReadonlySet<string>,
): boolean {
  const kinds = values.map((value) => (missing.has(value.trim()) ? 'empty' : plainKindOf(value)))
  if (kinds.some((kind) => kind !== 'text' && kind !== 'empty')) return false
  const typed = kinds.flatMap((kind, at) => {
    const below = others
      .slice(0, BESIDE)
      .map((one) => plainKindOf(one.values[at] ?? ''))
      .filter((one) => one !== 'empty')
    const [only] = below
    return only !== undefined && only !== 'text' && below.length > 1 && below.every((one) => one === only)
      ? [kind]
      : []
  })
  return typed.filter((kind) => kind === 'text').length >= TYPED_LEAST
}

/** Tells whether another separator divides a line of one text into as many values as there are columns. */
function isDivided({ values }: TextRecord, width: number): boolean {
  const [text = '', ...rest] = values.filter((value) => value.trim() !== '')
  return (
    rest.length === 0 && [' ', ',', ';', '\t', '|'].some((mark) => text.trim().split(mark).length === width)
  )
}
