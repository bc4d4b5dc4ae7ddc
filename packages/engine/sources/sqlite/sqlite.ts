/**
 * Reads SQLite files below the data folder, opened read-only by Node's SQLite. Rows are read one by one and packed by
 * column. A long step cannot be interrupted: the parent kills the process at the deadline.
 */
import { realpath } from 'node:fs/promises'
import { constants, DatabaseSync } from 'node:sqlite'
import type { Parameter, Plain } from '../../language/remote-query.ts'
import type { SqlSyntax } from '../../language/sql-clauses.ts'
import { resolveFiles } from '../files/files.ts'
import {
  type BatchReader,
  type ColumnBatch,
  type Kind,
  Misjudged,
  type OpenOptions,
  type ProbeOptions,
  type RemoteColumn,
} from '../kind.ts'
import { roomFor } from '../rows/columns.ts'
import { misfit } from '../rows/misfit.ts'
import { requireSelect } from '../rows/only-select.ts'
import { questionMarks, valuesOf } from '../rows/question-marks.ts'
import { QueryRefused, SourceError } from '../source.ts'
import { type Column, columnOf, isLoose, type Value } from './columns.ts'

const ROWS = 8192
/** The number of rows that are examined if a column's type is not declared. */
const FIRST_ROWS = 1000
const BATCH_BYTES = 4_000_000

const SYNTAX: SqlSyntax = {
  opaque: [/'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|--[^\n]*/y],
  nestedComments: false,
}

type Raw = Value | null

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

async function openFile({ connection, roots }: ProbeOptions): Promise<DatabaseSync> {
  const [file, ...more] = await resolveFiles(String(connection.options.file), roots)
  if (!file || more.length > 0) throw new SourceError('Name one SQLite file, not a pattern.')
  try {
    const database = new DatabaseSync(await realpath(file.real), { readOnly: true, timeout: 5000 })
    database.setAuthorizer(tellsNoPath)
    return database
  } catch (error) {
    throw explained(error, connection.name)
  }
}

/** Forbids a SELECT from `pragma_database_list`, which would show the path of the file on the server. */
function tellsNoPath(action: number, subject: string | null): number {
  const told = action === constants.SQLITE_PRAGMA && subject?.toLowerCase() === 'database_list'
  return told ? constants.SQLITE_DENY : constants.SQLITE_OK
}

function explained(error: unknown, name: string): unknown {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).code !== 'ERR_SQLITE_ERROR') return error
  return new QueryRefused({ name }, `${error.message}.`)
}

class SqliteReader implements BatchReader {
  readonly #database: DatabaseSync
  readonly #options: OpenOptions
  #rows: Iterator<Raw[], undefined> | null = null
  /** The rows that were already examined. */
  #first: Raw[][] = []
  #columns: Column[] = []
  #misjudged = false
  #room = ROWS

  constructor(database: DatabaseSync, options: OpenOptions) {
    this.#database = database
    this.#options = options
  }

  async schema(): Promise<RemoteColumn[]> {
    const { query, connection, peek } = this.#options
    requireSelect(query.sql)
    try {
      this.#rows?.return?.()
      const statement = this.#database.prepare(query.sql)
      statement.setReadBigInts(true)
      statement.setReturnArrays(true)
      const columns = statement.columns()
      if (columns.length === 0) throw new SourceError('The query gives no rows: write one SELECT.')
      if (!peek) {
        const rows: Iterator<unknown> = statement.iterate(...valuesOf(query.parameters, encode))
        this.#rows = rows as Iterator<Raw[], undefined>
        const loose = columns.some(({ type }) => isLoose(type ?? ''))
        this.#first = loose && !this.#misjudged ? this.#lookAhead() : []
      }
      this.#room = roomFor(columns.length, ROWS)
      this.#columns = columns.map(({ name, type }, index) => {
        const first = this.#first.map((row) => row[index]!).filter((value) => value !== null)
        return columnOf(name, type ?? '', this.#room, first)
      })
    } catch (error) {
      throw explained(error, connection.name)
    }
    return this.#columns
  }

  #lookAhead(): Raw[][] {
    const rows: Raw[][] = []
    for (let bytes = 0; rows.length < FIRST_ROWS && bytes < BATCH_BYTES; ) {
      const next = this.#rows!.next()
      if (next.done) break
      for (const value of next.value) bytes += sizeOf(value)
      rows.push(next.value)
    }
    return rows
  }

  async *read(signal: AbortSignal): AsyncIterable<ColumnBatch> {
    const columns = this.#columns.map(({ data }) => data)
    try {
      for (;;) {
        const { rows, bytes, more } = this.#fill()
        if (rows > 0) yield { rows, bytes, columns }
        if (!more) break
        // This lets a cancel message arrive.
        await new Promise((resolve) => setImmediate(resolve))
        signal.throwIfAborted()
      }
    } catch (error) {
      if (error instanceof Misjudged) this.#misjudged = true
      throw explained(error, this.#options.connection.name)
    }
  }

  /** Fills the columns with the next batch. */
  #fill(): { rows: number; bytes: number; more: boolean } {
    for (const { data } of this.#columns) data.clear()
    let bytes = 0
    let rows = 0
    for (; this.#first.length > 0 && rows < this.#room && bytes < BATCH_BYTES; rows += 1)
      bytes += this.#take(this.#first.shift()!, rows)
    for (; rows < this.#room && bytes < BATCH_BYTES; rows += 1) {
      const next = this.#rows!.next()
      if (next.done) return { rows, bytes, more: false }
      bytes += this.#take(next.value, rows)
    }
    return { rows, bytes, more: true }
  }

  #take(values: Raw[], row: number): number {
    const columns = this.#columns
    let bytes = 0
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index]!
      const value = values[index]!
      bytes += sizeOf(value)
      if (value === null) column.data.setNull(row)
      else {
        try {
          column.take(value, row)
        } catch (error) {
          if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
          throw misfit(column, value instanceof Uint8Array ? 'bytes' : String(value))
        }
      }
    }
    return bytes
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
