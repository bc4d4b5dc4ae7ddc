/** What the store promises of schedules. */
import type { Job } from '@assay/model/job'
import type { FiringState, Plan, Schedule, ScheduleError, ScheduleFailing } from '@assay/model/schedule'
import type { TemplateSource } from '@assay/model/template'
import type { Page, PageQuery } from '../page.ts'

/** Whoever claims a schedule is given so long to settle it before another may claim it. */
export const CLAIM_MS = 15_000
/** Where a queue is full, the jobs of further readers are tried after so long. */
export const FULL_MS = 5_000
/** Where the template breaks between the readers of a due time, the rest is tried after so long. */
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
  /** Of the claimed schedule: where it has changed or has been settled since, nothing is written. */
  revision: number
  plan: Plan
  /** What each job is made of, or why none can be; null where the plan has no time. */
  outcome: ScheduleMaterial | { error: ScheduleFault } | null
}

/** What each job of a schedule is made of. */
export interface ScheduleMaterial {
  template: TemplateSource
  variables: Record<string, unknown>
  /** Of a personal template without `readers`: the reader who is its user. */
  reader_id?: string | null
  /** The subscription that sends it to her; null: none does. */
  mail?: string | null
  /** The metrics that it reads: those who follow one are among the followers. */
  metrics?: readonly string[]
}

/** Some readers of a firing, in the order of their ids, after the last who was looked at. */
export interface FiringPage {
  schedule_id: string
  /** As in ScheduleSettlement. */
  revision: number
  plan: Plan
  material: ScheduleMaterial
  /** `notify`: the subscription that sends it to her; null: none does. */
  readers: { reader_id: string; notify: string | null }[]
  /** The last who was looked at, whether she is among them or not. */
  after: string
  /** Nobody comes after. */
  last: boolean
}

export interface Fired {
  revision: number
  made: number
  /** Null: all jobs of the plan are made. */
  firing: FiringState | null
  /** The workspace may have no more queued: the rest is made in some seconds. */
  full: boolean
}

export type ScheduleFault = Pick<ScheduleError, 'code' | 'detail' | 'errors'>

export interface ScheduleStore {
  /** Due from now on. Where the id exists in the workspace it answers with the schedule as it is. */
  createSchedule(input: NewSchedule): Promise<Schedule>
  getSchedule(key: ScheduleKey): Promise<Schedule | null>
  /** Newest first. */
  /** Of the schedules whose last job that ended failed: how many did so in a row, among the latest 20. */
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
  /** Null: not there. Where the cron expression, its zone, its bounds or the pause change, it is due after now. */
  updateSchedule(input: ScheduleKey & { patch: SchedulePatch }): Promise<Schedule | null>
  /** Its jobs stay. False: not there. */
  deleteSchedule(key: ScheduleKey): Promise<boolean>
  /**
   * Schedules that are due, the longest due first, each with what is to be done now. Who claims is given a quarter of a
   * minute before another may: settling is fenced by the revision, so that no claim can make a run twice.
   */
  claimSchedules(input: { limit: number }): Promise<ClaimedSchedule[]>
  /**
   * Makes and queues a job for each time of the plan, under an id that schedule and time determine, counts what was
   * missed or failed (with a `schedule.failed` event), and moves to the next due time, all or nothing. Of a schedule that
   * skips on overlap a time is passed over while one of its jobs has not ended. Of a due time whose jobs are made for some
   * readers already, an error leaves the others waiting until the next due time. False: it was settled by another.
   */
  settleSchedule(input: ScheduleSettlement): Promise<boolean>
  /**
   * Makes and queues the jobs of some readers for the due time of a firing, under ids that schedule, time and reader determine,
   * and remembers how far it came, all or nothing. Makes as many as the workspace may have queued. With the last reader of the last
   * time it moves to the next due time. Null: it was settled by another, or changed.
   */
  fireSchedule(page: FiringPage): Promise<Fired | null>
  /** A job of the schedule now, whether it is paused or not. Where the id exists it is answered as it is. Null: not there. Refused as `queueJob` is. */
  runSchedule(input: ScheduleKey & ScheduleMaterial & { assignment_id: string }): Promise<Job | null>
}
