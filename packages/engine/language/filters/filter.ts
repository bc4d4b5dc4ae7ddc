/** The type of filters, and how they read their value and their arguments. */
import { printText } from '../../printing/print.ts'
import { type Numeric, toNumeric } from '../../values/numbers.ts'
import { toCell, ValueError } from '../../values/value.ts'
import type { Budget } from '../budget.ts'

export interface FilterContext {
  /** The arguments that are given as NAME: VALUE. */
  named: ReadonlyMap<string, unknown>
  /** The budget for intermediate results, before the size of the result is known. */
  budget: Budget
}

/** Applies a filter to the value on its left and the arguments after the colon. Throws ValueError. Undefined means null. */
export type Filter = (value: unknown, args: readonly unknown[], context: FilterContext) => unknown

/** Returns a value for a sentence, cut to 60 characters. */
export function shown(value: unknown): string {
  const text = JSON.stringify(toCell(value)) ?? 'nothing'
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

export function numeric(value: unknown, filter: string): Numeric {
  const number = toNumeric(value)
  if (number !== null) return number
  throw new ValueError(`${filter} needs a number, not ${shown(value)}.`, 'Choose another value.')
}

/** Returns an argument that is a number, or `otherwise` if it is not given. */
export function count(value: unknown, filter: string, otherwise: number): number {
  return value === undefined || value === null ? otherwise : Number(numeric(value, filter))
}

/** Returns the text of a value. The items of a list are joined without commas. */
export function textOf(value: unknown): string {
  return Array.isArray(value) ? value.map(textOf).join('') : printText(value)
}

/** Returns the items of a list. Any other value is a list of itself, and null is an empty list. */
export function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value
  return value === null || value === undefined ? [] : [value]
}
