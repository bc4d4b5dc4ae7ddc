/**
 * ClickHouse over HTTP, through the guarded connector: `readonly` keeps the session from writing, the server holds the
 * query to its time, and its rows come as lines of JSON with their names and types in front, read only as fast as they are
 * written. What is canceled here is canceled there: the server ends a query whose client has gone, and is told to.
 */
import { randomUUID } from 'node:crypto'
import type { DuckDBValue } from '@duckdb/node-api'
import { request } from 'undici'
import type { OpenConnection } from '../../connection.ts'
import { createGuard, type Guard } from '../../outgoing/guard.ts'
import { parseTargets } from '../../target.ts'
import type { Parameter, Plain } from '../../templates/remote-query.ts'
import type { SqlSyntax } from '../../templates/sql-clauses.ts'
import { type Column, mapType, type Raw } from './clickhouse-types.ts'
import { CONNECT_TIMEOUT_MS } from './dial.ts'
import type { Batch, Kind, OpenOptions, Reader, RemoteColumn, SessionOptions } from './kind.ts'
import { misfit } from './misfit.ts'
import { requireSelect } from './only-select.ts'
import { SourceError } from './source.ts'

const ROWS = 4096
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
  #lines: AsyncIterator<string> | null = null
  #columns: Column[] = []
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
    const lines = linesOf(body)[Symbol.asyncIterator]()
    const names = await nextRow(lines, connection.name)
    const types = await nextRow(lines, connection.name)
    if (names === null || types === null) throw new SourceError('The query gives no rows: write one SELECT.')
    if (!peek) {
      this.#lines = lines
      this.#columns = names.map((name, index) => mapType(word(name), word(types[index])))
      return this.#columns
    }
    for (let row = await nextRow(lines, connection.name); row; row = await nextRow(lines, connection.name))
      this.#columns.push(mapType(word(row[0]), word(row[1])))
    return this.#columns
  }

  async *read(signal: AbortSignal): AsyncIterable<Batch> {
    const { name } = this.#options.connection
    let batch = newBatch(this.#columns)
    try {
      for (;;) {
        const { value: line, done } = await this.#lines!.next()
        if (done) break
        add(batch, rowOf(line) ?? (await notRows(line, this.#lines!, name)), line.length, this.#columns)
        if (batch.rows < ROWS && batch.bytes < BATCH_BYTES) continue
        signal.throwIfAborted()
        yield batch
        batch = newBatch(this.#columns)
      }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof SourceError) throw error
      throw new SourceError(`The connection "${name}" broke off: ${(error as Error).message}`)
    }
    this.#running = false
    signal.throwIfAborted()
    if (batch.rows > 0) yield batch
  }

  async close(): Promise<void> {
    this.#over.abort()
    if (this.#running) await this.#session.kill()
    await this.#session.close()
  }
}

async function* linesOf(body: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  for await (const chunk of body) {
    const pieces = (rest + decoded(decoder, chunk)).split('\n')
    rest = pieces.pop()!
    yield* pieces.filter((line) => line !== '')
  }
  if (rest !== '') yield rest
}

/** A String holds any bytes there; what is no text would come as something else. */
function decoded(
  decoder: { decode(chunk: Buffer, how: { stream: boolean }): string },
  chunk: Buffer,
): string {
  try {
    return decoder.decode(chunk, { stream: true })
  } catch {
    throw new SourceError(
      'The query gives bytes that are no UTF-8: give them as hex(...) or base64Encode(...).',
    )
  }
}

async function nextRow(lines: AsyncIterator<string>, name: string): Promise<(Raw | null)[] | null> {
  const { value, done } = await lines.next()
  return done ? null : (rowOf(value) ?? notRows(value, lines, name))
}

function word(value: Raw | null | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Null: it is none. */
function rowOf(line: string): (Raw | null)[] | null {
  try {
    const row: unknown = JSON.parse(line)
    return Array.isArray(row) ? (row as (Raw | null)[]) : null
  } catch {
    return null
  }
}

/**
 * A fault that the server finds after the first rows stands behind them: as a line of text, since 25.x after a line
 * "__exception__"; then it may break the connection.
 */
async function notRows(line: string, lines: AsyncIterator<string>, name: string): Promise<never> {
  let said = line
  try {
    for (let next = await lines.next(); !next.done && said.length < ERROR_BYTES; next = await lines.next())
      said += `\n${next.value}`
  } catch {
    // What was said before it broke off is told.
  }
  if (/DB::Exception/.test(said)) throw refusal(name, said)
  throw new SourceError('The query gives rows in a form of its own: leave FORMAT out of it.')
}

interface Growing extends Batch {
  rows: number
  bytes: number
  columns: DuckDBValue[][]
}

function newBatch(columns: readonly Column[]): Growing {
  return { rows: 0, bytes: 0, columns: columns.map(() => []) }
}

function add(batch: Growing, row: (Raw | null)[], bytes: number, columns: readonly Column[]): void {
  batch.rows += 1
  batch.bytes += bytes
  for (let index = 0; index < columns.length; index += 1) {
    const value = row[index] ?? null
    try {
      batch.columns[index]!.push(value === null ? null : columns[index]!.read(value))
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
      throw misfit(columns[index]!, JSON.stringify(value))
    }
  }
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
