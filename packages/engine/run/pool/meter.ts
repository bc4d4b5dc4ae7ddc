/**
 * Measures the processor time of a task. The system tells it of a process and those below it (Linux, /proc). Elsewhere, and
 * for the last seconds of a process that died by itself, the time of the clock counts.
 */
import { readFileSync } from 'node:fs'
import type { Clock } from '@assay/model/clock'

/** How often what was used so far is told while a task runs: a node that is killed loses no more of it. */
const TELL_MS = 5000
/** Linux tells processor time in hundredths of a second on every architecture (USER_HZ, man 5 proc). */
const TICK_MS = 10

/** In milliseconds; the ended processes that they have waited for count. Null: the system does not tell. */
export function processorMsOf([first, ...others]: readonly (number | undefined)[]): number | null {
  const own = ticksOf(first)
  if (own === null) return null
  return others.reduce<number>((sum, pid) => sum + (ticksOf(pid) ?? 0), own) * TICK_MS
}

/** The sum of utime, stime, cutime and cstime, fields 14 to 17 of /proc/PID/stat. The second field may hold any text in brackets. */
function ticksOf(pid: number | undefined): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0)
  } catch {
    return null
  }
}

/** Tells `spent` what a task takes from now on, now and then. Call what it returns when the task has ended. */
export function meterTask(
  process: { processorMs(): number | null },
  clock: Clock,
  spent: (ms: number) => void,
): () => void {
  const over = new AbortController()
  const look = () => ({ at: clock.monotonic(), used: process.processorMs() })
  let last = look()
  const tell = (): void => {
    const now = look()
    const ms = now.used === null || last.used === null ? now.at - last.at : now.used - last.used
    last = now
    spent(Math.max(0, Math.round(ms)))
  }
  const run = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await clock.sleep(TELL_MS, over.signal)
      if (!over.signal.aborted) tell()
    }
  }
  void run()
  return () => {
    over.abort()
    tell()
  }
}
