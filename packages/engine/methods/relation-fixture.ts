/**
 * Makes a `Relation` over rows in a real DuckDB in memory, for tests of methods only. Options are checked and filled in
 * as the engine does it.
 */

import type { Cell, Column, ColumnType, Outcome } from '@assay/model/insight'
import { type DuckDBConnection, DuckDBInstance, type DuckDBValue } from '@duckdb/node-api'
import { Check, Default, Errors } from 'typebox/value'
import { NO_MEANINGS } from '../verdicts/measure.ts'
import type { Extent, Method, MethodContext, Relation } from './shared/method.ts'

export const NO_EXTENT: Extent = { periods: [], columns: [] }

const TYPES: [RegExp, ColumnType][] = [
  [/^BOOLEAN$/, 'boolean'],
  [/^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/, 'integer'],
  [/^(DOUBLE|FLOAT)$/, 'number'],
  [/^DECIMAL/, 'decimal'],
  [/^VARCHAR$/, 'text'],
  [/^DATE$/, 'date'],
  [/^TIMESTAMP/, 'timestamp'],
]

let connection: DuckDBConnection | undefined
let tables = 0

async function connect(): Promise<DuckDBConnection> {
  if (!connection) {
    const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
    connection = await instance.connect()
    await connection.run(`set TimeZone = 'UTC'`)
  }
  return connection
}

function cell(value: DuckDBValue): Cell {
  if (
    value === null ||
    typeof value === 'number' ||
    typeof value === 'string' ||
    typeof value === 'boolean'
  ) {
    return value
  }
  if (typeof value !== 'bigint') return String(value)
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
}

/** Returns the relation that `sql` yields. */
export async function relation(sql: string): Promise<Relation> {
  const duckdb = await connect()
  const name = `t${++tables}`
  await duckdb.run(`create temp table "${name}" as ${sql}`)
  const described = await duckdb.runAndReadAll(`describe "${name}"`)
  const columns = described.getRowObjects().map((row): Column => {
    const databaseType = String(row.column_type)
    const type = TYPES.find(([pattern]) => pattern.test(databaseType))?.[1] ?? 'other'
    return { name: String(row.column_name), type, database_type: databaseType }
  })
  return {
    relation: `"${name}"`,
    columns,
    async query(text, values) {
      const reader = await duckdb.runAndReadAll(text, values)
      return reader
        .getRowObjects()
        .map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, cell(value)])))
    },
  }
}

/** Returns a relation of the given columns. Numbers become DOUBLE and text VARCHAR, unless `types` says otherwise. */
export async function columnsOf(
  columns: Record<string, readonly (number | string | boolean | null)[]>,
  types: Record<string, string> = {},
): Promise<Relation> {
  const names = Object.keys(columns)
  const selected = names.map((name) => {
    const values = columns[name]!
    const type = types[name] ?? (values.some((value) => typeof value === 'string') ? 'VARCHAR' : 'DOUBLE')
    const list = values.map((value) =>
      value === null
        ? 'NULL'
        : typeof value === 'boolean'
          ? String(value)
          : `'${String(value).replaceAll("'", "''")}'`,
    )
    return `unnest(cast([${list.join(',')}] as ${type}[])) as "${name}"`
  })
  return relation(`select ${selected.join(', ')}`)
}

/** Runs a method as the engine does. */
export async function outcomeOf(
  method: Method,
  table: Relation,
  given: Record<string, unknown>,
  now = '2026-01-15T00:00:00.000Z',
  more: Partial<MethodContext> = {},
): Promise<Outcome> {
  const options = Default(method.options, given) as Record<string, unknown>
  if (!Check(method.options, options)) throw new TypeError(JSON.stringify(Errors(method.options, options)))
  const context = {
    now,
    time_zone: 'UTC',
    block: 'test',
    meanings: NO_MEANINGS,
    metrics: [],
    relation: () => null,
    extent: () => Promise.resolve(NO_EXTENT),
  }
  return method.run(table, options, { ...context, ...more })
}
