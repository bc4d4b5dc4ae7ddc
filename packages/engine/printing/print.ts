/** What a value reads as where no format says otherwise. */
import { Exact, isPlainObject, isRows, Safe } from '../values/rows.ts'

/** A value that has no text of its own, such as a table. */
export class PrintError extends Error {
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

/** Integers as they are, doubles in shortest form, nothing for null, periods by their label, lists with commas. */
export function printText(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  if (typeof value === 'number') return Object.is(value, -0) ? '0' : String(value)
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (value instanceof Exact || value instanceof Safe) return value.toString()
  if (isRows(value))
    throw new PrintError('Rows cannot be printed.', 'Use {% table %}, or a filter such as first.')
  if (Array.isArray(value)) return value.map(printText).join(', ')
  if (isPlainObject(value) && typeof value.label === 'string' && 'start' in value) return value.label
  if (isPlainObject(value) && typeof value.summary === 'string') {
    throw new PrintError('An analysis cannot be printed whole.', 'Print its .summary or another field.')
  }
  throw new PrintError('This cannot be printed.', 'Print one of its fields.')
}
