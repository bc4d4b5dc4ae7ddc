/**
 * The store on SQLite. Reads are answered at once, writes once their commit is durable. A routine of the contract
 * runs whole inside one transaction, without a pause.
 */
import { chmodSync, closeSync, openSync } from 'node:fs'
import type { Clock } from '@assay/model/clock'
import type { AppError } from '@assay/model/errors'
import type { JobCaps } from '../caps.ts'
import { type Database, storeOf } from '../methods.ts'
import { ensureDefaultWorkspace } from '../nouns/workspaces/accounts.ts'
import { inTurn } from '../rows.ts'
import type { Store } from '../store.ts'
import { type Connection, connect, openDatabase, translate, unavailable } from './connection.ts'
import { insightsOf } from './insights.ts'
import { takeLock } from './lock.ts'
import { migrateSqlite, requireSchema } from './schema.ts'

export interface SqliteOptions {
  /** The path of the database. Its lock lies beside it. */
  file: string
  clock: Clock
  publicUrl: string | null
  caps: JobCaps
  /** Called once if the disk has failed to keep what was written. Nothing is read or written any more. */
  failed?: ((error: AppError) => void) | undefined
}

/** Opens the database and migrates it. Throws `store_unavailable` if another process holds it. */
export async function openSqlite({ file, ...options }: SqliteOptions): Promise<Store> {
  const lock = takeLock(file, new Date(options.clock.now()).toISOString())
  try {
    // The file is made before SQLite makes it, because its -wal and -shm files take the mode of the database.
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    const db = openDatabase(file)
    await migrateSqlite(db)
    const connection = await connect(db, { file, ...options })
    await connection.write(() => connection.run(ensureDefaultWorkspace))
    const database = databaseOf(connection, () => lock.release())
    return storeOf(database, insightsOf(database))
  } catch (error) {
    lock.release()
    throw translate(error)
  }
}

function databaseOf(connection: Connection, released: () => void): Database {
  const { run } = connection
  const read: Database['read'] = (work) => connection.read(() => run(work))
  const write: Database['write'] = (work) => connection.write(() => run(work))
  let open = true
  return {
    kind: 'sqlite',
    read,
    readTogether: (work) => connection.read(() => run(work)),
    write,
    control: write,
    reports: (writeReports) => {
      const joined: (groups: Parameters<typeof writeReports>[1][]) => boolean[][] = (groups) => {
        const written = run((tx) => writeReports(tx, groups.flat()))
        return groups.map(({ length }) => written.splice(0, length))
      }
      return {
        report: (reports) => connection.join(joined, reports),
        follow: (work, first) => connection.writeLast(() => run((tx) => inTurn(first(tx), work(tx)))),
        alone: (work) => connection.writeLast(() => run(work)),
        beside: async (work, first) => ({
          value: await connection.writeLast(() => run((tx) => inTurn(first(tx), work(tx)))),
          isBeside: false,
        }),
      }
    },
    subscribe: connection.subscribe,
    connections: () => null,
    // SQLite fills the pages of deleted rows by itself.
    reclaim: async () => [],
    async ping() {
      if (!open) throw unavailable('The store is closed.')
      await read(requireSchema)
    },
    async close() {
      if (!open) return
      open = false
      if (await connection.close()) released()
    },
  }
}
