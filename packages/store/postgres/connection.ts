/**
 * Connections to PostgreSQL, and the transactions that every store function runs on them. A read is a statement of
 * its own; a write is one transaction, which gets its time from the database. Requests read by one pool and write by
 * another, so a thousand creations do not delay a status. The work that keeps a node alive (leases, claims, settles,
 * deliveries) has a third pool. Nothing here outlives a transaction (no session setting, no advisory lock of a
 * session), so that a pooler such as PgBouncer may stand between. Prepared statements are the exception: they are
 * given up if a pooler loses them.
 */
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool, type PoolClient, type QueryResultRow } from 'pg'
import type { JobCaps } from '../caps.ts'
import { follow, type Native, type Reader, type Routine, type Transaction as Rows } from '../rows.ts'
import type { Connections, Hint } from '../store.ts'
import { BEGIN, CLAIM, CONTROL, PLAIN } from './beginning.ts'
import { askTogether } from './exchange.ts'
import { isBroken, isRepeatable, isUnprepared, translate, unavailable } from './failures.ts'
import { createHints, hintKey } from './hints.ts'
import { type Answer, type Ask, readerOf, type Starter, writerOf } from './rows.ts'
import { CONNECT_MS, clientConfig, newClient, types } from './servers/client.ts'
import { clientClass } from './servers/servers.ts'

/** The values that every transaction gets from the service. */
export interface Context {
  /** The public address for `result_url` in events; null if there is none. */
  readonly publicUrl: string | null
  /** The caps of workspaces without caps of their own. */
  readonly caps: JobCaps
}

/** The webhooks for which a transaction has made deliveries so far. */
export interface Woken {
  /** The ids, separated by spaces. */
  webhook_ids: string
}

export interface Transaction extends Rows, Starter {
  /** The database's time at the beginning: RFC 3339 UTC with milliseconds. */
  readonly now: string
  /**
   * Records that webhooks have new deliveries, which `told` names. Their rows are written last, before the commit or
   * by `wakeNow`.
   */
  wake(told: Promise<Woken[]>): void
  wakeNow(): Routine<void>
}

export interface Connection {
  read<T>(work: (from: Reader) => Promise<T>): Promise<T>
  /** Runs a transaction and resolves after the commit. After a deadlock the whole transaction is tried again. */
  write<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Runs a transaction that writes nothing on the pool of reads. It needs the transaction for its plans. */
  readTogether<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Runs a transaction on a connection that requests do not share, with plans from indexes (`CONTROL`). */
  control<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /**
   * Runs a transaction as `control` does, for work that reads before it needs the time. The read and the beginning
   * are one pipeline.
   */
  report<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  /** Runs a claim of jobs as `report` does. Its plans also keep to the order of indexes (`OUT_OF_INDEXES`). */
  claim<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>
  subscribe(listener: (hint: Hint) => void): () => void
  usage(): Connections
  close(): Promise<void>
}

/** The default number of connections that reading and writing requests share. */
const POOL_SIZE = 10
/**
 * The number of connections for lease renewals, reports of jobs, claims of jobs, and deliveries. Each of the four
 * sends one thing at a time.
 */
const CONTROL_SIZE = 4
/** The milliseconds for which a request waits for a connection, old or new. It is then answered 503. */
const PATIENCE_MS = 20_000
/**
 * The milliseconds within which the first statement of a transaction is answered. After that the other side counts as
 * gone.
 */
export const FIRST_WORD_MS = 5000
/**
 * The milliseconds after which the client gives up a silent connection: a little longer than `STATEMENT_MS` of
 * beginning.ts.
 */
const SILENCE_MS = 35_000
const TRIES = 5
/** The milliseconds for which nothing is prepared after a prepared statement was lost. */
const UNPREPARED_MS = 600_000

/** Adds the time limit of one statement, which the driver accepts and its types lack. */
const firstWord = (text: string): { text: string; query_timeout: number } => ({
  text,
  query_timeout: FIRST_WORD_MS,
})

/** Sends all statements of the rest of this pass of the event loop as one packet. */
function gather({ connection: { stream } }: PoolClient): void {
  stream.cork()
  process.nextTick(() => stream.uncork())
}

interface Begun {
  /** Resolves once the transaction has begun. */
  at: Promise<void>
  /** The time of the transaction; null before the database has answered. */
  now: string | null
  /** True if its statements are prepared by name. Another transaction may learn meanwhile that they cannot be. */
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
  // The pool removes an idle connection that breaks, and the next statement makes another.
  pool.on('error', () => undefined)
  // A connection that breaks within a transaction also rejects the statement under way.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** The pool of one purpose, and the beginning of its transactions. */
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

  /**
   * Replaces the pool after a connection fell silent, as when a machine vanishes: its other connections are in doubt.
   */
  note(from: Pool, error: unknown): void {
    if (!isSilence(error) || from !== this.#pool) return
    this.#pool = this.#create()
    from.end().catch(() => undefined)
  }
}

type Work<T> = (transaction: Transaction) => Promise<T>

/**
 * The names of statements. A name is made from the text, so two programs that prepare the same name prepare the same
 * text.
 */
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
  /** Wakes the webhooks of a transaction that may have made deliveries. */
  wakeWebhooks(tx: Transaction, told: Promise<Woken[]>): Routine<void>
}

class Transactions {
  readonly #options: ConnectOptions
  readonly #tell: (hints: Hint[]) => void
  /**
   * The time from which statements are prepared by name again, after a pooler lost one or the schema changed. Pools
   * with few and frequent statements prepare them.
   */
  #preparesFrom = 0

  constructor(options: ConnectOptions, tell: (hints: Hint[]) => void) {
    this.#options = options
    this.#tell = tell
  }

  async #once<T>(pool: PurposePool, work: Work<T>, from: Pool, client: PoolClient, begun: Begun): Promise<T> {
    // In a pipeline only the first failing statement says why. Those behind it are refused with it.
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
        // The ROLLBACK joins the exchange of this pass. The driver would send it into the middle of that exchange.
        (await askTogether(client, types, { text: 'ROLLBACK', values: [] }).then(
          () => true,
          () => false,
        ))
      client.release(!sound)
      throw error
    }
  }

  /**
   * Runs work in a transaction. `atOnce`: the work sends a statement before it needs the time, so the beginning does
   * not delay it.
   */
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
        // A connection that broke while idle fails at its first statement. Nothing has been written yet, so the work
        // is tried again.
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

/**
 * Returns the reader of a pool. A read changes nothing, so after a broken connection it is sent once more on another.
 */
function readingFrom(pool: PurposePool): Reader {
  async function ask(sql: string, values: unknown[], again = true): Promise<Answer> {
    const connections = pool.current
    try {
      return await connections.query<QueryResultRow>(sql, values)
    } catch (error) {
      pool.note(connections, error)
      // A silent database is not asked again, because it may be silent for as long once more.
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
