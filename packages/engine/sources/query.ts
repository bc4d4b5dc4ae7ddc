/**
 * Reads queries as sources. The database runs the query; its rows come in batches and become a table of the engine.
 * Each batch is written before the next is fetched, and the engine spills to disk, so that memory stays bounded.
 */
import type { OpenConnection } from '@assay/model/connection'
import type { Reader as Person } from '@assay/model/reader'
import type { Source, Template } from '@assay/model/template'
import { describeQuery, type Engine, identifier, spillOf } from '../duckdb/duckdb.ts'
import { TemplateFault } from '../language/fault.ts'
import { type BoundQuery, bindQuery, queryFaults } from '../language/remote-query.ts'
import { READER } from '../personal/sql-attributes.ts'
import { Foreseen, tooManyRows, tooMuch } from './foreseen.ts'
import {
  type BatchReader,
  type FileReader,
  type Kind,
  Misjudged,
  type OpenOptions,
  type Reader,
  type RemoteColumn,
} from './kind.ts'
import { kindOf } from './kinds.ts'
import { pushedRule } from './pushed-rule.ts'
import { NoRoom, roomLeft } from './room.ts'
import type { Roots } from './roots.ts'
import { unspoken, untold } from './row-rule.ts'
import { createTable, type Read, vetNames } from './rows/create-table.ts'
import type { TableRoom } from './rows/large-tables.ts'
import { viewRows } from './rows/rows-file.ts'
import { RowsTable } from './rows/rows-table.ts'
import { type Acquire, type Attached, SourceError, Stopped } from './source.ts'

export interface QuerySource {
  source: Source
  template: Template
  /** The variables, with the periods of the query resolved. */
  vars: Record<string, unknown>
  roots: Roots
  acquire: Acquire
  signal: AbortSignal
  temp_folder: string
  /** The most bytes that the run may write there; a multiple of the memory if null or absent. */
  spill_bytes?: number | null
  /** The reader of a personal template; null for other templates. */
  reader: Person | null
  /** True to learn the columns only. The query is not run. */
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
  { source, template, vars, roots, signal, temp_folder, spill_bytes, reader: person, peek }: QuerySource,
  connection: OpenConnection,
): Promise<Attached> {
  const began = performance.now()
  const kind = await kindOf(connection.kind)
  const [fault] = queryFaults(source, template, kind.dialect.syntax)
  if (fault) throw new TemplateFault(fault)
  const written = source.query!
  const room = { temp_folder, spill_bytes: spillOf(template.limits.memory_bytes, spill_bytes) }
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
    const { reader, query, text, bound } = await openQuery(kind, open, { source, template, vars, person })
    try {
      const columns = await reader.schema()
      const asked = { kind, open, text, bound, room, name: source.name }
      // The number of rows would reveal rows that a reader may not see.
      const foreseen = (source.rows ?? written.rule) ? null : new Foreseen(engine, asked)
      const loaded = { connection, room, signal: either, foreseen }
      const read = await readAll(engine, reader, { name: source.name, columns, peek }, loaded)
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
        paths: read.paths,
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

/** Binds the query, with the rule of a metric in it, and sends it. `open` holds the options without a query. */
async function openQuery(
  kind: Kind,
  open: OpenOptions,
  {
    source,
    template,
    vars,
    person,
  }: Pick<QuerySource, 'source' | 'template' | 'vars'> & { person: Person | null },
): Promise<{ reader: Reader; query: BoundQuery; text: string; bound(text: string): BoundQuery }> {
  const written = source.query!
  const { connection, peek } = open
  const { sql, variables, values } = await pushedRule(source, person, kind, open)
  const known = [...template.variables, ...variables]
  const given = { ...vars, [READER]: person ?? {}, ...values }
  const bound = (text: string): BoundQuery => bindQuery(text, known, given, kind.dialect)
  const text = written.textFor?.(connection.kind, sql) ?? written.text
  const query = bound(text)
  const cut = written.timeFor ? bound(written.timeFor(connection.kind)).sql : null
  const opened = await kind.open({ ...open, query, cut })
  const ruled = !peek && (source.rows ?? written.rule)
  return { reader: ruled ? quietReader(opened, source) : opened, query, text, bound }
}

/** Wraps the reader of a source with a rule, so that messages of the database about its rows are not shown. */
function quietReader(reader: Reader, source: Source): Reader {
  const quiet = {
    schema: () => unspoken(source, () => reader.schema()),
    close: () => reader.close(),
  }
  if ('fetch' in reader)
    return {
      ...quiet,
      async fetch(signal, vet) {
        const fetched = await unspoken(source, () => reader.fetch(signal, vet))
        return { ...fetched, explain: untold }
      },
    }
  return {
    ...quiet,
    async *read(signal) {
      const batches = reader.read(signal)[Symbol.asyncIterator]()
      try {
        for (;;) {
          const { done, value } = await unspoken(source, () => batches.next())
          if (done) return
          yield value
        }
      } finally {
        await batches.return?.()
      }
    },
  }
}

interface LoadOptions {
  connection: OpenConnection
  room: TableRoom
  signal: AbortSignal
  foreseen: Foreseen | null
}

function readAll(
  engine: Engine,
  reader: Reader,
  { name, columns, peek }: { name: string; columns: readonly RemoteColumn[]; peek: boolean },
  options: LoadOptions,
): Promise<Read> {
  if (peek) return createTable(engine, name, columns)
  return 'fetch' in reader
    ? view(engine, name, columns, reader, options)
    : load(engine, name, columns, reader, options)
}

async function view(
  engine: Engine,
  name: string,
  columns: readonly RemoteColumn[],
  reader: FileReader,
  { connection, room, signal, foreseen }: LoadOptions,
): Promise<Read> {
  vetNames(columns)
  const { limits } = connection
  const left = roomLeft(room.spill_bytes, room.temp_folder)
  const fetched = await reader.fetch(signal, async (bytes) => {
    if (bytes > limits.bytes) throw tooMuch(connection, `more than ${limits.bytes} bytes`, 'bytes')
    if (bytes > left)
      throw new NoRoom(
        `The rows of the query have more than ${left} bytes, which is all that this run may still write to disk: aggregate in the query.`,
      )
    await foreseen?.judge(null, bytes)
  })
  const { file, bytes } = fetched
  const rows = await viewRows(engine, name, columns, fetched)
  if (rows > limits.rows) throw tooManyRows(connection, rows)
  return { rows, bytes, paths: [file] }
}

async function load(
  engine: Engine,
  name: string,
  columns: readonly RemoteColumn[],
  reader: BatchReader,
  options: LoadOptions,
): Promise<Read> {
  const { connection, room, signal, foreseen } = options
  const read = await createTable(engine, name, columns)
  const { rows, bytes } = connection.limits
  const table = await RowsTable.open(engine, name, columns, room)
  try {
    for await (const batch of reader.read(signal)) {
      read.bytes += batch.bytes
      if (read.bytes > bytes) throw tooMuch(connection, `more than ${bytes} bytes`, 'bytes')
      await foreseen?.judge(read.rows + batch.rows, read.bytes)
      await table.write(batch)
      read.rows += batch.rows
      if (read.rows > rows) throw tooMuch(connection, `more than ${rows} rows`, 'rows')
    }
  } catch (error) {
    if (!(error instanceof Misjudged)) throw error
    await table.drop()
    return load(engine, name, await reader.schema(), reader, options)
  }
  await table.finish()
  return read
}
