/**
 * A job as a row, and the only way in which its state changes: the row, the counts of its workspace, the move and the event
 * with its deliveries, in one transaction.
 */
import { eventTypeOf, jobEventData } from '@assay/model/event'
import { isFinal, type Job, type JobError, type JobStatus, type Move, type Progress } from '@assay/model/job'
import { type Change, type JobChange, moved, type OwnedJob } from '../job-move.ts'
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

/** Column by column: to copy the rest of a row took as long as to read it. */
export function toJob(row: JobRow): Job {
  return {
    assignment_id: row.assignment_id,
    workspace_id: row.workspace_id,
    user_id: row.user_id,
    template_id: row.template_id,
    template_version: row.template_version,
    job_status: row.job_status,
    priority: row.priority,
    attempt: row.attempt,
    losses: row.losses,
    presence_name: row.presence_name,
    insight_id: row.insight_id,
    skipped: row.skipped,
    schedule_id: row.schedule_id,
    scheduled_for: row.scheduled_for,
    batch_id: row.batch_id,
    created_at: row.created_at,
    queued_at: row.queued_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    variables: JSON.parse(row.variables) as Job['variables'],
    progress: JSON.parse(row.progress) as Progress,
    error: row.error === null ? null : (JSON.parse(row.error) as JobError),
    metadata: JSON.parse(row.metadata) as Job['metadata'],
    moves: JSON.parse(row.moves) as Move[],
  }
}

export function findJobRow(
  connection: Connection,
  input: { workspace_id: string; assignment_id: string },
): JobRow | undefined {
  return connection.one<JobRow>(
    'SELECT * FROM jobs WHERE assignment_id = ? AND workspace_id = ?',
    input.assignment_id,
    input.workspace_id,
  )
}

/** The job with the node that holds it. */
export function findOwned(connection: Connection, assignment_id: string): OwnedJob | undefined {
  const row = connection.one<JobRow>('SELECT * FROM jobs WHERE assignment_id = ?', assignment_id)
  return row && { ...toJob(row), owner: row.owner }
}

const HEAD = `
  , (head_priority, head_queued_at) = (
    SELECT priority, queued_at FROM jobs WHERE jobs.workspace_id = job_counts.workspace_id AND job_status = 'queued'
    ORDER BY priority DESC, queued_at, assignment_id LIMIT 1)`

/** After the job's row is written: the head of the queue is read again. */
function updateCounts(connection: Connection, workspace_id: string, from: JobStatus, to: JobStatus): void {
  const enter = isFinal(to) ? '' : `, ${to} = ${to} + 1`
  const head = from === 'queued' || to === 'queued' ? HEAD : ''
  connection.run(
    `UPDATE job_counts SET ${from} = ${from} - 1${enter}${head} WHERE workspace_id = ?`,
    workspace_id,
  )
}

/** Writes a job that was just read in the same transaction as what it became. */
export function writeMoves(connection: Connection, { before, states }: JobChange): void {
  const job = states.at(-1)!
  connection.run(
    `UPDATE jobs SET job_status = ?, attempt = ?, losses = ?, owner = ?, insight_id = ?, skipped = ?, queued_at = ?,
       started_at = ?, finished_at = ?, progress = ?, error = ?, moves = ? WHERE assignment_id = ?`,
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
  updateCounts(connection, job.workspace_id, before.job_status, job.job_status)
  for (const state of states) tell(connection, state)
  connection.hint({ topic: 'job', assignment_id: job.assignment_id })
  if (job.job_status === 'queued') connection.hint({ topic: 'jobs' })
}

function tell(connection: Connection, job: OwnedJob): void {
  const type = eventTypeOf(job)
  if (type)
    writeEvent(connection, {
      workspace_id: job.workspace_id,
      type,
      at: job.moves.at(-1)!.at,
      data: { ...jobEventData(job, connection.publicUrl) },
      job,
    })
}

/** Moves a job that was just read in the same transaction. An illegal move is a fault of the caller: it throws. */
export function moveJob(connection: Connection, job: OwnedJob, to: JobStatus, change: Change = {}): OwnedJob {
  const next = moved(job, to, connection.now(), change)
  writeMoves(connection, { before: job, states: [next] })
  return next
}
