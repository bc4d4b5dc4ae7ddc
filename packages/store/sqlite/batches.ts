/** Jobs that are made together, in one transaction. */
import type { Job } from '@assay/model/job'
import type { Input } from '../store.ts'
import type { Connection } from './connection.ts'
import { createJob, queueJob } from './jobs.ts'

export function createJobs(connection: Connection, { jobs, run }: Input<'createJobs'>): Job[] {
  return jobs.map((input) => {
    const job = createJob(connection, input)
    return run && job.job_status === 'draft' ? queueJob(connection, job) : job
  })
}

type Counted = { job_status: Job['job_status']; count: number }

export function countBatch(connection: Connection, input: Input<'countBatch'>): Counted[] {
  return connection
    .all<Counted>(
      `SELECT job_status, count(*) AS count FROM jobs WHERE workspace_id = ? AND batch_id = ? GROUP BY job_status`,
      input.workspace_id,
      input.batch_id,
    )
    .map((row) => ({ ...row }))
}
