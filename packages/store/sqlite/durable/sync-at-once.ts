/**
 * For tests that advance a clock by hand: each sync of SQLite's log ends within the pass of the event loop in which
 * it began, however long the disk takes. It is the same sync, done synchronously.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

function fdatasync(descriptor: number, done: (error: Error | null) => void): void {
  try {
    fs.fdatasyncSync(descriptor)
  } catch (error) {
    done(error as Error)
    return
  }
  done(null)
}

export function syncAtOnce(): void {
  Object.assign(fs, { fdatasync })
  syncBuiltinESMExports()
}
