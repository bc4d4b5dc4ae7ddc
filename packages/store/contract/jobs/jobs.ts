/** Jobs and their insights in the store. */
import type { EarlierInsight } from '@assay/model/earlier-insight'
import type { Findings, Grade, Insight, InsightData, InsightHead } from '@assay/model/insight'
import type { InsightCard } from '@assay/model/insight-card'
import type { Ending, Job, JobError, JobStatus } from '@assay/model/job'
import type { TemplateSource } from '@assay/model/template'
import type { Page, PageQuery } from '../page.ts'

export interface NewJob {
  assignment_id: string
  workspace_id: string
  user_id: string
  /** The template, which is stored once for each version. */
  template: TemplateSource
  variables: Record<string, unknown>
  presence_name: string | null
  /** The ids of subscriptions to notify. */
  notify?: string[] | null
  priority: number
  metadata: Record<string, string>
  schedule_id?: string | null
  scheduled_for?: string | null
  batch_id?: string | null
  /** The reader for whom the insight is made; null if it is for everyone. */
  reader_id?: string | null
}

/** The fence of a settle: only the present owner of the present attempt may write. */
export interface Lease {
  assignment_id: string
  attempt: number
  node_id: string
}

/** The template of a draft. */
export interface DraftOrigin {
  template_id: string
  template_version: string
  /** True if the template as it is now has the text of the draft, and neither text reads a partial or names a metric. */
  is_as_put: boolean
}

export interface ClaimedJob {
  job: Job
  /** The workspace's data folder; null if it has none of its own. */
  data_folder: string | null
}

export interface JobStore {
  /** Makes a draft. If the id exists in the workspace, returns that job as it is. */
  createJob(input: NewJob): Promise<Job>
  /**
   * Moves draft -> queued. Returns a job that is queued, active or executing as it is. Throws `job_final`,
   * `not_found`, `queue_full` if the workspace has as many queued as it may, and `workspace_busy` if its processor
   * time is used up.
   */
  queueJob(input: { workspace_id: string; assignment_id: string }): Promise<Job>
  /**
   * Queues the job as `queueJob` does, unless it is a draft and `isCurrent` returns false for it. It then changes
   * nothing and returns null.
   */
  queueCurrent(input: {
    workspace_id: string
    assignment_id: string
    isCurrent: (draft: DraftOrigin) => boolean
  }): Promise<Job | null>
  getJob(input: { workspace_id: string; assignment_id: string }): Promise<Job | null>
  /** Returns the jobs of these ids that the workspace has. */
  getJobs(input: { workspace_id: string; assignment_ids: string[] }): Promise<Job[]>
  /** Returns the origin of a draft. Null if there is no such job, or it is no longer a draft. */
  getDraft(input: { workspace_id: string; assignment_id: string }): Promise<DraftOrigin | null>
  /** Lists jobs, newest first. */
  listJobs(
    query: PageQuery & {
      workspace_id: string
      job_status?: JobStatus | undefined
      /** The filter is applied to the next 5,000 jobs. */
      ending?: Ending | undefined
      template_id?: string | undefined
      /** Only jobs of these templates, among the next 5,000. */
      template_ids?: readonly string[] | undefined
      schedule_id?: string | undefined
      batch_id?: string | undefined
      reader_id?: string | undefined
      /** Only jobs with this value under this key, among the next 5,000. The key is a plain name. */
      metadata?: readonly [key: string, value: string] | undefined
      /** Only jobs without a reader and jobs of this reader, among the next 5,000; "" stands for none. */
      seen_by?: string | undefined
      /** This filter and `presence_name` are applied to the next 5,000 jobs. */
      user_id?: string | undefined
      presence_name?: string | undefined
      created_after?: string | undefined
      created_before?: string | undefined
    },
  ): Promise<Page<Job>>
  /**
   * Moves an unfinished job to canceled (`canceled_by_user`). Returns a canceled one as it is. Throws `job_final` if
   * it is completed.
   */
  cancelJob(input: { workspace_id: string; assignment_id: string }): Promise<Job>
  /**
   * Deletes the job with its insight and with its deliveries' attempts and bodies. Throws `job_unfinished` and
   * `not_found`.
   */
  deleteJob(input: { workspace_id: string; assignment_id: string }): Promise<void>
  /**
   * Moves jobs queued -> active for the node: higher priority first, then workspaces with the fewest running, then
   * the oldest. A workspace never gets more than it may run at once. Throws `conflict` if the node is not registered,
   * because it was reaped.
   */
  claimJobs(input: { node_id: string; limit: number }): Promise<ClaimedJob[]>
  /** Moves a job from active to executing. Returns false if the lease is lost: the worker then stops. */
  startJob(lease: Lease): Promise<boolean>
  /**
   * Moves a job from executing to completed, with its insight, event and deliveries, or writes nothing. Returns false
   * if the lease is lost. A job that ended before its start was marked is completed from active: it began `ran_ms`
   * before now, and that move is written, too.
   */
  completeJob(
    input: Lease & { insight_id: string; findings: Findings; ran_ms?: number | undefined },
  ): Promise<boolean>
  /**
   * Moves a job from active or executing to canceled, with the error. `ran_ms`: as in completeJob. Returns false if
   * the lease is lost.
   */
  failJob(input: Lease & { error: JobError; ran_ms?: number | undefined }): Promise<boolean>
  /**
   * Records that the process of the attempt died. The job returns to the queue with a loss, and the third loss ends
   * it (`worker_lost`). Returns false if the lease is lost.
   */
  loseJob(lease: Lease): Promise<boolean>
  /** Moves jobs from active or executing to queued without a loss, because the node drains. */
  releaseJobs(leases: Lease[]): Promise<void>
  /**
   * Lists the cards of insights, newest first. `q`: each of its first words stands somewhere in the title, the
   * headline or the variables. `q`, `tag`, `metric_id` and `grade` look at the next 5,000 insights at most. A page
   * may then be empty and have a cursor.
   */
  listInsights(
    query: PageQuery & {
      workspace_id: string
      q?: string | undefined
      template_id?: string | undefined
      /** Only insights of these templates, among the next 5,000. */
      template_ids?: readonly string[] | undefined
      series?: string | undefined
      tag?: string | undefined
      /** Only insights about the metric, among the next 5,000. */
      metric_id?: string | undefined
      /** Only insights that the collection holds. Of a series it holds the newest. */
      collection_id?: string | undefined
      /** With `collection_id`: only this insight. */
      insight_id?: string | undefined
      /** False leaves `history` empty. Reading it costs more than the rest of the card. */
      with_history?: boolean
      grade?: Grade | undefined
      /** Only the newest insight of each series whose metrics have failed tests. */
      tests?: 'failed' | undefined
      reader_id?: string | undefined
      /** Only insights without a reader and those of this reader, among the next 5,000; "" stands for none. */
      seen_by?: string | undefined
      created_after?: string | undefined
      created_before?: string | undefined
    },
  ): Promise<Page<InsightCard>>
  /** Finds the reader of an insight. Returns null if there is no such insight. */
  insightReader(input: {
    workspace_id: string
    insight_id: string
  }): Promise<{ reader_id: string | null } | null>
  /** Returns the titles of the insights that exist. */
  insightTitles(input: {
    workspace_id: string
    insight_ids: string[]
  }): Promise<{ insight_id: string; title: string }[]>
  /**
   * Returns the insights of its series to compare the insight with, each once: the run of the period before, the same
   * period before, and the runs nearest to a day, a week, a month and a year before. Runs are compared by the first
   * day of their period or, without periods, by their time. Null if there is no such insight.
   */
  earlierInsights(input: { workspace_id: string; insight_id: string }): Promise<EarlierInsight[] | null>
  /** Returns the bytes of a stored insight, without reading it. Null if there is no such insight. */
  insightBytes(input: { workspace_id: string; insight_id: string }): Promise<number | null>
  getInsight(input: { workspace_id: string; insight_id: string }): Promise<Insight | null>
  /** Returns the insight without its data: what its page and its Markdown need. */
  getInsightHead(input: { workspace_id: string; insight_id: string }): Promise<InsightHead | null>
  /**
   * Returns the analyses (JSON text) of the latest delivered insight for the same template, variables, reader, and
   * schedule or, without a schedule, the same presence. Its job is completed and `deliver_if` held. Null if there is
   * none among the latest 5,000 of the reader, the schedule or the template.
   */
  lastDelivered(
    input: Pick<NewJob, 'workspace_id' | 'variables' | 'presence_name'> & {
      template_id: string
      schedule_id: string | null
      reader_id?: string | null
    },
  ): Promise<string | null>
  /** Returns the data of the insight as they are stored, so that a large table is neither parsed nor written again. */
  getInsightData(input: { workspace_id: string; insight_id: string }): Promise<InsightData | null>
  /**
   * Makes all jobs or none, as drafts or (`run`) queued. A job whose id exists in the workspace is returned as it is.
   * Throws `queue_full` if the workspace may not have so many queued.
   */
  createJobs(input: { jobs: NewJob[]; run: boolean }): Promise<Job[]>
  /** Returns how many jobs of the batch are in each state. Empty if there is no such batch. */
  countBatch(input: {
    workspace_id: string
    batch_id: string
  }): Promise<{ job_status: JobStatus; count: number }[]>
}
