/**
 * The group commit: many writes, one fsync, and the thread never waits for it. The writes that have come run one after
 * the other inside one BEGIN IMMEDIATE ... COMMIT, all synchronously: no read sees half of one. Then the log is synced
 * elsewhere, and each promise settles once that has ended. What comes meanwhile waits and is the next commit: it could
 * not be acknowledged earlier anyway, and so a page that all of them change is written once.
 *
 * Where a write throws that has already changed something, all is rolled back and run again, each in a SAVEPOINT of its
 * own, so that it is undone alone. (A SAVEPOINT for each from the first was a tenth of a write's time.) Where the
 * transaction itself is lost (a full disk), all of its writes are refused. So `work` may run twice: it keeps nothing of
 * its first run.
 *
 * A sync that fails is the end: the system may have thrown away what it could not write, and the next sync would succeed
 * without it. So nothing is written or read any more until another process has read from the disk what is there.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Log } from './log.ts'

/** More than these in one commit would hold up the event loop: the rest follows in its next pass. */
const BATCH_MOST = 500

type Work = (inputs: unknown[]) => unknown[]

interface Entry {
  work: Work
  input: unknown
  last: boolean
  resolve(value: unknown): void
  reject(error: unknown): void
  result?: { value: unknown } | { error: unknown }
}

export interface GroupCommit {
  /** Resolves with what `work` returned once that is durable. */
  write<T>(work: () => T): Promise<T>
  /** After all others of its commit: for claims, which so find what the others have made or freed. */
  writeLast<T>(work: () => T): Promise<T>
  /** All inputs given to the same `work` for one commit are one call, which answers for each in their order. */
  join<In, Out>(work: (inputs: In[]) => Out[], input: In): Promise<Out>
  /**
   * Null: all that a read can see is durable. Else it resolves once that is so, after the promises of its writes, and
   * rejects where it will never be.
   */
  readonly syncing: Promise<void> | null
  /** Commits what waits, and refuses what comes later. Resolves once all is durable or refused. */
  end(): Promise<void>
}

export interface GroupCommitOptions {
  log: Pick<Log, 'sync' | 'checkpoint'>
  /** What a lost transaction or a late write rejects with. */
  refuse(reason: unknown): unknown
  /** After each commit, once it is durable and its promises are settled. */
  committed(): void
  /** What the writes have done is undone: forget what they left outside the database. */
  lost(): void
  /** A sync has failed. Answers what everything rejects with from now on. */
  failed(reason: unknown): unknown
}

function runOnce(work: Work, entries: Entry[]): void {
  const values = work(entries.map(({ input }) => input))
  for (const [index, entry] of entries.entries()) entry.result = { value: values[index] }
}

function inOrder(batch: Entry[]): Map<Work, Entry[]> {
  const first = batch.filter(({ last }) => !last)
  return Map.groupBy([...first, ...batch.filter(({ last }) => last)], ({ work }) => work)
}

/**
 * Commits a batch whole: together where it can be, else each write in a savepoint of its own. Answers whether that is
 * done; where it is not, all are refused. `changes` only rises: where it has not, nothing was written.
 */
function committer(db: DatabaseSync, options: GroupCommitOptions) {
  const total = db.prepare('SELECT total_changes() AS changes')
  const changes = (): unknown => total.get()?.changes

  /** False: one threw that cannot be undone alone. */
  function runTogether(batch: Entry[]): boolean {
    for (const [work, entries] of inOrder(batch)) {
      const before = changes()
      try {
        runOnce(work, entries)
      } catch (error) {
        // A statement that met a full disk may have ended the whole transaction.
        if (!db.isTransaction) throw error
        // Most refusals come before anything is written: they cost the others nothing.
        if (entries.length > 1 || changes() !== before) return false
        entries[0]!.result = { error }
      }
    }
    return true
  }

  function runApart(batch: Entry[]): void {
    for (const entry of [...inOrder(batch).values()].flat()) {
      db.exec('SAVEPOINT one')
      try {
        runOnce(entry.work, [entry])
      } catch (error) {
        if (!db.isTransaction) throw error
        db.exec('ROLLBACK TO one')
        entry.result = { error }
      }
      db.exec('RELEASE one')
    }
  }

  function runAll(batch: Entry[]): void {
    db.exec('BEGIN IMMEDIATE')
    if (!runTogether(batch)) {
      db.exec('ROLLBACK')
      options.lost()
      db.exec('BEGIN IMMEDIATE')
      runApart(batch)
    }
    db.exec('COMMIT')
  }

  function commit(batch: Entry[]): boolean {
    try {
      runAll(batch)
      return true
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      options.lost()
      rejectAll(batch, options.refuse(error))
      return false
    }
  }

  return { commit, changes }
}

function rejectAll(entries: Entry[], error: unknown): void {
  for (const entry of entries) entry.reject(error)
}

function settle(batch: Entry[]): void {
  for (const { result, resolve, reject } of batch) {
    if (result && 'value' in result) resolve(result.value)
    else reject(result?.error)
  }
}

class Committer implements GroupCommit {
  readonly #options: GroupCommitOptions
  readonly #transactions: ReturnType<typeof committer>
  readonly #waiting: Entry[] = []
  #scheduled = false
  #ended = false
  #syncing: Promise<void> | null = null
  #failure: { error: unknown } | null = null

  constructor(db: DatabaseSync, options: GroupCommitOptions) {
    this.#options = options
    this.#transactions = committer(db, options)
  }

  get syncing(): Promise<void> | null {
    return this.#syncing
  }

  write<T>(work: () => T): Promise<T> {
    return this.#add({ work: () => [work()], input: null, last: false })
  }

  writeLast<T>(work: () => T): Promise<T> {
    return this.#add({ work: () => [work()], input: null, last: true })
  }

  join<In, Out>(work: (inputs: In[]) => Out[], input: In): Promise<Out> {
    return this.#add({ work: work as Work, input, last: false })
  }

  async end(): Promise<void> {
    this.#ended = true
    do {
      this.#flush()
      await this.#syncing?.catch(() => undefined)
    } while (this.#waiting.length > 0)
  }

  #add<T>(entry: Pick<Entry, 'work' | 'input' | 'last'>): Promise<T> {
    if (this.#failure) return Promise.reject(this.#failure.error)
    if (this.#ended) return Promise.reject(this.#options.refuse(new Error('The store is closed.')))
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ ...entry, resolve: (value) => resolve(value as T), reject })
      this.#schedule()
    })
  }

  /** In the next pass of the event loop: what this pass still brings goes into the same commit. */
  #schedule(): void {
    if (this.#scheduled || this.#syncing || this.#waiting.length === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#syncing) return
    const { commit, changes } = this.#transactions
    const batch = this.#waiting.splice(0, BATCH_MOST)
    const before = changes()
    try {
      this.#options.log.checkpoint()
    } catch (error) {
      this.#wait(Promise.reject(this.#fail(error, batch)))
      return
    }
    if (batch.length > 0 && commit(batch)) {
      if (changes() === before) this.#tell(batch)
      else this.#wait(this.#makeDurable(batch))
    }
    this.#schedule()
  }

  async #makeDurable(batch: Entry[]): Promise<void> {
    try {
      await this.#options.log.sync()
    } catch (error) {
      throw this.#fail(error, batch)
    }
    this.#syncing = null
    this.#schedule()
    this.#tell(batch)
  }

  #tell(batch: Entry[]): void {
    settle(batch)
    this.#options.committed()
  }

  /** There may be nobody who has read what is being made durable. */
  #wait(durable: Promise<void>): void {
    this.#syncing = durable
    durable.catch((error: unknown) => {
      if (!this.#failure) throw error
    })
  }

  #fail(reason: unknown, batch: Entry[]): unknown {
    const error = this.#options.failed(reason)
    this.#failure = { error }
    rejectAll([...batch, ...this.#waiting.splice(0)], error)
    return error
  }
}

export function groupCommit(db: DatabaseSync, options: GroupCommitOptions): GroupCommit {
  return new Committer(db, options)
}
