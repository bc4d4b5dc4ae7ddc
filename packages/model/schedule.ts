/**
 * A schedule: a template with variables, run by a cron expression. This file computes which times are due, which missed
 * times are run late, and the next due time. It reads only the store's time, so every node computes the same.
 */
import type { Static } from 'typebox'
import { ReaderId, type StoredReader } from './personal/readers.ts'
import { nullable, Type } from './schema.ts'
import { timesAfter } from './time/cron.ts'

export const MISSED = ['skip', 'once', 'all'] as const
export const OVERLAPS = ['skip', 'queue'] as const

/** The most schedules of a workspace. */
export const SCHEDULES_MOST = 2000

/** The milliseconds after which a due time counts as missed. */
const LATE_MS = 5 * 60_000
/** The number of missed times that `all` runs: the default and the most. */
export const MISSED_LIMIT = 10
export const MISSED_LIMIT_MOST = 100
/** The number up to which missed times are counted. */
const COUNTED_MOST = 1000

const Time = Type.String({ format: 'date-time' })

const ScheduleCounts = Type.Object({
  made: Type.Integer({ minimum: 0, description: 'Jobs that were made at their due time' }),
  failed: Type.Integer({
    minimum: 0,
    description: 'Due times at which no job could be made: see last_error',
  }),
  missed: Type.Integer({
    minimum: 0,
    description: 'Due times that passed while no node could run them',
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

/** The timing of a schedule. Times are RFC 3339 UTC with milliseconds. */
export interface Timing {
  cron: string
  time_zone: string
  /** The start of the due times; null for the creation of the schedule. */
  starts_at: string | null
  /** The end of the due times (exclusive); null for no end. */
  ends_at: string | null
}

/** The jobs of a schedule that failed since the last one that completed. */
export const ScheduleFailing = Type.Object({
  runs: Type.Integer({ minimum: 1, maximum: 20, description: 'How many failed in a row, counted up to 20' }),
  assignment_id: Type.String({ format: 'uuid', description: 'The last of them' }),
  error: Type.Object({ code: Type.String(), detail: Type.String() }),
})
export type ScheduleFailing = Static<typeof ScheduleFailing>

/** The readers of a personal template. Each gets a job of her own at each due time. */
export const ScheduleReaders = Type.Union(
  [
    Type.Literal('all'),
    Type.Array(ReaderId, { minItems: 1, maxItems: 1000, uniqueItems: true }),
    Type.Object({ where: Type.Record(Type.String(), Type.Unknown()) }),
  ],
  {
    description:
      'A job for each of these readers at each due time, sent to that reader alone: "all", a list of ids, or {"where": {"region": "north"}}, those who have these attributes (a list of values: one of them)',
  },
)
export type ScheduleReaders = Static<typeof ScheduleReaders>

/** The readers as answers show them. Only admins see the ids of readers. */
const ShownReaders = Type.Union([
  ScheduleReaders,
  Type.Object({
    count: Type.Integer({ minimum: 1, description: 'In place of a list of ids, without the scope admin' }),
  }),
])

/** A due time whose jobs are being made, reader by reader. */
const Firing = Type.Object(
  {
    scheduled_for: Time,
    made: Type.Integer({ minimum: 0, description: 'Jobs that were made so far' }),
  },
  { description: 'The due time whose jobs are being made; null: none is' },
)

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))

/** Tells whether the schedule is for this reader. */
export function isForReader(readers: ScheduleReaders, { reader_id, attributes }: StoredReader): boolean {
  if (readers === 'all') return true
  if (Array.isArray(readers)) return readers.includes(reader_id)
  return Object.entries(readers.where).every(([name, wanted]) => {
    if (!Object.hasOwn(attributes, name)) return false
    const values = textsOf(wanted)
    return textsOf(attributes[name]).some((one) => values.includes(one))
  })
}

export const ScheduleView = Type.Object(
  {
    schedule_id: Type.String({ format: 'uuid' }),
    name: Type.String(),
    template_id: Type.String(),
    template_vars: Type.Record(Type.String(), Type.Unknown(), {
      description: 'As given; checked and converted at each run',
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
    notify: Type.Array(Type.String(), {
      description: 'The subscriptions that its runs tell, or "followers"',
    }),
    readers: nullable(ShownReaders),
    firing: nullable(Firing),
    priority: Type.Integer(),
    metadata: Type.Record(Type.String(), Type.String()),
    user_id: Type.String({ description: 'The user who created it and owns its jobs' }),
    next_due_at: nullable(Time),
    next_runs: Type.Array(Time, { description: 'The next five; empty while it is paused' }),
    counts: ScheduleCounts,
    last_run: nullable(ScheduleRun),
    last_error: nullable(ScheduleError),
    /** In answers to reads. Null if the last ended job did not fail. */
    failing: Type.Optional(nullable(ScheduleFailing)),
    created_at: Time,
    updated_at: Time,
  },
  { title: 'Schedule' },
)
export type ScheduleView = Static<typeof ScheduleView>

/** A schedule as the store keeps it. */
export interface Schedule
  extends Omit<ScheduleView, 'template_vars' | 'next_runs' | 'notify' | 'failing' | 'firing' | 'readers'> {
  workspace_id: string
  /** The variables as they were given. Each run converts them by the template's present version. */
  variables: Record<string, unknown>
  /** The ids of subscriptions, or "followers"; null for none. */
  notify: string[] | null
  /** Null if its runs belong to no reader. */
  readers: ScheduleReaders | null
  /** The progress of the jobs of readers; null if none is due. */
  firing: FiringState | null
  /** Rises with every change and every run; it fences concurrent writes. */
  revision: number
}

/** The plan of a firing and the position of its next job. A node that takes over after a death continues from there. */
export interface FiringState {
  plan: Plan
  scheduled_for: string
  /** The id of the last reader of the firing so far, in the order of ids; "" before the first. */
  after: string
  made: number
}

export const NO_COUNTS: ScheduleCounts = { made: 0, failed: 0, missed: 0, overlapped: 0 }

const iso = (ms: number): string => new Date(ms).toISOString()

/**
 * Returns the due times after `after`, at most `count`, within the start and the end of the schedule, and up to
 * `until`.
 */
export function dueTimes(timing: Timing, after: string, count: number, until?: string): string[] {
  const start = timing.starts_at === null ? Number.NEGATIVE_INFINITY : Date.parse(timing.starts_at) - 1
  const end = timing.ends_at === null ? Number.POSITIVE_INFINITY : Date.parse(timing.ends_at)
  const from = Math.max(start, Date.parse(after))
  const last = Math.min(end - 1, until === undefined ? end : Date.parse(until))
  return timesAfter(timing.cron, timing.time_zone, from, count, last).map(iso)
}

export function nextDue(schedule: Timing & { paused: boolean }, after: string): string | null {
  return schedule.paused ? null : (dueTimes(schedule, after, 1)[0] ?? null)
}

/** Returns the next `count` due times for display. Empty while the schedule is paused. */
function nextRuns(schedule: Schedule, count: number): string[] {
  const { next_due_at } = schedule
  if (next_due_at === null) return []
  return [next_due_at, ...dueTimes(schedule, next_due_at, count - 1)]
}

export interface Plan {
  /** The due times for which a job is made, oldest first. */
  times: string[]
  /** The number of further due times, counted up to a thousand. */
  missed: number
  /** The latest due time, whether it runs or was missed. */
  latest: string
}

/**
 * Returns the latest `count` due times from `first` (itself due) to `now`. It searches back from `now`, because an
 * outage may be long.
 */
function latestDue(timing: Timing, first: string, now: string, count: number): string[] {
  const begin = Date.parse(first)
  for (let span = 3_600_000; ; span *= 4) {
    const from = Math.max(begin - 1, Date.parse(now) - span)
    const found: string[] = []
    for (let after = iso(from); ; ) {
      const some = dueTimes(timing, after, 100, now)
      found.push(...some)
      if (some.length < 100) break
      after = some.at(-1)!
    }
    if (found.length >= count || from < begin) return found.slice(-count)
  }
}

/**
 * Returns the runs of a schedule whose `next_due_at` has passed. `skip`: the latest due time, unless it is more than
 * five minutes past. `once`: the latest, however late. `all`: the latest `missed_limit` of them.
 */
export function planRuns(
  schedule: Timing & Pick<Schedule, 'missed' | 'missed_limit'> & { next_due_at: string },
  now: string,
): Plan {
  const { missed, missed_limit, next_due_at } = schedule
  const rest = dueTimes(schedule, next_due_at, COUNTED_MOST, now)
  const counted = [next_due_at, ...rest]
  const wanted = missed === 'all' ? missed_limit : 1
  const latest =
    counted.length > COUNTED_MOST ? latestDue(schedule, next_due_at, now, wanted) : counted.slice(-wanted)
  const times =
    missed === 'skip' ? latest.filter((time) => Date.parse(now) - Date.parse(time) <= LATE_MS) : latest
  return { times, missed: counted.length - times.length, latest: latest.at(-1)! }
}

/** The result of a plan. */
export interface Done {
  plan: Plan
  made: ScheduleRun[]
  overlapped: number
  fault: Pick<ScheduleError, 'code' | 'detail' | 'errors'> | null
}

/** Returns the schedule after its plan was carried out at `now`. The next due time follows `plan.latest`. */
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
    firing: null,
    next_due_at: nextDue(schedule, plan.latest),
  }
}

/** The milliseconds for which the last due time waits for a working template. */
const REPAIR_MS = 7 * 86_400_000

/**
 * Returns the schedule after its template broke while only some readers of a due time had their jobs. The other
 * readers wait until the next due time, whose jobs are for all. Null if that time has passed. `fault`: why no job can
 * be made now.
 */
export function brokenFiring(
  schedule: Schedule,
  fault: NonNullable<Done['fault']>,
  now: string,
): Schedule | null {
  const { plan, scheduled_for, made } = schedule.firing!
  const next = dueTimes(schedule, plan.latest, 1)[0] ?? iso(Date.parse(plan.latest) + REPAIR_MS)
  if (next <= now) return null
  const detail = `${fault.detail} For this due time ${made} jobs are made. The other readers wait: it is tried again each minute until ${next}.`
  const { last_error } = schedule
  const isKnown =
    last_error?.scheduled_for === scheduled_for &&
    last_error.code === fault.code &&
    last_error.detail === detail
  return isKnown ? schedule : { ...schedule, last_error: { ...fault, at: now, scheduled_for, detail } }
}

/** Tells whether the change affects the due times, so that `next_due_at` must be computed again. */
export function changesTiming(before: Schedule, after: Schedule): boolean {
  return (['cron', 'time_zone', 'starts_at', 'ends_at', 'paused'] as const).some(
    (name) => before[name] !== after[name],
  )
}

/** Returns the data of the event `schedule.failed`. */
export function scheduleFailedData(schedule: Schedule, error: ScheduleError) {
  const { schedule_id, name, template_id, user_id, presence_name, notify, metadata } = schedule
  const { scheduled_for, code, detail, errors } = error
  return {
    schedule_id,
    name,
    template_id,
    user_id,
    presence_name,
    notify: notify ?? [],
    metadata,
    scheduled_for,
    error: { code, detail, errors },
  }
}

/** The number of due times that the API shows. */
export const SHOWN_RUNS = 5

/** Returns the schedule as the API answers it. `isAdmin`: the ids of readers are shown. */
export function scheduleView(schedule: Schedule, isAdmin: boolean): ScheduleView {
  const { workspace_id: _, revision: _revision, variables, notify, firing, readers, ...rest } = schedule
  return {
    ...rest,
    readers: Array.isArray(readers) && !isAdmin ? { count: readers.length } : readers,
    firing: firing && { scheduled_for: firing.scheduled_for, made: firing.made },
    notify: notify ?? [],
    template_vars: variables,
    next_runs: nextRuns(schedule, SHOWN_RUNS),
  }
}
