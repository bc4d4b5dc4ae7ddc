/** Prints values without a format. */
import { isRows } from '../values/rows.ts'
import { Exact, isPlainObject, Markdown, Rounded, ValueError } from '../values/value.ts'

const DIGITS = 6

/** Prints a whole number as it is, and any other double to six significant digits. It adds no separators. */
export function printNumber(value: number): string {
  return fullNumber(Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)))
}

const fullNumber = (value: number): string => (Object.is(value, -0) ? '0' : String(value))

/** Prints a value with all digits of a double, for names that must stay distinct. */
export function printWhole(value: unknown): string {
  return typeof value === 'number' ? fullNumber(value) : printText(value)
}

/**
 * Prints a value. Numbers are as printNumber gives them, unless a filter rounded them; null is nothing, periods are
 * their label, lists have commas. Throws ValueError for a value that has no text of its own, such as a table.
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
