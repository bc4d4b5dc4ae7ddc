/** The text of a value that has no format. */
import { isRows } from '../values/rows.ts'
import { Exact, isPlainObject, Markdown, Rounded, ValueError } from '../values/value.ts'

const DIGITS = 6

/** A whole number as it is, any other double to six significant digits. No separators. */
export function printNumber(value: number): string {
  return fullNumber(Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)))
}

const fullNumber = (value: number): string => (Object.is(value, -0) ? '0' : String(value))

/** The same, but a double with all its digits: for names that must not become alike. */
export function printWhole(value: unknown): string {
  return typeof value === 'number' ? fullNumber(value) : printText(value)
}

/**
 * Numbers as printNumber has them, unless a filter rounded them; nothing for null, periods by their label, lists with commas.
 * Throws ValueError for a value that has no text of its own, such as a table.
 */
export function printText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'number') return printNumber(value)
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (value instanceof Exact || value instanceof Markdown || value instanceof Rounded) return value.toString()
  if (isRows(value)) {
    throw new ValueError('Rows cannot be printed.', 'Use {% table %}, or a filter such as first.')
  }
  if (Array.isArray(value)) return value.map(printText).join(', ')
  if (isPlainObject(value) && typeof value.label === 'string' && 'start' in value) return value.label
  if (isPlainObject(value) && typeof value.summary === 'string') {
    throw new ValueError('An analysis cannot be printed whole.', 'Print its .summary or another field.')
  }
  throw new ValueError('This cannot be printed.', 'Print one of its fields.')
}
