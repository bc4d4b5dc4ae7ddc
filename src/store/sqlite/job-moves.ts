/**
 * A job as a row, and the only way in which its state changes: the row, its workspace's lane, the move and the event
 * with its deliveries, in one transaction.
 */
import { eventTypeOf, jobEventData } from '../../event.ts'
import {
  isFinal,
  type Job,
  type JobError,
  type JobStatus,
  type Move,
  mayMove,
  type Progress,
} from '../../job.ts'
import type { Lease } from '../store.ts'
import type { Connection } from './connection.ts'
import { writeEvent } from './events.ts'

export interface JobRow extends Omit<Job, 'variables' | 'progress' | 'error' | 'metadata' | 'moves'> {
  variables: string
  progress: string
  error: string | null
  metadata: string
  moves: string
  owner: string | null
}

/** A job with the node that holds it. */
export interface OwnedJob extends Job {
  owner: string | null
}

export const NO_PROGRESS: Progress = { percent: 0, step: 0, steps: 0, label: '' }

export function toJob(row: JobRow): Job {
  const { owner: _, ...columns } = row
  return {
    ...columns,
    variables: JSON.parse(row.variables) as Job['variables'],
    progress: JSON.parse(row.progress) as Progress,
    error: row.error === null ? null : (JSON.parse(row.error) as JobError),
    metadata: JSON.parse(row.metadata) as Job['metadata'],
    moves: JSON.parse(row.moves) as Move[],
  }
}

export function findJob(
  connection: Connection,
  input: { workspace_id: string; assignment_id: string },
): OwnedJob | undefined {
  const row = connection.one<JobRow>(
    'SELECT * FROM jobs WHERE assignment_id = ? AND workspace_id = ?',
    input.assignment_id,
    input.workspace_id,
  )
  return row && { ...toJob(row), owner: row.owner }
}

/** The job that the lease is for, or undefined where it is lost. */
export function leasedJob(connection: Connection, lease: Lease): OwnedJob | undefined {
  const row = connection.one<JobRow>(
    `SELECT * FROM jobs WHERE assignment_id = ? AND attempt = ? AND owner = ?
     AND job_status IN ('active', 'executing')`,
    lease.assignment_id,
    lease.attempt,
    lease.node_id,
  )
  return row && { ...toJob(row), owner: row.owner }
}

function refreshHead(connection: Connection, workspace_id: string): void {
  const head = connection.one<{ priority: number; queued_at: string }>(
    `SELECT priority, queued_at FROM jobs WHERE workspace_id = ? AND job_status = 'queued'
     ORDER BY priority DESC, queued_at, assignment_id LIMIT 1`,
    workspace_id,
  )
  connection.run(
    'UPDATE lanes SET head_priority = ?, head_queued_at = ? WHERE workspace_id = ?',
    head?.priority ?? null,
    head?.queued_at ?? null,
    workspace_id,
  )
}

function updateLane(connection: Connection, workspace_id: string, from: JobStatus, to: JobStatus): void {
  const enter = isFinal(to) ? '' : `, ${to} = ${to} + 1`
  connection.run(`UPDATE lanes SET ${from} = ${from} - 1${enter} WHERE workspace_id = ?`, workspace_id)
  if (from === 'queued' || to === 'queued') refreshHead(connection, workspace_id)
}

type Change = Partial<
  Pick<OwnedJob, 'owner' | 'attempt' | 'losses' | 'error' | 'skipped' | 'insight_id' | 'progress'>
>

function arrival(job: OwnedJob, to: JobStatus, at: string): Partial<OwnedJob> {
  if (to === 'queued') return { queued_at: job.queued_at ?? at }
  if (to === 'executing') return { started_at: at }
  return isFinal(to) ? { finished_at: at } : {}
}

/** Moves a job that was just read in the same transaction. An illegal move is a fault of the caller: it throws. */
export function moveJob(connection: Connection, job: OwnedJob, to: JobStatus, change: Change = {}): OwnedJob {
  if (!mayMove(job.job_status, to))
    throw new Error(`A job cannot move from ${job.job_status} to ${to} (${job.assignment_id}).`)
  const at = connection.now()
  const moved: OwnedJob = { ...job, ...change, ...arrival(job, to, at), job_status: to }
  moved.moves = [...job.moves, { job_status: to, at, attempt: moved.attempt }]
  connection.run(
    `UPDATE jobs SET job_status = ?, attempt = ?, losses = ?, owner = ?, insight_id = ?, skipped = ?, queued_at = ?,
       started_at = ?, finished_at = ?, progress = ?, error = ?, moves = ? WHERE assignment_id = ?`,
    moved.job_status,
    moved.attempt,
    moved.losses,
    moved.owner,
    moved.insight_id,
    moved.skipped,
    moved.queued_at,
    moved.started_at,
    moved.finished_at,
    JSON.stringify(moved.progress),
    moved.error && JSON.stringify(moved.error),
    JSON.stringify(moved.moves),
    moved.assignment_id,
  )
  updateLane(connection, job.workspace_id, job.job_status, to)
  const type = eventTypeOf(moved)
  if (type)
    writeEvent(connection, {
      workspace_id: moved.workspace_id,
      type,
      at,
      data: { ...jobEventData(moved, connection.publicUrl) },
      job: moved,
    })
  connection.hint({ topic: 'job', assignment_id: moved.assignment_id })
  if (to === 'queued') connection.hint({ topic: 'jobs' })
  return moved
}

/** Without the column that the contract does not show. */
export function shown(job: OwnedJob): Job {
  const { owner: _, ...rest } = job
  return rest
}
