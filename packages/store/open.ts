/** Opens the store that the settings name. */
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '@assay/model/clock'
import type { AppError } from '@assay/model/errors'
import { type JobCaps, NO_CAPS } from './caps.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions {
  /** The address of the database: `sqlite:PATH`, `postgres://...` or ''. '' is assay.db in the home. */
  url: string
  /** The folder of the home. It is made with the mode 0700 if it does not exist. */
  home: string
  /** The clock of the store on SQLite. PostgreSQL uses its own time. */
  clock: Clock
  /** The public address for `result_url` in events, without a trailing slash; null if there is none. */
  publicUrl: string | null
  /** The caps of workspaces without caps of their own. By default there are none. */
  caps?: JobCaps
  /** The number of connections that requests and work share. It counts on PostgreSQL only. */
  connections?: number
  /** Called once if the disk has failed to keep what SQLite wrote. Only a restart helps then. */
  failed?: (error: AppError) => void
}

/**
 * Opens the store. Throws AppError `store_unavailable` with a sentence if it cannot be opened or another process
 * holds it.
 */
export async function openStore(options: OpenStoreOptions): Promise<Store> {
  const { url, home, clock, publicUrl, caps = NO_CAPS, connections, failed } = options
  if (/^postgres(ql)?:/.test(url)) {
    // The driver is loaded only where it is used.
    const { openPostgres } = await import('./postgres/postgres.ts')
    return openPostgres({ url, publicUrl, caps, ...(connections ? { connections } : {}) })
  }
  if (url !== '' && !url.startsWith('sqlite:')) throw new Error(`There is no store for ${url.split(':')[0]}.`)
  const { openSqlite } = await import('./sqlite/sqlite.ts')
  const file = storeFile(url, home)
  mkdirSync(home, { recursive: true, mode: 0o700 })
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  return openSqlite({ file, clock, publicUrl, caps, failed })
}

/** Returns the path of the SQLite database. */
export function storeFile(url: string, home: string): string {
  return url === '' ? path.join(home, 'assay.db') : path.resolve(url.slice('sqlite:'.length))
}
