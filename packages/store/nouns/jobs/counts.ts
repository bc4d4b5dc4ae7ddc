/** Counts of jobs: those of a batch, and for each workspace the unfinished ones and the bytes of all. */
import { HELD, type Job, UNFINISHED as STATUSES } from '@assay/model/job'
import type { JobCaps } from '../../caps.ts'
import type { Reader, Routine } from '../../rows.ts'
import { listed, statement } from '../../statement.ts'
import type { Counts, Input } from '../../store.ts'

type Counted = Pick<Job, 'job_status'> & { count: number }

const OF_BATCH = statement<Counted>(
  `SELECT job_status, count(*) AS count FROM jobs WHERE workspace_id = :workspace_id AND batch_id = :batch_id
   GROUP BY job_status`,
)

/** Returns the query of the count of one state from `job_counts`, and of the oldest job from the index of states. */
const ofState = (counts: string, status: string): string => `
  SELECT workspace_id, '${status}' AS job_status, ${status} AS count, (
    SELECT created_at FROM jobs WHERE jobs.workspace_id = ${counts}.workspace_id AND job_status = '${status}'
      ${status === 'draft' ? 'AND owner IS NULL' : ''}
    ORDER BY created_at LIMIT 1) AS oldest_at
  FROM ${counts} WHERE ${status} > 0`

/** Returns the query of the oldest queued job of each priority. It reads at most 201 rows instead of the queue. */
const queued = (counts: string): string => `
  SELECT workspace_id, 'queued' AS job_status, queued AS count, (
    WITH RECURSIVE levels (priority) AS (
      SELECT (SELECT jobs.priority FROM jobs WHERE jobs.workspace_id = ${counts}.workspace_id AND job_status = 'queued'
              ORDER BY jobs.priority DESC LIMIT 1)
      UNION ALL
      SELECT (SELECT jobs.priority FROM jobs WHERE jobs.workspace_id = ${counts}.workspace_id AND job_status = 'queued'
                AND jobs.priority < levels.priority ORDER BY jobs.priority DESC LIMIT 1)
      FROM levels WHERE levels.priority IS NOT NULL
    )
    SELECT min((SELECT queued_at FROM jobs WHERE jobs.workspace_id = ${counts}.workspace_id AND job_status = 'queued'
                AND jobs.priority = levels.priority ORDER BY queued_at LIMIT 1)) FROM levels) AS oldest_at
  FROM ${counts} WHERE queued > 0`

// PostgreSQL counts drafts and queued jobs in several rows of a workspace. Held jobs are few, so they are counted directly.
const UNFINISHED = statement<Counts['jobs'][number]>({
  sqlite: [
    queued('job_counts'),
    ...STATUSES.filter((status) => status !== 'queued').map((status) => ofState('job_counts', status)),
  ].join(' UNION ALL '),
  postgres: `
    WITH depth AS (
      SELECT workspace_id, sum(draft)::bigint AS draft, sum(queued)::bigint AS queued FROM job_counts GROUP BY workspace_id)
    ${queued('depth')} UNION ALL ${ofState('depth', 'draft')} UNION ALL
    SELECT workspace_id, job_status, count(*), min(created_at) FROM jobs
    WHERE owner IS NOT NULL AND job_status IN (${listed(HELD)}) GROUP BY workspace_id, job_status`,
})

/** Returns the SQL of the bytes that the jobs and insights of a workspace take. `table` has the workspace. */
export const storedIn = (table: string): string => `CAST(coalesce((
  SELECT sum(stored_bytes) FROM job_counts AS used WHERE used.workspace_id = ${table}.workspace_id), 0) AS bigint)`

const STORED = statement<Counts['stored'][number]>(
  `SELECT workspace_id, ${storedIn('workspaces')} AS bytes,
     CAST(coalesce(max_stored_bytes, :max_stored_bytes) AS bigint) AS most
   FROM workspaces WHERE deleted_at IS NULL ORDER BY workspace_id`,
)

export function countStored(
  from: Reader,
  { max_stored_bytes }: Pick<JobCaps, 'max_stored_bytes'>,
): Routine<Counts['stored']> {
  return from.all(STORED, { max_stored_bytes })
}

export function countBatch(from: Reader, input: Input<'countBatch'>): Routine<Counted[]> {
  return from.all(OF_BATCH, input)
}

export function countJobs(from: Reader): Routine<Counts['jobs']> {
  return from.all(UNFINISHED)
}
