/**
 * Finds the shape of a table in text by its beginning: separator, quote, lines above the names, and whether a row
 * names the columns. It tries each separator and chooses the one that divides the rows evenly into meaningful values
 * (the measure of van den Burg, Nazabal and Sutton, "Wrangling messy CSV files by detecting row and type patterns",
 * 2019, made simple).
 */
import type { Dialect, Sureness } from '@assay/model/dialect'
import { brief, refuseNamesElsewhere, refuseOtherWidth, refuseWiderRows, unreadable } from './misplaced.ts'
import { isBlank, type Marks, recordsOf, type TextRecord } from './records.ts'
import { totalsBelow } from './totals.ts'
import { kindOf, MISSING_MARKS, readingOf } from './values.ts'

export interface Shape {
  marks: Marks
  names: string[]
  /** The names that the row of names holds more than once, by the names that their columns got. */
  repeated: ReadonlyMap<string, string>
  header: boolean
  /** The number of records above the first row of data, with blank ones. The engine skips them. */
  above: number
  /** The number of lines above the row of names, or above the first row. */
  skipped: number
  /** True if all rows were read. */
  whole: boolean
  /** True if some rows have an empty value too many and are to be left out. */
  wider: boolean
  /** The end of the text with the rows of totals that are left out; empty if there are none. */
  totals: string
  /** The rows at the beginning of a wide table, all as wide as its row of names; null for any other. */
  beginning: string[][] | null
  sure: { separator: Sureness; quote: Sureness; header: Sureness }
}

const USUAL = [',', ';', '\t', '|']
const SELDOM = ['~', '^', '§', '¦', '\u001f', '\u0001']
/**
 * These separators also occur within values, so they count only if they divide every row into the same number of
 * values.
 */
const WITHIN_VALUES = [' ', ':', '#', '=']
const WITHIN_LEAST = 3
/** The most lines above the names that are skipped without an option of the template. */
const TITLES_MOST = 20
const JUDGED = 200
/**
 * The number of columns above which reading a sample by the engine costs more than keeping the rows that were read
 * here.
 */
const WIDE = 1_000

export interface Head {
  /** The text without a byte order mark. */
  text: string
  whole: boolean
  /** The lines at the end of a text that was not read whole; null if they are not known. */
  tail: string | null
}

/**
 * Finds the shape. `tabs`: whether the name of the file says that tabs separate. Throws SourceError if the shape
 * cannot be found.
 */
export function shapeOf(head: Head, declared: Dialect, tabs: boolean, shown: string): Shape {
  const chosen = marksOf(head, declared, tabs)
  const { records, all, sound, brokenAt } = recordsOf(head.text, chosen.marks, head.whole)
  if (records.every(isBlank)) throw unreadable(shown, 'it is empty, and its first row must name the columns.')
  const from = firstRow(records, declared, shown)
  const first = records[from]!
  // The engine would divide such a row in another way.
  if (sound !== null && sound <= from) {
    const begin = records[sound]!.starts[0]!
    const row = head.text.slice(begin).split(/[\r\n]/, 1)[0]!
    throw unreadable(
      shown,
      `line ${records[sound]!.line}, column ${brokenAt! - begin + 1}: a quote is not closed, or text follows a closing one: ${brief(row)}. Correct it, or write the "quote" of the source.`,
    )
  }
  const rows = records.slice(from + 1).filter((record) => !isBlank(record))
  const header = headerOf(first, rows, declared, shown)
  refuseNamesElsewhere({ records, from, header }, declared, shown)
  if (header.is) refuseOtherWidth(first, rows, declared, shown)
  const wider = refuseWiderRows(rows, first.values.length, declared, shown)
  const totals = totalsBelow(head, { marks: chosen.marks, rows }, declared, shown)
  const names = header.is ? namesOf(first.values) : first.values.map((_, index) => `column${index}`)
  return {
    marks: chosen.marks,
    names,
    repeated: header.is ? repeatedOf(first.values, names) : new Map(),
    header: header.is,
    above: from + (header.is ? 1 : 0),
    skipped: first.line - 1,
    whole: head.whole && all,
    wider,
    totals,
    beginning:
      names.length > WIDE && sound === null && totals === '' ? beginningOf(rows, names.length) : null,
    sure: { separator: chosen.separator, quote: chosen.quote, header: header.sure },
  }
}

function beginningOf(rows: readonly TextRecord[], width: number): string[][] | null {
  return rows.every(({ values }) => values.length === width) ? rows.map(({ values }) => values) : null
}

interface Chosen {
  marks: Marks
  separator: Sureness
  quote: Sureness
}

function marksOf(head: Head, declared: Dialect, tabs: boolean): Chosen {
  const quote = quoteOf(head, declared)
  const asked = declared.separator
  const found = asked ?? (tabs ? '\t' : null)
  const before =
    quote.is === '' ? [] : USUAL.map((one) => `${one} `).filter((one) => head.text.includes(one + quote.is))
  const candidates = found === null ? [[...before, ...USUAL], SELDOM, WITHIN_VALUES] : [[found]]
  const plain = { separator: found ?? ',', quote: quote.is, escape: quote.is }
  let chosen: Scored = { marks: plain, score: 0, broken: true }
  let sure: Sureness = 'likely'
  for (const separators of candidates) {
    const [best, second] = separators
      .map((separator) => scoreOf(head, { separator, quote: quote.is, escape: quote.is }, separators))
      .toSorted((a, b) => b.score - a.score)
    if (best!.score === 0 || (chosen.score > 0 && best!.broken)) continue
    chosen = best!
    sure = (second?.score ?? 0) > best!.score / 2 ? 'likely' : 'settled'
    // A separator that splits quoted values is taken only if no other fits better.
    if (!chosen.broken) break
  }
  return { marks: chosen.marks, separator: asked === undefined ? sure : 'declared', quote: quote.sure }
}

/**
 * Finds the quote. Apostrophes are quotes only if values between them hold a separator, or if most values stand
 * between them.
 */
function quoteOf({ text }: Head, declared: Dialect): { is: string; sure: Sureness } {
  if (declared.quote !== undefined) return { is: declared.quote, sure: 'declared' }
  const double = /(?:^|[,;\t|\n\r])"/.test(text)
  if (double) return { is: '"', sure: 'settled' }
  const single = text.match(/(?:^|[,;\t|\n\r])'[^'\n]*'(?=[,;\t|\n\r]|$)/g) ?? []
  const values = text.match(/[,;\t|\n]/g)?.length ?? 0
  const holds = single.some((value) => /[,;\t|]/.test(value.slice(2, -1)))
  if (single.length > 1 && (holds || single.length > values / 4)) return { is: "'", sure: 'likely' }
  return { is: '"', sure: 'likely' }
}

interface Scored {
  marks: Marks
  score: number
  /** True if a quote is not closed, or text follows a closing one. */
  broken: boolean
}

function scoreOf(head: Head, given: Marks, others: readonly string[]): Scored {
  const marks = escapedBy(head, given)
  const { records, broken } = recordsOf(head.text, marks, head.whole, JUDGED)
  const rows = records.filter((record) => !isBlank(record))
  const widths = new Map<number, number>()
  for (const { values } of rows) widths.set(values.length, (widths.get(values.length) ?? 0) + 1)
  let [width, times] = [1, 0]
  for (const [one, n] of widths) if (n > times || (n === times && one > width)) [width, times] = [one, n]
  if (width === 1) {
    // A single column is always even. If other rows are divided, the header may be wider than broken rows.
    return { marks, score: 0, broken }
  }
  const even = times / rows.length
  if (
    WITHIN_VALUES.includes(marks.separator) &&
    others.length > 1 &&
    (even < 1 || width < WITHIN_LEAST || broken)
  )
    return { marks, score: 0, broken }
  const values = rows.filter((row) => row.values.length === width).flatMap((row) => row.values)
  const known = values.filter((value) => means(value.trim(), marks, others)).length
  return { marks, score: even * even * (known / values.length) * (1 - 1 / width), broken }
}

/** Chooses a backslash as the escape if doubled quotes leave the text broken and a backslash does not. */
function escapedBy(head: Head, marks: Marks): Marks {
  if (marks.quote === '' || !head.text.includes(`\\${marks.quote}`)) return marks
  const slashed = { ...marks, escape: '\\' }
  const broken = recordsOf(head.text, marks, head.whole, JUDGED).broken
  return broken && !recordsOf(head.text, slashed, head.whole, JUDGED).broken ? slashed : marks
}

function means(value: string, { separator }: Marks, others: readonly string[]): boolean {
  if (value === '' || MISSING_MARKS.includes(value)) return true
  if (readingOf(value).kind !== 'text') return true
  return others.every((other) => other === separator || !value.includes(other))
}

/** Returns the index of the record that names the columns, or of the first row. */
function firstRow(records: readonly TextRecord[], { skip }: Dialect, shown: string): number {
  if (skip !== undefined) {
    const at = records.findIndex((record) => record.line > skip && !isBlank(record))
    if (at < 0) throw unreadable(shown, `it has no row after the ${skip} lines of "skip".`)
    return at
  }
  const begin = records.findIndex((record) => !isBlank(record))
  let at = begin
  for (let titles = 0; titles <= TITLES_MOST; titles += 1) {
    const next = records.findIndex((record, index) => index > at && !isBlank(record))
    if (next < 0 || !isTitle(records[at]!, records, next)) return at
    at = next
  }
  return begin
}

/** Tells whether a line has one text, above rows of several values of one width. */
function isTitle(record: TextRecord, records: readonly TextRecord[], next: number): boolean {
  const filled = record.values.filter((value) => value.trim() !== '')
  if (filled.length !== 1 || record.values[0]!.trim() === '') return false
  if (readingOf(filled[0]!.trim()).kind !== 'text') return false
  const below = records.slice(next).filter((one) => !isBlank(one))
  const width = below.at(-1)!.values.length
  if (width < 2 || below.length < 2) return false
  const even = below.filter(({ values }) => values.length === width).length
  return (record.values.length === 1 || record.values.length === width) && even >= below.length / 2
}

const YEARS = { from: 1800, to: 2200 }

function headerOf(
  { values }: TextRecord,
  rows: readonly TextRecord[],
  { header }: Dialect,
  shown: string,
): { is: boolean; sure: Sureness } {
  if (header !== undefined) return { is: header, sure: 'declared' }
  const kinds = values.map((value) => kindOf(value))
  if (!kinds.includes('text') && !kinds.includes('amount'))
    throw unreadable(
      shown,
      'its first row must name the columns, and holds numbers only. If it holds values write "header: false" in the source, if these are names "header: true".',
    )
  const alike = kinds.flatMap((kind, index) => {
    if (kind === 'text' || kind === 'empty' || rows.length === 0) return []
    const below = rows.slice(0, JUDGED).map((row) => kindOf(row.values[index] ?? ''))
    return below.every((one) => one === kind || one === 'empty') && below.includes(kind)
      ? [values[index]!]
      : []
  })
  const numbers = alike.map(Number)
  const years = numbers.every((one) => Number.isInteger(one) && one >= YEARS.from && one <= YEARS.to)
  const counted = numbers.length > 1 && numbers.every((one, at) => at === 0 || one === numbers[at - 1]! + 1)
  if (alike.length > 0 && !years && !counted) return { is: false, sure: 'likely' }
  return { is: true, sure: alike.length > 0 || rows.length === 0 ? 'likely' : 'settled' }
}

function repeatedOf(values: readonly string[], names: readonly string[]): Map<string, string> {
  const changed = values.flatMap((value, index): [string, string][] => {
    const name = value.trim()
    return name === '' || name === names[index] ? [] : [[names[index]!, name]]
  })
  return new Map(changed)
}

/** Returns the names without blanks around them. An empty one becomes `columnN`, and a repeated one gets a number. */
export function namesOf(values: readonly string[]): string[] {
  const taken = new Set<string>()
  const times = new Map<string, number>()
  return values.map((value, index) => {
    const name = value.trim() === '' ? `column${index}` : value.trim()
    let free = name
    while (taken.has(free.toLowerCase())) {
      const n = (times.get(name.toLowerCase()) ?? 0) + 1
      times.set(name.toLowerCase(), n)
      free = `${name}_${n}`
    }
    taken.add(free.toLowerCase())
    return free
  })
}
