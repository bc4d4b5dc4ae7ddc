/**
 * Measures the loop of the service, which loads it (node --import) with STALL_PROBE=FILE. The loop that answers
 * requests calls it every few milliseconds, and it writes a line for each call that comes late. The delay counts only
 * the loop's own work: the time that the thread waited for a processor is subtracted. The thread itself reads both
 * while it runs.
 */
import { openSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { thisThread } from './thread.ts'

/** A stretch in which the loop served nobody, in milliseconds. `at`: its end, in milliseconds since 1970. */
export interface Stretch {
  pid: number
  at: number
  /** The whole stretch without the time that the thread waited for a processor. */
  held: number
  /** The processor time in the stretch. In the rest the thread slept for a disk or another process. */
  worked: number
  stood: number
}

export const EVERY_MS = 5
/** The least milliseconds of a stretch that is written. */
const LEAST_MS = 15

function probe(file: string): void {
  const out = openSync(file, 'a')
  let before = { now: performance.now(), ...thisThread() }
  setInterval(() => {
    const after = { now: performance.now(), ...thisThread() }
    const stood = after.stood - before.stood
    const held = after.now - before.now - stood - EVERY_MS
    if (held > LEAST_MS) {
      const worked = after.worked - before.worked
      const at = performance.timeOrigin + after.now
      writeSync(out, `${JSON.stringify({ pid: process.pid, at, held, worked, stood } satisfies Stretch)}\n`)
    }
    before = after
  }, EVERY_MS).unref()
}

const { STALL_PROBE: file } = process.env
if (isMainThread && file !== undefined && process.argv.includes('serve')) probe(file)
