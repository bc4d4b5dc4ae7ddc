/**
 * A job as a row, and the only way in which its state changes: the row, the move and the event with its deliveries, in
 * one transaction. Who changes a job holds the lock of its row (FOR UPDATE): others wait, and then find it changed.
 */
import { eventTypeOf, jobEventData } from '@assay/model/event'
import type { JobStatus } from '@assay/model/job'
import { type Change, moved, type OwnedJob } from '../job-move.ts'
import type { Lease } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { writeEvent } from './events.ts'

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

/** Writes a job that this transaction has locked as what it became: the last of `states`, by way of the others. */
export async function writeMoves(tx: Transaction, states: OwnedJob[]): Promise<void> {
  const job = states.at(-1)!
  await update(tx, job)
  for (const state of states) await tell(tx, state)
  tx.hint({ topic: 'job', assignment_id: job.assignment_id })
  if (job.job_status === 'queued') tx.hint({ topic: 'jobs' })
}

async function tell(tx: Transaction, job: OwnedJob): Promise<void> {
  const type = eventTypeOf(job)
  if (type)
    await writeEvent(tx, {
      workspace_id: job.workspace_id,
      type,
      at: job.moves.at(-1)!.at,
      data: { ...jobEventData(job, tx.publicUrl) },
      job,
    })
}

/** Moves a job that this transaction has locked. An illegal move is a fault of the caller: it throws. */
export async function moveJob(
  tx: Transaction,
  job: OwnedJob,
  to: JobStatus,
  change: Change = {},
): Promise<OwnedJob> {
  const next = moved(job, to, tx.now, change)
  await writeMoves(tx, [next])
  return next
}
