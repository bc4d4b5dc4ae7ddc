/** How many jobs a workspace may have as drafts, queued and running: what both stores hold it to. */
import { AppError } from '@assay/model/errors'

export interface JobCaps {
  /** Null: as many as there are. */
  max_queued: number | null
  max_running: number | null
  /** Jobs that were created and not run. */
  max_drafts: number | null
}

export const NO_CAPS: JobCaps = { max_queued: null, max_running: null, max_drafts: null }

const RETRY_SECONDS = 10

const DRAFTS_RETRY_SECONDS = 60

export function draftsFull(most: number): AppError {
  return new AppError(
    'workspace_busy',
    `The workspace may have ${most} drafts (max_drafts): run or cancel some, then create more.`,
    { retryAfter: DRAFTS_RETRY_SECONDS },
  )
}

export function queueFull(most: number): AppError {
  return new AppError(
    'queue_full',
    `The workspace may have ${most} jobs queued: wait until some of them have begun, or cancel some.`,
    { retryAfter: RETRY_SECONDS },
  )
}
