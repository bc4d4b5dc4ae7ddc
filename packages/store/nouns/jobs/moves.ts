/**
 * A job as a row, and the only way in which its state changes: the row, the counts of its workspace and the events with
 * their deliveries, in one transaction, for one job or for many. Whoever changes a job has locked its row: others wait,
 * and then find it changed.
 */
import { eventTypeOf, jobEventData } from '@assay/model/event'
import type { JobStatus } from '@assay/model/job'
import type { NewEvent, Routine, Transaction, Writer } from '../../rows.ts'
import type { Statement } from '../../statement.ts'
import { JOBS } from '../../tables/jobs/jobs.ts'
import { type Change, type JobChange, moved, type OwnedJob } from './job-move.ts'

// In the order of their ids, so that no two wait for each other.
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

/** What a claim changes. */
const UPDATE_CLAIMED = JOBS.updateAll(['job_status', 'attempt', 'owner', 'progress', 'moves'])

export function lockJobs(tx: Writer, assignment_ids: readonly string[]): Routine<OwnedJob[]> {
  return tx.all(LOCK, { assignment_ids })
}

export function lockHeld(tx: Writer, node_ids: readonly string[]): Routine<OwnedJob[]> {
  return tx.all(LOCK_HELD, { node_ids })
}

/** The locks alone, before several jobs are written by one statement. */
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

/** Jobs that this transaction has locked and claimed. */
export function writeClaimed(tx: Transaction, changes: readonly JobChange[]): Routine<void> {
  return writeMoves(tx, changes, UPDATE_CLAIMED)
}

/** Writes jobs that this transaction has locked as what they became. */
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

/** Moves a job that this transaction has locked. An illegal move is a fault of the caller: it throws. */
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
