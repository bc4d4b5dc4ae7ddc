/** What the store promises of jobs and their insights. */
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
  /** Kept with the job (once for each version). */
  template: TemplateSource
  variables: Record<string, unknown>
  presence_name: string | null
  /** The ids of subscriptions. */
  notify?: string[] | null
  priority: number
  metadata: Record<string, string>
  schedule_id?: string | null
  scheduled_for?: string | null
  batch_id?: string | null
  /** Whose insight it makes; null: everyone's. */
  reader_id?: string | null
}

/** What fences a settle: only the present owner of the present attempt may write. */
export interface Lease {
  assignment_id: string
  attempt: number
  node_id: string
}

/** The template of a draft. */
export interface DraftOrigin {
  template_id: string
  template_version: string
  /** The template that is put now has the text that the draft was made of, and neither reads a partial or names a metric. */
  is_as_put: boolean
}

export interface ClaimedJob {
  job: Job
  /** The workspace's data folder; null: it has none of its own. */
  data_folder: string | null
}

export interface JobStore {
  /** A draft. Where the id exists in the workspace it answers with the job as it is. */
  createJob(input: NewJob): Promise<Job>
  /**
   * draft -> queued. A job that is queued, active or executing is answered as it is; `job_final`, `not_found`,
   * `queue_full` where the workspace has as many queued as it may, `workspace_busy` where its processor time is used up.
   */
  queueJob(input: { workspace_id: string; assignment_id: string }): Promise<Job>
  /** As `queueJob`, unless it is a draft that `isCurrent` denies: then nothing changes, and the answer is null. */
  queueCurrent(input: {
    workspace_id: string
    assignment_id: string
    isCurrent: (draft: DraftOrigin) => boolean
  }): Promise<Job | null>
  getJob(input: { workspace_id: string; assignment_id: string }): Promise<Job | null>
  /** Null where there is no such job, or it is no draft any more. */
  getDraft(input: { workspace_id: string; assignment_id: string }): Promise<DraftOrigin | null>
  /** Newest first. */
  listJobs(
    query: PageQuery & {
      workspace_id: string
      job_status?: JobStatus | undefined
      /** Looked for among the next 5,000. */
      ending?: Ending | undefined
      template_id?: string | undefined
      /** One of these; looked for among the next 5,000. */
      template_ids?: readonly string[] | undefined
      schedule_id?: string | undefined
      batch_id?: string | undefined
      reader_id?: string | undefined
      /** That hold this value under this key, a plain name; looked for among the next 5,000. */
      metadata?: readonly [key: string, value: string] | undefined
      /** Those of no reader and of this one, among the next 5,000; "" is none. */
      seen_by?: string | undefined
      /** This and `presence_name` are looked for among the next 5,000. */
      user_id?: string | undefined
      presence_name?: string | undefined
      created_after?: string | undefined
      created_before?: string | undefined
    },
  ): Promise<Page<Job>>
  /** Any unfinished job -> canceled (`canceled_by_user`). A canceled one is answered as it is; `job_final` if completed. */
  cancelJob(input: { workspace_id: string; assignment_id: string }): Promise<Job>
  /** With its insight, its deliveries' attempts and bodies. `job_unfinished`, `not_found`. */
  deleteJob(input: { workspace_id: string; assignment_id: string }): Promise<void>
  /**
   * queued -> active for the node: higher priority first, then workspaces with the fewest running, then the oldest. Of a
   * workspace never more than may run at once.
   * `conflict` where the node is not registered (it was reaped).
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
   * Moves a job from active or executing to canceled, with the error; `ran_ms` as above. Returns false if the lease is
   * lost.
   */
  failJob(input: Lease & { error: JobError; ran_ms?: number | undefined }): Promise<boolean>
  /**
   * Records that the process of the attempt died: the job goes back to queued with a loss, and the third loss ends it
   * (`worker_lost`). Returns false if the lease is lost.
   */
  loseJob(lease: Lease): Promise<boolean>
  /** active or executing -> queued without a loss: the node is draining. */
  releaseJobs(leases: Lease[]): Promise<void>
  /**
   * The cards of insights, newest first. `q`: each of its first words stands somewhere in the title, the headline or the
   * variables. `q`, `tag`, `metric_id` and `grade` look at the next 5,000 insights at most; a page may then give none and a cursor.
   */
  listInsights(
    query: PageQuery & {
      workspace_id: string
      q?: string | undefined
      template_id?: string | undefined
      /** One of these; looked for among the next 5,000. */
      template_ids?: readonly string[] | undefined
      series?: string | undefined
      tag?: string | undefined
      /** As `tag`: those that tell of the metric. */
      metric_id?: string | undefined
      /** Those that it holds: of a series the newest. */
      collection_id?: string | undefined
      /** Of a collection: this insight alone. */
      insight_id?: string | undefined
      /** False for an empty `history`, which costs more to read than all else of the card. */
      with_history?: boolean
      grade?: Grade | undefined
      /** Of each series the newest, where tests of its metrics failed. */
      tests?: 'failed' | undefined
      reader_id?: string | undefined
      /** Those of no reader and of this one, among the next 5,000; "" is none. */
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
  /** The titles of those that are there. */
  insightTitles(input: {
    workspace_id: string
    insight_ids: string[]
  }): Promise<{ insight_id: string; title: string }[]>
  /**
   * What the insight may be compared with: of its series, the run of the period before, the same period before, and those nearest to a
   * day, a week, a month and a year before, by the first day of the period or, without periods, by the time of the run. Each once.
   * Null where there is no such insight.
   */
  earlierInsights(input: { workspace_id: string; insight_id: string }): Promise<EarlierInsight[] | null>
  getInsight(input: { workspace_id: string; insight_id: string }): Promise<Insight | null>
  /** The insight without its data: what its page and its Markdown need. */
  getInsightHead(input: { workspace_id: string; insight_id: string }): Promise<InsightHead | null>
  /**
   * The analyses (JSON text) of the latest insight that was delivered for the same template, variables, reader, and schedule or, without a
   * schedule, the same presence: its job is completed and `deliver_if` held. Null where there is none among the latest 5,000 of the
   * reader, or of the schedule or the template.
   */
  lastDelivered(
    input: Pick<NewJob, 'workspace_id' | 'variables' | 'presence_name'> & {
      template_id: string
      schedule_id: string | null
      reader_id?: string | null
    },
  ): Promise<string | null>
  /** The data of the insight as it is stored, so that a large table is neither parsed nor written again. */
  getInsightData(input: { workspace_id: string; insight_id: string }): Promise<InsightData | null>
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
