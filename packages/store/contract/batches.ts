/** What the store promises of jobs that are made together. */
import type { Job, JobStatus } from '@assay/model/job'
import type { NewJob } from '../store.ts'

export interface BatchStore {
  /**
   * All of them or none, as drafts or (`run`) queued. A job whose id exists in the workspace is answered as it is.
   * `queue_full` where the workspace may not have so many queued.
   */
  createJobs(input: { jobs: NewJob[]; run: boolean }): Promise<Job[]>
  /** How many jobs of the batch are in each state; empty where there is none. */
  countBatch(input: {
    workspace_id: string
    batch_id: string
  }): Promise<{ job_status: JobStatus; count: number }[]>
}
