/**
 * Moves an SQLite database into an empty PostgreSQL one. It locks the database against other processes meanwhile, and
 * first puts back what a killed service had under way.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from '@assay/model/clock'
import { NO_CAPS } from '../caps.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { openPostgresTarget } from './postgres.ts'
import { openSqliteSource } from './sqlite.ts'
import { COPIED } from './tables.ts'

export interface MoveOptions {
  /** The path of the SQLite database. */
  file: string
  /** The address of the PostgreSQL database, postgres://... */
  url: string
  clock: Clock
  /** Called before anything is written. Throws if the secrets could not be opened in the new store. */
  checkSecrets(sealed: string | null): void
  onTable(table: string, rows: number): void
}

/**
 * Moves everything. Throws AppError `conflict` if the target is not empty, and `store_unavailable` if one of the two
 * cannot be used.
 */
export async function moveToPostgres({
  file,
  url,
  clock,
  checkSecrets,
  onTable,
}: MoveOptions): Promise<void> {
  const store = await openSqlite({ file, clock, publicUrl: null, caps: NO_CAPS })
  try {
    await store.reapNodes({ all: true })
    checkSecrets(sealedCheck(file))
    const target = await openPostgresTarget(url)
    const source = await openSqliteSource(file)
    try {
      for (const table of COPIED) {
        let count = 0
        for await (const rows of source.batches(table)) {
          await target.write(table, rows, 'sqlite')
          count += rows.length
        }
        onTable(table.name, count)
      }
      await target.finish(await source.sequence())
    } finally {
      await source.close()
      await target.close()
    }
  } finally {
    await store.close()
  }
}

function sealedCheck(file: string): string | null {
  const source = new DatabaseSync(file, { readOnly: true })
  const row = source.prepare("SELECT value FROM settings WHERE key = 'secret_key_check'").get()
  source.close()
  return (row?.value as string | undefined) ?? null
}
