/**
 * The caps of a workspace, which both stores enforce: drafts, jobs queued and running, processor time, the bytes of
 * jobs and insights.
 */
import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'

export interface JobCaps {
  /** The most queued jobs; null for no limit. */
  max_queued: number | null
  max_running: number | null
  /** The most jobs that were created and not run; null for no limit. */
  max_drafts: number | null
  /** The most seconds of processor time of its analyses in an hour (UTC); null for no limit. */
  max_processor_seconds: number | null
  /** The most bytes of its stored jobs and insights; null for no limit. */
  max_stored_bytes: number | null
}

export const NO_CAPS: JobCaps = {
  max_queued: null,
  max_running: null,
  max_drafts: null,
  max_processor_seconds: null,
  max_stored_bytes: null,
}

const RETRY_SECONDS = 10

const DRAFTS_RETRY_SECONDS = 60

export function draftsFull(most: number): AppError {
  return new AppError(
    'workspace_busy',
    `The workspace may have ${most} drafts (max_drafts): run or cancel some, then create more.`,
    { retryAfter: DRAFTS_RETRY_SECONDS },
  )
}

const STORED_RETRY_SECONDS = 600

export function storeFull(most: number): AppError {
  return new AppError(
    'workspace_busy',
    `The jobs and insights of the workspace take up its ${most} bytes (max_stored_bytes): delete some that have ended, or wait until some are older than ASSAY_KEEP_JOBS. The operator can raise the cap.`,
    { retryAfter: STORED_RETRY_SECONDS },
  )
}

export function queueFull(most: number): AppError {
  return new AppError(
    'queue_full',
    `The workspace may have ${most} jobs queued: wait until some of them have begun, or cancel some.`,
    { retryAfter: RETRY_SECONDS },
  )
}

const HOUR_MS = 3_600_000

/** Returns the hour (UTC) of a time in RFC 3339, as processor time is counted: "2026-03-04T05". */
export function hourOf(at: string): string {
  return at.slice(0, 13)
}

/** Returns the error of a workspace whose processor time is used up. `now`: RFC 3339 UTC. */
export function processorSpent(most: number, now: string): AppError {
  const next = Date.parse(`${hourOf(now)}:00:00.000Z`) + HOUR_MS
  return new AppError(
    'workspace_busy',
    `The workspace has used up its ${most} processor seconds of this hour (max_processor_seconds): new work begins from ${iso(next)} on, and jobs in the queue run then. The operator can raise the cap.`,
    { retryAfter: Math.max(1, Math.ceil((next - Date.parse(now)) / 1000)) },
  )
}
