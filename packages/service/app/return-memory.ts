/**
 * Returns memory to the system after the start and after each spell of work. V8 collects garbage when it needs room, so
 * what the last work has left would stay for as long as no more work comes. A collection stops the process for tens of
 * milliseconds, so it waits until the process is idle (docs/decisions/0203-memory-is-returned-at-rest.md).
 */
import type { Clock } from '@assay/model/clock'
import type { Service } from '../runtime/service.ts'

/** The milliseconds from one look at the processor time to the next. */
const LOOK_MS = 5000
/** The processor time in milliseconds of a look in which the process counts as idle. What it does by itself takes less. */
const IDLE_MS = 250
/** The processor time in milliseconds that leaves enough garbage for a collection. */
const WORK_MS = 1000

export interface ReturnMemoryOptions {
  clock: Clock
  /** Returns the milliseconds of processor time that the process has used. */
  used(): number
  /** Collects garbage and returns its pages to the system. */
  collect(): void
}

export function createReturnMemory({ clock, used, collect }: ReturnMemoryOptions): Service {
  return {
    name: 'return memory',
    async run(signal) {
      let seen = 0
      // The start leaves half of what the process holds then.
      let worked = WORK_MS
      while (!signal.aborted) {
        await clock.sleep(LOOK_MS, signal)
        const spent = used() - seen
        seen += spent
        if (spent > IDLE_MS) worked += spent
        else if (worked >= WORK_MS && !signal.aborted) {
          collect()
          worked = 0
          seen = used()
        }
      }
    },
  }
}

/**
 * Returns the options for this process. Null if V8 offers no collection, as without the flag --expose-gc of
 * `bin/runtime.js`.
 */
export function ofThisProcess(): Omit<ReturnMemoryOptions, 'clock'> | null {
  const { gc } = globalThis
  if (!gc) return null
  return {
    used() {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1000
    },
    // Other kinds of collections keep the pages for the process.
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  }
}
