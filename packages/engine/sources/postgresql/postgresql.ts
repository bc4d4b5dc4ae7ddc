/**
 * Reads from PostgreSQL. The query runs in a read-only transaction with a time limit, both enforced by the server; its
 * rows come through a portal, a few megabytes at a time. An aborted query is ended by a cancel request. If this
 * process is killed, the server notices within a second.
 */

import type { OpenConnection } from '@assay/model/connection'
import { Client } from 'pg'
import type { Parameter } from '../../language/remote-query.ts'
import { STANDARD_SYNTAX } from '../../language/sql-clauses.ts'
import { CONNECT_TIMEOUT_MS, type Dialed, dial, sendAndWait } from '../dial.ts'
import type { BatchReader, ColumnBatch, Kind, OpenOptions, ProbeOptions, RemoteColumn } from '../kind.ts'
import { acceptedPrivileges, refusePrivileged } from '../privileges.ts'
import { roomFor } from '../rows/columns.ts'
import { brokeOff, QueryRefused, SourceError } from '../source.ts'
import { Portal } from './portal.ts'
import { privilegesOf } from './privileges.ts'
import { RowCollector } from './rows.ts'
import { FIRST_OWN_OID, isJson, type Mapped, mapField } from './types.ts'

/** The bytes of a batch, as received. */
const BATCH_BYTES = 2_000_000
const ROWS_FIRST = 128
const ROWS_MOST = 16_384
/** The types text and varchar. */
const PLAIN_OIDS: ReadonlySet<number> = new Set([25, 1043])
/** The longest wait for the answer to a cancel request, in milliseconds. */
const CANCEL_MS = 300

/**
 * The types of parameters. Zero lets the server infer the type, because a text can be an enum, a uuid or any other
 * type.
 */
const OIDS: Record<Parameter['type'], { one: number; list: number }> = {
  string: { one: 0, list: 0 },
  integer: { one: 20, list: 1016 },
  number: { one: 1700, list: 1231 },
  boolean: { one: 16, list: 1000 },
  date: { one: 1082, list: 1182 },
  timestamp: { one: 0, list: 0 },
}

export const postgresql: Kind = {
  dialect: { syntax: STANDARD_SYNTAX, placeholder: (index) => `$${index}`, reuses: true },
  async open(options) {
    const session = await connect(options)
    return new PostgresReader(session, options)
  },
  async probe(options) {
    const { client, privileges } = await connect(options)
    try {
      const { rows } = await client.query<{ version: string; read_only: string }>(
        `select current_setting('server_version') as version, current_setting('transaction_read_only') as read_only`,
      )
      const server = `PostgreSQL ${rows[0]!.version}`
      return {
        server,
        read_only:
          (rows[0]!.read_only === 'on'
            ? 'The server refuses writes in this session (default_transaction_read_only).'
            : 'The server does not hold this session to reading: give the user the right to read only.') +
          acceptedPrivileges(privileges),
      }
    } finally {
      await client.end().catch(() => undefined)
    }
  },
}

interface PostgresConnection {
  client: Client
  /** What the user of the connection can do beyond reading. */
  privileges: string[]
}

async function connect(options: ProbeOptions): Promise<PostgresConnection> {
  const client = new Client(configOf(options, await dial(options.connection)))
  client.on('error', () => undefined)
  const abort = (): void => void client.end().catch(() => undefined)
  options.signal.addEventListener('abort', abort, { once: true })
  try {
    await client.connect()
    // Servers before 14, or not on Linux, do not know this setting.
    await client.query("set client_connection_check_interval = '1s'").catch(() => undefined)
    const privileges = await privilegesOf(client)
    refusePrivileged(options.connection, privileges)
    return { client, privileges }
  } catch (error) {
    void client.end().catch(() => undefined)
    throw explained(error, options.connection)
  } finally {
    options.signal.removeEventListener('abort', abort)
  }
}

function configOf({ connection, time_zone, timeout_ms }: ProbeOptions, dialed: Dialed) {
  const { options, secrets } = connection
  const settings = {
    default_transaction_read_only: 'on',
    statement_timeout: String(timeout_ms),
    idle_in_transaction_session_timeout: String(timeout_ms),
    timezone: time_zone,
    datestyle: 'ISO',
    intervalstyle: 'iso_8601',
    bytea_output: 'hex',
    extra_float_digits: '1',
  }
  return {
    host: String(options.host),
    port: Number(options.port),
    stream: () => dialed.socket,
    database: String(options.database),
    user: String(options.user),
    // The password is never undefined, because the library would then read a password file.
    password: secrets.password ?? '',
    ssl: dialed.tls ?? false,
    application_name: 'assay',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    options: Object.entries(settings)
      .map(([name, value]) => `-c ${name}=${value.replace(/[\\ ]/g, '\\$&')}`)
      .join(' '),
  }
}

interface ServerError extends Error {
  code?: string
  position?: string
  severity?: string
}

/** Returns the error with the message of the server or the network. These messages hold no password. */
function explained(error: unknown, { name }: OpenConnection): unknown {
  if (!(error instanceof Error) || error instanceof SourceError) return error
  const { message, severity } = error as ServerError
  const what = severity === undefined ? 'cannot be made' : 'was refused'
  return new SourceError(`The connection "${name}" ${what}: ${message || 'it was closed'}.`)
}

class PostgresReader implements BatchReader {
  readonly #session: PostgresConnection
  readonly #options: OpenOptions
  readonly #portal: Portal
  #mapped: Mapped[] = []
  #columns: RemoteColumn[] = []
  #oids: number[] = []
  #running = false

  constructor(session: PostgresConnection, options: OpenOptions) {
    this.#session = session
    this.#options = options
    const { sql, parameters } = options.query
    this.#portal = new Portal(
      sql,
      parameters.map(({ type, list }) => OIDS[type][list ? 'list' : 'one']),
      parameters.map(encode),
    )
  }

  async schema(): Promise<RemoteColumn[]> {
    const { client } = this.#session
    await this.#guarded(async () => {
      await client.query('begin transaction read only')
      const fields = await this.#portal.describe(client)
      this.#oids = fields.map(({ oid }) => oid)
      const items = await this.#askForArrays(fields.map(({ oid }) => oid))
      this.#mapped = fields.map((field) => mapField(field, items))
      this.#columns = fields.map(({ name, oid }, index) => {
        const { type, settle } = this.#mapped[index]!
        return { name, type, ...(isJson(oid) ? { declared: 'json' } : {}), ...(settle ? { settle } : {}) }
      })
    })
    return this.#columns
  }

  /** A collation that is not deterministic may take different texts for one. */
  async plainTexts(): Promise<string[]> {
    const names = this.#columns
      .filter((_, index) => PLAIN_OIDS.has(this.#oids[index]!))
      .map(({ name }) => name)
    if (names.length === 0) return []
    const { rows } = await this.#guarded(() =>
      this.#session.client.query<{ folds: boolean }>(
        // Servers before 12 do not have the column.
        `select exists (select from pg_collation c where to_jsonb(c) ->> 'collisdeterministic' = 'false') as folds`,
      ),
    )
    return rows[0]!.folds ? [] : names
  }

  /** Asks which user-defined types are arrays. */
  async #askForArrays(oids: number[]): Promise<Map<number, number>> {
    const own = oids.filter((oid) => oid >= FIRST_OWN_OID)
    if (own.length === 0) return new Map()
    const { rows } = await this.#session.client.query<{ oid: number; item: number }>(
      `select oid::int8::int4 as oid, typelem::int8::int4 as item from pg_type where oid = any($1::int8[]::oid[]) and typcategory = 'A'`,
      [own],
    )
    return new Map(rows.map(({ oid, item }) => [oid, item]))
  }

  async *read(signal: AbortSignal): AsyncIterable<ColumnBatch> {
    const { client } = this.#session
    const cancel = (): void => void this.#cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const room = roomFor(this.#columns.length, ROWS_MOST)
      let wanted = Math.min(ROWS_FIRST, room)
      const collector = new RowCollector(this.#columns, this.#mapped)
      const binary = this.#mapped.map(({ packing }) => packing !== undefined)
      this.#running = true
      for (;;) {
        signal.throwIfAborted()
        const more = await this.#guarded(() => this.#portal.fetch(client, collector, wanted, binary))
        const { rows, bytes, columns } = collector
        if (rows > 0) yield { rows, bytes, columns }
        if (!more) break
        wanted = Math.max(1, Math.min(room, Math.floor((BATCH_BYTES * rows) / Math.max(1, bytes))))
      }
      this.#running = false
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }

  async #guarded<Result>(work: () => Promise<Result>): Promise<Result> {
    const { signal, connection } = this.#options
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      throw refused(error, connection)
    }
  }

  #cancel(): Promise<void> {
    const { client } = this.#session
    const { processID, secretKey } = client as unknown as { processID: number; secretKey: number }
    const request = Buffer.alloc(16)
    request.writeInt32BE(16, 0)
    request.writeInt32BE(80_877_102, 4)
    request.writeInt32BE(processID, 8)
    request.writeInt32BE(secretKey, 12)
    return sendAndWait(this.#options.connection, request, CANCEL_MS)
  }

  async close(): Promise<void> {
    if (this.#running) await this.#cancel()
    void this.#session.client.end().catch(() => undefined)
  }
}

/**
 * Returns the error for a refused query. `position` counts characters of the query as sent. Optional clauses became
 * blanks, so its lines are the template's.
 */
function refused(error: unknown, connection: OpenConnection): unknown {
  if (!(error instanceof Error) || error instanceof SourceError) return error
  const { message, code = '', position, severity } = error as ServerError
  if (severity === undefined) return brokeOff(connection, message || 'it was closed')
  const hints: Record<string, string> = {
    '25006': ' Connections only read.',
    '57014': ' It took longer than the limits.timeout_seconds of the connection, or was canceled there.',
  }
  const where = position === undefined ? '' : ` (at character ${position} of the query)`
  return new QueryRefused(connection, `${message}${where}.${hints[code] ?? ''}`, code === '57014')
}

function encode({ value, list }: Parameter): string | null {
  if (value === null) return null
  if (!list || !Array.isArray(value)) return String(value)
  const items = value.map((item) => (item === null ? 'NULL' : `"${String(item).replace(/["\\]/g, '\\$&')}"`))
  return `{${items.join(',')}}`
}
