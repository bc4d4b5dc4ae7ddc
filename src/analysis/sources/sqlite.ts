/**
 * SQLite files below the data folder, opened for reading by Node's own SQLite. Its columns have no types of their own:
 * what a column was declared as decides, and where it was declared as nothing (an expression), the values do. The rows
 * are read step by step; a step that runs long ends with its process, which the parent kills.
 */
import { realpath } from 'node:fs/promises'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import {
  BIGINT,
  BLOB,
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBBlobValue,
  type DuckDBType,
  type DuckDBValue,
  TIMESTAMP,
  VARCHAR,
} from '@duckdb/node-api'
import type { Parameter, Plain } from '../../templates/remote-query.ts'
import type { SqlSyntax } from '../../templates/sql-clauses.ts'
import { resolveFiles } from './files.ts'
import type { Batch, Kind, OpenOptions, Reader, RemoteColumn, SessionOptions } from './kind.ts'
import { LooseNumeric, LooseValues } from './loose-values.ts'
import { misfit } from './misfit.ts'
import { requireSelect } from './only-select.ts'
import { questionMarks, valuesOf } from './question-marks.ts'
import { SourceError } from './source.ts'
import { dateFromText, timestampFromText } from './text-values.ts'

const ROWS = 8192
const BATCH_BYTES = 4_000_000

const SYNTAX: SqlSyntax = {
  opaque: [/'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*/y],
  nestedComments: false,
}

/** What SQLite gives. */
type Raw = null | bigint | number | string | Uint8Array

interface Column extends RemoteColumn {
  read(value: Exclude<Raw, null>): DuckDBValue
}

export const sqlite: Kind = {
  dialect: questionMarks(SYNTAX),
  async open(options) {
    const database = await openFile(options)
    return new SqliteReader(database, options)
  },
  async probe(options) {
    const database = await openFile(options)
    try {
      const row = database.prepare('select sqlite_version() as version').get()
      database.prepare('select count(*) from sqlite_schema').get()
      return { server: `SQLite ${String(row?.version)}`, read_only: 'The file is opened for reading only.' }
    } catch (error) {
      throw explained(error, options.connection.name)
    } finally {
      database.close()
    }
  },
}

async function openFile({ connection, roots }: SessionOptions): Promise<DatabaseSync> {
  const [file, ...more] = await resolveFiles(String(connection.options.file), roots)
  if (!file || more.length > 0) throw new SourceError('Name one SQLite file, not a pattern.')
  try {
    return new DatabaseSync(await realpath(file.real), { readOnly: true, timeout: 5000 })
  } catch (error) {
    throw explained(error, connection.name)
  }
}

function explained(error: unknown, name: string): unknown {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR') return error
  return new SourceError(`The query over the connection "${name}" was refused: ${error.message}.`)
}

class SqliteReader implements Reader {
  readonly #database: DatabaseSync
  readonly #options: OpenOptions
  #statement: StatementSync | null = null
  #columns: Column[] = []

  constructor(database: DatabaseSync, options: OpenOptions) {
    this.#database = database
    this.#options = options
  }

  async schema(): Promise<RemoteColumn[]> {
    const { query, connection } = this.#options
    requireSelect(query.sql)
    try {
      const statement = this.#database.prepare(query.sql)
      statement.setReadBigInts(true)
      statement.setReturnArrays(true)
      this.#statement = statement
      this.#columns = statement.columns().map(({ name, type }) => columnOf(name, type ?? ''))
    } catch (error) {
      throw explained(error, connection.name)
    }
    if (this.#columns.length === 0) throw new SourceError('The query gives no rows: write one SELECT.')
    return this.#columns
  }

  async *read(signal: AbortSignal): AsyncIterable<Batch> {
    const { query, connection } = this.#options
    const columns = this.#columns
    try {
      const rows = this.#statement!.iterate(
        ...valuesOf(query.parameters, encode),
      ) as Iterable<unknown> as Iterable<Raw[]>
      let values: DuckDBValue[][] = columns.map(() => [])
      let count = 0
      let bytes = 0
      for (const row of rows) {
        for (const [index, value] of row.entries()) {
          bytes += sizeOf(value)
          values[index]!.push(value === null ? null : columns[index]!.read(value))
        }
        count += 1
        if (count < ROWS && bytes < BATCH_BYTES) continue
        yield { rows: count, bytes, columns: values }
        // Lets a cancel in.
        await new Promise((resolve) => setImmediate(resolve))
        signal.throwIfAborted()
        values = columns.map(() => [])
        count = 0
        bytes = 0
      }
      if (count > 0) yield { rows: count, bytes, columns: values }
    } catch (error) {
      throw explained(error, connection.name)
    }
  }

  async close(): Promise<void> {
    this.#database.close()
  }
}

function sizeOf(value: Raw): number {
  if (typeof value === 'string') return value.length
  return value instanceof Uint8Array ? value.length : 8
}

function encode(value: Plain, type: Parameter['type']): string | bigint | number | null {
  if (value === null) return null
  if (type === 'boolean') return value === true ? 1 : 0
  if (type === 'integer') return BigInt(value)
  return type === 'number' ? Number(value) : String(value)
}

/** By the words of the declaration, as SQLite does for its affinities, and the names that people use for dates and the like. */
function columnOf(name: string, declared: string): Column {
  const word = declared.toUpperCase()
  const column = (type: DuckDBType, read: Column['read']): Column => {
    const made: Column = {
      name,
      type,
      read(value) {
        try {
          return read(value)
        } catch (error) {
          if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
          throw misfit(made, value instanceof Uint8Array ? 'bytes' : String(value))
        }
      },
    }
    return made
  }
  if (/BOOL/.test(word)) return column(BOOLEAN, booleanOf)
  if (/JSON/.test(word)) return { ...column(VARCHAR, textOf), declared: 'json' }
  if (/INT/.test(word)) return column(BIGINT, integerOf)
  if (/CHAR|CLOB|TEXT/.test(word)) return column(VARCHAR, textOf)
  if (/BLOB/.test(word)) return column(BLOB, bytesOf)
  if (/REAL|FLOA|DOUB/.test(word)) return column(DOUBLE, numberOf)
  if (/^DATE$/.test(word)) return column(DATE, (value) => dateFromText(textOf(value).slice(0, 10)))
  if (/DATETIME|TIMESTAMP/.test(word)) return column(TIMESTAMP, timestampOf)
  if (/NUMERIC|DECIMAL/.test(word)) return numeric(column)
  const loose = new LooseValues()
  return {
    ...column(VARCHAR, (value) => {
      if (value instanceof Uint8Array) throw new RangeError('bytes')
      return loose.note(value)
    }),
    settle: () => loose.settled(),
  }
}

/** SQLite keeps decimals as doubles: their shortest text is what was meant. */
function numeric(column: (type: DuckDBType, read: Column['read']) => Column): Column {
  const loose = new LooseNumeric()
  return {
    ...column(VARCHAR, (value) => {
      const text = textOf(value)
      if (!/^-?\d+(\.\d+)?$/.test(text)) throw new RangeError(text)
      return loose.note(text)
    }),
    settle: () => loose.settled(),
  }
}

function textOf(value: Exclude<Raw, null>): string {
  if (value instanceof Uint8Array) throw new RangeError('bytes')
  return String(value)
}

function integerOf(value: Exclude<Raw, null>): bigint {
  if (typeof value === 'bigint') return value
  throw new RangeError(String(value))
}

function numberOf(value: Exclude<Raw, null>): number {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  throw new RangeError(String(value))
}

function booleanOf(value: Exclude<Raw, null>): boolean {
  if (value === 0n || value === 1n) return value === 1n
  throw new RangeError(String(value))
}

function bytesOf(value: Exclude<Raw, null>): DuckDBBlobValue {
  return new DuckDBBlobValue(value instanceof Uint8Array ? value : Buffer.from(String(value)))
}

/** "2024-01-31 10:00:00.123", or seconds since 1970. */
function timestampOf(value: Exclude<Raw, null>): DuckDBValue {
  const text = typeof value === 'bigint' ? new Date(Number(value) * 1000).toISOString() : textOf(value)
  return timestampFromText(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text} 00:00:00` : text)
}
