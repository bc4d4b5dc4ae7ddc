/** Gives the values of columns as the engine has them, for tests of columns. */
import { DuckDBDataChunk, type DuckDBType } from '@duckdb/node-api'
import { openEngine } from '../../duckdb/duckdb.ts'
import { appendRows, type BatchColumn } from './columns.ts'

/** Writes columns into the engine and returns each as the engine prints it, for tests. */
export async function printed(
  rows: number,
  ...columns: [type: DuckDBType, column: BatchColumn][]
): Promise<(string | null)[][]> {
  const engine = await openEngine()
  try {
    const list = columns.map(([type], index) => `c${index} ${type.toString()}`)
    await engine.connection.run(`create table t (${list.join(', ')})`)
    const appender = await engine.connection.createAppender('t')
    const chunk = DuckDBDataChunk.create(columns.map(([type]) => type))
    appendRows(
      appender,
      chunk,
      rows,
      columns.map(([, column]) => column),
    )
    appender.closeSync()
    const result = await engine.connection.run('select columns(*)::varchar from t')
    const found = await result.getColumnsJS()
    return columns.map((_, index) => (found[index] ?? []) as (string | null)[])
  } finally {
    engine.close()
  }
}
