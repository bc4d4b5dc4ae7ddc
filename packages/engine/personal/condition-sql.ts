/**
 * Prints a condition in the SQL of each database. Texts are compared byte by byte everywhere, whatever the collation of
 * the column, so case, accents and trailing blanks count. Numbers are compared in the column's own type: exactly, or as
 * the binary number that the same digits stand for there. Values are bound; in the engine itself they are literals.
 */

import { dialectOf } from '../dialects/engines.ts'
import { identifier, literal } from '../duckdb/duckdb.ts'
import type { Parameter } from '../language/remote-query.ts'
import type { Condition, Values } from './condition.ts'

/** Binds a value and returns the text that stands for it. */
export type Bind = (value: string | boolean | number, type: Parameter['type']) => string

interface RuleDialect {
  column(name: string): string
  /** Returns SQL that is true if the column is one of some values, and null if the column is null. */
  among(column: string, values: Values, bind: Bind): string
}

const oneOf = (left: string, values: readonly string[]): string => `${left} in (${values.join(', ')})`

const numberOf = (text: string, bind: Bind): string =>
  text.includes('.') ? bind(Number(text), 'number') : bind(text, 'integer')

const DUCKDB: RuleDialect = {
  column: identifier,
  among: (column, { type, values }, bind) =>
    oneOf(
      type === 'text' ? `cast(${column} as varchar)` : column,
      values.map((value) =>
        bind(value, type === 'text' ? 'string' : type === 'boolean' ? 'boolean' : 'number'),
      ),
    ),
}

/** The casts by which a database compares a column with bound texts: byte by byte, and as numbers of each kind. */
interface Casts {
  column(column: string): string
  text(bound: string): string
  /** The types of its casts. */
  number: string
  double: string
  single: string
}

const castTo =
  ({ column: columnText, text, ...types }: Casts): RuleDialect['among'] =>
  (column, { type, values }, bind) => {
    if (type === 'boolean')
      return oneOf(
        column,
        values.map((value) => bind(value, 'boolean')),
      )
    const bound = values.map((value) => bind(value, 'string'))
    if (type === 'text') return oneOf(columnText(column), bound.map(text))
    return oneOf(
      column,
      bound.map((value) => `cast(${value} as ${types[type]})`),
    )
  }

const POSTGRESQL: RuleDialect = {
  column: dialectOf('postgresql').identifier,
  among: castTo({
    column: (column) => `(cast(${column} as text) collate "C")`,
    text: (bound) => `cast(${bound} as text)`,
    number: 'numeric',
    double: 'double precision',
    single: 'real',
  }),
}

/** Turns a text into a binary string. Collations of MySQL ignore trailing blanks; binary strings do not. */
const binary = (text: string): string => `cast(convert(${text} using utf8mb4) as binary)`

const MYSQL: RuleDialect = {
  column: dialectOf('mysql').identifier,
  among: castTo({
    column: binary,
    text: binary,
    number: 'decimal(45, 15)',
    double: 'double',
    single: 'float',
  }),
}

/** The dialect of SQLite. A value of another type than the column's declaration is unknown, so it lets no row through. */
const SQLITE: RuleDialect = {
  column: dialectOf('sqlite').identifier,
  among(column, { type, values }, bind) {
    const stored = type === 'text' ? "= 'text'" : "in ('integer', 'real')"
    const found =
      type === 'text'
        ? oneOf(
            `(${column} collate binary)`,
            values.map((value) => bind(value, 'string')),
          )
        : oneOf(
            `+${column}`,
            values.map((value) =>
              typeof value === 'string' ? numberOf(value, bind) : bind(value, 'boolean'),
            ),
          )
    return `case when typeof(${column}) ${stored} then ${found} end`
  },
}

const CLICKHOUSE: RuleDialect = {
  column: dialectOf('clickhouse').identifier,
  // IN accepts null for a value that is in no list; = does not.
  among(column, { type, values }, bind) {
    const equals = values.map((value) => {
      if (typeof value === 'boolean') return `${column} = ${bind(value, 'boolean')}`
      if (type === 'text') return `toString(${column}) = ${bind(value, 'string')}`
      if (type === 'number') return `${column} = toDecimal256(${bind(value, 'string')}, 15)`
      const double = bind(Number(value), 'number')
      return `${column} = ${type === 'single' ? `toFloat32(${double})` : double}`
    })
    return `(${equals.join(' or ')})`
  },
}

const DIALECTS: Record<string, RuleDialect> = {
  mysql: MYSQL,
  sqlite: SQLITE,
  clickhouse: CLICKHOUSE,
  postgresql: POSTGRESQL,
}

function printed(condition: Condition, dialect: RuleDialect, bind: Bind): string {
  const print = (one: Condition): string => printed(one, dialect, bind)
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `(${condition.parts.map(print).join(` ${condition.kind} `)})`
    case 'not':
      return `(not ${print(condition.of)})`
    case 'is_null':
      return `(${dialect.column(condition.column)} is ${condition.not ? 'not ' : ''}null)`
    case 'among': {
      const column = dialect.column(condition.column)
      // Without any value the comparison is false, and unknown for null.
      if (condition.values.length === 0) return `(case when ${column} is null then null else 1 = 0 end)`
      return `(${dialect.among(column, condition, bind)})`
    }
  }
}

/** Prints a condition in the SQL of a kind of connection. */
export function remoteCondition(condition: Condition, kind: string, bind: Bind): string {
  return printed(condition, DIALECTS[kind] ?? POSTGRESQL, bind)
}

/** Prints a condition in the SQL of the engine, with the values as literals. */
export function engineCondition(condition: Condition): string {
  return printed(condition, DUCKDB, (value, type) =>
    type === 'string' ? literal(String(value)) : String(value),
  )
}
