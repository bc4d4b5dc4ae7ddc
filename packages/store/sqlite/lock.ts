/**
 * The lock against a second process on the same database: a tiny SQLite file beside it, held with BEGIN EXCLUSIVE for
 * as long as the process lives. The operating system releases it however the process dies, so a lock is never left
 * behind. A text file beside it names the holder for people.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { unavailable } from './connection.ts'

export interface Lock {
  release(): void
}

function holderOf(file: string): string {
  try {
    const { pid, since } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number; since: string }
    return `process ${pid}, since ${since}`
  } catch {
    return 'another process'
  }
}

const SQLITE_BUSY = 5

/** Takes the lock. Throws `store_unavailable` with a sentence that names the holder. */
export function takeLock(database: string, now: string): Lock {
  const file = `${database}-lock`
  const holder = `${database}-holder`
  const db = new DatabaseSync(file, { timeout: 0 })
  try {
    db.exec('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error
    throw unavailable(
      `The database ${database} is in use by ${holderOf(holder)}. Stop that process first, or give this one a ` +
        'home of its own with ASSAY_HOME.',
      error,
    )
  }
  writeFileSync(holder, `${JSON.stringify({ pid: process.pid, since: now })}\n`, { mode: 0o600 })
  return {
    release() {
      rmSync(holder, { force: true })
      db.close()
    },
  }
}
