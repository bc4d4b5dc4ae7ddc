/**
 * For tests that turn a clock by hand and then look: each sync of SQLite's log ends within the pass of the event loop in
 * which it began, whatever the disk takes for it. It is the same sync, waited for.
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
