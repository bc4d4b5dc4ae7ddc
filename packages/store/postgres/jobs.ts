/** Jobs as people handle them: create, run, read, list, cancel, delete. What workers do with them is in claims.ts. */
import { AppError, notFound } from '@assay/model/errors'
import type { Findings, Insight } from '@assay/model/insight'
import { isFinal, type Job, type Move } from '@assay/model/job'
import { NO_PROGRESS, type OwnedJob, shown } from '../job-move.ts'
import { HELD, JOBS, OF_STATUS } from '../lists.ts'
import { keepTemplateVersion } from '../nouns/templates.ts'
import { follow } from '../rows.ts'
import type { Counts, Input, NewJob, Page } from '../store.ts'
import { requireRoom } from './caps.ts'
import type { Session, Transaction } from './connection.ts'
import { removeDeliveriesOfJobs } from './deliveries.ts'
import { findJob, moveJob } from './job-moves.ts'
import { newestFirst } from './page.ts'

interface JobKey {
  workspace_id: string
  assignment_id: string
}

async function requireJob(tx: Transaction, key: JobKey): Promise<OwnedJob> {
  const job = await findJob(tx, key, 'FOR UPDATE')
  if (!job) throw notFound('job', key.assignment_id)
  return job
}

function insertJob(tx: Transaction, input: NewJob): Promise<OwnedJob | undefined> {
  const moves: Move[] = [{ job_status: 'draft', at: tx.now, attempt: 0 }]
  return tx.one<OwnedJob>(
    `INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority,
       presence_name, created_at, progress, moves, metadata, variables, schedule_id, scheduled_for, batch_id)
     VALUES ($1, $2, $3, $4, $5, 'draft', $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT DO NOTHING RETURNING *`,
    input.assignment_id,
    input.workspace_id,
    input.user_id,
    input.template.template_id,
    input.template.version,
    input.priority,
    input.presence_name,
    tx.now,
    JSON.stringify(NO_PROGRESS),
    JSON.stringify(moves),
    JSON.stringify(input.metadata),
    JSON.stringify(input.variables),
    input.schedule_id ?? null,
    input.scheduled_for ?? null,
    input.batch_id ?? null,
  )
}

/** Two that create the same id at once: the second waits for the first and answers with its job. */
export async function createJob(tx: Transaction, input: NewJob): Promise<Job> {
  await follow(keepTemplateVersion(tx.rows, input.template))
  const job = (await insertJob(tx, input)) ?? (await findJob(tx, input))
  if (!job) throw new AppError('name_taken', `There is already a job ${input.assignment_id}.`)
  return shown(job)
}

export async function queueJob(tx: Transaction, key: JobKey): Promise<Job> {
  const job = await requireJob(tx, key)
  if (isFinal(job.job_status))
    throw new AppError(
      'job_final',
      `The job is ${job.job_status} and cannot be run again: create a new one with the same variables.`,
    )
  if (job.job_status !== 'draft') return shown(job)
  await requireRoom(tx, job.workspace_id)
  return shown(moveJob(tx, job, 'queued'))
}

/** What is held is few and in an index of its own, which is named by its condition; the others lie in that of states. */
export function listJobs(from: Session, query: Input<'listJobs'>): Promise<Page<Job>> {
  const held = query.job_status === 'active' || query.job_status === 'executing'
  return newestFirst<OwnedJob, Job>(
    from,
    JOBS,
    query,
    {
      'workspace_id = ?': query.workspace_id,
      [held ? HELD : OF_STATUS]: query.job_status,
      'template_id = ?': query.template_id,
      'schedule_id = ?': query.schedule_id,
      'batch_id = ?': query.batch_id,
      'created_at >= ?': query.created_after,
      'created_at < ?': query.created_before,
    },
    shown,
  )
}

export async function cancelJob(tx: Transaction, key: JobKey): Promise<Job> {
  const job = await requireJob(tx, key)
  if (job.job_status === 'canceled') return shown(job)
  if (job.job_status === 'completed')
    throw new AppError('job_final', 'The job is completed and cannot be canceled: delete it instead.')
  return shown(
    moveJob(tx, job, 'canceled', {
      owner: null,
      error: { code: 'canceled_by_user', detail: 'The job was canceled on request.' },
    }),
  )
}

/** The rows of jobs that have ended or never began, with all that hangs on them but their events. */
export async function removeJobs(tx: Transaction, assignment_ids: string[]): Promise<void> {
  await removeDeliveriesOfJobs(tx, assignment_ids)
  await tx.run('DELETE FROM insights WHERE assignment_id = ANY ($1)', assignment_ids)
  await tx.run('DELETE FROM jobs WHERE assignment_id = ANY ($1)', assignment_ids)
}

export async function deleteJob(tx: Transaction, key: JobKey): Promise<void> {
  const job = await requireJob(tx, key)
  if (!isFinal(job.job_status))
    throw new AppError(
      'job_unfinished',
      `The job is ${job.job_status}: cancel it, or wait until it ends, and delete it then.`,
    )
  await removeJobs(tx, [key.assignment_id])
}

export async function getInsight(from: Session, input: Input<'getInsight'>): Promise<Insight | null> {
  const row = await from.one<{
    insight_id: string
    assignment_id: string
    created_at: string
    body: Omit<Findings, 'skipped'>
  }>(
    'SELECT * FROM insights WHERE insight_id = $1 AND workspace_id = $2',
    input.insight_id,
    input.workspace_id,
  )
  if (!row) return null
  const { insight_id, assignment_id, created_at, body } = row
  return { insight_id, assignment_id, ...body, created_at }
}

/**
 * Drafts and what is queued as the lanes have counted them, the oldest of each out of an index (of a queue at each of its
 * priorities, at most 201); what is active or executing is few and is counted where it stands.
 */
const COUNTS = `
  WITH depth AS (SELECT workspace_id, sum(draft)::bigint AS draft, sum(queued)::bigint AS queued FROM job_counts GROUP BY workspace_id)
  SELECT workspace_id, 'queued' AS job_status, queued AS count, oldest.at AS oldest_at
  FROM depth CROSS JOIN LATERAL (
    WITH RECURSIVE levels (priority) AS (
      (SELECT priority FROM jobs WHERE jobs.workspace_id = depth.workspace_id AND job_status = 'queued'
       ORDER BY priority DESC LIMIT 1)
      UNION ALL
      SELECT (SELECT jobs.priority FROM jobs WHERE jobs.workspace_id = depth.workspace_id AND job_status = 'queued'
                AND jobs.priority < levels.priority ORDER BY jobs.priority DESC LIMIT 1)
      FROM levels WHERE levels.priority IS NOT NULL
    )
    SELECT min((SELECT queued_at FROM jobs WHERE jobs.workspace_id = depth.workspace_id AND job_status = 'queued'
                AND jobs.priority = levels.priority ORDER BY queued_at LIMIT 1)) AS at FROM levels) AS oldest
  WHERE queued > 0
  UNION ALL
  SELECT workspace_id, 'draft', draft, (
    SELECT created_at FROM jobs WHERE jobs.workspace_id = depth.workspace_id AND job_status = 'draft'
    ORDER BY created_at LIMIT 1)
  FROM depth WHERE draft > 0
  UNION ALL
  SELECT workspace_id, job_status, count(*), min(created_at)
  FROM jobs WHERE owner IS NOT NULL GROUP BY workspace_id, job_status`

export function countJobs(from: Session): Promise<Counts['jobs']> {
  return from.all<Counts['jobs'][number]>(COUNTS)
}
