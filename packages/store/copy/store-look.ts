/** The result of a look at a database. */
import { readMigrations } from '../migrate.ts'
import { MIGRATIONS } from '../sqlite/schema.ts'
import type { StoreKind } from './tables.ts'

export interface StoreLook {
  kind: StoreKind
  /** The server, such as "PostgreSQL 17.2" or "SQLite 3.50.4". */
  server: string
  /** The state of the schema. `none`: no service has started on the database yet. */
  schema: 'current' | 'older' | 'newer' | 'none'
  bytes: number
  /** Milliseconds by which its clock is ahead of this machine's. Null if it has no clock of its own. */
  ahead_ms: number | null
  /** The time of its newest event; null if there is none. */
  newest_at: string | null
  /** A text that the keys of its secrets open; null if there is none. */
  key_check: string | null
  /** PostgreSQL: the number of open connections, and the most that may be open. Null on SQLite. */
  connections: { open: number; most: number } | null
  /** PostgreSQL: true for a standby, which takes no writes. */
  standby: boolean
}

/** Compares the applied migrations with those of this program. */
export function schemaState(applied: readonly string[]): StoreLook['schema'] {
  const known = readMigrations(MIGRATIONS).map(({ name }) => name)
  if (applied.length === 0) return 'none'
  if (applied.some((name) => !known.includes(name))) return 'newer'
  return known.every((name) => applied.includes(name)) ? 'current' : 'older'
}
