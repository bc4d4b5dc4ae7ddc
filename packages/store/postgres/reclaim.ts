/**
 * Vacuums the tables of the store where nobody else does: on a database whose autovacuum is off. Without it the rows
 * that queues replace and delete would be kept for ever.
 */

import { translate } from './failures.ts'
import { newClient } from './servers/client.ts'

/** Finds tables of which a tenth of the rows, and some more, are dead, where autovacuum passes them over. */
const DUE = `
  SELECT relid::regclass::text AS name FROM pg_stat_user_tables JOIN pg_class ON pg_class.oid = relid
  WHERE schemaname = current_schema() AND n_dead_tup > 1000 + n_live_tup / 10
    AND (current_setting('autovacuum') = 'off' OR 'autovacuum_enabled=false' = ANY (reloptions))
  ORDER BY n_dead_tup`

/** The longest that the vacuum of one table may take, in milliseconds. A database that is silent for longer is given up. */
const VACUUM_MS = 1_800_000

/** Resolves with the names of the tables that were vacuumed. Several nodes at once pass over each other's tables. */
export async function reclaim(url: string): Promise<string[]> {
  const client = newClient(url, { query_timeout: VACUUM_MS })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ name: string }>(DUE)
    for (const { name } of rows) await client.query(`VACUUM (SKIP_LOCKED, ANALYZE) ${name}`)
    return rows.map(({ name }) => name)
  } catch (error) {
    throw translate(error)
  } finally {
    client.end().catch(() => undefined)
  }
}
