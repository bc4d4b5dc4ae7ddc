/**
 * A claim of jobs chooses by the counts of workspaces, which the one writer keeps exact: the workspace below its cap with the fewest
 * running, then the one served longest ago, then the oldest. Priority orders the queue of a workspace.
 */
import type { ClaimedJob } from '../contract/jobs/jobs.ts'
import { claimed as claimedBy, type OwnedJob, shown } from '../nouns/jobs/job-move.ts'
import { writeClaimed } from '../nouns/jobs/moves.ts'
import { spendingNow, spentBy } from '../nouns/workspaces/processor-use.ts'
import type { Routine, Transaction } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Input } from '../store.ts'
import { JOBS } from '../tables/jobs/jobs.ts'
import { by } from '../tables/table.ts'
import { WORKSPACES } from '../tables/workspaces/accounts.ts'

const NEXT_WORKSPACE = statement<{ workspace_id: string }>(
  `SELECT workspace_id FROM job_counts WHERE head_queued_at IS NOT NULL AND active + executing < coalesce(
    (SELECT max_running FROM workspaces WHERE workspaces.workspace_id = job_counts.workspace_id), :max_running, 1e9)
    AND NOT ${spentBy('job_counts')}
  ORDER BY active + executing, served, head_queued_at LIMIT 1`,
)
const HEAD = JOBS.select(
  `WHERE workspace_id = :workspace_id AND job_status = 'queued'
   ORDER BY priority DESC, queued_at, assignment_id LIMIT 1`,
)
const FOLDER = WORKSPACES.select(by('workspace_id'), ['data_folder'])

function* claimNext(tx: Transaction, node_id: string): Routine<OwnedJob | undefined> {
  const { max_running } = tx.caps
  const next = yield* tx.find(NEXT_WORKSPACE, { max_running, ...spendingNow(tx) })
  const job = next && (yield* tx.find(HEAD, next))
  if (!job) return undefined
  const change = claimedBy(job, node_id, tx.now)
  yield* writeClaimed(tx, [change])
  return change.states[0]
}

/** Claims jobs. Returns them in the order in which they were taken. */
export function* claimJobs(tx: Transaction, { node_id, limit }: Input<'claimJobs'>): Routine<ClaimedJob[]> {
  const claimed: ClaimedJob[] = []
  while (claimed.length < limit) {
    const job = yield* claimNext(tx, node_id)
    if (!job) break
    const workspace = yield* tx.find(FOLDER, job)
    claimed.push({ job: shown(job), data_folder: workspace?.data_folder ?? null })
  }
  return claimed
}
