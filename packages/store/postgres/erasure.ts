/**
 * Erasing in steps of a bounded size. What the jobs of a user have left: over the jobs of the workspace by time, then over
 * its events. A workspace with all that is in it: closed first, so that nobody sees it half gone, and then emptied.
 */
import { AppError } from '@assay/model/errors'
import { isFinal, type JobStatus } from '@assay/model/job'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { TABLES_OF_WORKSPACE, unfinished } from '../erasure.ts'
import type { Input, Store } from '../store.ts'
import { OUT_OF_INDEXES, type Transaction } from './connection.ts'
import { removeDeliveriesOfJobs } from './deliveries.ts'
import { cancelJob, removeJobs } from './jobs.ts'

const LIST = 'erasure'
/** Stands for an assignment id once the jobs are done. */
const EVENTS = '*'
const BEGINNING = '1970-01-01T00:00:00.000Z'

type Step = Awaited<ReturnType<Store['eraseUser']>>

interface JobKey {
  assignment_id: string
  user_id: string
  job_status: JobStatus
  created_at: string
}

async function eraseJobs(tx: Transaction, input: Input<'eraseUser'>, at: string, id: string): Promise<Step> {
  const { workspace_id, user_id, limit } = input
  const rows = await tx.all<JobKey>(
    `SELECT assignment_id, user_id, job_status, created_at FROM jobs
     WHERE workspace_id = $1 AND (created_at, assignment_id) > ($2, $3) ORDER BY created_at, assignment_id LIMIT $4`,
    workspace_id,
    at,
    id,
    limit,
  )
  const own = rows.filter((row) => row.user_id === user_id)
  for (const { assignment_id, job_status } of own) {
    // One that completes in this moment needs no cancel: its row is locked by the other, and then it has ended.
    if (isFinal(job_status)) continue
    const locked = await tx.one<JobKey>(
      'SELECT job_status FROM jobs WHERE assignment_id = $1 FOR UPDATE',
      assignment_id,
    )
    if (locked && !isFinal(locked.job_status)) await cancelJob(tx, { workspace_id, assignment_id })
  }
  if (own.length > 0)
    await removeJobs(
      tx,
      own.map(({ assignment_id }) => assignment_id),
    )
  const last = rows.length < limit ? undefined : rows.at(-1)
  const next = last ? [last.created_at, last.assignment_id, 0] : [BEGINNING, EVENTS, 0]
  return { jobs: own.length, events: 0, next_cursor: encodeCursor(LIST, next) }
}

interface EventKey {
  seq: number
  timestamp: string
  data: { user_id?: string; assignment_id?: string }
}

async function eraseEvents(
  tx: Transaction,
  input: Input<'eraseUser'>,
  at: string,
  after: number,
): Promise<Step> {
  const rows = await tx.all<EventKey>(
    `SELECT seq, timestamp, data FROM events WHERE workspace_id = $1 AND (timestamp, seq) > ($2, $3)
     ORDER BY timestamp, seq LIMIT $4`,
    input.workspace_id,
    at,
    after,
    input.limit,
  )
  const own = rows.filter(({ data }) => data.user_id === input.user_id && data.assignment_id !== undefined)
  if (own.length > 0) {
    const seqs = own.map(({ seq }) => seq)
    // One may have been sent anew after its job was deleted.
    await removeDeliveriesOfJobs(tx, [...new Set(own.map(({ data }) => data.assignment_id!))])
    await tx.run('DELETE FROM deliveries WHERE event_seq = ANY ($1)', seqs)
    await tx.run('DELETE FROM events WHERE seq = ANY ($1)', seqs)
  }
  const last = rows.length < input.limit ? undefined : rows.at(-1)
  const next_cursor = last ? encodeCursor(LIST, [last.timestamp, EVENTS, last.seq]) : null
  return { jobs: 0, events: own.length, next_cursor }
}

export function eraseUser(tx: Transaction, input: Input<'eraseUser'>): Promise<Step> {
  const position =
    input.cursor === undefined
      ? [BEGINNING, '', 0]
      : decodeCursor(LIST, input.cursor, ['string', 'string', 'number'])
  const [at, id, seq] = position as [string, string, number]
  return id === EVENTS ? eraseEvents(tx, input, at, seq) : eraseJobs(tx, input, at, id)
}

/**
 * From now on nobody sees it, and nothing is accepted in it. One that is closed already is to be emptied. False: not there.
 */
export async function closeWorkspace(tx: Transaction, workspace_id: string): Promise<boolean> {
  // The lock holds up what is being made in it, and waits for what has been: SQLite has one writer anyway.
  const found = await tx.one<{ deleted_at: string | null }>(
    'SELECT deleted_at FROM workspaces WHERE workspace_id = $1 FOR UPDATE',
    workspace_id,
  )
  if (!found) return false
  if (found.deleted_at !== null) return true
  if (workspace_id === DEFAULT_WORKSPACE)
    throw new AppError('conflict', 'The default workspace cannot be deleted.')
  const jobs = await tx.one<{ unfinished: number }>(
    `SELECT (SELECT count(*) FROM jobs WHERE workspace_id = $1 AND job_status IN ('draft', 'queued'))
       + (SELECT count(*) FROM jobs WHERE workspace_id = $1 AND owner IS NOT NULL) AS unfinished`,
    workspace_id,
  )
  if (jobs && jobs.unfinished > 0) throw unfinished(jobs.unfinished)
  await tx.run('UPDATE workspaces SET deleted_at = $2 WHERE workspace_id = $1', workspace_id, tx.now)
  // Without them no further job is accepted (0019_deletion), no schedule makes one, and nothing more is sent.
  await tx.run('DELETE FROM job_counts WHERE workspace_id = $1', workspace_id)
  await tx.run('UPDATE schedules SET claim_at = NULL WHERE workspace_id = $1', workspace_id)
  await tx.run(
    `UPDATE webhooks SET status = 'disabled', claim_at = NULL WHERE workspace_id = $1`,
    workspace_id,
  )
  return true
}

async function removeSomeJobs(tx: Transaction, workspace_id: string, most: number): Promise<number> {
  const jobs = await tx.all<{ assignment_id: string }>(
    'SELECT assignment_id FROM jobs WHERE workspace_id = $1 ORDER BY created_at, assignment_id LIMIT $2',
    workspace_id,
    most,
  )
  if (jobs.length > 0)
    await removeJobs(
      tx,
      jobs.map(({ assignment_id }) => assignment_id),
    )
  return jobs.length
}

const DELIVERIES_OF_WORKSPACE = `
  DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
    SELECT few.delivery_id FROM webhooks CROSS JOIN LATERAL (
      SELECT delivery_id FROM deliveries WHERE deliveries.webhook_id = webhooks.webhook_id LIMIT $2) AS few
    WHERE webhooks.workspace_id = $1 LIMIT $2))`

/** At most so many rows of one table. Answers how many there were; with none left the workspace itself is gone. */
export async function emptyWorkspace(tx: Transaction, workspace_id: string, most: number): Promise<number> {
  await tx.run(OUT_OF_INDEXES)
  const closed = await tx.one(
    'SELECT 1 FROM workspaces WHERE workspace_id = $1 AND deleted_at IS NOT NULL FOR UPDATE',
    workspace_id,
  )
  if (!closed) return 0
  const jobs = await removeSomeJobs(tx, workspace_id, most)
  if (jobs > 0) return jobs
  const deliveries = await tx.run(DELIVERIES_OF_WORKSPACE, workspace_id, most)
  if (deliveries > 0) return deliveries
  for (const table of TABLES_OF_WORKSPACE) {
    const rows = await tx.run(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM ${table} WHERE workspace_id = $1 LIMIT $2))`,
      workspace_id,
      most,
    )
    if (rows > 0) return rows
  }
  await tx.run('DELETE FROM workspaces WHERE workspace_id = $1', workspace_id)
  return 0
}

/** The next step of a deletion whose node has died. */
export async function emptyClosed(tx: Transaction, most: number): Promise<number> {
  const closed = await tx.one<{ workspace_id: string }>(
    'SELECT workspace_id FROM workspaces WHERE deleted_at IS NOT NULL LIMIT 1 FOR UPDATE SKIP LOCKED',
  )
  return closed ? emptyWorkspace(tx, closed.workspace_id, most) : 0
}
