/** The columns of jobs, their insights, and the counts of unfinished ones. */
import type { Insight } from '@assay/model/insight'
import type { OwnedJob } from '../../nouns/jobs/job-move.ts'
import { Table } from '../table.ts'

export const JOBS = new Table<OwnedJob>('jobs', ['assignment_id'], {
  assignment_id: 'text',
  workspace_id: 'text',
  user_id: 'text',
  template_id: 'text',
  template_version: 'text',
  job_status: 'text',
  priority: 'integer',
  attempt: 'integer',
  losses: 'integer',
  /** The node that holds it. */
  owner: 'text?',
  presence_name: 'text?',
  notify: 'json?',
  insight_id: 'text?',
  skipped: 'text?',
  schedule_id: 'text?',
  scheduled_for: 'time?',
  batch_id: 'text?',
  reader_id: 'text?',
  created_at: 'time',
  queued_at: 'time?',
  started_at: 'time?',
  finished_at: 'time?',
  variables: 'json',
  progress: 'json',
  error: 'json?',
  metadata: 'json',
  moves: 'json',
})

export interface InsightRow extends Pick<Insight, 'insight_id' | 'assignment_id' | 'created_at'> {
  workspace_id: string
  /** The other fields of the insight. */
  body: object
}

export const INSIGHTS = new Table<InsightRow>('insights', ['insight_id'], {
  insight_id: 'text',
  assignment_id: 'text',
  workspace_id: 'text',
  created_at: 'time',
  body: 'json',
})

/**
 * The counts of a workspace. PostgreSQL keeps several rows of a workspace, which are added up, so that writers do not
 * wait for each other.
 */
export interface JobCountRow {
  workspace_id: string
  part: number
  draft: number
  queued: number
  active: number
  executing: number
  /** The bytes of all its jobs and insights. */
  stored_bytes: number
  head_queued_at: string | null
  /** A rising number of the last claim of one of its jobs. */
  served: number
}

export const JOB_COUNTS = new Table<JobCountRow>(
  'job_counts',
  ['workspace_id'],
  {
    workspace_id: 'text',
    part: 'bigint',
    draft: 'bigint',
    queued: 'bigint',
    active: 'bigint',
    executing: 'bigint',
    stored_bytes: 'bigint',
    head_queued_at: 'time?',
    served: 'bigint',
  },
  { only: { sqlite: ['active', 'executing', 'head_queued_at'], postgres: ['part'] } },
)
