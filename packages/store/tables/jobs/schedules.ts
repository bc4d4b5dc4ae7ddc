/** The columns of schedules. */
import type { Schedule } from '@assay/model/schedule'
import { Table } from '../table.ts'

export interface ScheduleRow extends Schedule {
  /** The time from which the schedule may be claimed: when it is due, or when the claim of another node has lapsed. */
  claim_at: string | null
}

export const SCHEDULES = new Table<ScheduleRow>('schedules', ['schedule_id'], {
  schedule_id: 'text',
  workspace_id: 'text',
  user_id: 'text',
  name: 'text',
  template_id: 'text',
  variables: 'json',
  cron: 'text',
  time_zone: 'text',
  starts_at: 'time?',
  ends_at: 'time?',
  missed: 'text',
  missed_limit: 'integer',
  overlap: 'text',
  paused: 'boolean',
  presence_name: 'text?',
  notify: 'json?',
  priority: 'integer',
  metadata: 'json',
  readers: 'json?',
  firing: 'json?',
  counts: 'json',
  last_run: 'json?',
  last_error: 'json?',
  next_due_at: 'time?',
  claim_at: 'time?',
  revision: 'integer',
  created_at: 'time',
  updated_at: 'time',
})
