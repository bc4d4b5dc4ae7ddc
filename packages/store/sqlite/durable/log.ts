/**
 * Syncs SQLite's write-ahead log without stopping the thread. With `synchronous = NORMAL` a commit only writes to the
 * log. This file syncs the log in libuv's pool through a descriptor of its own. A sync concerns the file, not the
 * descriptor, and SQLite holds no lock on this file that closing another descriptor could drop.
 * A sync that begins after a commit covers it (https://www.sqlite.org/wal.html): the commit's frames stay in the log
 * until a checkpoint has moved them. With NORMAL a checkpoint syncs the log before and the database after. Only then
 * the next commit starts the log anew, and its header is synced before its frames. So a commit whose frames have left
 * the log is durable in the database. The file stays the same until the last connection closes: a new start
 * overwrites it, and `journal_size_limit` truncates only behind the last commit.
 * This file starts checkpoints, because SQLite hides a failed one. A later sync does not repair a failed one: the
 * system may report as written what the disk does not hold. So nothing is moved out of such a log. The next process
 * checks it frame by frame (SQLite's recovery) and writes the whole frames to the disk again.
 */
import { closeSync, fdatasync, openSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'

/**
 * The pages in the log at which they are moved to the database: 16 MB. A page that was written many times is moved
 * once.
 */
const CHECKPOINT_PAGES = 4000
/** The code of a failed sync (https://www.sqlite.org/rescode.html#ioerr_fsync). */
const IOERR_FSYNC = 1034

/** Connections that are never closed, because closing one would move pages. They are kept until the process ends. */
const abandoned: DatabaseSync[] = []

export interface Log {
  /** Resolves when everything in the log at the time of the call is on the disk. Rejects if the disk has failed. */
  sync(): Promise<void>
  /** Moves pages to the database if there are many. Call it between transactions, with everything synced. */
  checkpoint(): void
  /** Call it after a failed sync. Nothing is moved to the database any more, not even on close. */
  abandon(): void
  /** Call it before the connection is closed. */
  close(): void
}

/** Returns the number of pages that are not yet in the database. */
function left(checkpoint: StatementSync): number {
  const { log, checkpointed } = checkpoint.get() as { log: number; checkpointed: number }
  return log - checkpointed
}

/**
 * Opens the log. `db` is a connection that has read or written `file`, so that SQLite has made the log. The log of a
 * killed process is durable afterwards.
 */
export async function openLog(db: DatabaseSync, file: string, pages = CHECKPOINT_PAGES): Promise<Log> {
  const look = db.prepare('PRAGMA wal_checkpoint(NOOP)')
  const move = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  /** The number of pages at which they are moved. The opening moves any number. */
  let due = 0
  /** Commits between two looks at the size. A look costs 8 microseconds, and a few hundred more pages do no harm. */
  const every = Math.ceil(pages / 250)
  let calls = 0
  function checkpoint(): void {
    if (calls++ % every !== 0 || left(look) < due) return
    try {
      // Pages that another connection still reads stay. The next try comes when as many have been added.
      due = left(move) + pages
    } catch (error) {
      due += pages
      // After a full disk all pages stay in the log for a later try.
      if ((error as { errcode?: number }).errcode === IOERR_FSYNC) throw error
    }
  }
  checkpoint()
  // The descriptor is writable, because Windows flushes only writable files.
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
      // Only the last connection moves pages when it closes, and a read-only one never does.
      const reader = new DatabaseSync(file, { readOnly: true })
      reader.prepare('SELECT count(*) FROM sqlite_schema').get()
      abandoned.push(reader)
    },
    close: () => closeSync(descriptor),
  }
}
