/** Looks at a PostgreSQL database. */

import { translate } from '../postgres/failures.ts'
import { newClient } from '../postgres/servers/client.ts'
import { type StoreLook, schemaState } from './store-look.ts'

interface Facts {
  server: string
  now: string
  bytes: string | number
  open: number
  most: number
  standby: boolean
  migrations: string | null
  events: string | null
  settings: string | null
}

const FACTS = `
  SELECT current_setting('server_version') AS server, clock_timestamp()::timestamptz(3) AS now,
    pg_database_size(current_database()) AS bytes,
    (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS open,
    current_setting('max_connections')::int AS most, pg_is_in_recovery() AS standby,
    to_regclass('migrations') AS migrations, to_regclass('events') AS events, to_regclass('settings') AS settings`

export async function lookAtPostgres(url: string): Promise<StoreLook> {
  const client = newClient(url)
  client.on('error', () => undefined)
  try {
    await client.connect()
    const asked = Date.now()
    const { rows } = await client.query<Facts>(FACTS)
    // The clock was read half-way between question and answer.
    const middle = (asked + Date.now()) / 2
    const found = rows[0]!
    const ask = async <T extends object>(table: string | null, sql: string): Promise<T[]> =>
      table === null ? [] : (await client.query<T>(sql)).rows
    const applied = await ask<{ name: string }>(found.migrations, 'SELECT name FROM migrations')
    const newest = await ask<{ at: string | null }>(
      found.events,
      'SELECT timestamp AS at FROM events ORDER BY seq DESC LIMIT 1',
    )
    const check = await ask<{ value: string }>(
      found.settings,
      "SELECT value FROM settings WHERE key = 'secret_key_check'",
    )
    return {
      kind: 'postgres',
      server: `PostgreSQL ${found.server}`,
      schema: schemaState(applied.map(({ name }) => name)),
      bytes: Number(found.bytes),
      ahead_ms: Date.parse(found.now) - middle,
      newest_at: newest[0]?.at ?? null,
      key_check: check[0]?.value ?? null,
      connections: { open: found.open, most: found.most },
      standby: found.standby,
    }
  } catch (error) {
    throw translate(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}
