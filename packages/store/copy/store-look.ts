/** What a look at a database tells. */
import { readMigrations } from '../migrate.ts'
import { MIGRATIONS } from '../sqlite/schema.ts'
import type { StoreKind } from './tables.ts'

export interface StoreLook {
  kind: StoreKind
  /** "PostgreSQL 17.2", "SQLite 3.50.4". */
  server: string
  /** `none`: no service has started on it yet. */
  schema: 'current' | 'older' | 'newer' | 'none'
  bytes: number
  /** By how much its clock is ahead of this machine's, in milliseconds; null: it has none of its own. */
  ahead_ms: number | null
  /** The time of its newest event. */
  newest_at: string | null
  /** A text that the keys of its secrets open. */
  key_check: string | null
  /** PostgreSQL: connections that are open, and how many may be. */
  connections: { open: number; most: number } | null
  /** PostgreSQL: a standby that takes no writes. */
  standby: boolean
}

/** How the applied migrations stand to those of this program. */
export function schemaState(applied: readonly string[]): StoreLook['schema'] {
  const known = readMigrations(MIGRATIONS).map(({ name }) => name)
  if (applied.length === 0) return 'none'
  if (applied.some((name) => !known.includes(name))) return 'newer'
  return known.every((name) => applied.includes(name)) ? 'current' : 'older'
}
