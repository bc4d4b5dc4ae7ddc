/** Creates the table of the engine for the columns of a query. */
import type { DuckDBType } from '@duckdb/node-api'
import { type Engine, execute, identifier } from '../../duckdb/duckdb.ts'
import type { RemoteColumn } from '../kind.ts'
import { SourceError, sameName } from '../source.ts'

/** Throws SourceError for columns that a table cannot have. */
export function vetNames(columns: readonly RemoteColumn[]): void {
  if (columns.length === 0) throw new SourceError('The query gives no columns: name some after "select".')
  const taken = new Set<string>()
  for (const { name } of columns) {
    const lower = name.toLowerCase()
    if (lower === '') throw new SourceError('The query gives a column without a name: name it with "as".')
    if (taken.has(lower)) throw sameName(name)
    taken.add(lower)
  }
}

export async function createTable(
  engine: Engine,
  name: string,
  columns: readonly RemoteColumn[],
): Promise<Read> {
  vetNames(columns)
  const list = columns.map(
    ({ name: column, type, declared }) => `${identifier(column)} ${declared ?? typeName(type)}`,
  )
  await execute(engine, `create table ${identifier(name)} (${list.join(', ')})`)
  return { rows: 0, bytes: 0, paths: [] }
}

function typeName(type: DuckDBType): string {
  return type.toString()
}

/** What was read by a query. */
export interface Read {
  rows: number
  bytes: number
  paths: string[]
}
