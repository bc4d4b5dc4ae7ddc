/** Schedules in the store. */
import type { Job } from '@assay/model/job'
import type { FiringState, Plan, Schedule, ScheduleError, ScheduleFailing } from '@assay/model/schedule'
import type { TemplateSource } from '@assay/model/template'
import type { Page, PageQuery } from '../page.ts'

/** Milliseconds that a claim of a schedule lasts. Then another node may claim it. */
export const CLAIM_MS = 15_000
/** Milliseconds until the jobs of further readers are tried again after the queue was full. */
export const FULL_MS = 5_000
/** Milliseconds until the remaining readers of a due time are tried again after the template broke. */
export const BROKEN_MS = 60_000

export type NewSchedule = Omit<
  Schedule,
  | 'counts'
  | 'last_run'
  | 'last_error'
  | 'next_due_at'
  | 'revision'
  | 'created_at'
  | 'updated_at'
  | 'notify'
  | 'readers'
  | 'firing'
> &
  Partial<Pick<Schedule, 'notify' | 'readers'>>

export type SchedulePatch = Partial<Omit<NewSchedule, 'schedule_id' | 'workspace_id' | 'user_id'>>

interface ScheduleKey {
  workspace_id: string
  schedule_id: string
}

export interface ClaimedSchedule {
  schedule: Schedule
  plan: Plan
}

export interface ScheduleSettlement {
  schedule_id: string
  /** The revision that was claimed. Nothing is written if the schedule has changed or was settled since. */
  revision: number
  plan: Plan
  /** The material of each job, or the reason why no job can be made. Null if the plan has no due time. */
  outcome: ScheduleMaterial | { error: ScheduleFault } | null
}

/** The material of each job of a schedule. */
export interface ScheduleMaterial {
  template: TemplateSource
  variables: Record<string, unknown>
  /** For a personal template without `readers`: the reader who is the schedule's user. */
  reader_id?: string | null
  /** The subscription that sends the insight to her; null if there is none. */
  mail?: string | null
  /** The metrics that the template reads. Subscriptions that follow one of them are told. */
  metrics?: readonly string[]
}

/** The next readers of a firing, sorted by id. */
export interface FiringPage {
  schedule_id: string
  /** The revision, as in ScheduleSettlement. */
  revision: number
  plan: Plan
  material: ScheduleMaterial
  /** The readers. `notify`: the subscription that sends the insight to the reader; null if there is none. */
  readers: { reader_id: string; notify: string | null }[]
  /** The id of the last reader of the page, even if she gets no job. */
  after: string
  /** True if no reader follows after these. */
  last: boolean
}

export interface Fired {
  revision: number
  made: number
  /** The state of the firing; null if all jobs of the plan are made. */
  firing: FiringState | null
  /** True if the workspace has as many queued jobs as it may. The rest is made some seconds later. */
  full: boolean
}

export type ScheduleFault = Pick<ScheduleError, 'code' | 'detail' | 'errors'>

export interface ScheduleStore {
  /** Makes a schedule that is due from now on. If the id exists in the workspace, returns that one. */
  createSchedule(input: NewSchedule): Promise<Schedule>
  getSchedule(key: ScheduleKey): Promise<Schedule | null>
  /** Lists schedules, newest first. */
  /** Returns, for each schedule whose last ended job failed, how many failed in a row among the latest 20. */
  failingSchedules(input: {
    workspace_id: string
    schedule_ids: string[]
  }): Promise<(ScheduleFailing & { schedule_id: string })[]>
  listSchedules(
    query: PageQuery & {
      workspace_id: string
      template_id?: string | undefined
      user_id?: string | undefined
      paused?: boolean | undefined
    },
  ): Promise<Page<Schedule>>
  /**
   * Changes a schedule. A change of the cron expression, its zone, its bounds or the pause makes it due after now.
   * Returns null if there is no such schedule.
   */
  updateSchedule(input: ScheduleKey & { patch: SchedulePatch }): Promise<Schedule | null>
  /** Deletes the schedule and keeps its jobs. Returns false if there is no such schedule. */
  deleteSchedule(key: ScheduleKey): Promise<boolean>
  /**
   * Claims due schedules, the longest due first, each with its plan. A claim lasts a quarter of a minute. The revision fences the
   * settle, so no claim can make a run twice.
   */
  claimSchedules(input: { limit: number }): Promise<ClaimedSchedule[]>
  /**
   * Makes and queues a job for each time of the plan, under an id that schedule and time determine. Counts missed and
   * failed times (with a `schedule.failed` event), and moves to the next due time, all or nothing. A schedule that
   * skips on overlap passes over a time while one of its jobs has not ended. If a due time has jobs for some readers
   * already, an error leaves the other readers waiting until the next due time. Returns false if another claim has
   * settled it.
   */
  settleSchedule(input: ScheduleSettlement): Promise<boolean>
  /**
   * Makes and queues the jobs of some readers for the due time of a firing, under ids that schedule, time and reader
   * determine, and records the progress, all or nothing. Makes as many as the workspace may have queued. With the
   * last reader of the last time it moves to the next due time. Returns null if another claim has settled it, or it
   * was changed.
   */
  fireSchedule(page: FiringPage): Promise<Fired | null>
  /**
   * Makes a job of the schedule now, even if it is paused. If a job of the id exists, returns that job. Returns null
   * if there is no such schedule. Throws as `queueJob` does.
   */
  runSchedule(input: ScheduleKey & ScheduleMaterial & { assignment_id: string }): Promise<Job | null>
}
