/** Jobs that are made together, in one transaction. */
import type { Job } from '@assay/model/job'
import type { Input } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { createJob, queueJob } from './jobs.ts'

export async function createJobs(tx: Transaction, { jobs, run }: Input<'createJobs'>): Promise<Job[]> {
  const made: Job[] = []
  for (const input of jobs) {
    const job = await createJob(tx, input)
    made.push(run && job.job_status === 'draft' ? await queueJob(tx, job) : job)
  }
  return made
}

type Counted = { job_status: Job['job_status']; count: number }

export function countBatch(from: Session, input: Input<'countBatch'>): Promise<Counted[]> {
  return from.all<Counted>(
    `SELECT job_status, count(*) AS count FROM jobs WHERE workspace_id = $1 AND batch_id = $2 GROUP BY job_status`,
    input.workspace_id,
    input.batch_id,
  )
}
