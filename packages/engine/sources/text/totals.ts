/**
 * Finds rows of totals below a table in text, which every sum would count again. If the last row looks like one, the
 * run ends with the two lines to choose from, unless the source says what the row is.
 */
import type { Dialect } from '@assay/model/dialect'
import type { SourceError } from '../source.ts'
import { brief, unreadable } from './misplaced.ts'
import { readNumber } from './readings-in-words.ts'
import { isBlank, type Marks, recordsOf, type TextRecord } from './records.ts'
import { plainKindOf, readingOf } from './values.ts'

/** Matches the whole text of the cell that names such a row. */
const LABEL =
  /^(?:(?:grand|sub|overall)[ -]?)?(?:totals?|sum)$|^(?:gesamt|gesamtsumme|gesamtergebnis|endsumme|summe|zwischensumme|insgesamt|total g[eé]n[eé]ral|somme|suma|totale|totaal|totaux|totales)$/i
/** The fewest rows above that distinguish their sum from an ordinary value. */
const ROWS_LEAST = 3
const NEAR = 1e-9
/** The number of records at the end of a text that are examined. */
const LAST = 5

interface Table {
  text: string
  whole: boolean
  tail: string | null
}

/**
 * Returns the end of the text with the rows of totals if the source leaves them out, else an empty text. Throws
 * SourceError if the source does not say what they are.
 */
export function totalsBelow(
  { text, whole, tail }: Table,
  { marks, rows }: { marks: Marks; rows: readonly TextRecord[] },
  { totals }: Dialect,
  shown: string,
): string {
  const end = whole ? text : tail
  if (totals === 'keep' || end === null || rows.length < ROWS_LEAST) return ''
  const { records, broken } = recordsOf(end, marks, true, Number.POSITIVE_INFINITY)
  if (broken) return ''
  const filled = records.filter((record) => !isBlank(record))
  const below = whole ? filled.filter(({ line }) => line >= rows[0]!.line) : filled
  if (below.length <= ROWS_LEAST) return ''
  const width = rows[0]!.values.length
  const found: TextRecord[] = []
  for (const record of below.slice(-LAST).toReversed()) {
    const above = below.slice(0, below.indexOf(record))
    const compared = whole ? above : [...rows, ...above]
    if (record.values.length !== width || !isTotal(record, compared, whole)) break
    found.unshift(record)
  }
  const [first] = found
  if (!first) return ''
  if (totals === undefined) throw refusal(first, whole, shown)
  return end.slice(Math.max(...['\n', '\r'].map((mark) => end.lastIndexOf(mark, first.starts[0]! - 1))) + 1)
}

function refusal({ line, values }: TextRecord, whole: boolean, shown: string): SourceError {
  const row = brief(values.join(' | '))
  return unreadable(
    shown,
    `${whole ? `line ${line}` : 'its last row'} seems to hold the totals of the rows above it: ${row}. Write "totals: skip" in the source to leave it out, or "totals: keep" if it is a row of the table.`,
  )
}

/** Tells whether a row holds totals. `whole`: whether `above` holds all rows above it. */
function isTotal({ values }: TextRecord, above: readonly TextRecord[], whole: boolean): boolean {
  const numbers = values.flatMap((value, at) =>
    plainKindOf(value) === 'number' && holds(above, at, 'number') ? [at] : [],
  )
  if (numbers.length === 0) return false
  const label = values.findIndex((value) => LABEL.test(value.trim().replace(/:$/, '')))
  if (label >= 0) {
    const text = values[label]!.trim().toLowerCase()
    return !above.some((row) => row.values[label]?.trim().toLowerCase() === text)
  }
  // A row without a label holds totals if it has sums alone, below rows that name their subject.
  const named = values.some((value, at) => value.trim() === '' && above.every((row) => filledAt(row, at)))
  return whole && named && above.length >= ROWS_LEAST && numbers.every((at) => isSum(values[at]!, above, at))
}

const filledAt = ({ values }: TextRecord, at: number): boolean => (values[at] ?? '').trim() !== ''

/** Tells whether the values of a column are of one kind, except those that are missing. */
function holds(rows: readonly TextRecord[], at: number, kind: string): boolean {
  const kinds = rows.map(({ values }) => plainKindOf(values[at] ?? '')).filter((one) => one !== 'empty')
  return kinds.length >= ROWS_LEAST && kinds.every((one) => one === kind)
}

function isSum(total: string, above: readonly TextRecord[], at: number): boolean {
  return (['.', ','] as const).some((decimal) => {
    const sum = above.reduce((all, { values }) => {
      const value = (values[at] ?? '').trim()
      return all + (plainKindOf(value) === 'empty' ? 0 : amountOf(value, decimal))
    }, 0)
    const told = amountOf(total.trim(), decimal)
    return told !== 0 && Math.abs(sum - told) <= NEAR * Math.abs(told)
  })
}

/**
 * Returns the amount of a text. A share stays in percent, because its sum is compared with other shares in percent.
 */
function amountOf(text: string, decimal: '.' | ','): number {
  const reading = readingOf(text)
  const written = reading.kind === 'number' ? reading.written : undefined
  const value = readNumber(written?.bare ?? text, decimal)
  return written?.minus ? -value : value
}
