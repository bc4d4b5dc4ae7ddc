/**
 * Erases in steps of a bounded size. For a user it erases the jobs of the workspace by time, then its events. It
 * first closes a workspace, so that nobody sees it half deleted, and then empties it.
 */
import { AppError } from '@assay/model/errors'
import { HELD, isFinal, type Job, type JobStatus, UNFINISHED } from '@assay/model/job'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { decodeCursor, encodeCursor } from '../../cursor.ts'
import type { Routine, Transaction } from '../../rows.ts'
import { listed, statement } from '../../statement.ts'
import type { Input, Store } from '../../store.ts'
import { KEPT_DRAFTS } from '../../tables/accounts/kept-drafts.ts'
import { COLLECTION_ITEMS, COLLECTIONS } from '../../tables/jobs/collections.ts'
import { JOB_COUNTS } from '../../tables/jobs/jobs.ts'
import { KEPT_DAYS, KEPT_SERIES } from '../../tables/jobs/kept-days.ts'
import { SCHEDULES } from '../../tables/jobs/schedules.ts'
import { by } from '../../tables/table.ts'
import { EVENTS, type EventRow } from '../../tables/webhooks/events.ts'
import { MAIL_CONSENTS } from '../../tables/webhooks/mail-consents.ts'
import { WEBHOOKS } from '../../tables/webhooks/webhooks.ts'
import { TOKENS, USERS, WORKSPACES } from '../../tables/workspaces/accounts.ts'
import { CONNECTIONS } from '../../tables/workspaces/connections.ts'
import { FILE_DIALECTS } from '../../tables/workspaces/file-dialects.ts'
import { IDEMPOTENCY_KEYS } from '../../tables/workspaces/idempotency-keys.ts'
import { METRICS } from '../../tables/workspaces/metrics.ts'
import { NARRATIVES } from '../../tables/workspaces/narratives.ts'
import { OUTGOING } from '../../tables/workspaces/outgoing.ts'
import { PROCESSOR_USE } from '../../tables/workspaces/processor-use.ts'
import { READERS } from '../../tables/workspaces/readers.ts'
import { SIGN_INS } from '../../tables/workspaces/sign-ins.ts'
import { TEMPLATES } from '../../tables/workspaces/templates.ts'
import { cancelJob, removeJobs } from '../jobs/jobs.ts'
import { lockJobs } from '../jobs/moves.ts'
import { lockOfWorkspace } from '../webhooks/states.ts'
import { cancelDeliveriesOfJobs, deletionOf } from '../webhooks/waiting.ts'

/**
 * The tables that name the workspace, except jobs, insights and deliveries, which are emptied first. A table to which
 * others refer comes after them.
 */
export const TABLES_OF_WORKSPACE = [
  WEBHOOKS,
  EVENTS,
  SCHEDULES,
  COLLECTION_ITEMS,
  COLLECTIONS,
  TEMPLATES,
  METRICS,
  KEPT_DRAFTS,
  CONNECTIONS,
  NARRATIVES,
  KEPT_DAYS,
  KEPT_SERIES,
  FILE_DIALECTS,
  OUTGOING,
  PROCESSOR_USE,
  SIGN_INS,
  MAIL_CONSENTS,
  READERS,
  TOKENS,
  USERS,
  IDEMPOTENCY_KEYS,
  JOB_COUNTS,
]
const DELETE_SOME = TABLES_OF_WORKSPACE.map((table) => table.deleteSome(by('workspace_id')))

const IN_ORDER = 'ORDER BY created_at, assignment_id LIMIT :limit'
const ofPart = (part: string): string => `SELECT assignment_id, user_id, created_at FROM ${part}
  AND workspace_id = :workspace_id AND (created_at, assignment_id) > (:at, :id)`
// Each part has an index of its own.
const NEXT_JOBS = statement<Pick<Job, 'assignment_id' | 'user_id' | 'created_at'>>({
  sqlite: `${ofPart('jobs WHERE reader_id IS NULL')} UNION ALL ${ofPart('jobs WHERE reader_id IS NOT NULL')} ${IN_ORDER}`,
  postgres: `${[
    'jobs WHERE owner IS NULL AND reader_id IS NULL',
    'jobs WHERE owner IS NULL AND reader_id IS NOT NULL',
    'held_jobs(:workspace_id) AS jobs WHERE true',
  ]
    .map((part) => `(${ofPart(part)} ${IN_ORDER})`)
    .join(' UNION ALL ')} ${IN_ORDER}`,
})
// On PostgreSQL numbers do not rise with time, so it uses the index by time.
const NEXT_EVENTS = EVENTS.sql<Pick<EventRow, 'seq' | 'timestamp' | 'data'>>({
  sqlite: `SELECT seq, timestamp, data FROM events WHERE workspace_id = :workspace_id AND seq > :seq
    ORDER BY seq LIMIT :limit`,
  postgres: `SELECT seq, timestamp, data FROM events WHERE workspace_id = :workspace_id AND (timestamp, seq) > (:at, :seq)
    ORDER BY timestamp, seq LIMIT :limit`,
})
const DELETE_DELIVERIES_OF_EVENTS = statement(
  deletionOf('SELECT delivery_id FROM deliveries WHERE event_seq = ANY (:seqs)'),
)
const DELETE_EVENTS = statement('DELETE FROM events WHERE seq = ANY (:seqs)')

// Locks schedules by id before the workspace, because a job of a schedule locks the schedule and then the workspace.
const LOCK_SCHEDULES = SCHEDULES.select(
  { sqlite: by('workspace_id'), postgres: `${by('workspace_id')} ORDER BY schedule_id FOR UPDATE` },
  ['schedule_id'],
)
// The lock waits for objects that are being made in the workspace, and holds up further ones.
const LOCK_WORKSPACE = WORKSPACES.select(`${by('workspace_id')} FOR UPDATE`, ['deleted_at'])
const LOCK_CLOSED = WORKSPACES.select(`${by('workspace_id')} AND deleted_at IS NOT NULL FOR NO KEY UPDATE`, [
  'name',
])
const NEXT_CLOSED = WORKSPACES.select('WHERE deleted_at IS NOT NULL LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED', [
  'workspace_id',
])
const CLOSE = WORKSPACES.update(['deleted_at'], by('workspace_id'))
const DELETE = WORKSPACES.delete(by('workspace_id'))
const STOP_SCHEDULES = SCHEDULES.update(['claim_at'], by('workspace_id'))
const STOP_WEBHOOKS = WEBHOOKS.update(['status', 'claim_at'], `${by('workspace_id')} AND status = 'enabled'`)
const FREE = 'SELECT webhook_id FROM webhooks WHERE workspace_id = :workspace_id'
const STOP_FREE_WEBHOOKS = WEBHOOKS.update(
  ['status', 'claim_at'],
  `WHERE webhook_id IN (${FREE} AND status = 'enabled' FOR NO KEY UPDATE SKIP LOCKED)`,
)
const STOPPED = { status: 'disabled', claim_at: null }
const SOME_JOBS = statement<{ assignment_id: string }>(
  `SELECT assignment_id FROM jobs WHERE workspace_id = :workspace_id AND owner IS NULL
   ORDER BY job_status, created_at, assignment_id LIMIT :most`,
)
// PostgreSQL counts only drafts and queued jobs, in rows that others may hold. So the jobs are counted directly.
const WAITING = UNFINISHED.filter((status) => !(HELD as readonly JobStatus[]).includes(status))
const COUNT_UNFINISHED = statement<{ unfinished: number }>({
  sqlite: `SELECT ${UNFINISHED.join(' + ')} AS unfinished FROM job_counts WHERE workspace_id = :workspace_id`,
  postgres: `SELECT (SELECT count(*) FROM jobs WHERE workspace_id = :workspace_id AND owner IS NULL AND job_status IN (${listed(WAITING)}))
    + (SELECT count(*) FROM jobs WHERE workspace_id = :workspace_id AND owner IS NOT NULL) AS unfinished`,
})
const DELETE_COUNTS = JOB_COUNTS.delete(by('workspace_id'))
// No index of deliveries begins with the workspace, so they are found by its webhooks, a few of each.
const SOME_DELIVERIES = statement({
  sqlite: deletionOf(`SELECT delivery_id FROM webhooks CROSS JOIN deliveries USING (webhook_id)
      WHERE webhooks.workspace_id = :workspace_id LIMIT :most`).sqlite,
  postgres: deletionOf(`SELECT few.delivery_id FROM webhooks CROSS JOIN LATERAL (
        SELECT delivery_id FROM deliveries WHERE deliveries.webhook_id = webhooks.webhook_id LIMIT :most) AS few
      WHERE webhooks.workspace_id = :workspace_id LIMIT :most`).postgres,
})

const CURSOR = 'erasure'
/** The cursor after the last job, among the events. */
const AMONG_EVENTS = '*'
const BEGINNING = '1970-01-01T00:00:00.000Z'

type Position = [at: string, id: string, seq: number]
type Step = Awaited<ReturnType<Store['eraseUser']>>

function* eraseJobs(tx: Transaction, input: Input<'eraseUser'>, [at, id]: Position): Routine<Step> {
  const { workspace_id, user_id, limit } = input
  const rows = yield* tx.all(NEXT_JOBS, { workspace_id, at, id, limit })
  const own = rows.filter((row) => row.user_id === user_id)
  const assignment_ids = own.map(({ assignment_id }) => assignment_id)
  // A job that completes at this moment needs no cancel: its lock waits until it has ended.
  for (const { assignment_id, job_status } of yield* lockJobs(tx, assignment_ids))
    if (!isFinal(job_status)) yield* cancelJob(tx, { workspace_id, assignment_id })
  yield* removeJobs(tx, assignment_ids)
  const last = rows.length < limit ? undefined : rows.at(-1)
  const next: Position = last ? [last.created_at, last.assignment_id, 0] : [BEGINNING, AMONG_EVENTS, 0]
  return { jobs: own.length, events: 0, next_cursor: encodeCursor(CURSOR, next) }
}

function* eraseEvents(tx: Transaction, input: Input<'eraseUser'>, [at, , seq]: Position): Routine<Step> {
  const { workspace_id, user_id, limit } = input
  const rows = yield* tx.all(NEXT_EVENTS, { workspace_id, at, seq, limit })
  const jobs = new Map<number, string>()
  for (const { seq: own, data } of rows) {
    const { user_id: of, assignment_id } = data as { user_id?: string; assignment_id?: string }
    if (of === user_id && assignment_id !== undefined) jobs.set(own, assignment_id)
  }
  if (jobs.size > 0) {
    const seqs = [...jobs.keys()]
    // A delivery may have been sent again after its job was deleted. The attempts go with the deliveries.
    yield* cancelDeliveriesOfJobs(tx, [...new Set(jobs.values())])
    yield* tx.run(DELETE_DELIVERIES_OF_EVENTS, { seqs })
    yield* tx.run(DELETE_EVENTS, { seqs })
  }
  const last = rows.length < limit ? undefined : rows.at(-1)
  const next_cursor = last ? encodeCursor(CURSOR, [last.timestamp, AMONG_EVENTS, last.seq]) : null
  return { jobs: 0, events: jobs.size, next_cursor }
}

export function eraseUser(tx: Transaction, input: Input<'eraseUser'>): Routine<Step> {
  const position =
    input.cursor === undefined
      ? [BEGINNING, '', 0]
      : decodeCursor(CURSOR, input.cursor, ['string', 'string', 'number'])
  const erase = position[1] === AMONG_EVENTS ? eraseEvents : eraseJobs
  return erase(tx, input, position as Position)
}

/**
 * Closes the workspace: nobody sees it, and it accepts nothing. Returns true for a closed one too, and false if there
 * is no such workspace.
 */
export function* closeWorkspace(tx: Transaction, workspace_id: string): Routine<boolean> {
  yield* tx.all(LOCK_SCHEDULES, { workspace_id })
  const found = yield* tx.find(LOCK_WORKSPACE, { workspace_id })
  if (!found) return false
  if (found.deleted_at !== null) return true
  if (workspace_id === DEFAULT_WORKSPACE)
    throw new AppError('conflict', 'The default workspace cannot be deleted.')
  const { unfinished } = (yield* tx.find(COUNT_UNFINISHED, { workspace_id })) ?? { unfinished: 0 }
  if (unfinished > 0)
    throw new AppError(
      'conflict',
      `The workspace has ${unfinished} unfinished jobs: cancel them or wait until they end.`,
    )
  // Without its counts the workspace accepts no job, no schedule makes one and nothing more is sent. The first step stops a webhook
  // that another transaction holds. That transaction may want the workspace, so nothing waits for it here.
  yield* tx.run(CLOSE, { workspace_id, deleted_at: tx.now })
  yield* tx.run(DELETE_COUNTS, { workspace_id })
  yield* tx.run(STOP_SCHEDULES, { workspace_id, claim_at: null })
  yield* tx.run(STOP_FREE_WEBHOOKS, { workspace_id, ...STOPPED })
  return true
}

function* removeSome(tx: Transaction, workspace_id: string, most: number): Routine<number> {
  for (const deleteSome of [SOME_DELIVERIES, ...DELETE_SOME]) {
    const rows = yield* tx.run(deleteSome, { workspace_id, most })
    if (rows > 0) return rows
  }
  return 0
}

/** Deletes at most `most` rows of one table. Deletes the workspace if no row is left. Returns the number of rows. */
export function* emptyWorkspace(tx: Transaction, workspace_id: string, most: number): Routine<number> {
  yield* tx.native.useIndexes()
  if (!(yield* tx.find(LOCK_CLOSED, { workspace_id }))) return 0
  const jobs = yield* tx.all(SOME_JOBS, { workspace_id, most })
  const assignment_ids = jobs.map(({ assignment_id }) => assignment_id)
  if (jobs.length > 0) yield* lockJobs(tx, assignment_ids)
  yield* lockOfWorkspace(tx, workspace_id)
  yield* tx.run(STOP_WEBHOOKS, { workspace_id, ...STOPPED })
  yield* removeJobs(tx, assignment_ids)
  if (jobs.length > 0) return jobs.length
  const removed = yield* removeSome(tx, workspace_id, most)
  if (removed > 0) return removed
  // Nobody holds a row of the workspace any more. A row that is being made is left to the next step.
  yield* tx.find(LOCK_WORKSPACE, { workspace_id })
  const late = yield* tx.all(SOME_JOBS, { workspace_id, most })
  const left = late.length + (yield* removeSome(tx, workspace_id, most))
  if (left === 0) yield* tx.run(DELETE, { workspace_id })
  return left
}

/** Makes the next step of a deletion whose process died. */
export function* emptyClosed(tx: Transaction, most: number): Routine<number> {
  const closed = yield* tx.find(NEXT_CLOSED)
  return closed ? yield* emptyWorkspace(tx, closed.workspace_id, most) : 0
}
