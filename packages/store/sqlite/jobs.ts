/** Jobs as people handle them: create, run, read, list, cancel, delete. What workers do with them is in claims.ts. */
import { AppError, notFound } from '@assay/model/errors'
import type { Insight } from '@assay/model/insight'
import { isFinal, type Job, type Move } from '@assay/model/job'
import { NO_PROGRESS, type OwnedJob, shown } from '../job-move.ts'
import { JOBS } from '../lists.ts'
import { keepTemplateVersion } from '../nouns/templates.ts'
import { finish } from '../rows.ts'
import type { Counts, Input, NewJob, Page } from '../store.ts'
import { requireRoom } from './caps.ts'
import type { Connection } from './connection.ts'
import { removeDeliveriesOfJob } from './deliveries.ts'
import { findJobRow, type JobRow, moveJob, toJob } from './job-moves.ts'
import { newestFirst } from './page.ts'

interface JobKey {
  workspace_id: string
  assignment_id: string
}

function requireJob(connection: Connection, key: JobKey): OwnedJob {
  const row = findJobRow(connection, key)
  if (!row) throw notFound('job', key.assignment_id)
  return { ...toJob(row), owner: row.owner }
}

export function createJob(connection: Connection, input: NewJob): Job {
  const known = findJobRow(connection, input)
  if (known) return toJob(known)
  const at = connection.now()
  const moves: Move[] = [{ job_status: 'draft', at, attempt: 0 }]
  finish(keepTemplateVersion(connection.rows, input.template))
  const row = connection.one<JobRow>(
    `INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority,
       presence_name, created_at, progress, moves, metadata, variables, schedule_id, scheduled_for, batch_id)
     VALUES (?, ?, ?, ?, ?, 'draft', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING *`,
    input.assignment_id,
    input.workspace_id,
    input.user_id,
    input.template.template_id,
    input.template.version,
    input.priority,
    input.presence_name,
    at,
    JSON.stringify(NO_PROGRESS),
    JSON.stringify(moves),
    JSON.stringify(input.metadata),
    JSON.stringify(input.variables),
    input.schedule_id ?? null,
    input.scheduled_for ?? null,
    input.batch_id ?? null,
  )!
  connection.run(
    'INSERT INTO job_counts (workspace_id, draft) VALUES (?, 1) ON CONFLICT DO UPDATE SET draft = draft + 1',
    input.workspace_id,
  )
  return toJob(row)
}

export function queueJob(connection: Connection, key: JobKey): Job {
  const job = requireJob(connection, key)
  if (isFinal(job.job_status))
    throw new AppError(
      'job_final',
      `The job is ${job.job_status} and cannot be run again: create a new one with the same variables.`,
    )
  if (job.job_status !== 'draft') return shown(job)
  requireRoom(connection, job.workspace_id)
  return shown(moveJob(connection, job, 'queued'))
}

export function getJob(connection: Connection, key: JobKey): Job | null {
  const row = findJobRow(connection, key)
  return row ? toJob(row) : null
}

export function listJobs(connection: Connection, query: Input<'listJobs'>): Page<Job> {
  return newestFirst<JobRow, Job>(
    connection,
    JOBS,
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'job_status = ?': query.job_status,
      'template_id = ?': query.template_id,
      'schedule_id = ?': query.schedule_id,
      'batch_id = ?': query.batch_id,
      'created_at >= ?': query.created_after,
      'created_at < ?': query.created_before,
    },
    toJob,
  )
}

export function cancelJob(connection: Connection, key: JobKey): Job {
  const job = requireJob(connection, key)
  if (job.job_status === 'canceled') return shown(job)
  if (job.job_status === 'completed')
    throw new AppError('job_final', 'The job is completed and cannot be canceled: delete it instead.')
  return shown(
    moveJob(connection, job, 'canceled', {
      owner: null,
      error: { code: 'canceled_by_user', detail: 'The job was canceled on request.' },
    }),
  )
}

/** The job's row with all that hangs on it but its events; the job must have ended (a draft: removeDraft). */
export function removeJob(connection: Connection, assignment_id: string): void {
  removeDeliveriesOfJob(connection, assignment_id)
  connection.run('DELETE FROM insights WHERE assignment_id = ?', assignment_id)
  connection.run('DELETE FROM jobs WHERE assignment_id = ?', assignment_id)
}

/** A job that was never run, with its place in the count of its workspace. */
export function removeDraft(connection: Connection, { workspace_id, assignment_id }: JobKey): void {
  removeJob(connection, assignment_id)
  connection.run('UPDATE job_counts SET draft = draft - 1 WHERE workspace_id = ?', workspace_id)
}

export function deleteJob(connection: Connection, key: JobKey): void {
  const job = requireJob(connection, key)
  if (!isFinal(job.job_status))
    throw new AppError(
      'job_unfinished',
      `The job is ${job.job_status}: cancel it, or wait until it ends, and delete it then.`,
    )
  removeJob(connection, key.assignment_id)
}

export function getInsight(connection: Connection, input: Input<'getInsight'>): Insight | null {
  const row = connection.one<{ insight_id: string; assignment_id: string; created_at: string; body: string }>(
    'SELECT * FROM insights WHERE insight_id = ? AND workspace_id = ?',
    input.insight_id,
    input.workspace_id,
  )
  if (!row) return null
  const { insight_id, assignment_id, created_at, body } = row
  return { insight_id, assignment_id, ...(JSON.parse(body) as object), created_at } as Insight
}

/** Walks over the distinct priorities (at most 201), not over the queue. */
const OLDEST_QUEUED = `
  WITH RECURSIVE levels (priority) AS (
    SELECT max(priority) FROM jobs WHERE workspace_id = :workspace_id AND job_status = 'queued'
    UNION ALL
    SELECT (SELECT max(priority) FROM jobs
            WHERE workspace_id = :workspace_id AND job_status = 'queued' AND priority < levels.priority)
    FROM levels WHERE levels.priority IS NOT NULL
  )
  SELECT min((SELECT min(queued_at) FROM jobs WHERE workspace_id = :workspace_id AND job_status = 'queued'
              AND jobs.priority = levels.priority)) AS at
  FROM levels WHERE levels.priority IS NOT NULL`
const OLDEST = 'SELECT min(created_at) AS at FROM jobs WHERE workspace_id = ? AND job_status = ?'

type Lane = { workspace_id: string } & Record<'draft' | 'queued' | 'active' | 'executing', number>

export function countJobs(connection: Connection): Counts['jobs'] {
  const lanes = connection.all<Lane>('SELECT workspace_id, draft, queued, active, executing FROM job_counts')
  return lanes.flatMap((lane) =>
    (['draft', 'queued', 'active', 'executing'] as const)
      .filter((job_status) => lane[job_status] > 0)
      .map((job_status) => {
        const { workspace_id } = lane
        const oldest =
          job_status === 'queued'
            ? connection.one<{ at: string }>(OLDEST_QUEUED, { workspace_id })
            : connection.one<{ at: string }>(OLDEST, workspace_id, job_status)
        return { workspace_id, job_status, count: lane[job_status], oldest_at: oldest?.at ?? null }
      }),
  )
}
