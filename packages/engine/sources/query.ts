/**
 * Queries as sources. The database runs the query; its rows come in batches and become a table of the engine. Each batch is
 * written before the next is fetched, and the engine spills to disk, so that memory stays bounded.
 */
import type { OpenConnection } from '@assay/model/connection'
import type { Reader as Person } from '@assay/model/reader'
import type { Source, Template } from '@assay/model/template'
import { DuckDBDataChunk, type DuckDBType } from '@duckdb/node-api'
import { describeQuery, type Engine, execute, identifier, literal, readTable } from '../duckdb/duckdb.ts'
import { engineFailure } from '../duckdb/engine-error.ts'
import { TemplateFault } from '../language/fault.ts'
import { type BoundQuery, bindQuery, queryFaults } from '../language/remote-query.ts'
import { READER } from '../personal/sql-attributes.ts'
import {
  type Batch,
  type JsonBatch,
  type Kind,
  Misjudged,
  type OpenOptions,
  type Reader,
  type RemoteColumn,
} from './kind.ts'
import { kindOf } from './kinds.ts'
import { pushedRule } from './pushed-rule.ts'
import type { Roots } from './roots.ts'
import { unspoken, untold } from './row-rule.ts'
import { appendRows } from './rows/columns.ts'
import { type Acquire, type Attached, SourceError, Stopped, sameName } from './source.ts'

export interface QuerySource {
  source: Source
  template: Template
  /** With the periods of the query resolved. */
  vars: Record<string, unknown>
  roots: Roots
  acquire: Acquire
  signal: AbortSignal
  temp_folder: string
  /** Of a personal template. */
  reader: Person | null
  /** Learns the columns only: the query is not run. */
  peek: boolean
}

export async function attachQuery(engine: Engine, options: QuerySource): Promise<Attached> {
  const acquired = await options.acquire(options.source.connection!.name, options.signal)
  try {
    return await readQuery(engine, options, acquired.connection)
  } finally {
    acquired.release()
  }
}

async function readQuery(
  engine: Engine,
  { source, template, vars, roots, signal, temp_folder, reader: person, peek }: QuerySource,
  connection: OpenConnection,
): Promise<Attached> {
  const began = performance.now()
  const kind = await kindOf(connection.kind)
  const [fault] = queryFaults(source, template, kind.dialect.syntax)
  if (fault) throw new TemplateFault(fault)
  const written = source.query!
  const timeout_ms = connection.limits.timeout_seconds * 1000
  const timeout = AbortSignal.timeout(timeout_ms)
  const either = AbortSignal.any([signal, timeout])
  const time_zone = written.zone ?? template.time_zone
  const nothing: BoundQuery = { sql: '', parameters: [] }
  const open = {
    connection,
    query: nothing,
    time_zone,
    cut: null,
    roots,
    timeout_ms,
    signal: either,
    temp_folder,
    peek,
  }
  try {
    const { reader, query } = await openQuery(kind, open, { source, template, vars, person })
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
          ...(written.rule ? { rule: written.rule.text } : {}),
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

/** Binds the query, with the rule of a metric in it, and sends it. `open`: how, with no query yet. */
async function openQuery(
  kind: Kind,
  open: OpenOptions,
  {
    source,
    template,
    vars,
    person,
  }: Pick<QuerySource, 'source' | 'template' | 'vars'> & { person: Person | null },
): Promise<{ reader: Reader; query: BoundQuery }> {
  const written = source.query!
  const { connection, peek } = open
  const { sql, variables, values } = await pushedRule(source, person, kind, open)
  const known = [...template.variables, ...variables]
  const given = { ...vars, [READER]: person ?? {}, ...values }
  const bound = (text: string): BoundQuery => bindQuery(text, known, given, kind.dialect)
  const query = bound(written.textFor?.(connection.kind, sql) ?? written.text)
  const cut = written.timeFor ? bound(written.timeFor(connection.kind)).sql : null
  const opened = await kind.open({ ...open, query, cut })
  const ruled = !peek && (source.rows ?? written.rule)
  return { reader: ruled ? quietReader(opened, source) : opened, query }
}

/** A reader of a source with a rule: what the database says of its rows is not told. */
function quietReader(reader: Reader, source: Source): Reader {
  return {
    schema: () => unspoken(source, () => reader.schema()),
    async *read(signal) {
      const batches = reader.read(signal)[Symbol.asyncIterator]()
      try {
        for (;;) {
          const { done, value } = await unspoken(source, () => batches.next())
          if (done) return
          yield 'file' in value ? { ...value, explain: () => Promise.resolve(untold()) } : value
        }
      } finally {
        await batches.return?.()
      }
    },
    close: () => reader.close(),
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
    if (lower === '') throw new SourceError('The query gives a column without a name: name it with "as".')
    if (taken.has(lower)) throw sameName(column.name)
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
  const writer = await createWriter(engine, name, columns)
  try {
    for await (const batch of reader.read(signal)) {
      read.bytes += batch.bytes
      if (read.bytes > bytes) throw tooMuch(connection, `more than ${bytes} bytes`, 'bytes')
      read.rows += await writer.write(batch)
      if (read.rows > rows) throw tooMuch(connection, `more than ${rows} rows`, 'rows')
    }
  } catch (error) {
    if (!(error instanceof Misjudged)) throw error
    writer.close()
    await execute(engine, `drop table ${identifier(name)}`)
    return load(engine, name, await reader.schema(), reader, connection, signal)
  }
  writer.close()
  for (const column of columns) await settleColumn(engine, name, column)
  return read
}

/** Writes batches into a table; `write` resolves to the number of rows. */
async function createWriter(engine: Engine, table: string, columns: readonly RemoteColumn[]) {
  const appender = await engine.connection.createAppender(table)
  const chunk = DuckDBDataChunk.create(columns.map(({ type }) => type))
  return {
    async write(batch: Batch): Promise<number> {
      if ('file' in batch) return insertJson(engine, table, columns, batch)
      appendRows(appender, chunk, batch.rows, batch.columns)
      return batch.rows
    },
    close: () => appender.closeSync(),
  }
}

/** The default of `maximum_object_size`. */
const OBJECT_BYTES = 16_777_216

async function insertJson(
  engine: Engine,
  table: string,
  columns: readonly RemoteColumn[],
  { file, bytes, explain }: JsonBatch,
): Promise<number> {
  const types = columns.map(
    ({ name, type, declared }) => `${literal(name)}: ${literal(declared ?? typeName(type))}`,
  )
  const options = `format = 'newline_delimited', records = true, maximum_object_size = ${Math.max(bytes, OBJECT_BYTES)}`
  try {
    const { rowsChanged } = await engine.connection.run(
      `insert into ${identifier(table)} select * from read_json(${literal(file)}, ${options}, columns = {${types.join(', ')}})`,
    )
    return rowsChanged
  } catch (error) {
    const failure = engineFailure(error)
    if (failure?.kind !== 'refused') throw error
    throw await explain(failure.reason.replaceAll(file, ''))
  }
}

/** Gives a column the type that its values turned out to have. */
async function settleColumn(
  engine: Engine,
  table: string,
  { name, type, settle, numeric = false }: RemoteColumn,
): Promise<void> {
  const settled = numeric ? await numericType(engine, table, name) : typeName(settle?.() ?? type)
  if (settled === typeName(type)) return
  await execute(engine, `alter table ${identifier(table)} alter column ${identifier(name)} type ${settled}`)
}

/** Of a column of numbers written as text: DECIMAL(38, s) with the most digits after the point, else DOUBLE. */
async function numericType(engine: Engine, table: string, column: string): Promise<string> {
  const digits = (part: number): string =>
    `coalesce(max(length(split_part(ltrim(${identifier(column)}, '-'), '.', ${part}))), 0)`
  const sql = `select ${digits(1)}::int, ${digits(2)}::int from ${identifier(table)}`
  const [whole, scale] = (await readTable(engine, sql, {}, 1)).rows[0] as [number, number]
  return whole + scale > 38 ? 'DOUBLE' : `DECIMAL(38,${scale})`
}

function tooMuch({ name }: OpenConnection, what: string, limit: string): SourceError {
  return new SourceError(
    `The query over the connection "${name}" gives ${what} (its limits.${limit}): aggregate in the query, or raise the limit.`,
  )
}
