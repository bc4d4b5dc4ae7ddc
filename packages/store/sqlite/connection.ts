/**
 * The connection to the database, and what every store function needs of it: statements prepared once, time, the
 * group commit, hints after the commit, and errors in the words of the contract.
 */
import { DatabaseSync } from 'node:sqlite'
import { type Clock, iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { JobCaps } from '../caps.ts'
import type { Hint } from '../store.ts'
import { groupCommit } from './durable/group-commit.ts'
import { openLog } from './durable/log.ts'
import { nativeOf } from './native.ts'
import { type Run, sqliteRows } from './rows.ts'

export interface Connection {
  /** Runs a routine. Inside a write its changes belong to that transaction. */
  readonly run: Run
  /** Runs work in one transaction. Resolves once it is durable. */
  write<T>(work: () => T): Promise<T>
  /** Writes as `write` does, after all other work of its commit. */
  writeLast<T>(work: () => T): Promise<T>
  /** Writes as `write` does. One call of `work` gets all inputs of one commit. */
  join<In, Out>(work: (inputs: In[]) => Out[], input: In): Promise<Out>
  /**
   * Reads at once. If a commit is not yet durable, resolves when it is, so that nobody learns of a change that may be
   * lost.
   */
  read<T>(work: () => T): Promise<T>
  subscribe(listener: (hint: Hint) => void): () => void
  /**
   * Resolves when everything written is durable: with true, or with false if the disk has failed and only another
   * process may continue.
   */
  close(): Promise<boolean>
}

export interface ConnectionOptions {
  /** The path of the database. Its log lies beside it. */
  file: string
  clock: Clock
  publicUrl: string | null
  caps: JobCaps
  failed?: ((error: AppError) => void) | undefined
}

/** Codes that blame the database, not the statement (https://www.sqlite.org/rescode.html). */
const UNUSABLE = new Map([
  [5, 'it is locked by another program'],
  [7, 'memory is exhausted'],
  [8, 'it is read-only'],
  [10, 'reading or writing the disk failed'],
  [11, 'it is damaged'],
  [13, 'the disk is full'],
  [14, 'it cannot be opened'],
  [26, 'it is not an SQLite database'],
])
const FOREIGN_KEY = 787
/** The code of a trigger's refusal. Only a workspace that is being deleted causes it. */
const TRIGGER = 1811
const PRIMARY_KEY = 1555
const UNIQUE = 2067

/** Turns errors of SQLite that mean something to a client into AppErrors. Others stay as they are. */
export function translate(error: unknown): unknown {
  const { errcode: code, code: name } = error as { errcode?: unknown; code?: unknown }
  if (name === 'ERR_INVALID_STATE') return unavailable('The store is closed.', error)
  if (typeof code !== 'number') return error
  if (code === FOREIGN_KEY || code === TRIGGER)
    return new AppError('not_found', 'The workspace does not exist any more.', { cause: error })
  if (code === PRIMARY_KEY || code === UNIQUE)
    return new AppError('name_taken', 'The id or the value is taken: choose another.', { cause: error })
  const reason = UNUSABLE.get(code & 0xff)
  return reason === undefined ? error : unavailable(`The database cannot be used: ${reason}.`, error)
}

export function unavailable(detail: string, cause?: unknown): AppError {
  return new AppError('store_unavailable', detail, { retryAfter: 5, cause })
}

function diskFailed(error: unknown): AppError {
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  return unavailable(
    `The disk failed to write (${code}). The store has stopped: check the disk, then ` +
      'restart the service. Every acknowledged write is kept.',
    error,
  )
}

function refuse(error: unknown): unknown {
  const translated = translate(error)
  return translated instanceof AppError
    ? translated
    : unavailable(`The write was not kept: ${(error as Error).message}`, error)
}

export function openDatabase(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: 2000 })
  // With NORMAL and without automatic checkpoints, log.ts makes commits durable. The cache is 4 MB; the rest is in
  // the cache of the system.
  db.exec(`PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON;
    PRAGMA cache_size = -4000; PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;`)
  const mode = db.prepare('PRAGMA journal_mode = WAL').get() as { journal_mode: string }
  if (mode.journal_mode === 'wal') return db
  db.close()
  throw unavailable(
    `The database ${file} cannot be kept with a write-ahead log: put it on a local disk (ASSAY_HOME).`,
  )
}

async function translated<T>(written: Promise<T>): Promise<T> {
  try {
    return await written
  } catch (error) {
    throw translate(error)
  }
}

export async function connect(db: DatabaseSync, options: ConnectionOptions): Promise<Connection> {
  const { file, clock, publicUrl, caps } = options
  const log = await openLog(db, file)
  let failed = false
  const listeners = new Set<(hint: Hint) => void>()
  const hints = new Map<Hint['topic'], Map<string, Hint>>()
  const commits = groupCommit(db, {
    log,
    refuse,
    committed() {
      const given = [...hints.values()].flatMap((of) => [...of.values()])
      hints.clear()
      for (const hint of given) for (const listener of listeners) listener(hint)
    },
    lost: () => hints.clear(),
    failed(reason) {
      const error = diskFailed(reason)
      failed = true
      log.abandon()
      options.failed?.(error)
      return error
    },
  })
  function hint(given: Hint): void {
    const of =
      'assignment_id' in given ? given.assignment_id : 'delivery_id' in given ? given.delivery_id : ''
    const known = hints.get(given.topic)
    if (known) known.set(of, given)
    else hints.set(given.topic, new Map([[of, given]]))
  }
  return {
    run: sqliteRows({ db, now: () => iso(clock.now()), publicUrl, caps, hint }, nativeOf),
    write: (work) => translated(commits.write(work)),
    writeLast: (work) => translated(commits.writeLast(work)),
    join: (work, input) => translated(commits.join(work, input)),
    async read(work) {
      try {
        return work()
      } catch (error) {
        throw translate(error)
      } finally {
        if (commits.syncing) await commits.syncing
      }
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      await commits.end()
      log.close()
      db.close()
      return !failed
    },
  }
}
