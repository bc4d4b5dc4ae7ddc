/**
 * A schedule: a template with variables that is run by a cron line. Which times are due, which of those that were missed
 * are made up for, and what comes next are worked out here, from the store's time alone, so that every node that asks in
 * the same moment gets the same answer.
 */
import Type, { type Static } from 'typebox'
import { timesAfter } from './cron.ts'

export const MISSED = ['skip', 'once', 'all'] as const
export const OVERLAPS = ['skip', 'queue'] as const

/** A due time that is not run within these milliseconds was missed. */
export const LATE_MS = 5 * 60_000
/** How many of the missed ones `all` makes up for, unless told; and at most. */
export const MISSED_LIMIT = 10
export const MISSED_LIMIT_MOST = 100
/** So many are counted of what an outage missed. */
const COUNTED_MOST = 1000

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const Time = Type.String({ format: 'date-time' })

export const ScheduleCounts = Type.Object({
  made: Type.Integer({ minimum: 0, description: 'Jobs that were made at their due time' }),
  failed: Type.Integer({
    minimum: 0,
    description: 'Due times at which no job could be made: see last_error',
  }),
  missed: Type.Integer({
    minimum: 0,
    description: 'Due times that passed while no node was there to run them',
  }),
  overlapped: Type.Integer({ minimum: 0, description: 'Due times at which an earlier job had not ended' }),
})
export type ScheduleCounts = Static<typeof ScheduleCounts>

export const ScheduleRun = Type.Object({
  assignment_id: Type.String({ format: 'uuid' }),
  scheduled_for: nullable(Time),
  created_at: Time,
})
export type ScheduleRun = Static<typeof ScheduleRun>

export const ScheduleError = Type.Object({
  at: Time,
  scheduled_for: Time,
  code: Type.String({ description: 'Of docs/errors.md, or "missed"' }),
  detail: Type.String(),
  errors: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
})
export type ScheduleError = Static<typeof ScheduleError>

/** When it is due. Times are RFC 3339 UTC with milliseconds. */
export interface Timing {
  cron: string
  time_zone: string
  /** Due from then on; null: from its creation. */
  starts_at: string | null
  /** Due before then; null: for ever. */
  ends_at: string | null
}

export interface Schedule extends Timing {
  schedule_id: string
  workspace_id: string
  user_id: string
  name: string
  template_id: string
  /** As given: they are converted at each run, by the template as it is then. */
  variables: Record<string, unknown>
  missed: (typeof MISSED)[number]
  missed_limit: number
  overlap: (typeof OVERLAPS)[number]
  paused: boolean
  presence_name: string | null
  priority: number
  metadata: Record<string, string>
  counts: ScheduleCounts
  last_run: ScheduleRun | null
  last_error: ScheduleError | null
  /** Null while it is paused, and once it has ended. */
  next_due_at: string | null
  /** Rises with every change and every run: it fences. */
  revision: number
  created_at: string
  updated_at: string
}

export const NO_COUNTS: ScheduleCounts = { made: 0, failed: 0, missed: 0, overlapped: 0 }

const iso = (ms: number): string => new Date(ms).toISOString()

/** The due times after `after`, at most `count`, within the schedule's start and end. */
export function dueTimes(timing: Timing, after: string, count: number): string[] {
  const start = timing.starts_at === null ? Number.NEGATIVE_INFINITY : Date.parse(timing.starts_at) - 1
  const end = timing.ends_at === null ? Number.POSITIVE_INFINITY : Date.parse(timing.ends_at)
  const from = Math.max(start, Date.parse(after))
  return timesAfter(timing.cron, timing.time_zone, from, count)
    .filter((time) => time < end)
    .map(iso)
}

export function nextDue(schedule: Timing & { paused: boolean }, after: string): string | null {
  return schedule.paused ? null : (dueTimes(schedule, after, 1)[0] ?? null)
}

/** The next due times of one that is not paused, for people. */
export function nextRuns(schedule: Schedule, count: number): string[] {
  const { next_due_at } = schedule
  if (next_due_at === null) return []
  return [next_due_at, ...dueTimes(schedule, next_due_at, count - 1)]
}

export interface Plan {
  /** For which a job is made, oldest first. */
  times: string[]
  /** How many were due besides, at most a thousand. */
  missed: number
  /** The latest of all that were due. */
  latest: string
}

/** The latest `count` due times from `first` (itself due) to `now`, found from the end: an outage may have been long. */
function latestDue(timing: Timing, first: string, now: string, count: number): string[] {
  const begin = Date.parse(first)
  for (let span = 3_600_000; ; span *= 4) {
    const from = Math.max(begin - 1, Date.parse(now) - span)
    const found: string[] = []
    for (let after = iso(from); ; ) {
      const some = dueTimes(timing, after, 100).filter((time) => time <= now)
      found.push(...some)
      if (some.length < 100) break
      after = some.at(-1)!
    }
    if (found.length >= count || from < begin) return found.slice(-count)
  }
}

/**
 * What is to be done at `now` with a schedule whose `next_due_at` has come. `skip`: the latest due time, unless it is more
 * than five minutes past. `once`: the latest, however late. `all`: each, the latest `missed_limit` of them.
 */
export function planRuns(
  schedule: Timing & Pick<Schedule, 'missed' | 'missed_limit'> & { next_due_at: string },
  now: string,
): Plan {
  const { missed, missed_limit, next_due_at } = schedule
  const rest = dueTimes(schedule, next_due_at, COUNTED_MOST).filter((time) => time <= now)
  const counted = [next_due_at, ...rest]
  const wanted = missed === 'all' ? missed_limit : 1
  const latest =
    counted.length > COUNTED_MOST ? latestDue(schedule, next_due_at, now, wanted) : counted.slice(-wanted)
  const times =
    missed === 'skip' ? latest.filter((time) => Date.parse(now) - Date.parse(time) <= LATE_MS) : latest
  return { times, missed: counted.length - times.length, latest: latest.at(-1)! }
}

/** What came of a plan. */
export interface Done {
  plan: Plan
  made: ScheduleRun[]
  overlapped: number
  fault: Pick<ScheduleError, 'code' | 'detail' | 'errors'> | null
}

/** The schedule after its plan was carried out at `now`: the next due time follows the latest that was looked at. */
export function afterRuns(
  schedule: Schedule,
  { plan, made, overlapped, fault }: Done,
  now: string,
): Schedule {
  const { counts } = schedule
  const failed = fault === null ? 0 : plan.times.length
  const errorOf = (error: NonNullable<Done['fault']>): ScheduleError => ({
    at: now,
    scheduled_for: plan.latest,
    ...error,
  })
  const late = `No node ran the schedule for more than ${LATE_MS / 60_000} minutes: ${plan.missed} due times were passed over.`
  const unmade = plan.missed > 0 ? errorOf({ code: 'missed', detail: late, errors: [] }) : schedule.last_error
  return {
    ...schedule,
    counts: {
      made: counts.made + made.length,
      failed: counts.failed + failed,
      missed: counts.missed + plan.missed,
      overlapped: counts.overlapped + overlapped,
    },
    last_run: made.at(-1) ?? schedule.last_run,
    last_error: failed > 0 ? errorOf(fault!) : unmade,
    next_due_at: nextDue(schedule, plan.latest),
  }
}

/** Another schedule of times: what is due is found anew. */
export function changesTiming(before: Schedule, after: Schedule): boolean {
  return (['cron', 'time_zone', 'starts_at', 'ends_at', 'paused'] as const).some(
    (name) => before[name] !== after[name],
  )
}

/** Data of the event `schedule.failed`. */
export function scheduleFailedData(schedule: Schedule, error: ScheduleError) {
  const { schedule_id, name, template_id, user_id, presence_name, metadata } = schedule
  const { scheduled_for, code, detail, errors } = error
  return {
    schedule_id,
    name,
    template_id,
    user_id,
    presence_name,
    metadata,
    scheduled_for,
    error: { code, detail, errors },
  }
}

export const ScheduleView = Type.Object(
  {
    schedule_id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    template_id: Type.String(),
    template_vars: Type.Record(Type.String(), Type.Unknown(), {
      description: 'As given: they are checked and converted again at each run',
    }),
    cron: Type.String(),
    time_zone: Type.String(),
    starts_at: nullable(Time),
    ends_at: nullable(Time),
    missed: Type.Enum([...MISSED]),
    missed_limit: Type.Integer(),
    overlap: Type.Enum([...OVERLAPS]),
    paused: Type.Boolean(),
    presence_name: nullable(Type.String()),
    priority: Type.Integer(),
    metadata: Type.Record(Type.String(), Type.String()),
    user_id: Type.String({ description: 'Who made it: its jobs are theirs' }),
    next_due_at: nullable(Time),
    next_runs: Type.Array(Time, { description: 'The next five; none while it is paused' }),
    counts: ScheduleCounts,
    last_run: nullable(ScheduleRun),
    last_error: nullable(ScheduleError),
    created_at: Time,
    updated_at: Time,
  },
  { title: 'Schedule' },
)
export type ScheduleView = Static<typeof ScheduleView>

/** So many due times ahead are shown. */
export const SHOWN_RUNS = 5

export function scheduleView(schedule: Schedule): ScheduleView {
  const { workspace_id: _, revision: _revision, variables, ...rest } = schedule
  return { ...rest, template_vars: variables, next_runs: nextRuns(schedule, SHOWN_RUNS) }
}
