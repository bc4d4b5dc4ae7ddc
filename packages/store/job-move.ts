/** What a move makes of a job: pure, shared by both stores. */
import { isFinal, type Job, type JobStatus, mayMove, type Progress } from '@assay/model/job'

/** A job with the node that holds it: the row as it is. */
export interface OwnedJob extends Job {
  owner: string | null
}

export const NO_PROGRESS: Progress = { percent: 0, step: 0, steps: 0, label: '' }

export type Change = Partial<
  Pick<OwnedJob, 'owner' | 'attempt' | 'losses' | 'error' | 'skipped' | 'insight_id' | 'progress'>
>

/** Without the column that the contract does not show. */
export function shown(job: OwnedJob): Job {
  const { owner: _, ...rest } = job
  return rest
}

function arrival(job: OwnedJob, to: JobStatus, at: string): Partial<OwnedJob> {
  if (to === 'queued') return { queued_at: job.queued_at ?? at }
  if (to === 'executing') return { started_at: at }
  return isFinal(to) ? { finished_at: at } : {}
}

/** Never before the move that was last: an illegal one is a fault of the caller, it throws. */
export function moved(job: OwnedJob, to: JobStatus, at: string, change: Change = {}): OwnedJob {
  if (!mayMove(job.job_status, to))
    throw new Error(`A job cannot move from ${job.job_status} to ${to} (${job.assignment_id}).`)
  const last = job.moves.at(-1)?.at ?? at
  const time = at > last ? at : last
  const next: OwnedJob = { ...job, ...change, ...arrival(job, to, time), job_status: to }
  next.moves = [...job.moves, { job_status: to, at: time, attempt: next.attempt }]
  return next
}

/**
 * The job with its start, which is written with its end where that came before it was marked: it began `ran_ms` before
 * `now`. Null: it is not executing and none was given.
 */
export function begun(job: OwnedJob, now: string, ran_ms: number | undefined): OwnedJob | null {
  if (job.job_status === 'executing') return job
  if (ran_ms === undefined) return null
  return moved(job, 'executing', new Date(Date.parse(now) - Math.max(0, Math.round(ran_ms))).toISOString())
}

export function completed(
  job: OwnedJob,
  now: string,
  { insight_id, skipped }: Pick<OwnedJob, 'insight_id' | 'skipped'>,
): OwnedJob {
  const progress = { ...job.progress, percent: 100, step: job.progress.steps }
  return moved(job, 'completed', now, { owner: null, insight_id, skipped, progress })
}
