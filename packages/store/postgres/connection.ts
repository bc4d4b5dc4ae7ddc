/**
 * The pool of connections, and what every store function needs of it. A read is a statement of its own; a write is one
 * transaction, told its time by the database. Nothing here outlives a transaction (no session setting, no advisory lock of a
 * session), so that a pooler such as PgBouncer may stand between; but for the prepared statements of `writeAtOnce`, which
 * does without them as soon as a pooler is seen to lose them.
 */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ClientBase,
  type ClientConfig,
  Pool,
  type PoolClient,
  type QueryResult,
  type QueryResultRow,
  TypeOverrides,
} from 'pg'
import type { JobCaps } from '../caps.ts'
import type { Reader, Writer } from '../rows.ts'
import type { Connections, Hint } from '../store.ts'
import { isBroken, isFromDatabase, isRepeatable, isUnprepared, translate, unavailable } from './failures.ts'
import { createHints, hintKey } from './hints.ts'
import { createPlaces, type Lane, type Places } from './places.ts'
import { postgresRows } from './rows.ts'
import { createSilence, FIRST_WORD_MS, type Silence } from './silence.ts'

export interface Session {
  /** For what is written once for both databases. */
  readonly rows: Reader
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what the SQL yields
  one<Row>(sql: string, ...values: unknown[]): Promise<Row | undefined>
  all<Row>(sql: string, ...values: unknown[]): Promise<Row[]>
  /** Answers how many rows changed. */
  run(sql: string, ...values: unknown[]): Promise<number>
}

/** What every transaction is told of the service. */
export interface Context {
  /** For `result_url` in events. */
  readonly publicUrl: string | null
  /** For workspaces that have none of their own. */
  readonly caps: JobCaps
}

export interface Transaction extends Session, Context {
  readonly rows: Writer
  /** The database's time at the beginning, as everywhere: RFC 3339 UTC with milliseconds. */
  readonly now: string
  /** Given to the listeners after the commit. */
  hint(hint: Hint): void
}

export interface Statement {
  sql: string
  values: unknown[]
}

export interface Connection {
  read<T>(work: (session: Session) => Promise<T>): Promise<T>
  /**
   * Resolves after the commit. Deadlocks are tried again, as the whole transaction. One that only reads many rows as of one
   * moment waits among the reads.
   */
  write<T>(work: (transaction: Transaction) => Promise<T>, lane?: Lane): Promise<T>
  /** The same on a connection of its own: what keeps a node alive does not wait behind its requests. */
  writeFirst<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Likewise, for deliveries: one transaction after the other, which do not wait behind requests. */
  writeBeside<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /**
   * One statement as a transaction of its own, on one of two connections of its own: one message, one answer, one fsync. It
   * brings its settings with it: the functions of 0015_job_claims and 0024_job_turns.
   */
  writeAtOnce(statement: Statement): Promise<QueryResultRow[]>
  /** After a commit. */
  tell(hints: Hint[]): void
  subscribe(listener: (hint: Hint) => void): () => void
  usage(): Connections
  close(): Promise<void>
}

export const POOL_SIZE = 10
const CONNECT_MS = 5000
/** The database ends what takes longer; the client gives a connection up that says nothing for longer still. */
const STATEMENT_MS = 30_000
const SILENCE_MS = 35_000
/** Between two statements of a transaction lies next to no time: who takes longer is stopped or gone, and holds locks. */
const PAUSE_MS = 5000
const TRIES = 5

/** The settings hold for this transaction only, and all of it is one question and answer. */
function beginningWithout(ways: string[]): string {
  return [
    'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE',
    `SET LOCAL statement_timeout = ${STATEMENT_MS}`,
    `SET LOCAL idle_in_transaction_session_timeout = ${PAUSE_MS}`,
    ...ways.map((way) => `SET LOCAL ${way} = off`),
    'SELECT clock_timestamp()::timestamptz(3) AS now',
  ].join('; ')
}

const BEGIN = beginningWithout([])

/** What keeps the planner to the indexes, row by row; and nothing is compiled (0.15 s each time). */
const NO_SCANS = ['jit', 'enable_seqscan', 'enable_bitmapscan']

/**
 * Row by row out of the indexes, however old the statistics are: else, where few deliveries seem to wait, all that do are read
 * to settle a few (measured: 11 ms in place of 1 with five thousand), and dead entries of an index are read again and again.
 */
const BEGIN_BESIDE = beginningWithout([...NO_SCANS, 'enable_hashjoin', 'enable_mergejoin'])

/**
 * Until the transaction ends: what is asked for comes out of an index in its order, however old the statistics are and
 * however much else the table holds, also where a foreign key asks.
 */
export const OUT_OF_INDEXES = `SELECT ${[...NO_SCANS, 'enable_sort']
  .map((way) => `set_config('${way}', 'off', true)`)
  .join(', ')}`

/** Milliseconds without the zeros at their end. */
const IN_UTC = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d{1,3})?\+00$/

/**
 * "2026-01-01 09:30:00.123+02" -> RFC 3339 UTC with milliseconds. Where the session's time zone is UTC it is put together from
 * what is there: by a Date it took most of the time in which a row is read.
 */
export function toIso(text: string): string {
  const [, date, time, fraction = '.'] = IN_UTC.exec(text) ?? []
  if (date !== undefined) return `${date}T${time}${fraction.padEnd(4, '0')}Z`
  return new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).toISOString()
}

const BIGINT = 20
const TIMESTAMPTZ = 1184

const types = new TypeOverrides()
types.setTypeParser(TIMESTAMPTZ, toIso)
types.setTypeParser(BIGINT, Number)

function session(queryable: Pick<ClientBase, 'query'>): Session & { rows: ReturnType<typeof postgresRows> } {
  const query = (sql: string, values: unknown[]) => queryable.query<QueryResultRow>(sql, values)
  return {
    rows: postgresRows(queryable),
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what the SQL yields
    one: async <Row>(sql: string, ...values: unknown[]) =>
      (await query(sql, values)).rows[0] as Row | undefined,
    all: async <Row>(sql: string, ...values: unknown[]) => (await query(sql, values)).rows as Row[],
    run: async (sql, ...values) => (await query(sql, values)).rowCount ?? 0,
  }
}

/** Its own type parsers, and no other global setting of the driver. */
export function clientConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: 'assay',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types,
  }
}

/** The driver takes a time limit for one question, which its types do not know. */
const firstWord = (text: string): { text: string; query_timeout: number } => ({
  text,
  query_timeout: FIRST_WORD_MS,
})

async function begin(client: ClientBase, text: string): Promise<string> {
  const results = (await client.query(firstWord(text))) as unknown as QueryResult<{ now: string }>[]
  return results.at(-1)!.rows[0]!.now
}

/** Where connections come from, which of them are in doubt, and how a transaction begins there. */
interface Line {
  pool: Pool
  silence: Silence
  beginning: string
}

/** In its turn. */
async function inPlace<T>(places: Places, lane: Lane, work: () => Promise<T>): Promise<T> {
  const giveBack = await places.take(lane)
  let answered = false
  try {
    const value = await work()
    answered = true
    return value
  } catch (error) {
    answered = !isBroken(error)
    throw error
  } finally {
    giveBack(answered)
  }
}

/** A connection that an idle transaction broke is known by the first word on it: nothing has been written yet. */
async function beginAnywhere(line: Line): Promise<{ client: PoolClient; now: string }> {
  const { pool, silence, beginning } = line
  for (let attempt = 1; ; attempt += 1) {
    const client = await silence.connect(pool)
    try {
      return { client, now: await begin(client, beginning) }
    } catch (error) {
      silence.note(error)
      client.release(true)
      if (!isBroken(error) || attempt > pool.options.max) throw error
    }
  }
}

async function transact<T>(
  line: Line,
  context: Context,
  work: (transaction: Transaction) => Promise<T>,
): Promise<{ value: T; hints: Hint[] }> {
  const { silence } = line
  const { client, now } = await beginAnywhere(line)
  const hints = new Map<string, Hint>()
  try {
    const hint = (given: Hint): void => void hints.set(hintKey(given), given)
    const from = session(client)
    const rows: Writer = { ...from.rows, ...context, now, hint }
    const value = await work({ ...from, ...context, rows, now, hint })
    await client.query('COMMIT')
    silence.heard(client)
    client.release()
    return { value, hints: [...hints.values()] }
  } catch (error) {
    silence.note(error)
    const sound =
      !isBroken(error) &&
      (await client.query('ROLLBACK').then(
        () => true,
        () => false,
      ))
    client.release(!sound)
    throw error
  }
}

/** The text's own name: whoever has prepared it under this name has prepared the same. */
const names = new Map<string, string>()
function nameOf(sql: string): string {
  const known = names.get(sql)
  if (known) return known
  const name = `assay_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`
  names.set(sql, name)
  return name
}

/** No first word goes before it, so that it is one message: it must be answered whole before a lease is in danger. */
const AT_ONCE_MS = 10_000

async function transactAtOnce(
  pool: Pool,
  silence: Silence,
  { sql, values }: Statement,
  prepared: boolean,
): Promise<QueryResultRow[]> {
  const client = await silence.connect(pool)
  try {
    const name = prepared ? { name: nameOf(sql) } : {}
    const question = { text: sql, values, ...name, query_timeout: AT_ONCE_MS }
    const { rows } = await client.query<QueryResultRow>(question)
    silence.heard(client)
    client.release()
    return rows
  } catch (error) {
    silence.note(error)
    client.release(isBroken(error))
    throw error
  }
}

function createPool(config: ClientConfig, max: number): Pool {
  const pool = new Pool({ ...config, max, query_timeout: SILENCE_MS })
  // An idle connection that breaks is taken out of the pool; the next question makes another.
  pool.on('error', () => undefined)
  // One that breaks in the middle of a transaction also rejects the statement that is under way.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Requests share one; what keeps nodes alive, deliveries, and what is written at once have their own. */
function createPools(config: ClientConfig, size: number) {
  const make = (max: number): Pool => createPool(config, max)
  const [pool, reserve, atOnce, beside] = [make(size), make(1), make(2), make(1)]
  const line: Line = { pool, silence: createSilence(), beginning: BEGIN }
  return {
    line,
    ofNodes: { ...line, pool: reserve },
    ofDeliveries: { ...line, pool: beside, beginning: BEGIN_BESIDE },
    atOnce,
    end: () => Promise.all([pool, reserve, atOnce, beside].map((one) => one.end())),
  }
}

/** Each statement on a connection of the pool that is not in doubt. */
function readingFrom({ pool, silence }: Line, places: Places): Session {
  async function ask(sql: string, values: unknown[]): Promise<QueryResult<QueryResultRow>> {
    const client = await silence.connect(pool)
    try {
      const result = await client.query<QueryResultRow>(sql, values)
      silence.heard(client)
      client.release()
      return result
    } catch (error) {
      silence.note(error)
      client.release(true)
      throw error
    }
  }
  const query = (sql: string, values: unknown[]) => inPlace(places, 'read', () => ask(sql, values))
  return session({ query } as Pick<ClientBase, 'query'>)
}

/** A read changes nothing: where the connection broke under it, it is asked once more on another. */
async function readTwice<T>(reading: Session, work: (from: Session) => Promise<T>): Promise<T> {
  try {
    return await work(reading)
  } catch (error) {
    // A database that is silent is not asked to be silent for as long again.
    if (!isBroken(error) || /timeout/i.test((error as Error).message)) throw error
    return work(reading)
  }
}

export function connect(url: string, context: Context, size = POOL_SIZE): Connection {
  const config = clientConfig(url)
  const pools = createPools(config, size)
  const { line, atOnce } = pools
  const { pool, silence } = line
  const places = createPlaces(size)
  const hints = createHints({
    connection: config,
    send: (sql, values) => inPlace(places, 'read', () => pool.query(sql, values)),
  })
  const reading = readingFrom(line, places)
  let [closed, prepared] = [false, true]

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw unavailable('The store is closed.')
    try {
      return await work()
    } catch (error) {
      throw translate(error)
    }
  }

  async function writeUntilKept<T>(
    work: (transaction: Transaction) => Promise<T>,
    on: Lane | Line,
  ): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { value, hints: given } = await (typeof on === 'string'
          ? inPlace(places, on, () => transact(line, context, work))
          : transact(on, context, work))
        hints.tell(given)
        return value
      } catch (error) {
        if (!isFromDatabase(error) || !isRepeatable(error) || attempt >= TRIES) throw error
        await delay(10 * attempt * (1 + Math.random()))
      }
    }
  }

  async function writeOnceUntilKept(statement: Statement): Promise<QueryResultRow[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transactAtOnce(atOnce, silence, statement, prepared)
      } catch (error) {
        if (prepared && isUnprepared(error)) prepared = false
        else if (!isRepeatable(error) || attempt >= TRIES) throw error
        else await delay(10 * attempt * (1 + Math.random()))
      }
    }
  }

  return {
    writeAtOnce: (statement) => guarded(() => writeOnceUntilKept(statement)),
    tell: hints.tell,
    read: (work) => guarded(() => readTwice(reading, work)),
    write: (work, lane = 'write') => guarded(() => writeUntilKept(work, lane)),
    writeFirst: (work) => guarded(() => writeUntilKept(work, pools.ofNodes)),
    writeBeside: (work) => guarded(() => writeUntilKept(work, pools.ofDeliveries)),
    subscribe: hints.subscribe,
    usage: () => ({ open: pool.totalCount, idle: pool.idleCount, waiting: places.waiting() }),
    async close() {
      if (closed) return
      closed = true
      await hints.close()
      await pools.end()
    },
  }
}
