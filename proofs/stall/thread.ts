/** Reads the times of one thread from the system (Linux, /proc/…/schedstat), in milliseconds. */
import { readFileSync } from 'node:fs'

export interface ThreadTimes {
  /** The processor time of the thread. */
  worked: number
  /** The time for which the thread was ready while the processors did something else. */
  stood: number
}

function timesIn(file: string): ThreadTimes {
  const [worked = 0, stood = 0] = readFileSync(file, 'latin1')
    .split(' ')
    .map((nanoseconds) => Number(nanoseconds) / 1e6)
  return { worked, stood }
}

/** Returns the times of the main thread of a process, which answers requests. */
export const mainThreadOf = (pid: number): ThreadTimes => timesIn(`/proc/${pid}/task/${pid}/schedstat`)

export const thisThread = (): ThreadTimes => timesIn('/proc/thread-self/schedstat')
