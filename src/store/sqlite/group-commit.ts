/**
 * The group commit: many writes, one fsync. The writes of one turn of the event loop run one after the other, each in
 * its SAVEPOINT, inside one BEGIN IMMEDIATE ... COMMIT, all synchronously: no read sees half of one. Each promise
 * settles after the commit. A write that throws is rolled back alone; where the transaction itself is lost (a full
 * disk), all of its writes are refused.
 */
import type { DatabaseSync } from 'node:sqlite'

/** More than these in one commit would hold up the event loop: the rest follows in the next turn. */
const BATCH_MOST = 500

interface Entry {
  run(): unknown
  resolve(value: unknown): void
  reject(error: unknown): void
  result?: { value: unknown } | { error: unknown }
}

export interface GroupCommit {
  /** Resolves with what `work` returned once that is durable. */
  write<T>(work: () => T): Promise<T>
  /** Commits what waits, and refuses what comes later. */
  end(): void
}

export interface GroupCommitOptions {
  /** What a lost transaction or a late write rejects with. */
  refuse(reason: unknown): unknown
  /** After each commit, once the promises are settled. */
  committed(): void
  /** The transaction is lost: forget what its writes left outside the database. */
  lost(): void
}

export function groupCommit(db: DatabaseSync, options: GroupCommitOptions): GroupCommit {
  let waiting: Entry[] = []
  let scheduled = false
  let ended = false

  function runOne(entry: Entry): void {
    db.exec('SAVEPOINT one')
    try {
      entry.result = { value: entry.run() }
    } catch (error) {
      // A statement that met a full disk may have ended the whole transaction.
      if (!db.isTransaction) throw error
      db.exec('ROLLBACK TO one')
      entry.result = { error }
    }
    db.exec('RELEASE one')
  }

  function commit(batch: Entry[]): void {
    try {
      db.exec('BEGIN IMMEDIATE')
      for (const entry of batch) runOne(entry)
      db.exec('COMMIT')
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

  function flush(): void {
    const batch = waiting.slice(0, BATCH_MOST)
    waiting = waiting.slice(BATCH_MOST)
    scheduled = waiting.length > 0
    if (scheduled) setImmediate(flush)
    if (batch.length > 0) commit(batch)
  }

  return {
    write<T>(work: () => T): Promise<T> {
      if (ended) return Promise.reject(options.refuse(new Error('The store is closed.')))
      return new Promise<T>((resolve, reject) => {
        waiting.push({ run: work, resolve: (value) => resolve(value as T), reject })
        if (!scheduled) {
          scheduled = true
          setImmediate(flush)
        }
      })
    },
    end() {
      ended = true
      while (waiting.length > 0) flush()
    },
  }
}
