/** Repeats work while the store is away, ever more slowly, until the store answers or the service must end. */

import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000

export interface StoreRetryOptions {
  clock: Clock
  /** Once it is aborted, work is tried one more time and not repeated. */
  giveUp: AbortSignal
}

export function isStoreAway(error: unknown): boolean {
  return error instanceof AppError && error.code === 'store_unavailable'
}

/** The work must be fenced or repeatable: a try that failed may have been written. Throws every other error. */
export async function whileStoreIsAway<T>(
  work: () => Promise<T>,
  { clock, giveUp }: StoreRetryOptions,
): Promise<T> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!isStoreAway(error) || giveUp.aborted) throw error
    }
    await clock.sleep(wait, giveUp)
  }
}
