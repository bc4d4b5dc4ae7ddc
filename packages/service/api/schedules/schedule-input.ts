/** The fields of a schedule in a body or in a file of the repository, and the check of them. */
import { cronFault } from '@assay/model/cron'
import { isTimeZone } from '@assay/model/dates'
import type { FieldError } from '@assay/model/errors'
import {
  changesTiming,
  dueTimes,
  MISSED,
  MISSED_LIMIT,
  MISSED_LIMIT_MOST,
  OVERLAPS,
  type Schedule,
  ScheduleReaders,
  type Timing,
} from '@assay/model/schedule'
import { nullable, Type } from '@assay/model/schema'
import type { NewSchedule } from '@assay/store/contract/schedules'
import type { Static } from 'typebox'
import { Name, Time } from '../http/fields.ts'
import { Metadata } from '../jobs/jobs.ts'
import { Notify } from '../subscriptions/notify.ts'

const settable = {
  name: Name,
  template_id: Type.String({ minLength: 1, maxLength: 200 }),
  cron: Type.String({
    minLength: 1,
    maxLength: 200,
    description:
      'Minute, hour, day of month, month, day of week; or @hourly, @daily, @weekly, @monthly, @yearly',
  }),
}
const optional = {
  template_vars: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'Values by variable; a relative period such as last_month is resolved when the job runs',
    }),
  ),
  time_zone: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: 'IANA name such as Europe/Berlin (default UTC)',
    }),
  ),
  starts_at: Type.Optional(nullable(Time)),
  ends_at: Type.Optional(nullable(Time)),
  missed: Type.Optional(
    Type.Enum([...MISSED], {
      description:
        'What to do about due times that no node ran within five minutes. skip (default): nothing; once: one run for the latest; all: one run for each, up to `missed_limit`',
    }),
  ),
  missed_limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MISSED_LIMIT_MOST, description: `Default ${MISSED_LIMIT}` }),
  ),
  overlap: Type.Optional(
    Type.Enum([...OVERLAPS], {
      description: 'While an earlier job of the schedule has not ended: queue another (default), or skip',
    }),
  ),
  paused: Type.Optional(Type.Boolean()),
  presence_name: Type.Optional(nullable(Name)),
  notify: Type.Optional(Notify),
  readers: Type.Optional(nullable(ScheduleReaders)),
  priority: Type.Optional(Type.Integer({ minimum: -100, maximum: 100 })),
  metadata: Type.Optional(Metadata),
}

export const ScheduleInput = Type.Object({ ...settable, ...optional })
export type ScheduleInput = Static<typeof ScheduleInput>
export function timingFaults(timing: Timing, now: string): FieldError[] {
  const faults: FieldError[] = []
  const refuse = (path: string, message: string): void => void faults.push({ path, message })
  const { starts_at, ends_at, time_zone } = timing
  const cron = cronFault(timing.cron)
  if (cron !== null) refuse('cron', cron)
  if (!isTimeZone(time_zone))
    refuse('time_zone', `must be an IANA name such as Europe/Berlin, not ${JSON.stringify(time_zone)}`)
  if (starts_at !== null && ends_at !== null && ends_at <= starts_at)
    refuse('ends_at', 'must be after starts_at')
  else if (faults.length === 0 && dueTimes(timing, now, 1).length === 0) {
    if (ends_at !== null) refuse('ends_at', 'lies before the next due time')
    else refuse('starts_at', 'leaves no due time: write an earlier start, or another cron expression')
  }
  return faults
}

/**
 * Returns the faults of a schedule. `before`: the schedule before a change, null for a new one. Unchanged times are
 * not checked again.
 */
export function faultsOf(schedule: NewSchedule, now: string, before: Schedule | null): FieldError[] {
  const faults =
    before && !changesTiming(before, { ...before, ...schedule }) ? [] : timingFaults(schedule, now)
  if (schedule.missed === 'all' && schedule.overlap === 'skip')
    faults.push({
      path: 'missed',
      message: 'cannot be all if overlap is skip: the missed runs would skip each other',
    })
  return faults
}

export function newSchedule(
  body: ScheduleInput,
  id: string,
  { workspace_id, user_id }: Pick<Schedule, 'workspace_id' | 'user_id'>,
): NewSchedule {
  return {
    schedule_id: id,
    workspace_id,
    user_id,
    name: body.name,
    template_id: body.template_id,
    variables: body.template_vars ?? {},
    cron: body.cron.trim(),
    time_zone: body.time_zone ?? 'UTC',
    starts_at: body.starts_at ?? null,
    ends_at: body.ends_at ?? null,
    missed: body.missed ?? 'skip',
    missed_limit: body.missed_limit ?? MISSED_LIMIT,
    overlap: body.overlap ?? 'queue',
    paused: body.paused ?? false,
    presence_name: body.presence_name ?? null,
    readers: body.readers ?? null,
    priority: body.priority ?? 0,
    metadata: body.metadata ?? {},
  }
}
