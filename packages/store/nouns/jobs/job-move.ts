/** How a move changes a job. Pure; both stores use it. */
import type { Findings } from '@assay/model/insight'
import {
  isFinal,
  type Job,
  type JobError,
  type JobStatus,
  LOSSES_MAX,
  mayMove,
  type Progress,
} from '@assay/model/job'
import type { Lease } from '../../store.ts'

/** The row of a job, with the node that holds it. */
export interface OwnedJob extends Job {
  owner: string | null
}

export const NO_PROGRESS: Progress = { percent: 0, step: 0, steps: 0, label: '' }

export type Change = Partial<
  Pick<OwnedJob, 'owner' | 'attempt' | 'losses' | 'error' | 'skipped' | 'insight_id' | 'progress'>
>

/** The row without the column that the contract does not show. */
export function shown(job: OwnedJob): Job {
  const { owner: _, ...rest } = job
  return rest
}

function arrival(job: OwnedJob, to: JobStatus, at: string): Partial<OwnedJob> {
  if (to === 'queued') return { queued_at: job.queued_at ?? at }
  if (to === 'executing') return { started_at: at }
  return isFinal(to) ? { finished_at: at } : {}
}

/**
 * Returns the job moved to a state at `now`, or at the time of its last move if that is later. Throws for an illegal
 * move, which is a fault of the caller.
 */
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
 * Returns the job with its start. An active job gets a start `ran_ms` before `now`. Null if the job is not executing
 * and the caller gave no `ran_ms`.
 */
function begun(job: OwnedJob, now: string, ran_ms: number | undefined): OwnedJob | null {
  if (job.job_status === 'executing') return job
  if (ran_ms === undefined) return null
  return moved(job, 'executing', new Date(Date.parse(now) - Math.max(0, Math.round(ran_ms))).toISOString())
}

/** A report of a worker about a job that it holds. */
export type Settle = Lease &
  (
    | { kind: 'start' }
    | {
        kind: 'complete'
        insight_id: string
        findings: Findings
        ran_ms?: number | undefined
      }
    | { kind: 'fail'; error: JobError; ran_ms?: number | undefined }
    /** The worker was lost. The last allowed loss ends the job. */
    | { kind: 'lose' }
    /** The job returns to the queue without a loss. */
    | { kind: 'release' }
  )

function lost(job: OwnedJob, now: string): OwnedJob {
  const losses = job.losses + 1
  if (losses < LOSSES_MAX) return moved(job, 'queued', now, { owner: null, losses, progress: NO_PROGRESS })
  const detail = `${losses} workers were lost while they ran the job.`
  return moved(job, 'canceled', now, { owner: null, losses, error: { code: 'worker_lost', detail } })
}

function after(job: OwnedJob, settle: Kind, now: string): OwnedJob[] {
  if (settle.kind === 'start') return job.job_status === 'active' ? [moved(job, 'executing', now)] : []
  if (settle.kind === 'lose') return [lost(job, now)]
  if (settle.kind === 'release') return [moved(job, 'queued', now, { owner: null, progress: NO_PROGRESS })]
  const began = begun(job, now, settle.ran_ms)
  if (settle.kind === 'fail') {
    const ended = moved(began ?? job, 'canceled', now, { owner: null, error: settle.error })
    return began && began !== job ? [began, ended] : [ended]
  }
  if (!began) return []
  const { insight_id, findings } = settle
  const progress = { ...began.progress, percent: 100, step: began.progress.steps }
  const change = { owner: null, insight_id, skipped: findings.skipped, progress }
  const ended = moved(began, 'completed', now, change)
  return began === job ? [ended] : [began, ended]
}

type Kind = DistributiveOmit<Settle, keyof Lease>
type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never

/** Moves a job through `states`, one after the other. */
export interface JobChange {
  before: OwnedJob
  states: OwnedJob[]
}

/** Returns the held job after the report. Null if the report does not fit its state; nothing is written then. */
export function changeOf(before: OwnedJob, settle: Kind, now: string): JobChange | null {
  const states = after(before, settle, now)
  return states.length > 0 ? { before, states } : null
}

/**
 * Returns the job after the report if the lease still holds it: attempt and owner equal those of the row. Null
 * otherwise; nothing is written then.
 */
export function settled(job: OwnedJob | undefined, settle: Settle, now: string): JobChange | null {
  if (!job || job.attempt !== settle.attempt || job.owner !== settle.node_id) return null
  return changeOf(job, settle, now)
}

/** Returns the job claimed by a node. */
export function claimed(before: OwnedJob, node_id: string, now: string): JobChange {
  const change = { owner: node_id, attempt: before.attempt + 1, progress: NO_PROGRESS }
  return { before, states: [moved(before, 'active', now, change)] }
}
