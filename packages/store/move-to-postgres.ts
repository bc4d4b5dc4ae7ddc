/**
 * Everything of an SQLite database into an empty PostgreSQL one, in one transaction: all of it or nothing. Both keep
 * tables of the same names and columns; what PostgreSQL has besides is said in `FILLED`. The database is held against
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

/** Not moved: which migrations ran, nodes that are gone, and counts that PostgreSQL's triggers make anew. */
const LEFT = new Set(['migrations', 'nodes', 'job_counts'])

/** Columns that only PostgreSQL has, by what they hold in SQLite's words. */
const FILLED: Record<string, Record<string, string>> = {
  deliveries: { event_at: '(SELECT timestamp FROM events WHERE seq = event_seq)' },
  recoveries: {
    // PostgreSQL walks by time: from the first event not yet looked at to past the last. What was made already is seen.
    next_at: 'coalesce((SELECT min(timestamp) FROM events WHERE seq >= next_seq), created_at)',
    next_seq: '0',
    until: `strftime('%Y-%m-%dT%H:%M:%fZ', coalesce((SELECT max(timestamp) FROM events WHERE seq <= to_seq), created_at), '+0.001 seconds')`,
  },
}
/** Columns that PostgreSQL fills by itself. */
const OWN = new Set(['events.xid'])

const BATCH_ROWS = 500
const BATCH_CHARACTERS = 4_000_000

interface Column {
  name: string
  type: string
}

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
    const tables = await tablesInOrder(client)
    await client.query(`TRUNCATE ${tables.join(', ')}, job_counts CASCADE`)
    for (const table of tables) onTable(table, await copyTable(client, source, table))
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

/** Those that others refer to first. */
async function tablesInOrder(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string; after: string[] }>(
    `SELECT c.relname AS name, ARRAY (
       SELECT r.relname::text FROM pg_constraint AS k JOIN pg_class AS r ON r.oid = k.confrelid
       WHERE k.conrelid = c.oid AND k.contype = 'f' AND r.oid <> c.oid) AS after
     FROM pg_class AS c WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace ORDER BY 1`,
  )
  const waiting = new Map(rows.filter(({ name }) => !LEFT.has(name)).map(({ name, after }) => [name, after]))
  const ordered: string[] = []
  while (waiting.size > 0) {
    const ready = [...waiting].filter(([, after]) => !after.some((other) => waiting.has(other)))
    if (ready.length === 0) throw new Error('The tables refer to each other in a circle.')
    for (const [name] of ready) {
      ordered.push(name)
      waiting.delete(name)
    }
  }
  return ordered
}

async function columnsOf(client: Client, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  )
  return rows.filter(({ name }) => !OWN.has(`${table}.${name}`))
}

const quoted = (name: string): string => `"${name}"`

async function copyTable(client: Client, source: DatabaseSync, table: string): Promise<number> {
  const columns = await columnsOf(client, table)
  const filled = FILLED[table] ?? {}
  const wanted = columns.map(({ name }) =>
    filled[name] ? `${filled[name]} AS ${quoted(name)}` : quoted(name),
  )
  const select = source.prepare(`SELECT ${wanted.join(', ')} FROM ${quoted(table)}`)
  select.setReadBigInts(true)
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  const insert =
    `INSERT INTO ${quoted(table)} (${names}) OVERRIDING SYSTEM VALUE SELECT ` +
    columns.map(({ name, type }) => `${quoted(name)}::${type}`).join(', ') +
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
