/** Reads the arguments of the tags of reports. */
import type { Expression } from '../language/expressions.ts'
import type { Statement } from '../language/statements.ts'
import { isRows } from '../values/rows.ts'
import { type Row, ValueError } from '../values/value.ts'

/** The options of a tag by name. */
export type Values = Map<string, unknown>

export function optionsOf({ named }: Statement, valueOf: (expression: Expression) => unknown): Values {
  return new Map(named.map(({ name, value }) => [name, valueOf(value)]))
}

export function rowsOf(value: unknown, tag: string): Row[] {
  if (isRows(value) || (Array.isArray(value) && value.length === 0)) return value
  throw new ValueError(`${tag} needs rows.`, 'Name an SQL block, or a list of an analysis such as X.points.')
}

export function text(values: Values, name: string): string | null {
  const value = values.get(name) ?? null
  if (value === null || typeof value === 'string') return value
  throw new ValueError(`${name} must be text.`, `Write ${name}: "...".`)
}

export function texts(values: Values, name: string): string[] {
  const value = values.get(name) ?? null
  const list = value === null ? [] : Array.isArray(value) ? value : [value]
  if (list.every((item) => typeof item === 'string')) return list
  throw new ValueError(`${name} must be a column or a list of columns.`, `Write ${name}: ["a", "b"].`)
}

/** The text before and after a block that stands apart. */
export const APART = '\n\n'
/** Sets a table or a chart between empty lines. */
export const standalone = (markdown: string): string => `${APART}${markdown}${APART}`
