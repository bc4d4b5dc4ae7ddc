/** The schema of an SQLite database. It is migrated, and written out for schema.sql. */
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Migrator, migrate, readMigrations, requireMigration } from '../migrate.ts'
import type { Reader, Routine } from '../rows.ts'

export const MIGRATIONS = path.join(import.meta.dirname, 'migrations')

function migrator(db: DatabaseSync): Migrator {
  return {
    async applied() {
      db.exec(
        'CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT',
      )
      return db
        .prepare('SELECT number, name FROM migrations')
        .all()
        .map(({ number, name }) => ({ number: number as number, name: name as string }))
    },
    async apply({ number, name, sql }) {
      db.exec('BEGIN IMMEDIATE')
      try {
        db.exec(sql)
        db.prepare('INSERT INTO migrations (number, name, applied_at) VALUES (?, ?, ?)').run(
          number,
          name,
          new Date().toISOString(),
        )
        db.exec('COMMIT')
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK')
        throw error
      }
    },
  }
}

/**
 * Migrates the database. Returns the names of the applied migrations. Throws `store_unavailable` if the schema is
 * newer.
 */
export function migrateSqlite(db: DatabaseSync, folder = MIGRATIONS): Promise<string[]> {
  return migrate(readMigrations(folder), migrator(db))
}

const NEWEST = readMigrations(MIGRATIONS).at(-1)!.number

/** Throws `store_unavailable` if the schema is older than this program. */
export function requireSchema(from: Reader): Routine<void> {
  return requireMigration(from, NEWEST)
}

/** Returns the schema that the migrations make, as SQL sorted by table. schema.sql holds it. */
export async function sqliteSchema(): Promise<string> {
  const db = new DatabaseSync(':memory:')
  await migrateSqlite(db)
  const rows = db
    .prepare(
      `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
       ORDER BY tbl_name, type DESC, name`,
    )
    .all()
  db.close()
  return rows.map(({ sql }) => `${sql as string};\n`).join('\n')
}
