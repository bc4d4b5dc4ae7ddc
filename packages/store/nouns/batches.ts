/** Jobs that are made together, in one transaction. */
import type { Job } from '@assay/model/job'
import type { Reader, Routine, Transaction } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Input } from '../store.ts'

type Counted = Pick<Job, 'job_status'> & { count: number }

const COUNT = statement<Counted>(
  `SELECT job_status, count(*) AS count FROM jobs WHERE workspace_id = :workspace_id AND batch_id = :batch_id
   GROUP BY job_status`,
)

export function* createJobs(tx: Transaction, { jobs, run }: Input<'createJobs'>): Routine<Job[]> {
  const made: Job[] = []
  for (const input of jobs) {
    const job = yield* tx.native.createJob(input)
    made.push(run && job.job_status === 'draft' ? yield* tx.native.queueJob(job) : job)
  }
  return made
}

export function countBatch(from: Reader, input: Input<'countBatch'>): Routine<Counted[]> {
  return from.all(COUNT, input)
}
