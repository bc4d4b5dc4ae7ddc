/** Schedules. A claim computes what is due. A settle makes the jobs and moves to the next due time in one transaction. */
import { iso } from '@assay/model/clock'
import { followersOf } from '@assay/model/collection'
import { AppError } from '@assay/model/errors'
import { PERSONAL_DETAIL } from '@assay/model/event'
import { uuidFor } from '@assay/model/ids'
import type { Job } from '@assay/model/job'
import {
  afterRuns,
  brokenFiring,
  changesTiming,
  type FiringState,
  NO_COUNTS,
  nextDue,
  type Plan,
  planRuns,
  SCHEDULES_MOST,
  type Schedule,
  type ScheduleFailing,
  type ScheduleRun,
  scheduleFailedData,
} from '@assay/model/schedule'
import { FOLLOWERS, followed, READER } from '@assay/model/subscription'
import {
  BROKEN_MS,
  CLAIM_MS,
  type ClaimedSchedule,
  type Fired,
  type FiringPage,
  FULL_MS,
  type NewSchedule,
  type ScheduleMaterial,
} from '../../contract/jobs/schedules.ts'
import type { Page } from '../../contract/page.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Transaction, Writer } from '../../rows.ts'
import { both, statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { SCHEDULES } from '../../tables/jobs/schedules.ts'
import { by } from '../../tables/table.ts'
import { findFollowers } from '../webhooks/webhooks.ts'
import { admitOneMore, type Cap } from '../workspace-lock.ts'
import { admitWork } from '../workspaces/processor-use.ts'
import { keepTemplateVersion } from '../workspaces/templates.ts'
import { collectionFollowers } from './collections.ts'
import { createJob, enqueueJob, reachedCap } from './jobs.ts'

const SCHEDULE = SCHEDULES.except('claim_at')
const OF_ID = by('schedule_id', 'workspace_id')
const FIND = SCHEDULES.select(OF_ID, SCHEDULE)
const LOCK = SCHEDULES.select(`${OF_ID} FOR UPDATE`, SCHEDULE)
const LOCK_REVISION = SCHEDULES.select(`${by('schedule_id', 'revision')} FOR UPDATE`, SCHEDULE)
const FIND_ANYWHERE = SCHEDULES.select(by('schedule_id'), ['schedule_id'])
const SAVE = SCHEDULES.upsert(SCHEDULES.columns, ['workspace_id', 'user_id', 'created_at'])
const DELETE = SCHEDULES.delete(OF_ID)
// Skips schedules that another node is claiming.
const LOCK_DUE = SCHEDULES.select(
  'WHERE claim_at <= :due ORDER BY claim_at, schedule_id LIMIT :limit FOR UPDATE SKIP LOCKED',
  SCHEDULE,
)
const CLAIM = SCHEDULES.sql('UPDATE schedules SET claim_at = :claim_at WHERE schedule_id = ANY (:claimed)')
const KEEP_RUN = SCHEDULES.update(['last_run'], by('schedule_id'))
const UNFINISHED = statement(
  'SELECT 1 FROM jobs WHERE schedule_id = :schedule_id AND schedule_id IS NOT NULL AND finished_at IS NULL LIMIT 1',
)
const CAP: Cap = {
  others: statement('SELECT count(*) AS count FROM schedules WHERE workspace_id = :workspace_id'),
  most: SCHEDULES_MOST,
  what: 'schedules',
}
const LIST = listOf(SCHEDULES, {
  columns: SCHEDULE,
  wide: ['variables', 'metadata', 'notify', 'readers'],
  id: 'schedule_id',
  filters: { template_id: null, user_id: null, paused: null },
  indexed: [['workspace_id']],
})

const COUNTED = 20
// The newest ended jobs of each schedule, without those that a person canceled.
const ENDED = statement<{ schedule_id: string; ended: [string, string | null, string | null][] | null }>(
  both((database) => {
    const [list, all] =
      database === 'sqlite' ? ['json_array', 'json_group_array'] : ['json_build_array', 'json_agg']
    return `SELECT schedule_id, (
        SELECT ${all}(${list}(id, code, detail)) FROM (
          SELECT assignment_id AS id, error ->> 'code' AS code, CASE WHEN reader_id IS NULL THEN error ->> 'detail' END AS detail FROM jobs
          WHERE jobs.workspace_id = one.workspace_id AND jobs.schedule_id = one.schedule_id
            AND jobs.schedule_id IS NOT NULL AND finished_at IS NOT NULL
          ORDER BY created_at DESC, assignment_id DESC LIMIT ${COUNTED}) AS latest) AS ended
      FROM schedules AS one WHERE workspace_id = :workspace_id AND schedule_id = ANY (:schedule_ids)`
  }),
  { ended: 'json' },
)

interface Key {
  workspace_id: string
  schedule_id: string
}

export function* getSchedule(from: Reader, key: Key): Routine<Schedule | null> {
  return (yield* from.find(FIND, key)) ?? null
}

/** Locks the schedule until the transaction ends. */
export function* lockSchedule(tx: Writer, key: Key): Routine<Schedule | null> {
  return (yield* tx.find(LOCK, key)) ?? null
}

export function listSchedules(from: Reader, query: Input<'listSchedules'>): Routine<Page<Schedule>> {
  return LIST.page(from, query)
}

export function* failingSchedules(
  from: Reader,
  input: Input<'failingSchedules'>,
): Routine<(ScheduleFailing & { schedule_id: string })[]> {
  if (input.schedule_ids.length === 0) return []
  const rows = yield* from.all(ENDED, input)
  return rows.flatMap(({ schedule_id, ended }) => {
    const told = (ended ?? []).filter(([, code]) => code !== 'canceled_by_user')
    const well = told.findIndex(([, code]) => code === null)
    const runs = well < 0 ? told.length : well
    const [last] = told
    if (!last || runs === 0) return []
    const [assignment_id, code, detail] = last
    return [
      { schedule_id, runs, assignment_id, error: { code: code ?? '', detail: detail ?? PERSONAL_DETAIL } },
    ]
  })
}

/** Saves the schedule. `claim_at` is when it is due, or now while jobs of readers remain to be made. */
function save(tx: Writer, schedule: Schedule, claim_at = claimAt(schedule, tx.now)): Routine<number> {
  return tx.run(SAVE, { ...schedule, claim_at })
}

function claimAt({ paused, firing, next_due_at }: Schedule, now: string): string | null {
  if (paused) return null
  return firing ? now : next_due_at
}

export function* createSchedule(tx: Writer, input: NewSchedule): Routine<Schedule> {
  const known = yield* tx.find(FIND, input)
  if (known) return known
  yield* admitOneMore(tx, input, CAP)
  if (yield* tx.find(FIND_ANYWHERE, input))
    throw new AppError('name_taken', `There is already a schedule ${input.schedule_id}.`)
  const at = tx.now
  const schedule: Schedule = {
    notify: null,
    readers: null,
    ...input,
    firing: null,
    counts: NO_COUNTS,
    last_run: null,
    last_error: null,
    next_due_at: nextDue(input, at),
    revision: 1,
    created_at: at,
    updated_at: at,
  }
  yield* save(tx, schedule)
  return schedule
}

export function* updateSchedule(
  tx: Writer,
  { patch, ...key }: Input<'updateSchedule'>,
): Routine<Schedule | null> {
  const present = yield* tx.find(LOCK, key)
  if (!present) return null
  const revision = present.revision + 1
  const changed: Schedule = { ...present, ...patch, revision, updated_at: tx.now }
  if (changesTiming(present, changed)) changed.next_due_at = nextDue(changed, tx.now)
  if (changed.readers === null) changed.firing = null
  yield* save(tx, changed)
  return changed
}

export function* deleteSchedule(tx: Writer, key: Key): Routine<boolean> {
  return (yield* tx.run(DELETE, key)) > 0
}

export function* claimSchedules(tx: Writer, { limit }: { limit: number }): Routine<ClaimedSchedule[]> {
  const { now } = tx
  const due = yield* tx.all(LOCK_DUE, { due: now, limit })
  if (due.length === 0) return []
  const claimed = due.map(({ schedule_id }) => schedule_id)
  yield* tx.run(CLAIM, { claim_at: iso(Date.parse(now) + CLAIM_MS), claimed })
  return due.map((schedule) => ({
    schedule,
    plan: schedule.firing?.plan ?? planRuns({ ...schedule, next_due_at: schedule.next_due_at! }, now),
  }))
}

/**
 * Returns the subscriptions that a run with these variables tells: those in `notify`, those that follow the schedule
 * or a collection with its series, and, if `notify` says so, those that follow the template or one of the metrics.
 */
function* toldBy(
  tx: Transaction,
  schedule: Schedule,
  variables: Readonly<Record<string, unknown>> | null,
  metrics: readonly string[] = [],
): Routine<string[] | null> {
  const { workspace_id, schedule_id, template_id, notify } = schedule
  const named = (notify ?? []).filter((id) => id !== FOLLOWERS && id !== READER)
  const reading = metrics.map((metric_id) => followed('metric', metric_id))
  const sent = notify?.includes(FOLLOWERS) ? [followed('template', template_id), ...reading] : []
  const all = [followed('schedule', schedule_id), ...sent]
  const collected = variables === null ? [] : yield* collectionFollowers(tx, schedule)
  const told = new Set([
    ...named,
    ...(yield* findFollowers(tx, { workspace_id, followed: all })),
    ...followersOf(collected, variables ?? {}),
  ])
  return told.size === 0 ? null : [...told]
}

function* makeJob(
  tx: Transaction,
  schedule: Schedule,
  { template, variables, reader_id = null, mail: own = null, metrics }: ScheduleMaterial,
  job: { assignment_id: string; scheduled_for: string | null; mail?: string | null },
): Routine<Job> {
  const { workspace_id, user_id, presence_name, priority, metadata, schedule_id } = schedule
  const { mail = own, ...id } = job
  // Only the reader is told of a personal insight.
  const told =
    reader_id === null ? yield* toldBy(tx, schedule, variables, metrics) : mail === null ? null : [mail]
  const made = yield* createJob(tx, {
    ...id,
    workspace_id,
    user_id,
    template,
    variables,
    presence_name,
    notify: told,
    priority,
    metadata,
    schedule_id,
    reader_id,
  })
  return made.job_status === 'draft' ? yield* enqueueJob(tx, made) : made
}

function* fail(tx: Transaction, schedule: Schedule): Routine<void> {
  const { workspace_id, presence_name, last_error } = schedule
  const notify = yield* toldBy(tx, schedule, null)
  const data = scheduleFailedData({ ...schedule, notify }, last_error!)
  const job = { assignment_id: null, presence_name, notify, skipped: null, personal: false }
  yield* tx.native.writeEvents([{ workspace_id, type: 'schedule.failed', at: tx.now, data, job }])
}

/** Returns the due times of the plan from this one on. */
const restOf = ({ times }: Plan, time: string): string[] => times.slice(times.indexOf(time))

/** Lets the readers without a job wait at their place, and writes one event. */
function* waitForRepair(tx: Transaction, before: Schedule, waiting: Schedule): Routine<boolean> {
  const again = iso(Date.parse(tx.now) + BROKEN_MS)
  const next = nextDue(waiting, waiting.firing!.plan.latest)
  const saved = { ...waiting, revision: before.revision + 1 }
  yield* save(tx, saved, waiting.paused ? null : next !== null && next < again ? next : again)
  if (waiting.last_error !== before.last_error) yield* fail(tx, saved)
  return true
}

export function* settleSchedule(tx: Transaction, input: Input<'settleSchedule'>): Routine<boolean> {
  const schedule = yield* tx.find(LOCK_REVISION, input)
  if (!schedule) return false
  const { plan, outcome } = input
  const created_at = tx.now
  const made: ScheduleRun[] = []
  let overlapped = 0
  const material = outcome !== null && !('error' in outcome) ? outcome : null
  for (const scheduled_for of material ? plan.times : []) {
    if (schedule.overlap === 'skip' && (yield* tx.find(UNFINISHED, schedule))) overlapped += 1
    else {
      const assignment_id = uuidFor(Date.parse(scheduled_for), `${schedule.schedule_id} ${scheduled_for}`)
      yield* makeJob(tx, schedule, material!, { assignment_id, scheduled_for })
      made.push({ assignment_id, scheduled_for, created_at })
    }
  }
  const fault = outcome !== null && 'error' in outcome ? outcome.error : null
  if (fault && schedule.firing) {
    const waiting = brokenFiring(schedule, fault, created_at)
    if (waiting) return yield* waitForRepair(tx, schedule, waiting)
  }
  const carried = schedule.firing ? { ...plan, times: restOf(plan, schedule.firing.scheduled_for) } : plan
  const after = afterRuns(schedule, { plan: carried, made, overlapped, fault }, created_at)
  yield* save(tx, { ...after, revision: schedule.revision + 1 })
  if (fault && plan.times.length > 0) yield* fail(tx, after)
  return true
}

/** Makes jobs of the readers until the workspace has as many queued as it may. */
function* makeForReaders(
  tx: Transaction,
  schedule: Schedule,
  { page, scheduled_for }: { page: FiringPage; scheduled_for: string },
): Routine<{ runs: ScheduleRun[]; full: boolean; after: string | null }> {
  const runs: ScheduleRun[] = []
  let after: string | null = null
  // The version is kept before the queue is locked, because others that keep the same version may wait for that lock.
  if (page.readers.length > 0) yield* keepTemplateVersion(tx, page.material.template)
  for (const { reader_id, notify } of page.readers) {
    if ((yield* reachedCap(tx, schedule.workspace_id)) !== null) return { runs, full: true, after }
    const name = `${schedule.schedule_id} ${scheduled_for} ${reader_id}`
    const assignment_id = uuidFor(Date.parse(scheduled_for), name)
    const job = { assignment_id, scheduled_for, mail: notify }
    yield* makeJob(tx, schedule, { ...page.material, reader_id }, job)
    runs.push({ assignment_id, scheduled_for, created_at: tx.now })
    after = reader_id
  }
  return { runs, full: false, after: page.after }
}

export function* fireSchedule(tx: Transaction, page: FiringPage): Routine<Fired | null> {
  const schedule = yield* tx.find(LOCK_REVISION, page)
  if (!schedule) return null
  const { plan } = page
  const firing = schedule.firing ?? { plan, scheduled_for: plan.times[0]!, after: '', made: 0 }
  const { scheduled_for } = firing
  const begins = firing.after === '' && firing.made === 0
  const passes = begins && schedule.overlap === 'skip' && (yield* tx.find(UNFINISHED, schedule))
  const { runs, full, after } = passes
    ? { runs: [], full: false, after: '' }
    : yield* makeForReaders(tx, schedule, { page, scheduled_for })
  const { counts } = schedule
  const counted: Schedule = {
    ...schedule,
    counts: {
      ...counts,
      made: counts.made + runs.length,
      overlapped: counts.overlapped + (passes ? 1 : 0),
    },
    last_run: runs.at(-1) ?? schedule.last_run,
    revision: schedule.revision + 1,
  }
  const made = firing.made + runs.length
  const ended = passes || (page.last && !full)
  const next = restOf(plan, scheduled_for)[1]
  const rest: FiringState | null = !ended
    ? { plan, scheduled_for, after: after ?? firing.after, made }
    : next === undefined
      ? null
      : { plan, scheduled_for: next, after: '', made: 0 }
  const done = { plan, made: [], overlapped: 0, fault: null }
  const saved = rest ? { ...counted, firing: rest } : afterRuns(counted, done, tx.now)
  // This node continues at once. If it dies, another node continues.
  const again = full ? FULL_MS : CLAIM_MS
  yield* rest && !saved.paused ? save(tx, saved, iso(Date.parse(tx.now) + again)) : save(tx, saved)
  return { revision: saved.revision, made: runs.length, firing: rest, full }
}

export function* runSchedule(tx: Transaction, input: Input<'runSchedule'>): Routine<Job | null> {
  const schedule = yield* tx.find(LOCK, input)
  if (!schedule) return null
  const { assignment_id, mail = null } = input
  yield* admitWork(tx, schedule.workspace_id)
  const job = yield* makeJob(tx, schedule, input, { assignment_id, scheduled_for: null, mail })
  const last_run: ScheduleRun = { assignment_id, scheduled_for: null, created_at: job.created_at }
  yield* tx.run(KEEP_RUN, { schedule_id: schedule.schedule_id, last_run })
  return job
}
