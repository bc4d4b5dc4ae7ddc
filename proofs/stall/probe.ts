/**
 * Loaded into the service (node --import) with STALL_PROBE=FILE: asks to be called every few milliseconds by the loop
 * that answers requests, and writes a line for each time that it was called late. The delay counts only the loop's own
 * work: the time that the thread waited for a processor is subtracted. The thread itself reads both while it runs.
 */
import { openSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { thisThread } from './thread.ts'

/** One stretch in which the loop called nobody, in milliseconds; `at`, its end, since 1970. */
export interface Stretch {
  pid: number
  at: number
  /** The whole stretch, without the time that the thread waited for a processor. */
  held: number
  /** The processor time in it. The rest it slept: it waited for a disk or another process. */
  worked: number
  stood: number
}

export const EVERY_MS = 5
/** Shorter ones are not written. */
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
