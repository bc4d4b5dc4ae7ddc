/**
 * Gives back the memory that work has left, once the process is at rest. V8 collects when more is asked for: what the last
 * jobs left would stay for as long as nobody sends the next. Once for each spell of work, never within one, and at most a
 * twentieth of its time: the process stands still for a tenth of a second.
 */
import type { Clock } from '@assay/model/clock'

export interface RestOptions {
  clock: Clock
  /** Milliseconds of the processor that this process has used since it began. */
  used(): number
  collect(): void
}

const LOOK_MS = 1000
/** Of a second; what a service that nobody asks does by itself is less than half of it. */
const BUSY_MS = 50
const QUIET_LOOKS = 5
const WORK_MS = 2000

export async function collectAtRest(
  { clock, used, collect }: RestOptions,
  signal: AbortSignal,
): Promise<void> {
  let seen = used()
  // The start is work, too: what was read and compiled for it is the half of what there is.
  let worked = WORK_MS
  let quiet = 0
  while (!signal.aborted) {
    await clock.sleep(LOOK_MS, signal)
    if (signal.aborted) return
    const spent = used() - seen
    seen += spent
    if (spent > BUSY_MS) {
      worked += spent
      quiet = 0
    } else if (++quiet >= QUIET_LOOKS && worked >= WORK_MS) {
      worked = 0
      collect()
      seen = used()
    }
  }
}

/** Null where V8 gives no way to ask for it (`--expose-gc`, which `bin/assay.js serve` sets). */
export function collector(): Pick<RestOptions, 'used' | 'collect'> | null {
  const { gc } = globalThis
  if (!gc) return null
  return {
    used() {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1000
    },
    // An ordinary collection leaves its pages with the process: only this flavour gives them to the system.
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  }
}
