/**
 * SQLite's write-ahead log, made durable without stopping the thread. With `synchronous = NORMAL` a commit is a write to
 * the log and no more; this syncs the log in libuv's pool, through a descriptor of its own: a sync is of the file, not of
 * the descriptor, and SQLite holds no lock on this file that the closing of another descriptor could drop.
 *
 * Why a sync that begins after a commit covers it, whatever happens meanwhile (https://www.sqlite.org/wal.html): its
 * frames stay in the log, behind frames that were there before, until a checkpoint has moved all of them; with NORMAL a
 * checkpoint syncs the log before and the database after, and only then does the next commit begin the log anew, its new
 * header synced before its frames. So a commit whose frames are gone from the log is durable in the database. The file
 * itself is the same from the first access until the last connection is closed: beginning anew overwrites it, and
 * `journal_size_limit` truncates only what lies behind the last commit.
 *
 * Checkpoints are asked for here and not by SQLite, which hides that one has failed. A sync that has failed is never
 * made good by a later one: the system may keep as written what the disk does not hold. So nothing is moved out of such
 * a log, and the next process checks it frame by frame (SQLite's recovery) and writes what is whole to the disk anew.
 */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

/** Pages in the log before they are moved to the database: 16 MB. The same page is moved once, however often written. */
const CHECKPOINT_PAGES = 4000
/** https://www.sqlite.org/rescode.html#ioerr_fsync */
const IOERR_FSYNC = 1034

/** Kept until the process ends. */
const abandoned: DatabaseSync[] = []

export interface Log {
  /** Resolves once all that the log held when it was called is on the disk. Rejects where the disk has failed. */
  sync(): Promise<void>
  /** To be called between transactions, with all synced: moves pages to the database once there are many. */
  checkpoint(): void
  /** After a failed sync: nothing is moved to the database any more, not even by closing it. */
  abandon(): void
  /** Before the connection is closed. */
  close(): void
}

/** How many pages are not yet in the database. */
function left(checkpoint: StatementSync): number {
  const { log, checkpointed } = checkpoint.get() as { log: number; checkpointed: number }
  return log - checkpointed
}

/**
 * `db` is a connection to `file`, which has read it or written to it: SQLite makes the log then. What a process that was
 * killed has left in the log is durable afterwards.
 */
export async function openLog(db: DatabaseSync, file: string, pages = CHECKPOINT_PAGES): Promise<Log> {
  const look = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  const move = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  /** So many pages and they are moved; at the opening whatever is there. */
  let due = 0
  /** To look costs 8 microseconds and more: not at each commit, where a few hundred pages more are nothing. */
  const every = Math.ceil(pages / 250)
  let calls = 0
  function checkpoint(): void {
    if (calls++ % every !== 0 || left(look) < due) return
    try {
      // What another connection still reads stays: it is tried again when as much has come on top.
      due = left(move) + pages
    } catch (error) {
      due += pages
      // A full disk leaves all in the log, for later.
      if ((error as { errcode?: number }).errcode === IOERR_FSYNC) throw error
    }
  }
  checkpoint()
  // Writable, because Windows flushes only what may be written.
  const descriptor = openSync(`${file}-wal`, 'r+')
  const sync = (): Promise<void> =>
    new Promise((resolve, reject) => {
      fdatasync(descriptor, (error) => (error ? reject(error) : resolve()))
    })
  await sync()
  return {
    sync,
    checkpoint,
    abandon() {
      // Only the last connection moves pages when it is closed, and one that may not write never does.
      const reader = new DatabaseSync(file, { readOnly: true })
      reader.prepare('SELECT count(*) FROM sqlite_schema').get()
      abandoned.push(reader)
    },
    close: () => closeSync(descriptor),
  }
}
