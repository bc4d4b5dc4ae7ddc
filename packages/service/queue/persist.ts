/** Writing through an outage: a store that is away is asked again, ever more slowly, until it answers or we must go. */

import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'

const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 5000

export interface PersistOptions {
  clock: Clock
  /** Aborted: one more try is all. */
  giveUp: AbortSignal
}

export function isStoreAway(error: unknown): boolean {
  return error instanceof AppError && error.code === 'store_unavailable'
}

/** Repeats `write` while the store is away. Every write through it is fenced or repeatable. Throws what else it meets. */
export async function persist<T>(write: () => Promise<T>, { clock, giveUp }: PersistOptions): Promise<T> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
    try {
      return await write()
    } catch (error) {
      if (!isStoreAway(error) || giveUp.aborted) throw error
    }
    await clock.sleep(wait, giveUp)
  }
}
