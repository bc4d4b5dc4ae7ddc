/**
 * The store on PostgreSQL (14 and later). Many processes share one database, which does the distributed work: row
 * locks, its clock, its transactions. No decision depends on the memory of this process.
 */
import type { JobCaps } from '../caps.ts'
import { type Database, storeOf } from '../methods.ts'
import { ensureDefaultWorkspace } from '../nouns/workspaces/accounts.ts'
import { follow } from '../rows.ts'
import type { Store } from '../store.ts'
import { type Connection, connect } from './connection.ts'
import { wakeWebhooks } from './events.ts'
import { gatherReads } from './job-reads.ts'
import { nativeOf } from './native.ts'
import { reclaim } from './reclaim.ts'
import { migratePostgres, requireWrites } from './schema.ts'
import { sharing } from './sharing.ts'
import { createWriteGroups } from './write-groups.ts'

export interface PostgresOptions {
  /** The address, postgres://USER:PASSWORD@HOST/DATABASE. */
  url: string
  publicUrl: string | null
  caps: JobCaps
  /** The connections that requests and work share, by default 10. A few more are for work that must not wait for them. */
  connections?: number
}

/** Opens the database and migrates it. Throws `store_unavailable` if it cannot be reached. */
export async function openPostgres({ connections: size, ...options }: PostgresOptions): Promise<Store> {
  await migratePostgres(options.url)
  const connection = connect({
    ...options,
    size,
    nativeOf,
    wakeWebhooks,
  })
  try {
    await connection.write((tx) => follow(ensureDefaultWorkspace(tx)))
    const database = databaseOf(connection, options.url)
    return storeOf(database, { getJob: gatherReads(database.read) })
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** The milliseconds for which the answer to a probe is shared. Probes need no token, so each must not be a commit. */
const PING_HOLDS_MS = 250

function databaseOf(connection: Connection, url: string): Database {
  const { subscribe } = connection
  const takesWrites = (): Promise<void> => connection.control((tx) => follow(requireWrites(tx)))
  let ping = sharing(PING_HOLDS_MS, takesWrites)
  return {
    kind: 'postgres',
    read: (work) => connection.read((from) => follow(work(from))),
    readTogether: (work) => connection.readTogether((tx) => follow(work(tx))),
    write: (work) => connection.write((tx) => follow(work(tx))),
    control: (work) => connection.control((tx) => follow(work(tx))),
    reports: (writeReports) => createWriteGroups(connection, writeReports),
    subscribe,
    connections: connection.usage,
    reclaim: () => reclaim(url),
    ping: () => ping(),
    close() {
      ping = takesWrites
      return connection.close()
    },
  }
}
