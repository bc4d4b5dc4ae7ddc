/**
 * ClickHouse over HTTP, through the guarded connector: `readonly` keeps the session from writing, the server holds the
 * query to its time, and its rows come as lines of JSON with their names and types in front (clickhouse-rows.ts), read only
 * as fast as they are written. What is canceled here is canceled there: the server ends a query whose client has gone, and is told to.
 */
import { randomUUID } from 'node:crypto'
import type { OpenConnection } from '@assay/model/connection'
import { createGuard, type Guard } from '@assay/net/guard'
import { parseTargets } from '@assay/net/target'
import { request } from 'undici'
import type { Parameter, Plain } from '../../language/remote-query.ts'
import type { SqlSyntax } from '../../language/sql-clauses.ts'
import { CONNECT_TIMEOUT_MS } from '../dial.ts'
import type { Batch, Kind, OpenOptions, Reader, RemoteColumn, SessionOptions } from '../kind.ts'
import { roomFor } from '../rows/columns.ts'
import { requireSelect } from '../rows/only-select.ts'
import { SourceError } from '../source.ts'
import { Lines, Rows } from './rows.ts'
import { type Column, mapType } from './types.ts'

const ROWS = 8192
const BATCH_BYTES = 2_000_000
const KILL_MS = 300
const ERROR_BYTES = 4000

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
    const session = new Session(options)
    try {
      const body = await session.send("select version() as v, toString(getSetting('readonly')) as r")
      const lines = (await body.text()).trim().split('\n')
      const [version, readonly] = JSON.parse(lines.at(-1)!) as [string, string]
      return {
        server: `ClickHouse ${version}`,
        read_only:
          readonly === '0'
            ? 'The server does not hold this session to reading: give the user the right to read only.'
            : `The server refuses writes in this session (readonly = ${readonly}).`,
      }
    } finally {
      await session.close()
    }
  },
}

/** Requests to one server as one user. */
class Session {
  readonly #options: SessionOptions
  readonly #guard: Guard
  readonly id = randomUUID()

  constructor(options: SessionOptions) {
    this.#options = options
    const { connection } = options
    const { ca } = connection.options
    this.#guard = createGuard({
      targets: parseTargets(connection.targets),
      connectTimeout: CONNECT_TIMEOUT_MS,
      ...(typeof ca === 'string' ? { ca: [ca] } : {}),
    })
  }

  /** The body of the answer. Rejects with SourceError. */
  async send(sql: string, parameters: readonly Parameter[] = [], signal = this.#options.signal) {
    const { connection, timeout_ms, time_zone } = this.#options
    const settings = {
      query_id: this.id,
      readonly: '2',
      max_execution_time: String(Math.ceil(timeout_ms / 1000)),
      cancel_http_readonly_queries_on_client_close: '1',
      session_timezone: time_zone,
      default_format: 'JSONCompactEachRowWithNamesAndTypes',
      output_format_json_quote_64bit_integers: '1',
      output_format_json_quote_decimals: '1',
      output_format_json_quote_denormals: '1',
      http_write_exception_in_output_format: '0',
      date_time_output_format: 'iso',
    }
    const given = parameters.map((parameter, index) => [`param_p${index + 1}`, encode(parameter)] as const)
    return this.#post(sql, [...Object.entries(settings), ...given], signal, connection)
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
      if (statusCode === 200) return body
      throw refusal(name, (await body.text()).slice(0, ERROR_BYTES))
    } catch (error) {
      if (error instanceof SourceError) throw error
      signal.throwIfAborted()
      throw new SourceError(`The connection "${name}" cannot be made: ${(error as Error).message}`)
    }
  }

  /** Not waited for longer than a cancel may take. */
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

function refusal(name: string, answer: string): SourceError {
  const reason = /DB::Exception: ([\s\S]*?)(?: \(version .*)?$/s.exec(answer)?.[1] ?? answer
  const timedOut = /TIMEOUT_EXCEEDED/.test(answer)
  const hint = timedOut
    ? ' It took longer than the limits.timeout_seconds of the connection.'
    : /unknown[_ ]setting/i.test(answer)
      ? ' Sources need ClickHouse 23.9 or later.'
      : ''
  return new SourceError(`The query over the connection "${name}" was refused: ${reason.trim()}${hint}`)
}

class ClickhouseReader implements Reader {
  readonly #options: OpenOptions
  readonly #session: Session
  readonly #over = new AbortController()
  #lines: Lines | null = null
  #columns: Column[] = []
  #room = ROWS
  #running = false

  constructor(options: OpenOptions) {
    this.#options = options
    this.#session = new Session(options)
  }

  async schema(): Promise<RemoteColumn[]> {
    const { query, peek, signal, connection } = this.#options
    requireSelect(query.sql)
    const sql = peek ? `DESCRIBE TABLE (\n${query.sql}\n)` : query.sql
    this.#running = !peek
    const either = AbortSignal.any([signal, this.#over.signal])
    const body = await this.#session.send(sql, query.parameters, either)
    const lines = new Lines(body)
    const names = await wordsOf(lines, connection.name)
    const types = await wordsOf(lines, connection.name)
    if (names === null || types === null) throw new SourceError('The query gives no rows: write one SELECT.')
    if (!peek) {
      this.#lines = lines
      this.#room = roomFor(names.length, ROWS)
      this.#columns = names.map((name, index) => mapType(name, types[index] ?? '', this.#room))
      return this.#columns
    }
    for (let row = await wordsOf(lines, connection.name); row; row = await wordsOf(lines, connection.name))
      this.#columns.push(mapType(row[0] ?? '', row[1] ?? '', 0))
    return this.#columns
  }

  async *read(signal: AbortSignal): AsyncIterable<Batch> {
    const { name } = this.#options.connection
    const lines = this.#lines!
    const batch = new Rows(this.#columns)
    const columns = this.#columns.map(({ data }) => data)
    try {
      do {
        while (lines.step()) {
          if (!batch.take(lines.bytes, lines.from, lines.end)) await notRows(lines, name)
          if (batch.rows < this.#room && batch.bytes < BATCH_BYTES) continue
          signal.throwIfAborted()
          yield { rows: batch.rows, bytes: batch.bytes, columns }
          batch.clear()
        }
      } while (await lines.more())
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof SourceError) throw error
      throw new SourceError(`The connection "${name}" broke off: ${(error as Error).message}`)
    }
    this.#running = false
    signal.throwIfAborted()
    if (batch.rows > 0) yield { rows: batch.rows, bytes: batch.bytes, columns }
  }

  async close(): Promise<void> {
    this.#over.abort()
    if (this.#running) await this.#session.kill()
    await this.#session.close()
  }
}

/** A line of words; null: there is none. What is not a word is empty. */
async function wordsOf(lines: Lines, name: string): Promise<string[] | null> {
  const line = await lines.text()
  if (line === null) return null
  try {
    const row: unknown = JSON.parse(line)
    if (Array.isArray(row)) return row.map((one) => (typeof one === 'string' ? one : ''))
  } catch {
    // It is told below.
  }
  return notRows(lines, name)
}

/**
 * A fault that the server finds after the first rows stands behind them: as a line of text, since 25.x after a line
 * "__exception__"; then it may break the connection. The last line found is its first.
 */
async function notRows(lines: Lines, name: string): Promise<never> {
  let said = lines.bytes.toString('utf8', lines.from, lines.end)
  try {
    for (let next = await lines.text(); next !== null && said.length < ERROR_BYTES; next = await lines.text())
      said += `\n${next}`
  } catch {
    // What was said before it broke off is told.
  }
  if (/DB::Exception/.test(said)) throw refusal(name, said)
  throw new SourceError('The query gives rows in a form of its own: leave FORMAT out of it.')
}

/** As ClickHouse reads parameters: escaped as in its tab-separated form; items of lists in quotes. */
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
