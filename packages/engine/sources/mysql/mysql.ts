/**
 * Reads from MySQL and MariaDB. The query is prepared and runs in a read-only transaction that the server enforces;
 * rows are read from the socket as fast as they are written. An aborted query is ended by KILL QUERY over a second
 * connection. If this process is killed, the server ends the query at its own deadline.
 */
import { once } from 'node:events'
import type { OpenConnection } from '@assay/model/connection'
import mysql, { type Connection } from 'mysql2'
import type { Parameter, Plain } from '../../language/remote-query.ts'
import type { SqlSyntax } from '../../language/sql-clauses.ts'
import { CONNECT_TIMEOUT_MS, type Dialed, dial } from '../dial.ts'
import type { BatchReader, ColumnBatch, Kind, OpenOptions, ProbeOptions, RemoteColumn } from '../kind.ts'
import { acceptedPrivileges, refusePrivileged } from '../privileges.ts'
import { questionMarks, valuesOf } from '../rows/question-marks.ts'
import { brokeOff, QueryRefused, SourceError } from '../source.ts'
import { privilegesOf } from './privileges.ts'
import { type Command, Rows, type Wire } from './rows.ts'
import { type Field, mapField } from './types.ts'

const KILL_MS = 300

const SYNTAX: SqlSyntax = {
  opaque: [/'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S]|"")*"|`(?:[^`]|``)*`|#[^\n]*|--(?=\s)[^\n]*/y],
  nestedComments: false,
}

export const mysqlKind: Kind = {
  dialect: questionMarks(SYNTAX),
  async open(options) {
    const session = await connect(options)
    return new MysqlReader(session, options)
  },
  async probe(options) {
    const session = await connect(options)
    try {
      await begin(session, { ...options, cut: null })
      return {
        server: session.mariadb ? `MariaDB ${session.version.split('-')[0]}` : `MySQL ${session.version}`,
        read_only: `The server refuses writes in this session (START TRANSACTION READ ONLY).${acceptedPrivileges(session.privileges)}`,
      }
    } catch (error) {
      throw explained(error, options.connection)
    } finally {
      session.connection.destroy()
    }
  },
}

interface MysqlConnection {
  connection: Connection
  version: string
  mariadb: boolean
  /** What the user of the connection can do beyond reading. */
  privileges: string[]
}

/** The private parts of the library's connection that are used here. */
interface Inner {
  threadId: number
  _handshakePacket?: { serverVersion?: string }
}

function configOf({ options, secrets }: OpenConnection, { socket, tls }: Dialed) {
  const host = String(options.host)
  return {
    // The name to verify. For an address Node verifies the socket's `_host` instead.
    host,
    stream: () => socket,
    user: String(options.user),
    password: secrets.password ?? '',
    database: String(options.database),
    connectTimeout: CONNECT_TIMEOUT_MS,
    charset: 'utf8mb4',
    // This never sends local files, even if the server asks for them.
    flags: ['-LOCAL_FILES'],
    ...(tls
      ? {
          ssl: {
            rejectUnauthorized: tls.rejectUnauthorized,
            verifyIdentity: tls.rejectUnauthorized,
            ...(tls.ca === undefined ? {} : { ca: tls.ca }),
          },
        }
      : {}),
  }
}

async function connect({ connection, signal }: ProbeOptions): Promise<MysqlConnection> {
  const made = mysql.createConnection(configOf(connection, await dial(connection)))
  const abort = (): void => made.destroy()
  signal.addEventListener('abort', abort, { once: true })
  try {
    await new Promise<void>((resolve, reject) => {
      made.on('error', reject)
      made.connect((error) => (error ? reject(error) : resolve()))
    })
    const version = (made as unknown as Inner)._handshakePacket?.serverVersion ?? ''
    const mariadb = /mariadb/i.test(version)
    const privileges = privilegesOf(await grantsOf(made, mariadb))
    refusePrivileged(connection, privileges)
    return { connection: made, version: version.replace(/^5\.5\.5-/, ''), mariadb, privileges }
  } catch (error) {
    made.destroy()
    throw explained(error, connection)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function rowsOf(connection: Connection, sql: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    connection.query<mysql.RowDataPacket[]>({ sql, rowsAsArray: true }, (error, rows) => {
      if (error) reject(error)
      else resolve(rows.map((row) => String((row as unknown as unknown[])[0])))
    })
  })
}

/**
 * Returns the lines of SHOW GRANTS. MariaDB adds those of the role by itself; MySQL gives them if the statement names
 * the roles.
 */
async function grantsOf(connection: Connection, mariadb: boolean): Promise<string[]> {
  const [roles = 'NONE'] = mariadb ? [] : await rowsOf(connection, 'select current_role()')
  return rowsOf(
    connection,
    roles === 'NONE' ? 'show grants' : `show grants for current_user() using ${roles}`,
  )
}

interface ServerError extends Error {
  code?: string
  errno?: number
  sqlMessage?: string
}

/** Returns the error with the message of the server or the network. These messages hold no password. */
function explained(error: unknown, { name }: OpenConnection): unknown {
  if (!(error instanceof Error) || error instanceof SourceError) return error
  const { sqlMessage, message, code } = error as ServerError
  if (code === undefined) return error
  const failed = sqlMessage === undefined ? 'cannot be made' : 'was refused'
  const reason = (sqlMessage ?? message) || code
  return Object.assign(new SourceError(`The connection "${name}" ${failed}: ${reason}.`), { code })
}

function run(connection: Connection, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(sql, (error) => (error ? reject(error) : resolve()))
  })
}

interface Prepared {
  columns: unknown[]
  execute(parameters: (string | number | null)[]): Command
}

function prepare(connection: Connection, sql: string): Promise<Prepared> {
  return new Promise((resolve, reject) => {
    connection.prepare(sql, (error, statement) =>
      error ? reject(error) : resolve(statement as unknown as Prepared),
    )
  })
}

const UTC = /^(?:etc\/)?(?:utc|gmt)$/i
const UNKNOWN_ZONE = 1298
/** The code of the type TIMESTAMP in the protocol. */
const MOMENT = 7

/**
 * Sets the zone of the session, in which the server reads and writes moments (TIMESTAMP). Times without a zone
 * (DATETIME) stay as they are. So days are cut right in the zone of a metric, if the server knows it. Everything else
 * is read in UTC.
 */
async function setZone(connection: Connection, { time_zone, cut }: Zoned): Promise<boolean> {
  if (cut !== null && !UTC.test(time_zone))
    try {
      await run(connection, `set session time_zone = ${mysql.escape(time_zone)}`)
      return true
    } catch (error) {
      if ((error as ServerError).errno !== UNKNOWN_ZONE) throw error
      const [field] = (await prepare(connection, cut)).columns as Field[]
      if (field?.columnType === MOMENT)
        throw new SourceError(
          `The server does not know the time zone ${time_zone}, in which the metric counts its days: load its tables of time zones (mysql_tzinfo_to_sql), or write "zone: UTC".`,
        )
    }
  await run(connection, "set session time_zone = '+00:00'")
  return false
}

type Zoned = Pick<OpenOptions, 'time_zone' | 'cut'>

/** Begins the session. Tells whether it has another zone than UTC. */
async function begin(
  { connection, mariadb }: MysqlConnection,
  options: Pick<OpenOptions, 'timeout_ms'> & Zoned,
): Promise<boolean> {
  const { timeout_ms } = options
  const seconds = Math.ceil(timeout_ms / 1000)
  const zoned = await setZone(connection, options)
  await run(connection, `set session net_write_timeout = ${seconds}`)
  await run(
    connection,
    mariadb
      ? `set session max_statement_time = ${seconds}`
      : `set session max_execution_time = ${timeout_ms}`,
  )
  await run(connection, 'set session transaction read only')
  await run(connection, 'start transaction read only')
  return zoned
}

/** What may stand before the first word. A comment that the server would run is no comment. */
const BEFORE = /[\s(]+|--(?=\s)[^\n]*|#[^\n]*|\/\*(?!M?!)(?:[^*]|\*(?!\/))*\*\//y
const WORD = /\w*/y
const READS = new Set(['SELECT', 'WITH', 'VALUES', 'TABLE', 'SHOW', 'DESC', 'DESCRIBE'])

/**
 * Throws for a statement that gives rows and is no query. ANALYZE TABLE writes and CHECK TABLE locks in a read-only
 * transaction, too, and SET STATEMENT ... FOR lifts the limits of the session.
 */
function refuseOthers(sql: string): void {
  let at = 0
  for (BEFORE.lastIndex = at; BEFORE.test(sql); at = BEFORE.lastIndex);
  WORD.lastIndex = at
  const word = WORD.exec(sql)![0].toUpperCase()
  if (!READS.has(word))
    throw new SourceError(
      `The query begins with ${word || sql.slice(at, at + 1) || 'nothing'}: write one SELECT.`,
    )
}

class MysqlReader implements BatchReader {
  readonly #session: MysqlConnection
  readonly #options: OpenOptions
  #rows: Rows | null = null
  #running = false
  /** True if moments arrive in another zone than UTC. */
  #zoned = false

  constructor(session: MysqlConnection, options: OpenOptions) {
    this.#session = session
    this.#options = options
  }

  async schema(): Promise<RemoteColumn[]> {
    const { query, connection, signal, peek } = this.#options
    const made = this.#session.connection
    refuseOthers(query.sql)
    let prepared: Prepared
    try {
      this.#zoned = await begin(this.#session, this.#options)
      prepared = await prepare(made, query.sql)
    } catch (error) {
      signal.throwIfAborted()
      throw refused(error, connection)
    }
    if (prepared.columns.length === 0) throw new SourceError('The query gives no rows: write one SELECT.')
    // Before the parameters have values, the server only guesses some types, such as the size of integers.
    if (!peek) return this.#start(prepared)
    return (prepared.columns as Field[]).map((field) => mapField(field, 0, this.#zoned))
  }

  /** Runs the query, whose rows wait in the socket. */
  async #start(prepared: Prepared): Promise<RemoteColumn[]> {
    const { query, connection, signal } = this.#options
    this.#running = true
    const stop = (): void => void this.#kill()
    signal.addEventListener('abort', stop, { once: true })
    const command = prepared.execute(valuesOf(query.parameters, encode))
    this.#rows = new Rows(this.#session.connection as unknown as Wire, command, this.#zoned)
    try {
      return [...(await this.#rows.columns())]
    } catch (error) {
      // If the connection broke off, the query goes on until it is ended.
      this.#running = (error as ServerError).sqlMessage === undefined
      signal.throwIfAborted()
      throw refused(error, connection)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  async *read(signal: AbortSignal): AsyncIterable<ColumnBatch> {
    const stop = (): void => void this.#kill()
    signal.addEventListener('abort', stop, { once: true })
    try {
      signal.throwIfAborted()
      for (;;) {
        const batch = await this.#rows!.next()
        signal.throwIfAborted()
        if (batch === null) break
        yield batch
        this.#rows!.clear()
      }
      this.#running = false
    } catch (error) {
      signal.throwIfAborted()
      throw refused(error, this.#options.connection)
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  /** Ends the query over a second connection; waits for at most KILL_MS. */
  async #kill(): Promise<void> {
    const { threadId } = this.#session.connection as unknown as Inner
    const dialed = await dial(this.#options.connection).catch(() => null)
    if (dialed === null) return
    const killer = mysql.createConnection(configOf(this.#options.connection, dialed))
    killer.on('error', () => undefined)
    await Promise.race([
      run(killer, `kill query ${threadId}`).catch(() => undefined),
      once(AbortSignal.timeout(KILL_MS), 'abort'),
    ])
    killer.destroy()
  }

  async close(): Promise<void> {
    if (this.#running) await this.#kill()
    this.#session.connection.destroy()
  }
}

function refused(error: unknown, connection: OpenConnection): unknown {
  if (!(error instanceof Error) || error instanceof SourceError) return error
  const { sqlMessage, errno, code, message } = error as ServerError
  if (sqlMessage === undefined) return code === undefined ? error : brokeOff(connection, message || code)
  const timedOut = errno === 1969 || errno === 3024
  const hint = timedOut ? ' It took longer than the limits.timeout_seconds of the connection.' : ''
  return new QueryRefused(connection, `${sqlMessage}.${hint}`, timedOut)
}

function encode(value: Plain, type: Parameter['type']): string | number | null {
  if (typeof value === 'boolean') return value ? 1 : 0
  // Integers are sent as text, because as numbers they would become doubles, exact up to 2^53 only.
  return value === null || (type === 'number' && typeof value === 'number') ? value : String(value)
}
