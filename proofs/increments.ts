/**
 * Random histories of a table, on each database: rows that come, come late, are marked or deleted, and definitions that
 * change. A run over kept days must equal a run from empty bit for bit. The audit must find every change that breaks
 * the declaration, and nothing else. `--histories N` (10,000) for each of SQLite and PostgreSQL, `--only KIND`.
 */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { openEngine } from '../packages/engine/duckdb/duckdb.ts'
import { type Tried, tryHistory } from '../packages/engine/partitions/histories-fixture.ts'
import { openSocketsWith } from '../packages/engine/sources/sockets.ts'
import { CONNECTION_LIMITS } from '../packages/model/connection-kinds.ts'
import { startPostgres } from '../test/postgres.ts'
import { randomFrom } from './calibration/processes.ts'
import type { Proof } from './main.ts'

const HISTORIES = 10_000
const TOLD = 500
const SHARED = { name: 'remote', limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 } }

interface Started extends Tried {
  close(): Promise<void>
}

const KINDS: Record<string, (folder: string) => Promise<Started>> = {
  async sqlite(folder) {
    const database = new DatabaseSync(path.join(folder, 'tried.db'))
    database.exec('pragma synchronous = off')
    return {
      connection: { ...SHARED, kind: 'sqlite', options: { file: 'tried.db' }, secrets: {}, targets: [] },
      execute: async (sql) => database.exec(sql),
      close: async () => database.close(),
    }
  },
  async postgresql() {
    const postgres = await startPostgres()
    const name = `increments_${process.pid}`
    const url = new URL(await postgres.createDatabase(name))
    // An analysis process gets its sockets from its parent; here there is none.
    openSocketsWith(async ({ host, port }) => {
      const socket = connect(port, host)
      await once(socket, 'connect')
      return socket
    })
    const client = new Client({ connectionString: url.href })
    await client.connect()
    const options = {
      host: url.hostname,
      port: Number(url.port),
      database: url.pathname.slice(1),
      user: decodeURIComponent(url.username),
      tls: 'off',
      privileged: 'accepted',
    }
    return {
      connection: {
        ...SHARED,
        kind: 'postgresql',
        options,
        secrets: { password: decodeURIComponent(url.password) || 'not-needed' },
        targets: ['loopback'],
      },
      execute: async (sql) => void (await client.query(sql)),
      async close() {
        await client.end()
        await postgres.dropDatabase(name)
        await postgres.stop()
      },
    }
  },
}

export const proof: Proof = {
  summary: 'kept days of metrics beside runs from empty, bit by bit, over random histories',
  async run({ seed, number, text, log }) {
    const broken: string[] = []
    const only = text('only', '')
    for (const [kind, start] of Object.entries(KINDS)) {
      if (only !== '' && only !== kind) continue
      const folder = await mkdtemp(path.join(tmpdir(), 'assay-increments-'))
      const server = await start(folder)
      const random = randomFrom(seed)
      const histories = number('histories', HISTORIES)
      try {
        for (let history = 0; history < histories; history += 1) {
          const engine = await openEngine()
          const options = { server, engine, random, data: folder, temp_folder: folder }
          const found = await tryHistory({ ...options, violates: history % 2 === 1 })
          engine.close()
          broken.push(...found.map((one) => `${kind}, history ${history}: ${one}`))
          if ((history + 1) % TOLD === 0) log(`${kind}: ${history + 1} histories, ${broken.length} broken`)
        }
      } finally {
        await server.close()
        await rm(folder, { recursive: true, force: true })
      }
    }
    return broken
  },
}
