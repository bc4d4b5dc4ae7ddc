/** How many jobs a workspace may have queued and running: what both stores hold it to. */
import { AppError } from '@assay/model/errors'

export interface JobCaps {
  /** Null: as many as there are. */
  max_queued: number | null
  max_running: number | null
}

export const NO_CAPS: JobCaps = { max_queued: null, max_running: null }

const RETRY_SECONDS = 10

export function queueFull(most: number): AppError {
  return new AppError(
    'queue_full',
    `The workspace may have ${most} jobs queued: wait until some of them have begun, or cancel some.`,
    { retryAfter: RETRY_SECONDS },
  )
}
