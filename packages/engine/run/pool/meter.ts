/**
 * Measures the processor time of a task. Linux reports it for a process and its descendants (/proc). On other systems,
 * and for the last seconds of a process that died by itself, elapsed time counts.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Clock } from '@assay/model/clock'

/** The milliseconds between reports of the time used while a task runs. A killed node loses no more than that. */
const TELL_MS = 5000
/**
 * The milliseconds of a tick. Linux reports processor time in hundredths of a second on every architecture (USER_HZ,
 * man 5 proc).
 */
const TICK_MS = 10
const PAGE_BYTES = 4_096

/**
 * Returns the processor time in milliseconds, including ended child processes. Returns null if the system does not
 * report it.
 */
export function processorMsOf([first, ...others]: readonly (number | undefined)[]): number | null {
  const own = ticksOf(first)
  if (own === null) return null
  return others.reduce<number>((sum, pid) => sum + (ticksOf(pid) ?? 0), own) * TICK_MS
}

/**
 * Returns the sum of utime, stime, cutime and cstime, fields 14 to 17 of /proc/PID/stat. The second field may hold
 * any text in brackets.
 */
function ticksOf(pid: number | undefined): number | null {
  const fields = fieldsOf(`/proc/${pid}/stat`)
  return fields === null ? null : fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0)
}

/** Returns the fields of a stat file from the third on; null if there is no such process or thread. */
function fieldsOf(file: string): string[] | null {
  try {
    const stat = readFileSync(file, 'latin1')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return null
  }
}

/**
 * Tells whether a thread of the processes runs, is ready to run, or is stopped (states R, T and t). If not, all of
 * them wait for something else, such as a network.
 */
export function wantsProcessor(pids: readonly (number | undefined)[]): boolean {
  const wants = (folder: string, thread: string): boolean =>
    ['R', 'T', 't'].includes(fieldsOf(`${folder}/${thread}/stat`)?.[0] ?? '')
  return pids.some((pid) => {
    const folder = `/proc/${pid}/task`
    return existsSync(folder) && readdirSync(folder).some((thread) => wants(folder, thread))
  })
}

/** Returns the resident bytes; 0 on systems that do not report them. */
export function residentOf(pid: number | undefined): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}

/**
 * Reports to `spent`, from time to time, the milliseconds that a task takes. Returns a function to call when the task
 * has ended.
 */
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
