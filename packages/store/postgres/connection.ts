/**
 * Connections to PostgreSQL, and what every store function needs of them. A read is a statement of its own; a write is one
 * transaction, told its time by the database. Requests read by one pool and write by another: a thousand creations hold
 * no status up. What keeps a node at work (leases, claims, settles, deliveries) has a third.
 *
 * Nothing here outlives a transaction (no session setting, no advisory lock of a session), so that a pooler such as
 * PgBouncer may stand between. Prepared statements are the exception: they are given up if a pooler loses them.
 */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, type ClientConfig, Pool, type PoolClient, type QueryResultRow, TypeOverrides } from 'pg'
import type { JobCaps } from '../caps.ts'
import { follow, type Native, type Reader, type Routine, type Transaction as Rows } from '../rows.ts'
import type { Connections, Hint } from '../store.ts'
import { askTogether } from './exchange.ts'
import { isBroken, isRepeatable, isUnprepared, translate, unavailable } from './failures.ts'
import { createHints, hintKey } from './hints.ts'
import { type Answer, type Ask, readerOf, type Starter, writerOf } from './rows.ts'
import { clientClass, withFirstServer } from './servers.ts'

/** What every transaction is told of the service. */
export interface Context {
  /** For `result_url` in events. */
  readonly publicUrl: string | null
  /** For workspaces that have none of their own. */
  readonly caps: JobCaps
}

/** The webhooks that a transaction has made deliveries for, by now. */
export interface Woken {
  /** The ids, with a space between them. */
  webhook_ids: string
}

export interface Transaction extends Rows, Starter {
  /** The database's time at the beginning, as everywhere: RFC 3339 UTC with milliseconds. */
  readonly now: string
  /** Webhooks have new deliveries, which `told` names: their rows are written last, before the commit or by `wakeNow`. */
  wake(told: Promise<Woken[]>): void
  wakeNow(): Routine<void>
}

export interface Connection {
  read<T>(work: (from: Reader) => Promise<T>): Promise<T>
  /** Resolves after the commit. Deadlocks are tried again, as the whole transaction. */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Runs a transaction that writes nothing among the reads. It needs the transaction for its plans. */
  readTogether<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Runs a transaction on a connection that requests do not share, with plans out of the indexes (`CONTROL`). */
  control<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** As `control`, for work that reads something before it needs the time: the read and the beginning are one pipeline. */
  report<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** As `report`, for a claim of jobs, whose plans also keep to the order of indexes (`OUT_OF_INDEXES`). */
  claim<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  subscribe(listener: (hint: Hint) => void): () => void
  usage(): Connections
  close(): Promise<void>
}

/** Shared by the requests that read and those that write. */
const POOL_SIZE = 10
/** Lease renewals, reports of jobs, claims of jobs, deliveries: each of the four asks for one thing at a time. */
const CONTROL_SIZE = 4
/** A request waits for a connection, old or new, for so long: then it is answered 503. */
const PATIENCE_MS = 20_000
const CONNECT_MS = 5000
/** The first statement of a transaction is answered within this time, or the other side is gone. */
export const FIRST_WORD_MS = 5000
/** The database ends what takes longer; the client gives a connection up that says nothing for longer still. */
const STATEMENT_MS = 30_000
const SILENCE_MS = 35_000
/** Between two statements of a transaction lies next to no time: who takes longer is stopped or gone, and holds locks. */
const PAUSE_MS = 5000
const TRIES = 5
/** For so long nothing is prepared after a prepared statement was lost. */
const UNPREPARED_MS = 600_000

const settings = (values: Record<string, number | string>): string =>
  Object.entries(values)
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')
const without = (off: readonly string[]): string =>
  settings(Object.fromEntries(off.map((name) => [name, 'off'])))

const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'

/** Returns the statement after BEGIN: it asks for the time, and makes settings that hold for this transaction only. */
function beginning(off: readonly string[], also: Record<string, string> = {}): string {
  const times = settings({
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: PAUSE_MS,
    ...also,
  })
  const all = [times, without(off)].filter((part) => part !== '')
  return `SELECT clock_timestamp()::timestamptz(3) AS now, ${all.join(', ')}`
}

const PLAIN = beginning([])

/** These off, rows come out of the indexes, and nothing is compiled (0.15 s each time). */
const INDEXES = ['jit', 'enable_seqscan', 'enable_bitmapscan']

/**
 * Leases, settles and deliveries are read row by row out of the indexes, however old the statistics are: otherwise the
 * planner reads all deliveries that wait to settle a few (11 ms with five thousand, 1 ms with this). Their statements are few
 * and keep one plan each: to plan a claim anew was a fifth of what a job costs the database one at a time.
 */
const ROW_BY_ROW = [...INDEXES, 'enable_hashjoin', 'enable_mergejoin']
const KEPT = { plan_cache_mode: 'force_generic_plan' }
const CONTROL = beginning(ROW_BY_ROW, KEPT)
const CLAIM = beginning([...ROW_BY_ROW, 'enable_sort'], KEPT)

/**
 * Until the transaction ends rows come out of an index in its order, also if a foreign key asks. Otherwise a claim
 * takes a burst of jobs for a short queue and sorts it (187 ms at 300,000 jobs, 3 ms with this).
 */
export const OUT_OF_INDEXES = `SELECT ${without([...INDEXES, 'enable_sort'])}`

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

/** The driver reads `sslmode` as PostgreSQL's own programs do only if it is told to. */
function withOwnSslModes(url: string): string {
  return new URL(url).searchParams.has('sslmode') ? `${url}&uselibpqcompat=true` : url
}

/** Returns the configuration of a connection. Its type parsers are its own; no global setting of the driver counts. */
function clientConfig(url: string): ClientConfig {
  return {
    connectionString: withOwnSslModes(withFirstServer(url)),
    application_name: 'assay',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types,
  }
}

/** A client that is not connected yet. */
export function newClient(url: string, more: ClientConfig = {}): Client {
  const config = clientConfig(url)
  return new (clientClass(url, config))({ ...config, ...more })
}

/** The driver takes a time limit for one question, which its types do not know. */
const firstWord = (text: string): { text: string; query_timeout: number } => ({
  text,
  query_timeout: FIRST_WORD_MS,
})

/** Sends all statements of the rest of this pass of the event loop to the database as one packet. */
function gather({ connection: { stream } }: PoolClient): void {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

interface Begun {
  /** Resolves once the transaction has begun. */
  at: Promise<void>
  /** The time of the transaction; null: the database has not answered yet. */
  now: string | null
  /** Whether its statements are prepared by name. Another transaction may learn meanwhile that they cannot be. */
  readonly prepares: boolean
}

function begin(client: PoolClient, text: string, prepares: boolean): Begun {
  gather(client)
  const word = client.query(firstWord(BEGIN))
  const asked = askTogether(client, types, { text, values: [], ...(prepares ? { name: nameOf(text) } : {}) })
  const begun: Begun = {
    now: null,
    prepares,
    at: Promise.all([word, asked]).then(([, { rows }]) => {
      begun.now = (rows as { now: string }[])[0]!.now
    }),
  }
  begun.at.catch(() => undefined)
  return begun
}

function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

function createPool(url: string, max: number, patience = PATIENCE_MS): Pool {
  const config = clientConfig(url)
  const pool = new Pool({
    ...config,
    Client: clientClass(url, config),
    max,
    connectionTimeoutMillis: patience,
    query_timeout: SILENCE_MS,
    pipeline: true,
  })
  // An idle connection that breaks is taken out of the pool; the next question makes another.
  pool.on('error', () => undefined)
  // One that breaks in the middle of a transaction also rejects the statement that is under way.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** The pool of one purpose, and how a transaction begins on it. */
class PurposePool {
  readonly beginning: string
  readonly #create: () => Pool
  #pool: Pool

  constructor(create: () => Pool, beginning: string) {
    this.#create = create
    this.#pool = create()
    this.beginning = beginning
  }

  get current(): Pool {
    return this.#pool
  }

  /** A connection that fell silent (a machine that vanished) puts all others of its pool in doubt: new ones are made. */
  note(from: Pool, error: unknown): void {
    if (!isSilence(error) || from !== this.#pool) return
    this.#pool = this.#create()
    from.end().catch(() => undefined)
  }
}

type Work<T> = (transaction: Transaction) => Promise<T>

/** The text's own name: whoever has prepared a statement under this name has prepared the same. */
const names = new Map<string, string>()
function nameOf(sql: string): string {
  const known = names.get(sql)
  if (known) return known
  const name = `assay_${createHash('sha256').update(sql).digest('base64url').slice(0, 22)}`
  names.set(sql, name)
  return name
}

export interface ConnectOptions extends Context {
  url: string
  size?: number | undefined
  nativeOf(tx: Transaction): Native
  /** For a transaction that may have made deliveries. */
  wakeWebhooks(tx: Transaction, told: Promise<Woken[]>): Routine<void>
}

class Transactions {
  readonly #options: ConnectOptions
  readonly #tell: (hints: Hint[]) => void
  /** Statements are prepared by name on pools where they are few and frequent, but not until then: a pooler lost one, or the schema changed. */
  #preparesFrom = 0

  constructor(options: ConnectOptions, tell: (hints: Hint[]) => void) {
    this.#options = options
    this.#tell = tell
  }

  async #once<T>(pool: PurposePool, work: Work<T>, from: Pool, client: PoolClient, begun: Begun): Promise<T> {
    // Of statements in a pipeline only the first that fails says why: those behind it are refused with it.
    let failed: unknown
    const ask: Ask = async (text, values) => {
      const name = begun.prepares ? { name: nameOf(text) } : {}
      const asked = askTogether(client, types, { text, values, ...name })
      try {
        return (await Promise.all([asked, begun.at]))[0]
      } catch (error) {
        failed ??= error
        throw error
      }
    }
    const hints = new Map<string, Hint>()
    let woken: Promise<Woken[]> | null = null
    const pending: Promise<unknown>[] = []
    const later = (write: Promise<unknown>): void => {
      write.catch(() => undefined)
      pending.push(write)
    }
    const { nativeOf, wakeWebhooks, publicUrl, caps } = this.#options
    const tx: Transaction = {
      ...writerOf(ask, later),
      publicUrl,
      caps,
      get now() {
        if (begun.now === null)
          throw new Error('The time of a transaction is not known before its first answer.')
        return begun.now
      },
      hint: (hint: Hint) => void hints.set(hintKey(hint), hint),
      get native() {
        return native
      },
      wake(told) {
        woken = told
      },
      *wakeNow() {
        const told = woken
        if (!told) return
        woken = null
        yield* wakeWebhooks(tx, told)
      },
    }
    const native = nativeOf(tx)
    try {
      const value = await work(tx)
      await follow(tx.wakeNow())
      await begun.at
      await Promise.all([...pending, ask('COMMIT', [])])
      client.release()
      this.#tell([...hints.values()])
      return value
    } catch (thrown) {
      const error = failed ?? thrown
      pool.note(from, error)
      const sound =
        !isBroken(error) &&
        !isUnprepared(error) &&
        // Behind what this pass has asked: the driver would send it into the middle of that exchange.
        (await askTogether(client, types, { text: 'ROLLBACK', values: [] }).then(
          () => true,
          () => false,
        ))
      client.release(!sound)
      throw error
    }
  }

  /** `atOnce`: the work asks for something before it needs the time, so it is not held up by the beginning. */
  async run<T>(pool: PurposePool, work: Work<T>, atOnce = false, text = pool.beginning): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const connections = pool.current
      const client = await connections.connect()
      const prepares = pool.beginning === CONTROL && performance.now() >= this.#preparesFrom
      const begun = begin(client, text, prepares)
      try {
        const begins: Work<T> = async (tx) => {
          await begun.at
          return work(tx)
        }
        return await this.#once(pool, atOnce ? work : begins, connections, client, begun)
      } catch (error) {
        // A connection that broke while it was idle is known by the first word on it: nothing has been written yet.
        if (begun.now === null && isBroken(error)) {
          if (attempt > connections.options.max) throw error
        } else if (begun.prepares && isUnprepared(error))
          this.#preparesFrom = performance.now() + UNPREPARED_MS
        else if (!isRepeatable(error) || attempt >= TRIES) throw error
        else await delay(10 * attempt * (1 + Math.random()))
      }
    }
  }
}

/** A read changes nothing: if the connection broke under it, it is asked once more on another. */
function readingFrom(pool: PurposePool): Reader {
  async function ask(sql: string, values: unknown[], again = true): Promise<Answer> {
    const connections = pool.current
    try {
      return await connections.query<QueryResultRow>(sql, values)
    } catch (error) {
      pool.note(connections, error)
      // A database that is silent is not asked to be silent for as long again.
      if (!again || !isBroken(error) || /timeout/i.test((error as Error).message)) throw error
      return ask(sql, values, false)
    }
  }
  return readerOf((sql, values) => ask(sql, values))
}

export function connect(options: ConnectOptions): Connection {
  const { url } = options
  const size = options.size ?? POOL_SIZE
  const readers = Math.max(1, Math.floor(size / 2))
  const reads = new PurposePool(() => createPool(url, readers), PLAIN)
  const writes = new PurposePool(() => createPool(url, Math.max(1, size - readers)), PLAIN)
  const control = new PurposePool(() => createPool(url, CONTROL_SIZE, CONNECT_MS), CONTROL)
  const pools = [reads, writes, control]
  const reading = readingFrom(reads)
  const hints = createHints({
    open: (more) => newClient(url, more),
    send: (sql, values) => reads.current.query(sql, values),
  })
  const transactions = new Transactions(options, hints.tell)
  let closed = false

  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw unavailable('The store is closed.')
    try {
      return await work()
    } catch (error) {
      throw translate(error)
    }
  }
  const sum = (of: (pool: Pool) => number): number => of(reads.current) + of(writes.current)

  return {
    read: (work) => guarded(() => work(reading)),
    write: (work) => guarded(() => transactions.run(writes, work)),
    readTogether: (work) => guarded(() => transactions.run(reads, work)),
    control: (work) => guarded(() => transactions.run(control, work)),
    report: (work) => guarded(() => transactions.run(control, work, true)),
    claim: (work) => guarded(() => transactions.run(control, work, true, CLAIM)),
    subscribe: hints.subscribe,
    usage: () => ({
      open: sum((pool) => pool.totalCount),
      idle: sum((pool) => pool.idleCount),
      waiting: sum((pool) => pool.waitingCount),
    }),
    async close() {
      if (closed) return
      closed = true
      await hints.close()
      await Promise.all(pools.map(({ current }) => current.end()))
    },
  }
}
