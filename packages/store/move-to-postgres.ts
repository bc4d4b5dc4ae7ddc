/**
 * Everything of an SQLite database into an empty PostgreSQL one, in one transaction: all of it or nothing. The tables
 * and their columns are the described ones; what PostgreSQL has besides is said in `FILLED`. The database is held against
 * other processes meanwhile, and what a killed service had under way is put back first.
 */
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { Client } from 'pg'
import { NO_CAPS } from './caps.ts'
import { openStore } from './open.ts'
import { clientConfig } from './postgres/connection.ts'
import { openSqlite } from './sqlite/sqlite.ts'
import { TABLES } from './tables/all.ts'
import { POSTGRES_TYPES } from './tables/table.ts'

export interface MoveOptions {
  /** The SQLite database. */
  file: string
  /** postgres://... */
  url: string
  clock: Clock
  /** Before anything is written: throws where the secrets could not be opened there. */
  checkSecrets(sealed: string | null): void
  onTable(table: string, rows: number): void
}

/** Not moved: nodes that are gone, and counts that PostgreSQL's triggers make anew. */
const LEFT: readonly string[] = ['nodes', 'job_counts']
const MOVED = TABLES.filter(({ name }) => !LEFT.includes(name))

/** Columns that only PostgreSQL has, by what they hold in SQLite's words. The others it fills by itself. */
const FILLED: Record<string, Record<string, string>> = {
  deliveries: { event_at: '(SELECT timestamp FROM events WHERE seq = event_seq)' },
  recoveries: {
    // PostgreSQL walks by time: from the first event not yet looked at to past the last. What was made already is seen.
    next_at: 'coalesce((SELECT min(timestamp) FROM events WHERE seq >= next_seq), created_at)',
    next_seq: '0',
    until: `strftime('%Y-%m-%dT%H:%M:%fZ', coalesce((SELECT max(timestamp) FROM events WHERE seq <= to_seq), created_at), '+0.001 seconds')`,
  },
}

const BATCH_ROWS = 500
const BATCH_CHARACTERS = 4_000_000

/** Throws AppError `conflict` where the target is not empty, `store_unavailable` where one of both cannot be used. */
export async function moveToPostgres(options: MoveOptions): Promise<void> {
  const { file, url, clock } = options
  const store = await openSqlite({ file, clock, publicUrl: null, caps: NO_CAPS })
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    await store.reapNodes({ all: true })
    source.exec('PRAGMA busy_timeout = 5000')
    options.checkSecrets(sealedCheck(source))
    const target = await openStore({ url, home: '', clock, publicUrl: null })
    try {
      await target.ping()
    } finally {
      await target.close()
    }
    await copyAll(source, options)
  } finally {
    source.close()
    await store.close()
  }
}

function sealedCheck(source: DatabaseSync): string | null {
  const row = source.prepare("SELECT value FROM settings WHERE key = 'secret_key_check'").get()
  return (row?.value as string | undefined) ?? null
}

async function copyAll(source: DatabaseSync, { url, onTable }: MoveOptions): Promise<void> {
  const client = new Client(clientConfig(url))
  await client.connect()
  try {
    await client.query('BEGIN')
    await requireEmpty(client)
    await client.query(`TRUNCATE ${MOVED.map(({ name }) => name).join(', ')}, job_counts CASCADE`)
    for (const table of MOVED) onTable(table.name, await copyTable(client, source, table))
    await client.query(
      `SELECT setval(pg_get_serial_sequence('events', 'seq'), coalesce((SELECT max(seq) FROM events), 0) + 1, false)`,
    )
    await client.query('COMMIT')
  } finally {
    await client.end()
  }
}

/** A migrated database holds the default workspace; one that served has users. */
async function requireEmpty(client: Client): Promise<void> {
  const { rows } = await client.query<{ used: boolean }>(
    `SELECT EXISTS (SELECT FROM users) OR EXISTS (SELECT FROM jobs) OR EXISTS (SELECT FROM events)
       OR EXISTS (SELECT FROM workspaces WHERE workspace_id <> 'default') AS used`,
  )
  if (rows[0]!.used)
    throw new AppError(
      'conflict',
      'The PostgreSQL database holds data already: give an empty one that no service has started on.',
    )
}

const quoted = (name: string): string => `"${name}"`

/** The columns of PostgreSQL, each as SQLite is asked for it. */
function columnsOf({ name: table, columns, only }: Moved): { name: string; source: string }[] {
  const filled = FILLED[table] ?? {}
  return columns
    .filter((name: string) => !only.sqlite?.includes(name))
    .filter((name: string) => !only.postgres?.includes(name) || filled[name] !== undefined)
    .map((name: string) => ({ name, source: filled[name] ?? quoted(name) }))
}

type Moved = (typeof MOVED)[number]

async function copyTable(client: Client, source: DatabaseSync, table: Moved): Promise<number> {
  const columns = columnsOf(table)
  const select = source.prepare(
    `SELECT ${columns.map((column) => `${column.source} AS ${quoted(column.name)}`).join(', ')} FROM ${table.name}`,
  )
  select.setReadBigInts(true)
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  const insert =
    `INSERT INTO ${table.name} (${names}) OVERRIDING SYSTEM VALUE SELECT ` +
    columns.map(({ name }) => `${quoted(name)}::${POSTGRES_TYPES[table.kinds[name]!]}`).join(', ') +
    ` FROM unnest(${columns.map((_, index) => `$${index + 1}::text[]`).join(', ')}) AS moved (${names})`
  let batch: (string | null)[][] = []
  let characters = 0
  let count = 0
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return
    await client.query(
      insert,
      columns.map((_, index) => batch.map((row) => row[index]!)),
    )
    count += batch.length
    batch = []
    characters = 0
  }
  for (const row of select.iterate()) {
    const values = columns.map(({ name }) => textOf(row[name]))
    characters += values.reduce((sum, value) => sum + (value?.length ?? 0), 0)
    batch.push(values)
    if (batch.length >= BATCH_ROWS || characters >= BATCH_CHARACTERS) await flush()
  }
  await flush()
  return count
}

/** As text, which PostgreSQL reads into each type: 0 and 1 are booleans there, too. */
function textOf(value: SQLOutputValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value)
}
