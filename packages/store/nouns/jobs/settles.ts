/** Reports of workers about jobs that they hold, fenced by attempt and owner: a lost lease writes nothing. */
import { withTablesText } from '@assay/model/table-text'
import type { Routine, Transaction } from '../../rows.ts'
import type { CardRow } from '../../tables/jobs/insight-cards.ts'
import { INSIGHTS, type InsightRow } from '../../tables/jobs/jobs.ts'
import { cardRow, INSERT_CARD } from './insight-cards.ts'
import { type JobChange, type Settle, settled } from './job-move.ts'
import { lockJobs, writeMoves } from './moves.ts'

const INSERT_INSIGHT = INSIGHTS.insert()

/** Writes reports of one or many jobs in their order. Returns for each whether it was written. */
export function* settleJobs(tx: Transaction, settles: readonly Settle[]): Routine<boolean[]> {
  const ids = [...new Set(settles.map(({ assignment_id }) => assignment_id))]
  const jobs = new Map((yield* lockJobs(tx, ids)).map((job) => [job.assignment_id, job]))
  const changes = new Map<string, JobChange>()
  const insights: InsightRow[] = []
  const cards: CardRow[] = []
  const written = settles.map((settle) => {
    const { assignment_id } = settle
    const change = settled(jobs.get(assignment_id), settle, tx.now)
    if (!change) return false
    jobs.set(assignment_id, change.states.at(-1)!)
    const { before, states } = changes.get(assignment_id) ?? { before: change.before, states: [] }
    changes.set(assignment_id, { before, states: [...states, ...change.states] })
    if (settle.kind === 'complete') {
      const { skipped: _, card: _card, ...found } = settle.findings
      const body = withTablesText(found)
      const { insight_id } = settle
      const { workspace_id } = before
      const insight = { insight_id, assignment_id, workspace_id, created_at: tx.now, body }
      insights.push(insight)
      cards.push(cardRow(change.before, insight, settle.findings))
    }
    return true
  })
  yield* writeMoves(tx, [...changes.values()])
  yield* tx.writeAll(INSERT_INSIGHT, insights)
  yield* tx.writeAll(INSERT_CARD, cards)
  return written
}
