/** PostgreSQL as the source and the target of a copy. */
import { systemClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { Client } from 'pg'
import { openStore } from '../open.ts'
import { translate } from '../postgres/failures.ts'
import { MIGRATIONS } from '../postgres/schema.ts'
import { newClient } from '../postgres/servers/client.ts'
import { TABLES } from '../tables/all.ts'
import { POSTGRES_TYPES } from '../tables/table.ts'
import { type CopySource, type CopyTarget, nextSize, vetSchema } from './copy.ts'
import {
  type CopiedRow,
  type CopiedTable,
  quoted,
  type StoreKind,
  selectAll,
  type TargetColumn,
  targetColumns,
} from './tables.ts'

/** The number of rows that are read first. Their length decides how many follow, because an insight may have megabytes. */
const FIRST_ROWS = 10

async function connected(url: string): Promise<Client> {
  const client = newClient(url)
  // A connection that breaks also rejects its statements, which report the fault.
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    throw translate(error)
  }
}

/** Reads one moment of the database, which nodes may use meanwhile. */
export async function openPostgresSource(url: string): Promise<CopySource> {
  const client = await connected(url)
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const { rows: found } = await client.query<{ found: string | null }>(
      `SELECT to_regclass('migrations') AS found`,
    )
    const { rows: applied } =
      found[0]!.found === null
        ? { rows: [] }
        : await client.query<{ name: string }>('SELECT name FROM migrations')
    const schema = vetSchema(applied, MIGRATIONS)
    return {
      kind: 'postgres',
      schema,
      async sequence() {
        const { rows } = await client.query<{ last: string | number | null }>(
          `SELECT pg_sequence_last_value(pg_get_serial_sequence('events', 'seq')::regclass) AS last`,
        )
        return Number(rows[0]!.last ?? 0)
      },
      batches: (table) => batchesOf(client, table),
      close: () => client.end(),
    }
  } catch (error) {
    await client.end().catch(() => undefined)
    throw translate(error)
  }
}

async function* batchesOf(client: Client, table: CopiedTable): AsyncGenerator<CopiedRow[]> {
  const reals = table.columns.flatMap((name, index) => (table.kinds[name] === 'real' ? [index] : []))
  await client.query(`DECLARE copied NO SCROLL CURSOR FOR ${selectAll(table, 'postgres')}`)
  for (let size = FIRST_ROWS; ; ) {
    const { rows } = await client.query<CopiedRow>({ text: `FETCH ${size} FROM copied`, rowMode: 'array' })
    if (rows.length === 0) break
    // PostgreSQL writes 1e-07, and SQLite's reader writes 1e-7.
    for (const row of rows)
      for (const index of reals) {
        const text = row[index] ?? null
        if (text !== null) row[index] = String(Number(text))
      }
    size = nextSize(rows)
    yield rows
  }
  await client.query('CLOSE copied')
}

/** Writes into an empty database, in one transaction. Throws `conflict` if it holds data. */
export async function openPostgresTarget(url: string): Promise<CopyTarget> {
  const store = await openStore({ url, home: '', clock: systemClock, publicUrl: null })
  try {
    await store.ping()
  } finally {
    await store.close()
  }
  const client = await connected(url)
  try {
    await client.query('BEGIN')
    await requireEmpty(client)
    await client.query(`TRUNCATE ${TABLES.map(({ name }) => name).join(', ')} CASCADE`)
    // The trigger refuses rows of a workspace that is being deleted.
    await client.query('ALTER TABLE job_counts DISABLE TRIGGER jobs_of_deleted')
  } catch (error) {
    await client.end()
    throw translate(error)
  }
  return {
    kind: 'postgres',
    write: (table, rows, from) => insert(client, table, rows, from),
    async finish(sequence) {
      await client.query(
        'DELETE FROM job_counts USING workspaces WHERE workspaces.workspace_id = job_counts.workspace_id AND deleted_at IS NOT NULL',
      )
      await client.query('ALTER TABLE job_counts ENABLE TRIGGER jobs_of_deleted')
      await client.query(
        `SELECT setval(pg_get_serial_sequence('events', 'seq'), greatest($1::bigint, coalesce(max(seq), 0)) + 1, false) FROM events`,
        [sequence],
      )
      await client.query('COMMIT')
    },
    close: () => client.end(),
  }
}

/** Throws unless the database is empty. A migrated database holds the default workspace; one that served has users. */
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

function valueOf({ name, kind }: TargetColumn): string {
  // PostgreSQL accepts 0 and 1 as booleans only in a text.
  return `${quoted(name)}::${POSTGRES_TYPES[kind]}`
}

async function insert(
  client: Client,
  table: CopiedTable,
  rows: readonly CopiedRow[],
  from: StoreKind,
): Promise<void> {
  const columns = targetColumns(table, 'postgres', from)
  const names = columns.map(({ name }) => quoted(name)).join(', ')
  await client.query(
    `INSERT INTO ${table.name} (${names}) OVERRIDING SYSTEM VALUE SELECT ${columns.map(valueOf).join(', ')}
     FROM unnest(${columns.map((_, index) => `$${index + 1}::text[]`).join(', ')}) AS copied (${names})`,
    columns.map(({ index }) => rows.map((row) => row[index] ?? null)),
  )
}
