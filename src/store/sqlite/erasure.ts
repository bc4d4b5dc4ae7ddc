/** Erasing what the jobs of a user have left, in steps: over the jobs of the workspace by time, then over its events. */
import { isFinal, type JobStatus } from '../../job.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
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
