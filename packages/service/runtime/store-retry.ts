/** Repeats work while the store cannot be reached, with growing pauses, until the store answers or the service must end. */

import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000

export interface StoreRetryOptions {
  clock: Clock
  /** Aborted when the service must end. The work is then tried once more and not repeated. */
  giveUp: AbortSignal
}

export function isStoreAway(error: unknown): boolean {
  return error instanceof AppError && error.code === 'store_unavailable'
}

/** Repeats work that fails with `store_unavailable`; throws every other error. A failed try may have been written, so the work must be fenced or repeatable. */
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
