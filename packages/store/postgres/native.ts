/** The work that PostgreSQL does by SQL of its own, for the nouns. */
import type { CountedMove, Native } from '../rows.ts'
import { statement } from '../statement.ts'
import { OUT_OF_INDEXES } from './beginning.ts'
import { claimDeliveries } from './claim-deliveries.ts'
import { claimJobs } from './claim-jobs.ts'
import type { Transaction } from './connection.ts'
import { writeEvents } from './events.ts'

// Many processes write at once, so a workspace has several rows of counts, and only drafts and queued jobs are
// counted. Held jobs are few. Triggers count jobs that are made and deleted.
const COUNT = statement(
  `SELECT count_jobs_of(id, draft, queued, 0)
   FROM unnest(:ids::text[], :drafts::bigint[], :queued::bigint[]) AS delta (id, draft, queued)`,
)
const USE_INDEXES = statement(OUT_OF_INDEXES)

function countMoves(tx: Transaction, moves: readonly CountedMove[]): void {
  const deltas = new Map<string, { draft: number; queued: number }>()
  const add = (workspace_id: string, status: string, by: number): void => {
    if (status !== 'draft' && status !== 'queued') return
    const delta = deltas.get(workspace_id) ?? { draft: 0, queued: 0 }
    delta[status] += by
    deltas.set(workspace_id, delta)
  }
  for (const { workspace_id, from, to } of moves) {
    if (from === null || to === null) continue
    add(workspace_id, from, -1)
    add(workspace_id, to, 1)
  }
  if (deltas.size === 0) return
  const counts = [...deltas.values()]
  void tx.start(COUNT, {
    ids: [...deltas.keys()],
    drafts: counts.map(({ draft }) => draft),
    queued: counts.map(({ queued }) => queued),
  })
}

/* oxlint-disable require-yield -- what is started is waited for with the commit */
export function nativeOf(tx: Transaction): Native {
  return {
    claimJobs: (input) => claimJobs(tx, input),
    claimDeliveries: (input) => claimDeliveries(tx, input),
    *countMoves(moves) {
      countMoves(tx, moves)
    },
    *writeEvents(events) {
      writeEvents(tx, events)
    },
    *useIndexes() {
      void tx.start(USE_INDEXES)
    },
  }
}
