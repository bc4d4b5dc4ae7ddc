/**
 * DuckDB as a locked engine. DuckDB is no sandbox by itself, so its settings are one of three parts: sql-guard.ts decides
 * which SQL reaches the engine, and the fence bounds the memory of its process. The order of calls:
 *
 *   openEngine   in memory, one thread, no extension is loaded or installed
 *   arm          the job's limits and time zone
 *   (sources)    trusted statements attach the sources
 *   seal         only the sources' paths stay readable, external access is off, and the configuration is locked
 */

import type { Cell, Column, Table } from '@assay/model/insight'
import { DEFAULT_LIMITS } from '@assay/model/template'
import {
  type DuckDBConnection,
  type DuckDBDataChunk,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  type DuckDBResult,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api'
import { cellConverter, columnOf, type Floats } from './cells.ts'
import { identifier, literal } from './quoting.ts'

export { identifier, literal } from './quoting.ts'

export interface Engine {
  connection: DuckDBConnection
  /** The memory limit in bytes. DuckDB itself reports it only in tenths of a MiB. */
  memory_bytes: number
  close(): void
}

/** A value for a parameter, and the type with which it is bound. */
export interface Bound {
  value: DuckDBValue
  type: DuckDBType
}
export type Bindings = Record<string, Bound>

/** The disk space for spilling, as a multiple of the job's memory, unless a smaller share of the disk is given. */
const SPILL_FACTOR = 16

/** The defaults with which engines open, since each setting that arm() changes costs 0.1 ms. */
const { memory_bytes: OPENED_BYTES, threads: OPENED_THREADS } = DEFAULT_LIMITS

const SETTINGS = {
  threads: String(OPENED_THREADS),
  memory_limit: `${OPENED_BYTES}B`,
  max_temp_directory_size: `${OPENED_BYTES * SPILL_FACTOR}B`,
  autoload_known_extensions: 'false',
  autoinstall_known_extensions: 'false',
  allow_community_extensions: 'false',
  allow_persistent_secrets: 'false',
  // DuckDB takes a file for an earlier one at the same path if both were written in the same second, and would return
  // old rows without an error.
  enable_external_file_cache: 'false',
}

/** Opens an engine. This takes 7 ms, so it is called before a job comes. */
export async function openEngine(): Promise<Engine> {
  const instance = await DuckDBInstance.create(':memory:', SETTINGS)
  const connection = await instance.connect()
  await connection.run('set enable_progress_bar = true; set enable_progress_bar_print = false')
  return {
    connection,
    memory_bytes: OPENED_BYTES,
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

export interface Arms {
  memory_bytes: number
  threads: number
  temp_folder: string
  /** The most bytes that may be spilled; a multiple of the memory if null or absent. */
  spill_bytes?: number | null
  time_zone: string
}

/** Returns the bytes that a task with this memory may spill. */
export function spillOf(memory_bytes: number, spill_bytes?: number | null): number {
  return Math.min(memory_bytes * SPILL_FACTOR, spill_bytes ?? Number.POSITIVE_INFINITY)
}

/** Sets the job's limits and time zone. Called once per engine. */
export async function arm(engine: Engine, arms: Arms): Promise<void> {
  const { memory_bytes, threads, temp_folder, spill_bytes, time_zone } = arms
  engine.memory_bytes = memory_bytes
  const settings = [`set temp_directory = ${literal(temp_folder)}`]
  if (memory_bytes !== OPENED_BYTES) settings.push(`set memory_limit = '${memory_bytes}B'`)
  const spill = spillOf(memory_bytes, spill_bytes)
  if (spill !== OPENED_BYTES * SPILL_FACTOR) settings.push(`set max_temp_directory_size = '${spill}B'`)
  if (threads !== OPENED_THREADS) settings.push(`set threads = ${threads}`)
  if (time_zone !== (await openedZone(engine))) settings.push(`set TimeZone = ${literal(time_zone)}`)
  await engine.connection.run(settings.join(';'))
}

let zone: string | undefined

/** Returns DuckDB's name for the time zone of the process. */
async function openedZone(engine: Engine): Promise<string> {
  zone ??= (await readTable(engine, "select current_setting('TimeZone')", {}, 1)).rows[0]![0] as string
  return zone
}

/**
 * Seals the engine. After this call only `paths` can be opened, no setting can change, and no more than `spill_bytes`
 * are spilled, if given.
 */
export async function seal(engine: Engine, paths: string[], spill_bytes?: number): Promise<void> {
  const settings = ['set enable_external_access = false', 'set lock_configuration = true']
  if (spill_bytes !== undefined) settings.unshift(`set max_temp_directory_size = '${spill_bytes}B'`)
  if (paths.length > 0) settings.unshift(`set allowed_paths = [${paths.map(literal).join(', ')}]`)
  await engine.connection.run(settings.join(';'))
}

/**
 * The last query of each engine. A connection drops the stream of a query when another begins, and its rows are
 * missing without an error, so queries run one after the other.
 */
const latest = new WeakMap<Engine, Promise<unknown>>()

function oneByOne<T>(engine: Engine, query: () => Promise<T>): Promise<T> {
  const answer = (latest.get(engine) ?? Promise.resolve()).then(query)
  latest.set(
    engine,
    answer.catch(() => undefined),
  )
  return answer
}

/** Prepares one statement and binds its parameters. Several statements are refused. */
async function prepare(engine: Engine, sql: string, bindings: Bindings): Promise<DuckDBPreparedStatement> {
  const statement = await engine.connection.prepare(sql)
  for (let index = 1; index <= statement.parameterCount; index += 1) {
    const name = statement.parameterName(index)
    const bound = bindings[name]
    if (!bound) throw new Error(`Binder Error: There is no value for $${name}.`)
    statement.bindValue(index, bound.value, bound.type)
  }
  return statement
}

function columnsOf(result: DuckDBResult): Column[] {
  return result.deduplicatedColumnNames().map((name, index) => columnOf(name, result.columnType(index)))
}

/** Says that the rows hold more text than the caller allows. */
export class TooLarge extends Error {}

export interface ReadOptions {
  floats?: Floats
  /** The most characters of text in the rows that are kept. readTable throws TooLarge beyond it. */
  characters?: number
}

/**
 * Runs one query and keeps its first `limit` rows; the others are only counted. Rows are streamed, so that a result of any
 * size needs the memory of `limit` rows.
 */
export function readTable(
  engine: Engine,
  sql: string,
  bindings: Bindings,
  limit: number,
  { floats = 'words', characters: most = Number.POSITIVE_INFINITY }: ReadOptions = {},
): Promise<Table> {
  return streamed(engine, sql, bindings, async (result) => {
    const columns = columnsOf(result)
    const convert = columns.map((_, index) => cellConverter(result.columnType(index), floats))
    const rows: Cell[][] = []
    let total = 0
    let characters = 0
    await eachChunk(result, (chunk) => {
      total += chunk.rowCount
      for (const cells of rowsOf(chunk, convert, limit - rows.length)) {
        for (const cell of cells) if (typeof cell === 'string') characters += cell.length
        if (characters > most) throw new TooLarge()
        rows.push(cells)
      }
    })
    return { columns, rows, total }
  })
}

/** Runs one query and returns all its rows by the names of their columns, with numbers as the engine has them. */
export async function readRows(
  engine: Engine,
  sql: string,
  bindings: Bindings = {},
): Promise<Record<string, Cell>[]> {
  const { columns, rows } = await readTable(engine, sql, bindings, Number.POSITIVE_INFINITY, {
    floats: 'raw',
  })
  return rows.map((row) => Object.fromEntries(columns.map(({ name }, index) => [name, row[index]!])))
}

/** Runs one query after those that were asked before. `read` takes its rows from the stream. */
function streamed<T>(
  engine: Engine,
  sql: string,
  bindings: Bindings,
  read: (result: DuckDBResult) => Promise<T>,
): Promise<T> {
  return oneByOne(engine, async () => {
    const statement = await prepare(engine, sql, bindings)
    try {
      return await read(await statement.stream())
    } finally {
      statement.destroySync()
    }
  })
}

async function eachChunk(result: DuckDBResult, tell: (chunk: DuckDBDataChunk) => void): Promise<void> {
  for (let chunk = await result.fetchChunk(); chunk && chunk.rowCount > 0; chunk = await result.fetchChunk())
    tell(chunk)
}

type Convert = ReturnType<typeof cellConverter>

/** Gives the first rows of a chunk. */
function* rowsOf(chunk: DuckDBDataChunk, convert: readonly Convert[], most: number): Generator<Cell[]> {
  const wanted = Math.min(chunk.rowCount, most)
  if (wanted <= 0) return
  const vectors = convert.map((_, index) => chunk.getColumnVector(index))
  for (let row = 0; row < wanted; row += 1)
    yield vectors.map((vector, index) => convert[index]!(vector.getItem(row)))
}

/** Runs one query and calls `tell` with each of its rows. No row is kept. */
export function eachRow(engine: Engine, sql: string, tell: (row: Cell[]) => void): Promise<void> {
  return streamed(engine, sql, {}, (result) => {
    const convert = columnsOf(result).map((_, index) => cellConverter(result.columnType(index), 'words'))
    return eachChunk(result, (chunk) => {
      for (const row of rowsOf(chunk, convert, chunk.rowCount)) tell(row)
    })
  })
}

/** Runs one statement and discards its rows. */
export function execute(engine: Engine, sql: string, bindings: Bindings = {}): Promise<void> {
  return oneByOne(engine, async () => {
    const statement = await prepare(engine, sql, bindings)
    try {
      await statement.run()
    } finally {
      statement.destroySync()
    }
  })
}

/** Keeps the rows of a query as a table, which spills to the job's folder if memory is short. */
export async function keepTable(
  engine: Engine,
  name: string,
  sql: string,
  bindings: Bindings,
): Promise<void> {
  await execute(engine, `create table ${identifier(name)} as\n${sql}`, bindings)
}

/** Resolves to the columns of a query, which is not run. */
export async function describeQuery(engine: Engine, sql: string): Promise<Column[]> {
  const statement = await engine.connection.prepare(sql)
  try {
    return Array.from({ length: statement.columnCount }, (_, index) =>
      columnOf(statement.columnName(index), statement.columnType(index)),
    )
  } finally {
    statement.destroySync()
  }
}

/** Returns the progress of the running query, 0 to 100; null if DuckDB reports none. */
export function queryPercent(engine: Engine): number | null {
  const { percentage } = engine.connection.progress
  return percentage >= 0 && percentage <= 100 ? percentage : null
}

let version: string | undefined

/** Resolves to the version, such as "DuckDB 1.5.6". */
export async function engineVersion(engine: Engine): Promise<string> {
  if (version === undefined) {
    const { rows } = await readTable(engine, 'select version()', {}, 1)
    version = `DuckDB ${(rows[0]![0] as string).replace(/^v/, '')}`
  }
  return version
}
