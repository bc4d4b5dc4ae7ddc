/**
 * A job as a row, and the only way in which its state changes: the row, the move and the event with its deliveries, in
 * one transaction. Who changes a job holds the lock of its row (FOR UPDATE): others wait, and then find it changed.
 */
import { eventTypeOf, jobEventData } from '../../event.ts'
import { isFinal, type Job, type JobStatus, mayMove, type Progress } from '../../job.ts'
import type { Lease } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { writeEvent } from './events.ts'

/** A job with the node that holds it: the row as it is. */
export interface OwnedJob extends Job {
  owner: string | null
}

export const NO_PROGRESS: Progress = { percent: 0, step: 0, steps: 0, label: '' }

/** Without the column that the contract does not show. */
export function shown(job: OwnedJob): Job {
  const { owner: _, ...rest } = job
  return rest
}

interface JobKey {
  workspace_id: string
  assignment_id: string
}

export function findJob(
  from: Session,
  key: JobKey,
  lock: '' | 'FOR UPDATE' = '',
): Promise<OwnedJob | undefined> {
  return from.one<OwnedJob>(
    `SELECT * FROM jobs WHERE assignment_id = $1 AND workspace_id = $2 ${lock}`,
    key.assignment_id,
    key.workspace_id,
  )
}

/** The job that the lease is for, locked, or undefined where it is lost. */
export function leasedJob(tx: Transaction, lease: Lease): Promise<OwnedJob | undefined> {
  return tx.one<OwnedJob>(
    `SELECT * FROM jobs WHERE assignment_id = $1 AND attempt = $2 AND owner = $3
     AND job_status IN ('active', 'executing') FOR UPDATE`,
    lease.assignment_id,
    lease.attempt,
    lease.node_id,
  )
}

type Change = Partial<
  Pick<OwnedJob, 'owner' | 'attempt' | 'losses' | 'error' | 'skipped' | 'insight_id' | 'progress'>
>

function arrival(job: OwnedJob, to: JobStatus, at: string): Partial<OwnedJob> {
  if (to === 'queued') return { queued_at: job.queued_at ?? at }
  if (to === 'executing') return { started_at: at }
  return isFinal(to) ? { finished_at: at } : {}
}

const later = (a: string, b: string): string => (a > b ? a : b)

function update(tx: Transaction, job: OwnedJob): Promise<number> {
  return tx.run(
    `UPDATE jobs SET job_status = $1, attempt = $2, losses = $3, owner = $4, insight_id = $5, skipped = $6,
       queued_at = $7, started_at = $8, finished_at = $9, progress = $10, error = $11, moves = $12
     WHERE assignment_id = $13`,
    job.job_status,
    job.attempt,
    job.losses,
    job.owner,
    job.insight_id,
    job.skipped,
    job.queued_at,
    job.started_at,
    job.finished_at,
    JSON.stringify(job.progress),
    job.error && JSON.stringify(job.error),
    JSON.stringify(job.moves),
    job.assignment_id,
  )
}

/** Moves a job that this transaction has locked. An illegal move is a fault of the caller: it throws. */
export async function moveJob(
  tx: Transaction,
  job: OwnedJob,
  to: JobStatus,
  change: Change = {},
): Promise<OwnedJob> {
  if (!mayMove(job.job_status, to))
    throw new Error(`A job cannot move from ${job.job_status} to ${to} (${job.assignment_id}).`)
  // A transaction that waited for the lock began before the move that it waited for.
  const at = later(tx.now, job.moves.at(-1)?.at ?? tx.now)
  const moved: OwnedJob = { ...job, ...change, ...arrival(job, to, at), job_status: to }
  moved.moves = [...job.moves, { job_status: to, at, attempt: moved.attempt }]
  await update(tx, moved)
  const type = eventTypeOf(moved)
  if (type)
    await writeEvent(tx, {
      workspace_id: moved.workspace_id,
      type,
      at,
      data: { ...jobEventData(moved, tx.publicUrl) },
      job: moved,
    })
  tx.hint({ topic: 'job', assignment_id: moved.assignment_id })
  if (to === 'queued') tx.hint({ topic: 'jobs' })
  return moved
}
