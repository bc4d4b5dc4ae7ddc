/** Schedules: templates run by cron lines. */
import type { JobView } from '@assay/model/job'
import type { MISSED, OVERLAPS, ScheduleView } from '@assay/model/schedule'
import {
  type CreateOptions,
  createKey,
  type Json,
  type Page,
  type PageInput,
  type Send,
  segment,
} from './http.ts'

export interface ScheduleInput {
  name: string
  template_id: string
  template_vars?: Record<string, unknown>
  /** Five fields, or a name such as "@daily". */
  cron: string
  /** An IANA name; UTC unless given. */
  time_zone?: string
  starts_at?: string | null
  ends_at?: string | null
  missed?: (typeof MISSED)[number]
  missed_limit?: number
  overlap?: (typeof OVERLAPS)[number]
  paused?: boolean
  presence_name?: string | null
  priority?: number
  metadata?: Record<string, string>
}

export interface TimingInput {
  cron: string
  time_zone?: string
  starts_at?: string
  ends_at?: string
}

export interface ScheduleFilter extends PageInput {
  template_id?: string
  user_id?: string
  paused?: boolean
}

export function scheduleCalls(send: Send, json: Json) {
  const at = (schedule_id: string) => `/schedules/${segment(schedule_id)}`
  return {
    create: (input: ScheduleInput, options?: CreateOptions) =>
      json<ScheduleView>('POST', '/schedules', { json: input, idempotencyKey: createKey(options) }),
    list: (query: ScheduleFilter = {}) =>
      json<Page<ScheduleView>>('GET', '/schedules', { query: { ...query } }),
    /** The next five due times of a line; nothing is kept. */
    preview: (query: TimingInput) =>
      json<{ next_runs: string[] }>('GET', '/schedules/preview', { query: { ...query } }),
    get: (schedule_id: string) => json<ScheduleView>('GET', at(schedule_id)),
    /** Also pauses and resumes. */
    update: (schedule_id: string, patch: Partial<ScheduleInput>) =>
      json<ScheduleView>('PATCH', at(schedule_id), { json: patch }),
    delete: async (schedule_id: string): Promise<void> => {
      await send('DELETE', at(schedule_id))
    },
    runNow: (schedule_id: string, options?: CreateOptions) =>
      json<JobView>('POST', `${at(schedule_id)}/run-now`, { idempotencyKey: createKey(options) }),
  }
}
