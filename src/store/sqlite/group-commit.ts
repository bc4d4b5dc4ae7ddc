/**
 * The group commit: many writes, one fsync. The writes of one turn of the event loop run one after the other inside one
 * BEGIN IMMEDIATE ... COMMIT, all synchronously: no read sees half of one. Each promise settles after the commit. Where
 * one throws that has already changed something, all is rolled back and run again, each in a SAVEPOINT of its own, so
 * that it is undone alone. (A SAVEPOINT for each from the first was a tenth of a write's time.) Where the transaction
 * itself is lost (a full disk), all of its writes are refused. So `work` may run twice: it keeps nothing of its first run.
 */
import type { DatabaseSync } from 'node:sqlite'

/** More than these in one commit would hold up the event loop: the rest follows in the next turn. */
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
  /** All inputs given to the same `work` in one turn are one call, which answers for each in their order. */
  join<In, Out>(work: (inputs: In[]) => Out[], input: In): Promise<Out>
  /** Commits what waits, and refuses what comes later. */
  end(): void
}

export interface GroupCommitOptions {
  /** What a lost transaction or a late write rejects with. */
  refuse(reason: unknown): unknown
  /** After each commit, once the promises are settled. */
  committed(): void
  /** What the writes have done is undone: forget what they left outside the database. */
  lost(): void
}

function runOnce(work: Work, entries: Entry[]): void {
  const values = work(entries.map(({ input }) => input))
  for (const [index, entry] of entries.entries()) entry.result = { value: values[index] }
}

function inOrder(batch: Entry[]): Map<Work, Entry[]> {
  const first = batch.filter(({ last }) => !last)
  return Map.groupBy([...first, ...batch.filter(({ last }) => last)], ({ work }) => work)
}

/** Commits a batch whole: together where it can be, else each write in a savepoint of its own. */
function committer(db: DatabaseSync, options: GroupCommitOptions): (batch: Entry[]) => void {
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

  return function commit(batch) {
    try {
      runAll(batch)
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK')
      options.lost()
      const refusal = options.refuse(error)
      for (const entry of batch) entry.reject(refusal)
      return
    }
    for (const { result, resolve, reject } of batch) {
      if (result && 'value' in result) resolve(result.value)
      else reject(result?.error)
    }
    options.committed()
  }
}

export function groupCommit(db: DatabaseSync, options: GroupCommitOptions): GroupCommit {
  const commit = committer(db, options)
  let waiting: Entry[] = []
  let scheduled = false
  let ended = false

  function flush(): void {
    const batch = waiting.slice(0, BATCH_MOST)
    waiting = waiting.slice(BATCH_MOST)
    scheduled = waiting.length > 0
    if (scheduled) setImmediate(flush)
    if (batch.length > 0) commit(batch)
  }

  function add<T>(entry: Pick<Entry, 'work' | 'input' | 'last'>): Promise<T> {
    if (ended) return Promise.reject(options.refuse(new Error('The store is closed.')))
    return new Promise<T>((resolve, reject) => {
      waiting.push({ ...entry, resolve: (value) => resolve(value as T), reject })
      if (!scheduled) {
        scheduled = true
        setImmediate(flush)
      }
    })
  }

  return {
    write: (work) => add({ work: () => [work()], input: null, last: false }),
    writeLast: (work) => add({ work: () => [work()], input: null, last: true }),
    join: (work, input) => add({ work: work as Work, input, last: false }),
    end() {
      ended = true
      while (waiting.length > 0) flush()
    },
  }
}
