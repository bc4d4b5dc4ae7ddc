/**
 * Makes a rule for one reader: it fills in the reader's attributes, each with the type of its column. No database
 * converts a value, because databases disagree: MySQL reads 'abc' as 0. A comparison with null is unknown and lets no
 * row through, as in SQL.
 */

import type { Column } from '@assay/model/insight'
import type { Reader, RowRule, RuleNode, RuleValue } from '@assay/model/reader'
import { SqlTextFault } from '../language/sql-tokens.ts'
import { suggestAmong } from '../values/near.ts'
import { comparisonsIn } from './rule.ts'

/**
 * The class of a column. `number`: exact, an integer or a decimal. `double`, `single`: binary, of 64 and of 32 bits,
 * in which a value such as 0.1 is another one. `any`: the database does not tell the type before the values, so each
 * value is compared by its own.
 */
export type ColumnClass = 'text' | NumberClass | 'boolean' | 'any' | 'other'
type NumberClass = 'number' | 'double' | 'single'

/** Values of one type, which are compared in it. Numbers are digits, with or without a point. */
export type Values =
  | { type: 'text' | NumberClass; values: readonly string[] }
  | { type: 'boolean'; values: readonly boolean[] }

export type Condition =
  | { kind: 'and' | 'or'; parts: Condition[] }
  | { kind: 'not'; of: Condition }
  | { kind: 'is_null'; column: string; not: boolean }
  | ({ kind: 'among'; column: string } & Values)

/** An attribute is missing or does not fit its column. The message names it and holds no value. */
export class UnfitReader extends Error {}

const NUMBER = /^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/

type Typed = { type: 'text' | 'number'; value: string } | { type: 'boolean'; value: boolean }

function typed(value: string | number | boolean): Typed {
  if (typeof value === 'boolean') return { type: 'boolean', value }
  return typeof value === 'string' ? { type: 'text', value } : { type: 'number', value: String(value) }
}

const isNumber = (wanted: ColumnClass): wanted is NumberClass =>
  wanted === 'number' || wanted === 'double' || wanted === 'single'

/** Returns the value in the type of the column if it is the same value there, else null. */
function fitted(given: Typed, wanted: ColumnClass): Typed | null {
  if (given.type === 'number' && !NUMBER.test(given.value)) return null
  if (given.type === wanted || wanted === 'any') return given
  if (given.type === 'number' && isNumber(wanted)) return given
  const text = String(given.value)
  switch (wanted) {
    case 'text':
      return given.type === 'number' && /^-?\d+$/.test(text) ? { type: 'text', value: text } : null
    case 'number':
    case 'double':
    case 'single':
      return given.type === 'text' && NUMBER.test(text) ? { type: 'number', value: text } : null
    case 'boolean':
      return text === 'true' || text === 'false' ? { type: 'boolean', value: text === 'true' } : null
    default:
      return null
  }
}

/** The words for each class in faults. */
const WORDS: Record<ColumnClass, string> = {
  text: 'a text',
  number: 'a number',
  double: 'a number',
  single: 'a number',
  boolean: 'true or false',
  any: 'of any type',
  other: 'neither a text, a number nor true or false',
}

/** Checks that the values in the rule itself fit the columns. Throws SqlTextFault. `classOf`: null for a missing column. */
export function vetRule(
  rule: RowRule,
  columns: readonly string[],
  classOf: (column: string) => ColumnClass | null,
): void {
  for (const node of comparisonsIn(rule.tree)) {
    const found = classOf(node.column)
    if (found === null)
      throw new SqlTextFault(
        `There is no column ${JSON.stringify(node.column)}.`,
        node.at,
        suggestAmong(node.column, [...columns]),
      )
    if (node.kind === 'is_null') continue
    const cast = 'Declare its type under "columns", or cast it in the query.'
    if (found === 'other')
      throw new SqlTextFault(`The column ${JSON.stringify(node.column)} is ${WORDS.other}.`, node.at, cast)
    for (const value of node.values) {
      if (value.kind === 'reader' || fitted(asTyped(value), found) !== null) continue
      const message = `The column ${JSON.stringify(node.column)} is ${WORDS[found]}, and ${JSON.stringify(value.value)} is not.`
      throw new SqlTextFault(message, node.at, cast)
    }
  }
}

function asTyped(value: Exclude<RuleValue, { kind: 'reader' }>): Typed {
  return value.kind === 'boolean'
    ? { type: 'boolean', value: value.value }
    : { type: value.kind, value: value.value }
}

/** Returns the condition of this reader. The rule was checked before. Throws UnfitReader. */
export function conditionFor(
  rule: RowRule,
  reader: Reader,
  classOf: (column: string) => ColumnClass | null,
): Condition {
  const visit = (node: RuleNode): Condition => {
    switch (node.kind) {
      case 'and':
      case 'or':
        return { kind: node.kind, parts: node.parts.map(visit) }
      case 'not':
        return { kind: 'not', of: visit(node.of) }
      case 'is_null':
        return { kind: 'is_null', column: node.column, not: node.not }
      case 'among': {
        const found = among(node, reader, classOf(node.column) ?? 'other')
        return node.not ? { kind: 'not', of: found } : found
      }
    }
  }
  return visit(rule.tree)
}

function among(node: Extract<RuleNode, { kind: 'among' }>, reader: Reader, wanted: ColumnClass): Condition {
  const { column } = node
  const values = node.values.flatMap((value): Typed[] => {
    if (value.kind !== 'reader') return [fitted(asTyped(value), wanted)!]
    const given = attributeOf(reader, value.name)
    if (Array.isArray(given) && node.not)
      throw new UnfitReader(
        `reader.${value.name} is a list, and the rule compares ${JSON.stringify(column)} with one value: write ${column} not in ($reader.${value.name}).`,
      )
    return [given].flat().map((one) => {
      const fit = fitted(typed(one), wanted)
      if (fit !== null) return fit
      throw new UnfitReader(
        `The column ${JSON.stringify(column)} is ${WORDS[wanted]}, and reader.${value.name} is not.`,
      )
    })
  })
  const parts = (['text', 'number', 'boolean'] as const).flatMap((type) => {
    const own = values.filter((value) => value.type === type).map(({ value }) => value)
    const compared = type === 'number' && isNumber(wanted) ? wanted : type
    return own.length > 0 ? [{ kind: 'among', column, type: compared, values: own } as Condition] : []
  })
  if (parts.length === 1) return parts[0]!
  return parts.length > 0 ? { kind: 'or', parts } : { kind: 'among', column, type: 'text', values: [] }
}

function attributeOf(reader: Reader, name: string): Reader[string] {
  const value = Object.hasOwn(reader, name) ? reader[name] : undefined
  if (value !== undefined && value !== null) return value
  throw new UnfitReader(`The reader has no ${JSON.stringify(name)}.`)
}

const CLASSES: Partial<Record<Column['type'], ColumnClass>> = {
  text: 'text',
  integer: 'number',
  number: 'number',
  decimal: 'number',
  boolean: 'boolean',
}

/** Returns the classes by the columns of a table of the engine, whose names ignore case. */
export function classesOf(columns: readonly Column[]): (column: string) => ColumnClass | null {
  const byName = new Map(columns.map(({ name, type }) => [name.toLowerCase(), CLASSES[type] ?? 'other']))
  return (column) => byName.get(column.toLowerCase()) ?? null
}
