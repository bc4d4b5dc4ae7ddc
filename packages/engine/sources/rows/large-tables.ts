/**
 * Keeps tables that are too large for memory. They lie in a database file of the job's folder, packed by the engine,
 * and are read through views (measured: docs/decisions/0142-large-tables-lie-on-the-disk.md).
 */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { type Engine, execute, identifier, literal } from '../../duckdb/duckdb.ts'
import { NoRoom, roomLeft } from '../room.ts'

/** The database of large tables. No name of a template has a blank. */
export const LARGE = 'large tables'
/** A memory limit below what the engine needs to write. */
const TRIMMED_BYTES = 8_000_000
/** The milliseconds between two checks of the room while one statement writes. */
const WATCH_MS = 50

export interface TableRoom {
  /** A folder for this job alone; it need not exist. */
  temp_folder: string
  /** The bytes that the job may write there. */
  spill_bytes: number
}

/** Opens the database; it may be open already. */
export async function openLarge(engine: Engine, { temp_folder }: TableRoom): Promise<void> {
  await mkdir(temp_folder, { recursive: true, mode: 0o700 })
  const file = literal(path.join(temp_folder, 'large.duckdb'))
  // The database is not read after the job, so no write-ahead log is kept.
  await execute(
    engine,
    `attach if not exists ${file} as ${identifier(LARGE)} (recovery_mode 'no_wal_writes')`,
  )
}

export function largeTable(name: string): string {
  return `${identifier(LARGE)}.main.${identifier(name)}`
}

/**
 * Drops the pages of the file from memory, which the engine would keep. Rejects with NoRoom if no room is left on disk.
 */
export async function trimLarge(engine: Engine, { temp_folder, spill_bytes }: TableRoom): Promise<void> {
  if (roomLeft(spill_bytes, temp_folder) === 0) throw noRoom(spill_bytes)
  // The engine refuses the limit if it cannot drop enough now.
  await execute(engine, `set memory_limit = '${TRIMMED_BYTES}B'`).catch(() => undefined)
  await execute(engine, `set memory_limit = '${engine.memory_bytes}B'`)
}

const noRoom = (spill_bytes: number): NoRoom =>
  new NoRoom(
    `The rows need more than ${spill_bytes} bytes, which is all that this run may write to disk: aggregate in the query, or read fewer files.`,
  )

/** Runs a statement that writes to the disk of the job, and ends it as soon as no room is left there. */
async function executeWithin(
  engine: Engine,
  sql: string,
  { temp_folder, spill_bytes }: TableRoom,
): Promise<void> {
  let full = false
  const watch = setInterval(() => {
    full ||= roomLeft(spill_bytes, temp_folder) === 0
    if (full) engine.connection.interrupt()
  }, WATCH_MS)
  try {
    await execute(engine, sql)
  } catch (error) {
    throw full ? noRoom(spill_bytes) : error
  } finally {
    clearInterval(watch)
  }
}

/** Keeps the rows of a query as a large table, under this name. */
export async function keepLarge(engine: Engine, name: string, query: string, room: TableRoom): Promise<void> {
  await openLarge(engine, room)
  await executeWithin(engine, `create or replace table ${largeTable(name)} as ${query}`, room)
  await execute(engine, `checkpoint ${identifier(LARGE)}`)
  await trimLarge(engine, room)
  await execute(engine, `create or replace view ${identifier(name)} as from ${largeTable(name)}`)
}
