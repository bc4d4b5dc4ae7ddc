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
import type { Connection } from './connection.ts'
import { removeDeliveriesOfJob } from './deliveries.ts'
import { cancelJob, removeJob } from './jobs.ts'

const LIST = 'erasure'
/** Stands for an assignment id once the jobs are done. */
const EVENTS = '*'

type Step = Awaited<ReturnType<Store['eraseUser']>>

interface JobKey {
  assignment_id: string
  user_id: string
  job_status: JobStatus
  created_at: string
}

function eraseJobs(connection: Connection, input: Input<'eraseUser'>, at: string, id: string): Step {
  const { workspace_id, user_id, limit } = input
  const rows = connection.all<JobKey>(
    `SELECT assignment_id, user_id, job_status, created_at FROM jobs
     WHERE workspace_id = ? AND (created_at, assignment_id) > (?, ?) ORDER BY created_at, assignment_id LIMIT ?`,
    workspace_id,
    at,
    id,
    limit,
  )
  const own = rows.filter((row) => row.user_id === user_id)
  for (const { assignment_id, job_status } of own) {
    if (!isFinal(job_status)) cancelJob(connection, { workspace_id, assignment_id })
    removeJob(connection, assignment_id)
  }
  const last = rows.length < limit ? undefined : rows.at(-1)
  const next = last ? [last.created_at, last.assignment_id, 0] : ['', EVENTS, 0]
  return { jobs: own.length, events: 0, next_cursor: encodeCursor(LIST, next) }
}

function eraseEvents(connection: Connection, input: Input<'eraseUser'>, after: number): Step {
  const rows = connection.all<{ seq: number; data: string }>(
    'SELECT seq, data FROM events WHERE workspace_id = ? AND seq > ? ORDER BY seq LIMIT ?',
    input.workspace_id,
    after,
    input.limit,
  )
  let events = 0
  for (const { seq, data } of rows) {
    const { user_id, assignment_id } = JSON.parse(data) as { user_id?: string; assignment_id?: string }
    if (user_id !== input.user_id || assignment_id === undefined) continue
    // One may have been sent anew after its job was deleted.
    removeDeliveriesOfJob(connection, assignment_id)
    connection.run('DELETE FROM deliveries WHERE event_seq = ?', seq)
    connection.run('DELETE FROM events WHERE seq = ?', seq)
    events += 1
  }
  const last = rows.length < input.limit ? undefined : rows.at(-1)
  const next_cursor = last ? encodeCursor(LIST, ['', EVENTS, last.seq]) : null
  return { jobs: 0, events, next_cursor }
}

export function eraseUser(connection: Connection, input: Input<'eraseUser'>): Step {
  const position =
    input.cursor === undefined
      ? ['', '', 0]
      : decodeCursor(LIST, input.cursor, ['string', 'string', 'number'])
  const [at, id, seq] = position as [string, string, number]
  return id === EVENTS ? eraseEvents(connection, input, seq) : eraseJobs(connection, input, at, id)
}

/**
 * From now on nobody sees it, and nothing is accepted in it. One that is closed already is to be emptied. False: not there.
 */
export function closeWorkspace(connection: Connection, workspace_id: string): boolean {
  const found = connection.one<{ deleted_at: string | null }>(
    'SELECT deleted_at FROM workspaces WHERE workspace_id = ?',
    workspace_id,
  )
  if (!found) return false
  if (found.deleted_at !== null) return true
  if (workspace_id === DEFAULT_WORKSPACE)
    throw new AppError('conflict', 'The default workspace cannot be deleted.')
  const lane = connection.one<{ unfinished: number }>(
    'SELECT draft + queued + active + executing AS unfinished FROM job_counts WHERE workspace_id = ?',
    workspace_id,
  )
  if (lane && lane.unfinished > 0) throw unfinished(lane.unfinished)
  // No further job is accepted then (0019_deletion), no schedule makes one, and nothing more is sent.
  connection.run(
    'UPDATE workspaces SET deleted_at = ? WHERE workspace_id = ?',
    connection.now(),
    workspace_id,
  )
  connection.run('UPDATE schedules SET claim_at = NULL WHERE workspace_id = ?', workspace_id)
  connection.run(
    `UPDATE webhooks SET status = 'disabled', claim_at = NULL WHERE workspace_id = ?`,
    workspace_id,
  )
  return true
}

/** The primary key where a table has no rowid. */
const KEYS: Record<string, string> = { idempotency_keys: 'workspace_id, method, path, key' }

/** At most so many rows of one table. Answers how many there were; with none left the workspace itself is gone. */
export function emptyWorkspace(connection: Connection, workspace_id: string, most: number): number {
  const closed = connection.one(
    'SELECT 1 FROM workspaces WHERE workspace_id = ? AND deleted_at IS NOT NULL',
    workspace_id,
  )
  if (!closed) return 0
  const jobs = connection.all<{ assignment_id: string }>(
    'SELECT assignment_id FROM jobs WHERE workspace_id = ? ORDER BY created_at, assignment_id LIMIT ?',
    workspace_id,
    most,
  )
  for (const { assignment_id } of jobs) removeJob(connection, assignment_id)
  if (jobs.length > 0) return jobs.length
  const deliveries = connection.run(
    `DELETE FROM deliveries WHERE delivery_id IN (
       SELECT delivery_id FROM webhooks CROSS JOIN deliveries USING (webhook_id)
       WHERE webhooks.workspace_id = ? LIMIT ?)`,
    workspace_id,
    most,
  )
  if (deliveries > 0) return deliveries
  for (const table of TABLES_OF_WORKSPACE) {
    const key = KEYS[table] ?? 'rowid'
    const rows = connection.run(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE workspace_id = ? LIMIT ?)`,
      workspace_id,
      most,
    )
    if (rows > 0) return rows
  }
  connection.run('DELETE FROM workspaces WHERE workspace_id = ?', workspace_id)
  return 0
}

/** The next step of a deletion whose process has died. */
export function emptyClosed(connection: Connection, most: number): number {
  const closed = connection.one<{ workspace_id: string }>(
    'SELECT workspace_id FROM workspaces WHERE deleted_at IS NOT NULL LIMIT 1',
  )
  return closed ? emptyWorkspace(connection, closed.workspace_id, most) : 0
}
