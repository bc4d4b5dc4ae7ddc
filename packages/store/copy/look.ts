/** Looks at a database without changing anything, for people who search for a fault. */
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { storeFile } from '../open.ts'
import { translate } from '../sqlite/connection.ts'
import { type StoreLook, schemaState } from './store-look.ts'

/**
 * Looks at the store of the settings. Throws AppError `store_unavailable` with a sentence if the database cannot be
 * read. Returns null if there is no SQLite database yet.
 */
export async function lookAtStore({ url, home }: { url: string; home: string }): Promise<StoreLook | null> {
  if (/^postgres(ql)?:/.test(url)) {
    const { lookAtPostgres } = await import('./look-postgres.ts')
    return lookAtPostgres(url)
  }
  const file = storeFile(url, home)
  if (!existsSync(file)) return null
  try {
    return lookAtSqlite(file)
  } catch (error) {
    throw translate(error)
  }
}

function lookAtSqlite(file: string): StoreLook {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  try {
    const one = (sql: string) => Object.values(db.prepare(sql).get() ?? {})[0]
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
    const has = (table: string) => tables.some(({ name }) => name === table)
    const applied = has('migrations') ? db.prepare('SELECT name FROM migrations').all() : []
    return {
      kind: 'sqlite',
      server: `SQLite ${String(one('SELECT sqlite_version()'))}`,
      schema: schemaState(applied.map(({ name }) => String(name))),
      bytes: Number(one('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size')),
      ahead_ms: null,
      newest_at: has('events') ? ((one('SELECT max(timestamp) FROM events') ?? null) as string | null) : null,
      key_check: has('settings')
        ? ((one("SELECT value FROM settings WHERE key = 'secret_key_check'") ?? null) as string | null)
        : null,
      connections: null,
      standby: false,
    }
  } finally {
    db.close()
  }
}
