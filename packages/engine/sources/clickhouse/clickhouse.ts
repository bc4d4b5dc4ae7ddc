/**
 * ClickHouse over HTTP, through the guarded connector. `readonly` keeps the session from writing, and the server enforces
 * the time limit. Rows come as a Parquet file, which the engine reads where it lies. An aborted query is
 * ended on the server: its client disconnects, and KILL QUERY is sent.
 */
import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { OpenConnection } from '@assay/model/connection'
import { createGuard, type Guard } from '@assay/net/guard'
import { parseTargets } from '@assay/net/target'
import { CLICKHOUSE } from '../../dialects/clickhouse.ts'
import type { Parameter, Plain } from '../../language/remote-query.ts'
import type { SqlSyntax } from '../../language/sql-clauses.ts'
import { CONNECT_TIMEOUT_MS } from '../dial.ts'
import type { FileReader, Kind, OpenOptions, ProbeOptions, RemoteColumn, RowsFile } from '../kind.ts'
import { acceptedPrivileges, refusePrivileged } from '../privileges.ts'
import { requireSelect } from '../rows/only-select.ts'
import { openSocket } from '../sockets.ts'
import { brokeOff, QueryRefused, SourceError, sameName } from '../source.ts'
import { ANSWER_FORMAT, ANSWER_SETTINGS, readAnswer } from './answer.ts'
import { PARQUET_SETTINGS, saveBody } from './parquet.ts'
import { privilegesOf, rolesOf } from './privileges.ts'
import { type Asked, columnOf } from './types.ts'

const KILL_MS = 300
/** Types whose values are compared by their bytes, and that come as texts. */
const PLAIN_TEXT = /^(?:(?:Nullable|LowCardinality)\()*(?:String\b|Enum(?:8|16)\()/
const ERROR_BYTES = 4000
/** The most bytes of an answer about a server, a user or columns. */
const ASIDE_BYTES = 4_000_000

const SYNTAX: SqlSyntax = {
  opaque: [/'(?:[^'\\]|\\[\s\S]|'')*'|"(?:[^"\\]|\\[\s\S])*"|`(?:[^`\\]|\\[\s\S])*`|--[^\n]*|#[ !][^\n]*/y],
  nestedComments: true,
}

const TYPES: Record<Parameter['type'], string> = {
  string: 'String',
  integer: 'Int64',
  number: 'Float64',
  boolean: 'Bool',
  date: 'Date32',
  timestamp: 'DateTime64(6)',
}

export const clickhouse: Kind = {
  dialect: {
    syntax: SYNTAX,
    placeholder: (index, { type, list, value }) =>
      `{p${index}:${list ? `Array(${TYPES[type]})` : value === null ? `Nullable(${TYPES[type]})` : TYPES[type]}}`,
    reuses: true,
  },
  async open(options) {
    return new ClickhouseReader(options)
  },
  async probe(options) {
    const client = new Client(options)
    try {
      const privileges = await acceptedRights(client, options.connection)
      const sql = "select version(), toString(getSetting('readonly'))"
      const [version, readonly] = JSON.parse(await client.ask(sql, 'JSONCompactEachRow')) as [string, string]
      return {
        server: `ClickHouse ${version}`,
        read_only:
          (readonly === '0'
            ? 'The server does not hold this session to reading: give the user the right to read only.'
            : `The server refuses writes in this session (readonly = ${readonly}).`) +
          acceptedPrivileges(privileges),
      }
    } finally {
      await client.close()
    }
  },
}

/**
 * Returns the rights of the user and of its roles, which SHOW GRANTS gives by name only. A role that cannot be read
 * counts as a right.
 */
async function rightsOf(client: Client): Promise<string[]> {
  const ask = async (sql: string): Promise<string[]> => (await client.ask(sql, 'TabSeparatedRaw')).split('\n')
  const own = await ask('SHOW GRANTS')
  const privileges = privilegesOf(own)
  const roles = new Set(rolesOf(own))
  // A role may have roles. The loop also visits those that are added here.
  for (const role of roles)
    try {
      const granted = await ask(`SHOW GRANTS FOR ${role}`)
      privileges.push(...privilegesOf(granted))
      for (const further of rolesOf(granted)) roles.add(further)
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      privileges.push(`has a role whose rights it may not read (${role})`)
    }
  return [...new Set(privileges)]
}

/** Reads what the user can do beyond reading. Throws SourceError if that is not accepted. */
async function acceptedRights(client: Client, connection: OpenConnection): Promise<string[]> {
  const privileges = await rightsOf(client)
  refusePrivileged(connection, privileges)
  return privileges
}

/** Sends requests to one server as one user. */
class Client {
  readonly #options: ProbeOptions
  readonly #guard: Guard
  readonly id = randomUUID()
  /** True if the server has answered. */
  #answered = false

  constructor(options: ProbeOptions) {
    this.#options = options
    const { connection } = options
    const { ca } = connection.options
    this.#guard = createGuard({
      targets: parseTargets(connection.targets),
      connectTimeout: CONNECT_TIMEOUT_MS,
      open: (host, port) =>
        openSocket({ connection: connection.name, host, port, targets: connection.targets }),
      ...(typeof ca === 'string' ? { ca: [ca] } : {}),
    })
  }

  /** Resolves to the body of the response, in this format. Rejects with SourceError. */
  async send(
    sql: string,
    format: string,
    {
      parameters = [],
      signal = this.#options.signal,
      settings = {},
    }: {
      parameters?: readonly Parameter[]
      signal?: AbortSignal
      settings?: Readonly<Record<string, string>>
    } = {},
  ) {
    const { connection, timeout_ms, time_zone } = this.#options
    const all = {
      query_id: this.id,
      readonly: '2',
      max_execution_time: String(Math.ceil(timeout_ms / 1000)),
      cancel_http_readonly_queries_on_client_close: '1',
      session_timezone: time_zone,
      default_format: format,
      output_format_json_quote_64bit_integers: '1',
      output_format_json_quote_decimals: '1',
      output_format_json_quote_denormals: '1',
      http_write_exception_in_output_format: '0',
      date_time_output_format: 'iso',
      ...settings,
    }
    const values = parameters.map((parameter, index) => [`param_p${index + 1}`, encode(parameter)] as const)
    return this.#post(sql, [...Object.entries(all), ...values], signal, connection)
  }

  async #post(
    sql: string,
    query: (readonly [string, string])[],
    signal: AbortSignal,
    { name, options, secrets }: OpenConnection,
  ) {
    const url = new URL(String(options.url))
    url.searchParams.set('database', String(options.database))
    for (const [key, value] of query) url.searchParams.set(key, value)
    const { request } = await import('undici')
    try {
      const { statusCode, body } = await request(url, {
        method: 'POST',
        body: sql,
        headers: {
          'x-clickhouse-user': String(options.user),
          ...(secrets.password === undefined ? {} : { 'x-clickhouse-key': secrets.password }),
        },
        dispatcher: this.#guard.dispatcher,
        signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      })
      this.#answered = true
      if (statusCode === 200) return body
      throw refusal(name, (await beginningOf(body, ERROR_BYTES)).text)
    } catch (error) {
      if (error instanceof SourceError) throw error
      signal.throwIfAborted()
      const { message } = error as Error
      if (this.#answered) throw brokeOff(this.#options.connection, message)
      throw new SourceError(`The connection "${name}" cannot be made: ${message}`)
    }
  }

  /** Resolves to a short answer. Rejects with SourceError, also if it does not end. */
  async ask(sql: string, format: string, options: Parameters<Client['send']>[2] = {}): Promise<string> {
    const { connection } = this.#options
    const { text, isWhole } = await beginningOf(await this.send(sql, format, options), ASIDE_BYTES).catch(
      (error: unknown) => {
        this.#options.signal.throwIfAborted()
        throw brokeOff(connection, (error as Error).message)
      },
    )
    if (isWhole) return text
    throw new SourceError(
      `The server of the connection "${connection.name}" answers a question about itself with more than ${ASIDE_BYTES} bytes.`,
    )
  }

  /** Ends the query on the server. Waits for at most KILL_MS. */
  async kill(): Promise<void> {
    const sql = `KILL QUERY WHERE query_id = '${this.id}' ASYNC`
    await this.#post(sql, [], AbortSignal.timeout(KILL_MS), this.#options.connection)
      .then((body) => body.dump())
      .catch(() => undefined)
  }

  close(): Promise<void> {
    return this.#guard.close()
  }
}

/** Reads at most so many bytes of a body, and leaves the rest. */
async function beginningOf(body: Readable, most: number): Promise<{ text: string; isWhole: boolean }> {
  body.on('error', () => undefined)
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Buffer>) {
    bytes += piece.length
    pieces.push(piece)
    if (bytes > most) break
  }
  return { text: Buffer.concat(pieces).toString('utf8', 0, most), isWhole: bytes <= most }
}

function refusal(name: string, answer: string): SourceError {
  const reason = /DB::Exception: ([\s\S]*?)(?: \(version .*)?$/s.exec(answer)?.[1] ?? answer
  const repeated = /for alias (\S+)\. In scope.*MULTIPLE_EXPRESSIONS_FOR_ALIAS/s.exec(answer)?.[1]
  if (repeated !== undefined) return sameName(repeated)
  const timedOut = /TIMEOUT_EXCEEDED/.test(answer)
  const hint = timedOut
    ? ' It took longer than the limits.timeout_seconds of the connection.'
    : /unknown[_ ]setting/i.test(answer)
      ? ' Sources need ClickHouse 23.9 or later.'
      : ''
  return new QueryRefused({ name }, `${reason.trim()}${hint}`, timedOut)
}

class ClickhouseReader implements FileReader {
  readonly #options: OpenOptions
  readonly #client: Client
  readonly #closed = new AbortController()
  #columns: Asked[] = []
  #plain: string[] = []
  #running = false

  constructor(options: OpenOptions) {
    this.#options = options
    this.#client = new Client(options)
  }

  async schema(): Promise<RemoteColumn[]> {
    await this.#accept()
    const { query } = this.#options
    const body = await this.#ask(`DESCRIBE TABLE (\n${bare(query.sql)}\n)`, 'JSONCompactEachRow')
    const rows = body
      .trim()
      .split('\n')
      .map((row) => JSON.parse(row) as [name: string, type: string])
    this.#columns = rows.map(([name, type]) => columnOf(name, type))
    this.#plain = rows.flatMap(([name, type]) => (PLAIN_TEXT.test(type) ? [name] : []))
    return this.#columns
  }

  plainTexts(): Promise<string[]> {
    return Promise.resolve(this.#plain)
  }

  /** Throws SourceError if the query does not only read, or if the user may do more. */
  async #accept(): Promise<void> {
    const { query, connection } = this.#options
    requireSelect(query.sql)
    requireFence(query.sql)
    await this.#once('rights', () => acceptedRights(this.#client, connection))
  }

  /** Returns what was learned for an earlier statement, or learns it. */
  async #once<Known>(what: string, learn: () => Promise<Known>): Promise<Known> {
    const { learned } = this.#options
    if (learned?.has(what) === true) return learned.get(what) as Known
    const known = await learn()
    learned?.set(what, known)
    return known
  }

  async answer(signal: AbortSignal, vet: (bytes: number) => void) {
    await this.#accept()
    const { connection, query } = this.#options
    this.#running = true
    const sql = `SELECT * FROM (\n${bare(query.sql)}\n)`
    const body = await this.#send(sql, ANSWER_FORMAT, ANSWER_SETTINGS)
    const pieces: Buffer[] = []
    let bytes = 0
    try {
      for await (const piece of body as AsyncIterable<Buffer>) {
        bytes += piece.length
        vet(bytes)
        pieces.push(piece)
      }
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof SourceError ? error : brokeOff(connection, (error as Error).message)
    }
    signal.throwIfAborted()
    const all = Buffer.concat(pieces)
    const tail = all.subarray(-ERROR_BYTES).toString('utf8')
    if (!tail.endsWith(']\n'))
      throw faultIn(tail, connection.name) ?? brokeOff(connection, 'the last rows did not come')
    this.#running = false
    if (!isUtf8(all)) throw explained('Invalid string encoding', connection.name)
    const rows = readAnswer(all.toString('utf8'))
    return rows && { rows, bytes }
  }

  get #asking() {
    const signal = AbortSignal.any([this.#options.signal, this.#closed.signal])
    return { parameters: this.#options.query.parameters, signal }
  }

  #send(sql: string, format: string, settings: Readonly<Record<string, string>> = {}) {
    return this.#client.send(sql, format, { ...this.#asking, settings })
  }

  #ask(sql: string, format: string): Promise<string> {
    return this.#client.ask(sql, format, this.#asking)
  }

  /** Returns the settings that the server knows. */
  async #known(): Promise<Record<string, string>> {
    const names = Object.keys(PARQUET_SETTINGS).map((name) => `'${name}'`)
    const body = await this.#ask(
      `select name from system.settings where name in (${names.join(', ')})`,
      'TabSeparatedRaw',
    )
    const known = new Set(body.split('\n'))
    return Object.fromEntries(Object.entries(PARQUET_SETTINGS).filter(([name]) => known.has(name)))
  }

  async fetch(signal: AbortSignal, vet: (bytes: number) => void | Promise<void>): Promise<RowsFile> {
    const { query, temp_folder, connection } = this.#options
    const { name } = connection
    await mkdir(temp_folder, { recursive: true, mode: 0o700 })
    const list = this.#columns.map((column) => `${column.sql} AS ${CLICKHOUSE.identifier(column.name)}`)
    this.#running = true
    const sql = `SELECT ${list.join(', ')} FROM (\n${bare(query.sql)}\n)`
    const body = await this.#send(sql, 'Parquet', PARQUET_SETTINGS).catch(async (error: unknown) => {
      // An older server refuses a setting before it reads a row.
      if (!(error instanceof QueryRefused) || !/unknown[_ ]setting/i.test(error.message)) throw error
      return this.#send(sql, 'Parquet', await this.#known())
    })
    const file = path.join(temp_folder, `${randomUUID()}.parquet`)
    const { bytes, tail, broken } = await saveBody(body, file, vet)
    signal.throwIfAborted()
    if (tail !== null)
      throw faultIn(tail, name) ?? brokeOff(connection, broken?.message ?? 'the last rows did not come')
    this.#running = false
    return { file, bytes, explain: (reason) => explained(reason, name) }
  }

  async close(): Promise<void> {
    this.#closed.abort()
    if (this.#running) await this.#client.kill()
    await this.#client.close()
  }
}

/** Matches strings and comments, which may hold any text. */
const UNREAD = /'(?:[^'\\]|\\[^]|'')*'|--[^\n]*|#[ !][^\n]*|\/\*[^]*?\*\//g
const LIFTS_FENCE = /\bsettings\b(?:\s*[\w.`"]+\s*=[^,()]*,)*\s*[`"]?readonly[`"]?\s*=/i

/**
 * Refuses a query that sets `readonly`. The server checks this setting at the end of a whole query, and not in a part
 * of it.
 */
function requireFence(sql: string): void {
  if (LIFTS_FENCE.test(sql.replace(UNREAD, ' ')))
    throw new SourceError('The query sets "readonly", which keeps it from writing: leave that setting out.')
}

/** Returns a query without its end, to stand inside another one. */
const bare = (sql: string): string => sql.replace(/[;\s]+$/, '')

/** Returns the fault that the server found after the first rows, which stands behind them; null if there is none. */
function faultIn(tail: string, name: string): SourceError | null {
  const at = tail.lastIndexOf('Code: ')
  const said = at < 0 ? '' : tail.slice(at, at + ERROR_BYTES)
  return said.includes('DB::Exception') ? refusal(name, said) : null
}

/** Explains why the engine cannot read a file. */
function explained(reason: string, name: string): SourceError {
  if (/not valid UTF-?8|Invalid string encoding/i.test(reason))
    return new SourceError(
      'The query gives bytes that are not UTF-8: give them as hex(...) or base64Encode(...).',
    )
  return new SourceError(
    `The query over the connection "${name}" gives a value that the engine cannot hold: ${reason} Cast it in the query, for example with toString(...).`,
  )
}

/** Writes a parameter as ClickHouse reads it: escaped as in its tab-separated format, with the items of lists in quotes. */
function encode({ value, list, type }: Parameter): string {
  if (!Array.isArray(value)) return list ? '[]' : value === null ? '\\N' : escaped(plain(value))
  const items = value.map((item) => {
    if (item === null) return 'NULL'
    return type === 'string' || type === 'date' || type === 'timestamp'
      ? `'${plain(item).replace(/[\\']/g, '\\$&')}'`
      : plain(item)
  })
  return `[${items.join(',')}]`
}

function plain(value: Exclude<Plain, null>): string {
  return String(value).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z?$/, '$1 $2')
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\\0' }

function escaped(text: string): string {
  // oxlint-disable-next-line no-control-regex -- these are what is escaped
  return text.replace(/[\\\t\n\r\0]/g, (character) => ESCAPES[character]!)
}
