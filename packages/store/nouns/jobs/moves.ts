/**
 * Changes the state of jobs; nothing else does. It writes row, counts of the workspace, events and deliveries in one
 * transaction, for one job or for many. A caller locks the row of a job before it changes the job.
 */
import { eventTypeOf, jobEventData } from '@assay/model/event'
import type { JobStatus } from '@assay/model/job'
import type { NewEvent, Routine, Transaction, Writer } from '../../rows.ts'
import type { Statement } from '../../statement.ts'
import { JOBS } from '../../tables/jobs/jobs.ts'
import { type Change, type JobChange, moved, type OwnedJob } from './job-move.ts'

// Locked in the order of ids, so that no two transactions wait for each other.
const IN_ORDER = 'ORDER BY assignment_id FOR UPDATE'
const OF_IDS = 'WHERE assignment_id = ANY (:assignment_ids)'
const LOCK = JOBS.select({ sqlite: OF_IDS, postgres: `${OF_IDS} ${IN_ORDER}` })
const OF_NODES = 'WHERE owner = ANY (:node_ids)'
const LOCK_HELD = JOBS.select({ sqlite: OF_NODES, postgres: `${OF_NODES} ${IN_ORDER}` })
const HOLD = JOBS.select({ sqlite: OF_IDS, postgres: `${OF_IDS} ${IN_ORDER}` }, ['assignment_id'])
const UPDATE = JOBS.updateAll([
  'job_status',
  'attempt',
  'losses',
  'owner',
  'insight_id',
  'skipped',
  'queued_at',
  'started_at',
  'finished_at',
  'progress',
  'error',
  'moves',
])

/** Writes the columns that a claim changes. */
const UPDATE_CLAIMED = JOBS.updateAll(['job_status', 'attempt', 'owner', 'progress', 'moves'])

export function lockJobs(tx: Writer, assignment_ids: readonly string[]): Routine<OwnedJob[]> {
  return tx.all(LOCK, { assignment_ids })
}

export function lockHeld(tx: Writer, node_ids: readonly string[]): Routine<OwnedJob[]> {
  return tx.all(LOCK_HELD, { node_ids })
}

/** Locks the rows before one statement writes several jobs. */
export function* holdJobs(tx: Writer, assignment_ids: readonly string[]): Routine<void> {
  if (assignment_ids.length > 1) yield* tx.all(HOLD, { assignment_ids })
}

function eventOf(job: OwnedJob, publicUrl: string | null): NewEvent[] {
  const type = eventTypeOf(job)
  if (!type) return []
  const { workspace_id, moves } = job
  return [
    {
      workspace_id,
      type,
      at: moves.at(-1)!.at,
      data: { ...jobEventData(job, publicUrl) },
      job: { ...job, personal: job.reader_id !== null },
    },
  ]
}

/** Writes jobs that this transaction has locked and claimed. */
export function writeClaimed(tx: Transaction, changes: readonly JobChange[]): Routine<void> {
  return writeMoves(tx, changes, UPDATE_CLAIMED)
}

/** Writes moved jobs. The transaction holds their locks. */
export function* writeMoves(
  tx: Transaction,
  changes: readonly JobChange[],
  update: Statement = UPDATE,
): Routine<void> {
  const jobs = changes.map(({ states }) => states.at(-1)!)
  yield* tx.writeAll(update, jobs)
  yield* tx.native.countMoves(
    changes.map(({ before, states }) => ({
      workspace_id: before.workspace_id,
      from: before.job_status,
      to: states.at(-1)!.job_status,
    })),
  )
  const events = changes.flatMap(({ states }) => states.flatMap((job) => eventOf(job, tx.publicUrl)))
  yield* tx.native.writeEvents(events)
  for (const { assignment_id, job_status } of jobs) {
    tx.hint({ topic: 'job', assignment_id })
    if (job_status === 'queued') tx.hint({ topic: 'jobs' })
  }
}

/** Moves a job whose lock the transaction holds. Throws for an illegal move, which is a fault of the caller. */
export function* moveJob(
  tx: Transaction,
  job: OwnedJob,
  to: JobStatus,
  change: Change = {},
): Routine<OwnedJob> {
  const next = moved(job, to, tx.now, change)
  yield* writeMoves(tx, [{ before: job, states: [next] }])
  return next
}
