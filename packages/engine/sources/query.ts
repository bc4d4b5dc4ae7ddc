/**
 * Queries as sources: the database runs the query, its rows come in batches and become a table of the engine. Never are
 * they whole in this process: a batch is written before the next is fetched, and the engine spills what is too much.
 */

import type { OpenConnection } from '@assay/model/connection'
import type { Source, Template } from '@assay/model/template'
import { DuckDBDataChunk, type DuckDBType } from '@duckdb/node-api'
import { describeQuery, type Engine, execute, identifier } from '../duckdb/duckdb.ts'
import { TemplateFault } from '../language/fault.ts'
import { bindQuery, queryFaults } from '../language/remote-query.ts'
import { Misjudged, type Reader, type RemoteColumn } from './kind.ts'
import { kindOf } from './kinds.ts'
import type { Roots } from './roots.ts'
import { appendRows } from './rows/columns.ts'
import { type Attached, type Borrow, SourceError, Stopped } from './source.ts'

export interface QuerySource {
  source: Source
  template: Template
  /** With the periods of the query resolved. */
  vars: Record<string, unknown>
  roots: Roots
  borrow: Borrow
  signal: AbortSignal
  /** True to learn the columns only: the query is not run. */
  peek: boolean
}

export async function attachQuery(engine: Engine, given: QuerySource): Promise<Attached> {
  const loan = await given.borrow(given.source.connection!.name, given.signal)
  try {
    return await readQuery(engine, given, loan.connection)
  } finally {
    loan.giveBack()
  }
}

async function readQuery(
  engine: Engine,
  { source, template, vars, roots, signal, peek }: QuerySource,
  connection: OpenConnection,
): Promise<Attached> {
  const began = performance.now()
  const kind = await kindOf(connection.kind)
  const [fault] = queryFaults(source, template, kind.dialect.syntax)
  if (fault) throw new TemplateFault(fault)
  const query = bindQuery(source.query!.text, template.variables, vars, kind.dialect)
  const timeout_ms = connection.limits.timeout_seconds * 1000
  const timeout = AbortSignal.timeout(timeout_ms)
  const either = AbortSignal.any([signal, timeout])
  const { time_zone } = template
  try {
    const reader = await kind.open({ connection, query, time_zone, roots, timeout_ms, signal: either, peek })
    try {
      const columns = await reader.schema()
      const read = peek
        ? await createTable(engine, source.name, columns)
        : await load(engine, source.name, columns, reader, connection, either)
      const remote = {
        connection: connection.name,
        kind: connection.kind,
        query: query.sql,
        bytes: read.bytes,
        elapsed_ms: Math.round((performance.now() - began) * 10) / 10,
      }
      return {
        columns: await describeQuery(engine, `select * from ${identifier(source.name)}`),
        lineage: {
          name: source.name,
          files: [],
          rows: peek ? null : read.rows,
          format: connection.kind,
          remote,
        },
        paths: [],
        verify: () => Promise.resolve(),
      }
    } finally {
      await reader.close()
    }
  } catch (error) {
    if (signal.aborted) throw new Stopped()
    if (!timeout.aborted) throw error
    const seconds = connection.limits.timeout_seconds
    throw new SourceError(
      `The query over the connection "${connection.name}" took longer than ${seconds} s (its limits.timeout_seconds): read less, or raise the limit.`,
    )
  }
}

async function createTable(
  engine: Engine,
  name: string,
  columns: readonly RemoteColumn[],
): Promise<{ rows: number; bytes: number }> {
  if (columns.length === 0) throw new SourceError('The query gives no columns: name some after "select".')
  const taken = new Set<string>()
  for (const column of columns) {
    const lower = column.name.toLowerCase()
    if (taken.has(lower) || lower === '') {
      const what =
        lower === '' ? 'a column without a name' : `two columns named ${JSON.stringify(column.name)}`
      throw new SourceError(`The query gives ${what}: name each with "as".`)
    }
    taken.add(lower)
  }
  const list = columns.map(
    ({ name: column, type, declared }) => `${identifier(column)} ${declared ?? typeName(type)}`,
  )
  await execute(engine, `create table ${identifier(name)} (${list.join(', ')})`)
  return { rows: 0, bytes: 0 }
}

function typeName(type: DuckDBType): string {
  return type.toString()
}

async function load(
  engine: Engine,
  name: string,
  columns: readonly RemoteColumn[],
  reader: Reader,
  connection: OpenConnection,
  signal: AbortSignal,
): Promise<{ rows: number; bytes: number }> {
  const read = await createTable(engine, name, columns)
  const { rows, bytes } = connection.limits
  const appender = await engine.connection.createAppender(name)
  const chunk = DuckDBDataChunk.create(columns.map(({ type }) => type))
  try {
    for await (const batch of reader.read(signal)) {
      read.rows += batch.rows
      read.bytes += batch.bytes
      if (read.rows > rows) throw tooMuch(connection, `more than ${rows} rows`, 'rows')
      if (read.bytes > bytes) throw tooMuch(connection, `more than ${bytes} bytes`, 'bytes')
      appendRows(appender, chunk, batch.rows, batch.columns)
    }
  } catch (error) {
    if (!(error instanceof Misjudged)) throw error
    appender.closeSync()
    await execute(engine, `drop table ${identifier(name)}`)
    return load(engine, name, await reader.schema(), reader, connection, signal)
  }
  appender.closeSync()
  for (const { name: column, type, settle } of columns) {
    const settled = settle?.()
    if (settled === undefined || typeName(settled) === typeName(type)) continue
    await execute(
      engine,
      `alter table ${identifier(name)} alter column ${identifier(column)} type ${typeName(settled)}`,
    )
  }
  return read
}

function tooMuch({ name }: OpenConnection, what: string, limit: string): SourceError {
  return new SourceError(
    `The query over the connection "${name}" gives ${what} (its limits.${limit}): aggregate in the query, or raise the limit.`,
  )
}
