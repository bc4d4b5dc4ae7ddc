/**
 * A job as a row, and the only way in which its state changes: the row, the insight, the counts and the events with
 * their deliveries, in one transaction, for one job or for many. Whoever changes a job holds the lock of its row (FOR
 * UPDATE): others wait, and then find it changed.
 */
import { eventTypeOf, jobEventData } from '@assay/model/event'
import type { JobStatus } from '@assay/model/job'
import { type Change, type JobChange, moved, type OwnedJob } from '../job-move.ts'
import type { NewEvent } from '../rows.ts'
import type { Session, Transaction } from './connection.ts'
import { writeEvents } from './events.ts'

interface JobKey {
  workspace_id: string
  assignment_id: string
}

export function findJob(
  from: Session,
  key: JobKey,
  lock: '' | 'FOR UPDATE' = '',
): Promise<OwnedJob | undefined> {
  return from.one<OwnedJob>(
    `SELECT * FROM jobs WHERE assignment_id = $1 AND workspace_id = $2 ${lock}`,
    key.assignment_id,
    key.workspace_id,
  )
}

/** Locked in the order of their ids. */
export function lockJobs(tx: Transaction, assignment_ids: string[]): Promise<OwnedJob[]> {
  return tx.all<OwnedJob>(
    'SELECT * FROM jobs WHERE assignment_id = ANY ($1) ORDER BY assignment_id FOR UPDATE',
    assignment_ids,
  )
}

const UPDATE = `
  UPDATE jobs SET job_status = next.job_status, attempt = next.attempt, losses = next.losses, owner = next.owner,
    insight_id = next.insight_id, skipped = next.skipped, queued_at = next.queued_at, started_at = next.started_at,
    finished_at = next.finished_at, progress = next.progress, error = next.error, moves = next.moves
  FROM unnest($1::text[], $2::text[], $3::int[], $4::int[], $5::text[], $6::text[], $7::text[], $8::timestamptz[],
    $9::timestamptz[], $10::timestamptz[], $11::json[], $12::json[], $13::json[])
    AS next (assignment_id, job_status, attempt, losses, owner, insight_id, skipped, queued_at, started_at, finished_at,
      progress, error, moves)
  WHERE jobs.assignment_id = next.assignment_id`

function update(tx: Transaction, jobs: OwnedJob[]): Promise<number> {
  const column = <T>(of: (job: OwnedJob) => T): T[] => jobs.map(of)
  return tx.run(
    UPDATE,
    column((job) => job.assignment_id),
    column((job) => job.job_status),
    column((job) => job.attempt),
    column((job) => job.losses),
    column((job) => job.owner),
    column((job) => job.insight_id),
    column((job) => job.skipped),
    column((job) => job.queued_at),
    column((job) => job.started_at),
    column((job) => job.finished_at),
    column((job) => JSON.stringify(job.progress)),
    column((job) => job.error && JSON.stringify(job.error)),
    column((job) => JSON.stringify(job.moves)),
  )
}

/** Counts drafts and queued jobs by workspace (`job_counts`). Other moves, which are most, change no count. */
function count(tx: Transaction, changes: JobChange[]): void {
  const deltas = new Map<string, { draft: number; queued: number }>()
  const add = ({ workspace_id, job_status }: OwnedJob, by: number): void => {
    if (job_status !== 'draft' && job_status !== 'queued') return
    const delta = deltas.get(workspace_id) ?? { draft: 0, queued: 0 }
    delta[job_status] += by
    deltas.set(workspace_id, delta)
  }
  for (const { before, states } of changes) {
    add(before, -1)
    add(states.at(-1)!, 1)
  }
  if (deltas.size === 0) return
  const counted = tx.run(
    'SELECT count_jobs_of(id, draft, queued) FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS delta (id, draft, queued)',
    [...deltas.keys()],
    [...deltas.values()].map(({ draft }) => draft),
    [...deltas.values()].map(({ queued }) => queued),
  )
  tx.later(counted)
}

function eventsOf({ states }: JobChange, publicUrl: string | null): NewEvent[] {
  return states.flatMap((job) => {
    const type = eventTypeOf(job)
    if (!type) return []
    const { workspace_id, moves } = job
    return [{ workspace_id, type, at: moves.at(-1)!.at, data: { ...jobEventData(job, publicUrl) }, job }]
  })
}

/** Writes jobs that this transaction has locked as what they became. What fails shows at the next statement or the commit. */
export function writeMoves(tx: Transaction, changes: JobChange[]): void {
  if (changes.length === 0) return
  const jobs = changes.map(({ states }) => states.at(-1)!)
  const events = changes.flatMap((change) => eventsOf(change, tx.publicUrl))
  tx.later(update(tx, jobs))
  count(tx, changes)
  writeEvents(tx, events)
  for (const { assignment_id, job_status } of jobs) {
    tx.hint({ topic: 'job', assignment_id })
    if (job_status === 'queued') tx.hint({ topic: 'jobs' })
  }
}

/** Moves a job that this transaction has locked. An illegal move is a fault of the caller: it throws. */
export function moveJob(tx: Transaction, job: OwnedJob, to: JobStatus, change: Change = {}): OwnedJob {
  const next = moved(job, to, tx.now, change)
  writeMoves(tx, [{ before: job, states: [next] }])
  return next
}
