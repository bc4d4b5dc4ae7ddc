/** The databases over which histories are tried. Each is a real one, started or connected once for all histories. */
import { once } from 'node:events'
import { connect } from 'node:net'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import mysql from 'mysql2/promise'
import { Client } from 'pg'
import type { Tried } from '../../packages/engine/partitions/histories-fixture.ts'
import { openSocketsWith } from '../../packages/engine/sources/sockets.ts'
import { CONNECTION_LIMITS } from '../../packages/model/connection-kinds.ts'
import { clickhouseServer, missingClickhouse } from '../../test/servers/clickhouse.ts'
import { missingMysql, mysqlUrl } from '../../test/servers/mariadb.ts'
import { missingPostgres, startPostgres } from '../../test/servers/postgres.ts'

const SHARED = {
  name: 'remote',
  limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
  targets: ['loopback'],
}

export interface Started extends Tried {
  close(): Promise<void>
}

export interface TriedKind {
  /** Returns the reason why it cannot be tried; null if it can. */
  missing(): string | null | Promise<string | null>
  /** The number of histories at once. */
  lanes: number
  start(folder: string): Promise<Started>
}

/** Opens sockets in this process, because there is no parent that would open them. */
function openSocketsHere(): void {
  openSocketsWith(async ({ host, port }) => {
    const socket = connect(port, host)
    await once(socket, 'connect')
    return socket
  })
}

const sqlite: TriedKind = {
  missing: () => null,
  // A writer of SQLite waits for all readers.
  lanes: 1,
  async start(folder) {
    const database = new DatabaseSync(path.join(folder, 'tried.db'))
    database.exec('pragma synchronous = off')
    return {
      connection: { ...SHARED, kind: 'sqlite', options: { file: 'tried.db' }, secrets: {} },
      execute: async (sql) => database.exec(sql),
      close: async () => database.close(),
    }
  },
}

const postgresql: TriedKind = {
  missing: missingPostgres,
  lanes: 4,
  async start() {
    const postgres = await startPostgres()
    const name = `increments_${process.pid}`
    const url = new URL(await postgres.createDatabase(name))
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
    const secrets = { password: decodeURIComponent(url.password) || 'not-needed' }
    return {
      connection: { ...SHARED, kind: 'postgresql', options, secrets },
      execute: async (sql) => void (await client.query(sql)),
      async close() {
        await client.end()
        await postgres.dropDatabase(name)
        await postgres.stop()
      },
    }
  },
}

const mariadb: TriedKind = {
  missing: missingMysql,
  lanes: 4,
  async start() {
    const url = mysqlUrl()
    const client = await mysql.createConnection(url.href)
    const options = {
      host: url.hostname,
      port: Number(url.port || 3306),
      database: url.pathname.slice(1),
      user: decodeURIComponent(url.username),
      tls: 'off',
      privileged: 'accepted',
    }
    return {
      connection: {
        ...SHARED,
        kind: 'mysql',
        options,
        secrets: { password: decodeURIComponent(url.password) },
      },
      execute: async (sql) => void (await client.query(sql)),
      close: () => client.end(),
    }
  },
}

const clickhouse: TriedKind = {
  missing: missingClickhouse,
  // Under load the engine without a server sometimes gave a file that cannot be read.
  lanes: 1,
  async start() {
    const { url, user, password, database } = clickhouseServer()
    const address = new URL(url)
    address.searchParams.set('database', database)
    const headers = { 'x-clickhouse-user': user, 'x-clickhouse-key': password }
    return {
      connection: {
        ...SHARED,
        kind: 'clickhouse',
        options: { url, database, user, privileged: 'accepted' },
        secrets: password === '' ? {} : { password },
      },
      async execute(sql) {
        const answer = await fetch(address, { method: 'POST', body: sql, headers })
        const text = await answer.text()
        if (!answer.ok) throw new Error(text)
      },
      close: () => Promise.resolve(),
    }
  },
}

export function triedKinds(): Record<string, TriedKind> {
  openSocketsHere()
  return { sqlite, postgresql, mysql: mariadb, clickhouse }
}
