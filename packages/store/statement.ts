/**
 * SQL that both databases run, rendered for each once, when the program starts. It is written with named parameters
 * (`:name`); `:now` is the store's clock. What the rendering knows of the differences:
 * - row locks (FOR UPDATE ...) are left out on SQLite, which has one writer
 * - `= ANY (:names)` and `<> ALL (:names)` take an array
 * - json and boolean columns are text and integers on SQLite
 * A statement that differs in more is given as two texts.
 */

import { JsonText } from '@assay/model/table-text'

/** `time`: RFC 3339 UTC with milliseconds. `json`: any value. */
export type Kind = 'text' | 'integer' | 'bigint' | 'real' | 'boolean' | 'time' | 'json'
export type Kinds = Readonly<Record<string, Kind>>

export interface Parameter {
  name: string
  /** The kind of the value; null for a value that is not a column and is written as it is. */
  kind: Kind | null
  /** True if a missing value is written as null. */
  isOptional?: boolean
}

export interface Rendered {
  sql: string
  /** The parameters in the order of the placeholders. */
  parameters: readonly Parameter[]
}

export interface Statement<Row = unknown> {
  readonly sqlite: Rendered
  readonly postgres: Rendered
  /** The kinds of the answer's columns by name, because SQLite holds some in another form. */
  readonly kinds: Kinds
  /** The statement by which PostgreSQL writes many rows at once, for `Table.insert` and `Table.updateAll`. */
  readonly postgresMany?: Rendered
  /**
   * The statement for a fixed number of rows with a parameter for each value, which avoids arrays of large texts. For
   * `Table.insert`.
   */
  readonly postgresRows?: Rendered & { rows: number }
  /** The type of a row. It has no value at run time. */
  readonly row?: Row
}

export type Text = string | { sqlite: string; postgres: string }

const PARAMETER = /(?<!:):([a-z_]+)/g
const ROW_LOCK = /\s+FOR (?:NO KEY UPDATE|UPDATE|KEY SHARE)(?: OF [a-z_]+)?(?: SKIP LOCKED)?/g

function forSqlite(text: string, kinds: Kinds): Rendered {
  const parameters: Parameter[] = []
  const sql = text
    .replace(ROW_LOCK, '')
    .replace(/= ANY \((:[a-z_]+)\)/g, 'IN (SELECT value FROM json_each($1))')
    .replace(/<> ALL \((:[a-z_]+)\)/g, 'NOT IN (SELECT value FROM json_each($1))')
    .replace(PARAMETER, (_, name: string) => {
      parameters.push({ name, kind: kinds[name] ?? null })
      return '?'
    })
  return { sql, parameters }
}

function forPostgres(text: string, kinds: Kinds): Rendered {
  const names: string[] = []
  const sql = text.replace(PARAMETER, (_, name: string) => {
    if (name === 'now') return 'clock_timestamp()'
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { sql, parameters: names.map((name) => ({ name, kind: kinds[name] ?? null })) }
}

/** Returns the two texts of a statement, or of a part of one. */
export function both(make: (database: 'sqlite' | 'postgres') => string): Exclude<Text, string> {
  return { sqlite: make('sqlite'), postgres: make('postgres') }
}

/** Returns a list of literals, such as `'queued', 'active'`. */
export function listed(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ')
}

/**
 * Makes a statement. `kinds` are the kinds of columns: a parameter with the name of a column is written as its kind,
 * and a column of the answer is read as its kind.
 */
export function statement<Row>(text: Text, kinds: Kinds = {}): Statement<Row> {
  const { sqlite, postgres } = typeof text === 'string' ? { sqlite: text, postgres: text } : text
  return { sqlite: forSqlite(sqlite, kinds), postgres: forPostgres(postgres, kinds), kinds }
}

/** Makes the named parameters optional. */
export function optional({ sql, parameters }: Rendered, names: ReadonlySet<string>): Rendered {
  return { sql, parameters: parameters.map((one) => ({ ...one, isOptional: names.has(one.name) })) }
}

/** Returns the value of a parameter. Throws for a missing name that is not optional, which is a fault of the program. */
export function valueOf({ name, isOptional }: Parameter, values: object): unknown {
  const value = (values as Record<string, unknown>)[name]
  if (value === undefined && isOptional) return null
  if (value === undefined) throw new Error(`The statement lacks a value for :${name}.`)
  return value
}

/** Returns a value in the form of a JSON column. */
export function jsonOf(value: unknown): string {
  return value instanceof JsonText ? value.text : JSON.stringify(value)
}
