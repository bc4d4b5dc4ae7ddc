/**
 * What workers do with jobs. A claim goes by the highest priority at the head of a queue, then the workspace with the
 * fewest running, then the oldest. A settle is fenced by attempt and owner: a lost lease writes nothing.
 */
import { AppError } from '@assay/model/errors'
import { type Job, type JobError, LOSSES_MAX } from '@assay/model/job'
import { begun, completed, moved, NO_PROGRESS, type OwnedJob, shown } from '../job-move.ts'
import type { ClaimedJob, Input, Lease } from '../store.ts'
import type { Transaction } from './connection.ts'
import { leasedJob, moveJob, writeMoves } from './job-moves.ts'

/** A job that was taken; the turn -1 says that the node is not registered. */
export interface Taken {
  turn: number
  folder: string | null
  /** Its times as PostgreSQL writes them into JSON. */
  job: OwnedJob
}

/** In the order in which they were taken. Throws `conflict` where the node is not registered. */
export function claimedBy(node_id: string, rows: Taken[]): ClaimedJob[] {
  if (rows[0]?.turn === -1) throw unregistered(node_id)
  return rows
    .map(({ turn, folder, job }) => ({ turn, data_folder: folder, job: withTimes(shown(job)) }))
    .toSorted(
      ({ turn, job }, other) =>
        turn - other.turn ||
        other.job.priority - job.priority ||
        compare(job.queued_at!, other.job.queued_at!) ||
        compare(job.assignment_id, other.job.assignment_id),
    )
    .map(({ job, data_folder }) => ({ job, data_folder }))
}

const iso = (time: string | null): string | null => time && new Date(time).toISOString()

/** The same object, which nobody else has yet. */
function withTimes(job: Job): Job {
  job.created_at = iso(job.created_at)!
  job.queued_at = iso(job.queued_at)
  job.started_at = iso(job.started_at)
  job.finished_at = iso(job.finished_at)
  job.scheduled_for = iso(job.scheduled_for)
  return job
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function unregistered(node_id: string): AppError {
  return new AppError('conflict', `The node ${JSON.stringify(node_id)} is not registered: register it anew.`)
}

/**
 * Claims of a node that was reaped would never come back: the lock keeps the node from being reaped until the claim is
 * committed.
 */
export async function requireNode(tx: Transaction, node_id: string): Promise<void> {
  const node = await tx.one('SELECT 1 FROM nodes WHERE node_id = $1 FOR KEY SHARE', node_id)
  if (!node) throw unregistered(node_id)
}

export async function startJob(tx: Transaction, lease: Lease): Promise<boolean> {
  const job = await leasedJob(tx, lease)
  if (job?.job_status !== 'active') return false
  await moveJob(tx, job, 'executing')
  return true
}

export async function completeJob(tx: Transaction, input: Input<'completeJob'>): Promise<boolean> {
  const job = await leasedJob(tx, input)
  const executing = job && begun(job, tx.now, input.ran_ms)
  if (!executing) return false
  const { skipped, ...insight } = input.findings
  const { insight_id } = input
  await tx.run(
    `INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body) VALUES ($1, $2, $3, $4, $5)`,
    insight_id,
    job.assignment_id,
    job.workspace_id,
    tx.now,
    JSON.stringify(insight),
  )
  const states = [executing, completed(executing, tx.now, { insight_id, skipped })]
  await writeMoves(tx, states.slice(executing === job ? 1 : 0))
  return true
}

async function end(tx: Transaction, job: OwnedJob, error: JobError): Promise<void> {
  await moveJob(tx, job, 'canceled', { owner: null, error })
}

export async function failJob(tx: Transaction, input: Input<'failJob'>): Promise<boolean> {
  const job = await leasedJob(tx, input)
  if (!job) return false
  const began = begun(job, tx.now, input.ran_ms) ?? job
  const states = [began, moved(began, 'canceled', tx.now, { owner: null, error: input.error })]
  await writeMoves(tx, states.slice(began === job ? 1 : 0))
  return true
}

/** Back to the queue with a loss; the last one allowed ends the job. */
export async function giveBackLost(tx: Transaction, job: OwnedJob): Promise<void> {
  const losses = job.losses + 1
  if (losses >= LOSSES_MAX)
    await end(
      tx,
      { ...job, losses },
      { code: 'worker_lost', detail: `${losses} workers were lost while they ran the job.` },
    )
  else await moveJob(tx, job, 'queued', { owner: null, losses, progress: NO_PROGRESS })
}

/** Back to the queue without a loss. */
export async function giveBack(tx: Transaction, job: OwnedJob): Promise<void> {
  await moveJob(tx, job, 'queued', { owner: null, progress: NO_PROGRESS })
}

export async function loseJob(tx: Transaction, lease: Lease): Promise<boolean> {
  const job = await leasedJob(tx, lease)
  if (!job) return false
  await giveBackLost(tx, job)
  return true
}

export async function releaseJobs(tx: Transaction, leases: Lease[]): Promise<void> {
  const ordered = leases.toSorted((a, b) => (a.assignment_id < b.assignment_id ? -1 : 1))
  for (const lease of ordered) {
    const job = await leasedJob(tx, lease)
    if (job) await giveBack(tx, job)
  }
}
