/** The work that SQLite does by SQL of its own, for the nouns. */
import { isFinal, type JobStatus } from '@assay/model/job'
import type { CountedMove, Native, Routine, Transaction, Writer } from '../rows.ts'
import { type Statement, statement } from '../statement.ts'
import { claimDeliveries } from './claim-deliveries.ts'
import { claimJobs } from './claim-jobs.ts'
import { writeEvents } from './events.ts'

// There is one writer, so a workspace has one row of counts, with the head of its queue. A claim reads nothing else.
// A trigger has made the row, with the bytes of the job.
const COUNT_DRAFT = statement('UPDATE job_counts SET draft = draft + 1 WHERE workspace_id = :workspace_id')
const HEAD = `head_queued_at = (
  SELECT queued_at FROM jobs WHERE jobs.workspace_id = job_counts.workspace_id AND job_status = 'queued'
  ORDER BY priority DESC, queued_at, assignment_id LIMIT 1)`

const SERVED = 'served = (SELECT max(served) FROM job_counts) + 1'

/** The statements by move. They are few, and each is made once. */
const counts = new Map<string, Statement>()

function countOf(from: JobStatus, to: JobStatus | null): Statement {
  const key = `${from} ${to}`
  const known = counts.get(key)
  if (known) return known
  const changes = [`${from} = ${from} - 1`]
  if (to !== null && !isFinal(to)) changes.push(`${to} = ${to} + 1`)
  if (from === 'queued' || to === 'queued') changes.push(HEAD)
  if (from === 'queued' && to === 'active') changes.push(SERVED)
  const made = statement(`UPDATE job_counts SET ${changes.join(', ')} WHERE workspace_id = :workspace_id`)
  counts.set(key, made)
  return made
}

function* countMoves(tx: Writer, moves: readonly CountedMove[]): Routine<void> {
  for (const { workspace_id, from, to } of moves)
    yield* tx.run(from === null ? COUNT_DRAFT : countOf(from, to), { workspace_id })
}

export function nativeOf(tx: Transaction): Native {
  return {
    // Earlier reports are written before this claim.
    *claimJobs(input) {
      return { jobs: yield* claimJobs(tx, input), isCapped: false }
    },
    claimDeliveries: (input) => claimDeliveries(tx, input),
    countMoves: (moves) => countMoves(tx, moves),
    writeEvents: (events) => writeEvents(tx, events),
    // SQLite's plans depend on the statements alone.
    *useIndexes() {},
  }
}
