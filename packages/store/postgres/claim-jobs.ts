/**
 * A claim of jobs, by many nodes at once. SKIP LOCKED skips jobs that others claim, and an advisory lock keeps the caps of a workspace
 * exact. The order: the workspace with the fewest running, then the one served longest ago, then the oldest. Priority orders the
 * queue of a workspace.
 */
import type { ClaimedJob } from '../contract/jobs/jobs.ts'
import { claimed, type OwnedJob, shown } from '../nouns/jobs/job-move.ts'
import { writeClaimed } from '../nouns/jobs/moves.ts'
import { spentBy } from '../nouns/workspaces/processor-use.ts'
import type { ClaimedJobs, Routine } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Input } from '../store.ts'
import type { Transaction } from './connection.ts'

interface Candidate extends OwnedJob {
  data_folder: string | null
  candidates: number
  /** True if any workspace with a queue has a cap. */
  capped: boolean
}

/** The workspaces with a queue and the first job of each: one look into the index for each workspace. */
const HEADS = `
  heads AS (
    (SELECT workspace_id, priority, queued_at FROM jobs WHERE job_status = 'queued'
     ORDER BY workspace_id, priority DESC, queued_at, assignment_id LIMIT 1)
    UNION ALL
    SELECT next.* FROM heads CROSS JOIN LATERAL (
      SELECT jobs.workspace_id, jobs.priority, jobs.queued_at FROM jobs
      WHERE job_status = 'queued' AND jobs.workspace_id > heads.workspace_id
      ORDER BY jobs.workspace_id, jobs.priority DESC, jobs.queued_at, jobs.assignment_id LIMIT 1) AS next
  )`

/**
 * Locks the workspaces that have a cap, until the claim is committed. It skips those in which another node is
 * claiming, because those claims cannot be counted yet.
 */
const LOCK_CAPPED = statement<{ workspace_id: string }>(`
  WITH RECURSIVE ${HEADS}, capped AS MATERIALIZED (
    SELECT workspace_id FROM heads JOIN workspaces USING (workspace_id) WHERE coalesce(max_running, :cap::int) IS NOT NULL)
  SELECT workspace_id FROM capped
  WHERE pg_try_advisory_xact_lock(hashtextextended('assay run ' || workspace_id, 0))`)

/** The present hour in the form of `hourOf` (caps.ts). A claim is sent before the time of its transaction is known. */
const HOUR = `to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24')`

/**
 * Claims up to :limit jobs of the first :most candidates. It looks at the first jobs of the best queues. Within a
 * queue the k-th job counts as if the k-1 before it ran already, so the whole order is one ORDER BY. It leaves out
 * jobs beyond a cap (:cap, or the workspace's own), and workspaces without processor time. `locked` are the capped
 * workspaces that are locked. A row that another node has locked is skipped.
 */
const CLAIM = statement<Candidate>(`
  WITH RECURSIVE ${HEADS},
  running AS MATERIALIZED (
    SELECT workspace_id, count(*) AS count FROM jobs WHERE owner IS NOT NULL GROUP BY workspace_id),
  open AS MATERIALIZED (
    SELECT * FROM (
      SELECT workspace_id, priority, queued_at, data_folder, coalesce(running.count, 0) AS running,
        (SELECT coalesce(max(served), 0) FROM job_counts WHERE job_counts.workspace_id = heads.workspace_id) AS served,
        CASE WHEN coalesce(max_running, :cap::int) IS NULL THEN :most::bigint
          WHEN workspace_id = ANY (:locked::text[]) THEN coalesce(max_running, :cap::int) - coalesce(running.count, 0)
          ELSE 0 END AS room
      FROM heads JOIN workspaces USING (workspace_id) LEFT JOIN running USING (workspace_id)
      WHERE NOT ${spentBy('heads', HOUR)}) AS waiting
    WHERE room > 0 ORDER BY running, served, queued_at LIMIT :most),
  chosen AS MATERIALIZED (
    SELECT waiting.assignment_id, data_folder, count(*) OVER () AS candidates,
      row_number() OVER (ORDER BY running + waiting.nth, served, waiting.queued_at,
        waiting.assignment_id) AS nth
    FROM open CROSS JOIN LATERAL (
      SELECT assignment_id, priority, queued_at,
        row_number() OVER (ORDER BY priority DESC, queued_at, assignment_id) AS nth
      FROM (SELECT assignment_id, priority, queued_at FROM jobs
            WHERE jobs.workspace_id = open.workspace_id AND job_status = 'queued'
            ORDER BY priority DESC, queued_at, assignment_id LIMIT least(:most, open.room)) AS first) AS waiting
    ORDER BY nth LIMIT :most)
  SELECT jobs.*, data_folder, candidates, EXISTS (
    SELECT 1 FROM heads JOIN workspaces USING (workspace_id) WHERE coalesce(max_running, :cap::int) IS NOT NULL) AS capped
  FROM chosen JOIN jobs USING (assignment_id)
  WHERE job_status || '' = 'queued' ORDER BY chosen.nth LIMIT :limit FOR UPDATE OF jobs SKIP LOCKED`)

/** The number of further candidates, so that a claim finds jobs although other nodes have locked some. */
const SPARE = 16
/** The most looks of one claim, because others may have taken the candidates. */
const ROUNDS = 4

function ownedOf({
  data_folder: _folder,
  candidates: _candidates,
  capped: _capped,
  ...job
}: Candidate): OwnedJob {
  return job
}

/**
 * Claims jobs. Returns them in the order in which they were taken. The transaction holds the node, and plans from
 * indexes (`Native.useIndexes`).
 */
export function* claimJobs(tx: Transaction, { node_id, limit }: Input<'claimJobs'>): Routine<ClaimedJobs> {
  if (limit <= 0) return { jobs: [], isCapped: false }
  const { max_running: cap, max_processor_seconds } = tx.caps
  const claim = (left: number, locked: string[]): Routine<Candidate[]> =>
    tx.all(CLAIM, { limit: left, most: left + SPARE, cap, locked, max_processor_seconds })
  // Without a cap, as in most installations, this is the only query.
  let rows = yield* claim(limit, [])
  let locked: string[] = []
  if (rows[0]?.capped ?? true) {
    // With a cap the counts are read under the lock. The locks of the first look last until the end of the
    // transaction.
    locked = (yield* tx.all(LOCK_CAPPED, { cap })).map(({ workspace_id }) => workspace_id)
    if (locked.length > 0) rows = yield* claim(limit, locked)
  }
  const taken: ClaimedJob[] = []
  for (let round = 0; round < ROUNDS && taken.length < limit; round += 1) {
    const left = limit - taken.length
    if (round > 0) rows = yield* claim(left, locked)
    const changes = rows.map((row) => claimed(ownedOf(row), node_id, tx.now))
    yield* writeClaimed(tx, changes)
    for (const [index, { states }] of changes.entries())
      taken.push({ job: shown(states[0]!), data_folder: rows[index]!.data_folder })
    if ((rows[0]?.candidates ?? 0) < left + SPARE) break
  }
  return { jobs: taken, isCapped: locked.length > 0 && taken.length < limit }
}
