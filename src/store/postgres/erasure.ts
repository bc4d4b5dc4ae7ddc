/** Erasing what the jobs of a user have left, in steps: over the jobs of the workspace by time, then over its events. */
import { isFinal, type JobStatus } from '../../job.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { Input, Store } from '../store.ts'
import type { Transaction } from './connection.ts'
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
