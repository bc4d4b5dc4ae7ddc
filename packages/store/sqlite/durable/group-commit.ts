/**
 * The group commit: many writes share one fsync, and the thread never waits for it. Waiting writes run one after the
 * other inside one BEGIN IMMEDIATE ... COMMIT, synchronously, so no read sees half of one. Then another thread syncs
 * the log, and the promises settle when the sync ends. Writes that arrive meanwhile make up the next commit. If a
 * write throws after it has changed something, the commit is rolled back and run again with a SAVEPOINT for each
 * write, so that this write is undone alone. (A SAVEPOINT for each from the start took a tenth of a write's time.) If
 * the transaction itself is lost (a full disk), all of its writes are refused. So `work` may run twice and must keep
 * nothing of its first run. After a failed sync nothing is written or read any more: the system may have thrown away
 * what it could not write, and the next sync would succeed without it. Another process must first read what the disk
 * holds.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Log } from './log.ts'

/** The most writes of one commit. The rest follows in the next pass of the event loop. */
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
  /** Resolves with the result of `work` once it is durable. */
  write<T>(work: () => T): Promise<T>
  /** Runs `work` after all others of its commit. Claims use it, so that they find what the others made or freed. */
  writeLast<T>(work: () => T): Promise<T>
  /** Calls `work` once with all inputs of one commit. It returns one result for each, in their order. */
  join<In, Out>(work: (inputs: In[]) => Out[], input: In): Promise<Out>
  /**
   * Null if everything that a read can see is durable. Otherwise a promise that resolves when it is, after the
   * promises of the writes, and rejects if it never will be.
   */
  readonly syncing: Promise<void> | null
  /** Commits waiting writes and refuses later ones. Resolves when all are durable or refused. */
  end(): Promise<void>
}

export interface GroupCommitOptions {
  log: Pick<Log, 'sync' | 'checkpoint'>
  /** Returns the error of a lost transaction or a late write. */
  refuse(reason: unknown): unknown
  /** Called after each commit, once it is durable and its promises are settled. */
  committed(): void
  /** Called after a rollback, to forget what the writes left outside the database. */
  lost(): void
  /** Called after a failed sync. Returns the error of every later call. */
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
 * Commits a batch: together if possible, else each write in a savepoint of its own. The commit returns false if the
 * transaction was lost, and all writes are refused. `changes` only rises, so an equal count means that nothing was
 * written.
 */
function committer(db: DatabaseSync, options: GroupCommitOptions) {
  const total = db.prepare('SELECT total_changes() AS changes')
  const changes = (): unknown => total.get()?.changes

  /** Runs the writes together. Returns false if one threw and cannot be undone alone. */
  function runTogether(batch: Entry[]): boolean {
    for (const [work, entries] of inOrder(batch)) {
      const before = changes()
      try {
        runOnce(work, entries)
      } catch (error) {
        // A full disk may have ended the whole transaction.
        if (!db.isTransaction) throw error
        // Most refusals happen before a write changes anything, and then cost the other writes nothing.
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

  /** Commits in the next pass of the event loop, so that later writes of this pass join the commit. */
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

  /** Handles a rejection, because nobody may await this promise. */
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
