/** The schema of a PostgreSQL database. It is migrated under a lock, and written out for schema.sql. */
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from 'pg'
import { type Migration, type Migrator, migrate, readMigrations, requireMigration } from '../migrate.ts'
import type { Reader, Routine } from '../rows.ts'
import { statement } from '../statement.ts'
import { FIRST_WORD_MS } from './connection.ts'
import { isLockTimeout, isRepeatable, translate } from './failures.ts'
import { newClient } from './servers/client.ts'

export const MIGRATIONS = path.join(import.meta.dirname, 'migrations')

/** The number of the lock. No other program in this database is likely to use it. */
const LOCK = 7_283_501_964
const LOOK_MS = 250
/**
 * The milliseconds for which a start waits. A migration of large tables may take long, and so may the first start
 * after a restore.
 */
const PATIENCE_MS = 86_400_000
/** The milliseconds after which a node that vanishes within a migration no longer keeps the others from starting. */
const ABANDONED_MS = 60_000
/**
 * The milliseconds for which a change of a table waits for its readers (a dump may take an hour). All later readers
 * wait behind the change, so it gives way to them after this time and tries again.
 */
const QUEUED_MS = 1000
const GIVES_WAY_MS = 2000
const GIVES_UP_MS = 600_000

/** Adds the time limit of one statement, which the driver accepts and its types lack. */
const patiently = (text: string): { text: string; query_timeout: number } => ({
  text,
  query_timeout: PATIENCE_MS,
})

/**
 * Takes the lock. It asks again and again, so that it notices a connection that fell silent while another node
 * migrates.
 */
async function lock(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_xact_lock($1) AS taken', [
      LOCK,
    ])
    if (rows[0]?.taken) return
    await delay(LOOK_MS)
  }
}

/** The condition of the schema's own tables, whichever schema the search path names first. */
const OURS =
  'SELECT c.oid, c.relname FROM pg_class AS c WHERE c.relnamespace = current_schema()::regnamespace'

function migrator(client: Client): Migrator {
  return {
    async applied() {
      // The table is looked up first, because IF NOT EXISTS needs the right to create even if the table exists.
      const { rows: known } = await client.query<{ found: string | null }>(
        `SELECT to_regclass('migrations') AS found`,
      )
      if (known[0]?.found === null)
        await client.query(
          'CREATE TABLE migrations (number integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz(3) NOT NULL)',
        )
      const { rows } = await client.query<Pick<Migration, 'number' | 'name'>>(
        'SELECT number, name FROM migrations',
      )
      return rows
    },
    async apply({ number, name, sql }) {
      await client.query(patiently(sql))
      await client.query(
        'INSERT INTO migrations (number, name, applied_at) VALUES ($1, $2, clock_timestamp())',
        [number, name],
      )
    },
  }
}

async function migrateOnce(url: string, folder: string): Promise<string[]> {
  const client = newClient(url, { query_timeout: FIRST_WORD_MS })
  // A connection that breaks also rejects its statements, which report the fault.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(
      `BEGIN; SET LOCAL idle_in_transaction_session_timeout = ${ABANDONED_MS}; SET LOCAL lock_timeout = ${QUEUED_MS}`,
    )
    await lock(client)
    const names = await migrate(readMigrations(folder), migrator(client))
    await client.query('COMMIT')
    return names
  } finally {
    await client.end().catch(() => undefined)
  }
}

/**
 * Migrates the database in one transaction, and returns the names of the applied migrations. Of nodes that start at
 * once one migrates and the others wait. Throws `store_unavailable` if the schema is newer.
 */
export async function migratePostgres(url: string, folder = MIGRATIONS): Promise<string[]> {
  const patience = performance.now() + GIVES_UP_MS
  for (;;) {
    try {
      return await migrateOnce(url, folder)
    } catch (error) {
      if (!(isLockTimeout(error) || isRepeatable(error)) || performance.now() > patience)
        throw translate(error)
      await delay(GIVES_WAY_MS)
    }
  }
}

const NEWEST = readMigrations(MIGRATIONS).at(-1)!.number

/**
 * Writes to the log of the database alone, so that the commit waits for the disk and the standbys like any other.
 * Reading a number would not.
 */
const LOGGED = statement("SELECT pg_logical_emit_message(true, 'assay', '')::text AS place")

/**
 * Checks that the database takes writes, by the commit of this transaction. Throws `store_unavailable` if the schema
 * is older than this program.
 */
export function* requireWrites(tx: Reader): Routine<void> {
  yield* requireMigration(tx, NEWEST)
  yield* tx.find(LOGGED)
}

const TABLES = `
  SELECT ours.relname AS table, array_to_string(c.reloptions, ', ') AS options,
    (SELECT array_agg(format('%I %s%s%s%s', attname, format_type(atttypid, atttypmod),
        CASE WHEN collname <> 'default' THEN format(' COLLATE %I', collname) END,
        CASE WHEN attnotnull THEN ' NOT NULL' END,
        CASE WHEN attidentity = 'a' THEN ' GENERATED ALWAYS AS IDENTITY'
             WHEN atthasdef THEN ' DEFAULT ' || pg_get_expr(adbin, adrelid) END) ORDER BY attnum)
     FROM pg_attribute LEFT JOIN pg_collation ON pg_collation.oid = attcollation
     LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE attrelid = ours.oid AND attnum > 0 AND NOT attisdropped) AS columns,
    (SELECT coalesce(array_agg(pg_get_constraintdef(oid) ORDER BY contype DESC, conname), '{}') FROM pg_constraint
     WHERE conrelid = ours.oid AND contype IN ('p', 'u', 'f', 'c')) AS constraints,
    (SELECT coalesce(array_agg(replace(pg_get_indexdef(indexrelid), format(' ON %I.', current_schema()), ' ON ')
        ORDER BY indexrelid::regclass::text), '{}')
     FROM pg_index WHERE indrelid = ours.oid AND NOT EXISTS (
       SELECT 1 FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u'))) AS indexes
  FROM (${OURS} AND c.relkind = 'r') AS ours JOIN pg_class AS c ON c.oid = ours.oid ORDER BY ours.relname`

interface TableRow {
  table: string
  options: string | null
  columns: string[]
  constraints: string[]
  indexes: string[]
}

function tableSql({ table, options, columns, constraints, indexes }: TableRow): string {
  const lines = [...columns, ...constraints].map((line) => `  ${line}`).join(',\n')
  const create = `CREATE TABLE ${table} (\n${lines}\n)${options ? ` WITH (${options})` : ''};\n`
  return [create, ...indexes.map((index) => `${index};\n`)].join('\n')
}

const FUNCTIONS = `
  SELECT pg_get_functiondef(oid) AS sql FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY proname`
const TRIGGERS = `
  SELECT pg_get_triggerdef(oid) AS sql FROM pg_trigger WHERE NOT tgisinternal
  AND tgrelid IN (SELECT oid FROM (${OURS}) AS ours) ORDER BY tgname`

/** Returns the schema of a migrated database as SQL sorted by table, from the catalogs. schema.sql holds it. */
export async function postgresSchema(url: string): Promise<string> {
  const client = newClient(url)
  await client.connect()
  try {
    const { rows } = await client.query<TableRow>(TABLES)
    const found = [FUNCTIONS, TRIGGERS].map((sql) => client.query<{ sql: string }>(sql))
    const rest = (await Promise.all(found)).flatMap((each) => each.rows)
    // The name of the schema is removed, as it is where tables are shown.
    const statements = rest.map(({ sql }) => `${sql.replaceAll('public.', '').trim()};\n`)
    return [...rows.map(tableSql), ...statements].join('\n')
  } finally {
    await client.end()
  }
}
