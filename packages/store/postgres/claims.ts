/**
 * What workers do with jobs. A claim goes by the highest priority at the head of a queue, then the workspace with the
 * fewest running, then the oldest. A settle is fenced by attempt and owner: a lost lease writes nothing.
 */
import { AppError } from '@assay/model/errors'
import { claimed, type JobChange, type OwnedJob, type Settle, settled, shown } from '../job-move.ts'
import type { ClaimedJob, Input } from '../store.ts'
import { OUT_OF_INDEXES, type Transaction } from './connection.ts'
import { lockJobs, writeMoves } from './job-moves.ts'

/**
 * Claims of a node that was reaped would never come back: the lock keeps the node from being reaped until the claim is
 * committed. A renewal changes no key and does not wait for it.
 */
export async function requireNode(tx: Transaction, node_id: string): Promise<void> {
  const node = await tx.one('SELECT 1 FROM nodes WHERE node_id = $1 FOR KEY SHARE', node_id)
  if (!node)
    throw new AppError('conflict', `The node ${JSON.stringify(node_id)} is not registered: register it anew.`)
}

/** The workspaces with a queue and the job at its head: one look into the index for each. */
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
 * Locks the workspaces that have a cap, until the claim is committed. Passes over those in which another node is claiming:
 * its claims cannot be counted yet.
 */
const LOCK_CAPPED = `
  WITH RECURSIVE ${HEADS}, capped AS MATERIALIZED (
    SELECT workspace_id FROM heads JOIN workspaces USING (workspace_id) WHERE coalesce(max_running, $1::int) IS NOT NULL)
  SELECT workspace_id FROM capped
  WHERE pg_try_advisory_xact_lock(hashtextextended('assay run ' || workspace_id, 0))`

/**
 * Up to $1 jobs of the first $2 candidates. Of the best queues the first jobs are looked at. Within a queue the k-th job
 * counts as if the k-1 before it ran already, so the whole order is one ORDER BY. What would be beyond a cap ($3, or the
 * workspace's own) is left out; $4 are the capped workspaces that are locked. A row that another node has locked is
 * passed over.
 */
const CLAIM = `
  WITH RECURSIVE ${HEADS},
  running AS MATERIALIZED (
    SELECT workspace_id, count(*) AS count FROM jobs WHERE owner IS NOT NULL GROUP BY workspace_id),
  open AS MATERIALIZED (
    SELECT * FROM (
      SELECT workspace_id, priority, queued_at, data_folder, coalesce(running.count, 0) AS running,
        CASE WHEN coalesce(max_running, $3::int) IS NULL THEN $2::bigint
          WHEN workspace_id = ANY ($4::text[]) THEN coalesce(max_running, $3::int) - coalesce(running.count, 0)
          ELSE 0 END AS room
      FROM heads JOIN workspaces USING (workspace_id) LEFT JOIN running USING (workspace_id)) AS waiting
    WHERE room > 0 ORDER BY priority DESC, running, queued_at LIMIT $2),
  chosen AS MATERIALIZED (
    SELECT waiting.assignment_id, data_folder, count(*) OVER () AS candidates,
      row_number() OVER (ORDER BY waiting.priority DESC, running + waiting.nth, waiting.queued_at,
        waiting.assignment_id) AS nth
    FROM open CROSS JOIN LATERAL (
      SELECT assignment_id, priority, queued_at,
        row_number() OVER (ORDER BY priority DESC, queued_at, assignment_id) AS nth
      FROM (SELECT assignment_id, priority, queued_at FROM jobs
            WHERE jobs.workspace_id = open.workspace_id AND job_status = 'queued'
            ORDER BY priority DESC, queued_at, assignment_id LIMIT least($2, open.room)) AS first) AS waiting
    ORDER BY nth LIMIT $2)
  SELECT jobs.*, data_folder, candidates FROM chosen JOIN jobs USING (assignment_id)
  WHERE job_status || '' = 'queued' ORDER BY chosen.nth LIMIT $1 FOR UPDATE OF jobs SKIP LOCKED`

/** So many jobs may be locked by other nodes without one of them going away empty. */
const SPARE = 16
/** Others may have taken the candidates meanwhile: a claim looks so many times. */
const ROUNDS = 4

interface Candidate extends OwnedJob {
  data_folder: string | null
  candidates: number
}

function ownedOf(row: Candidate): OwnedJob {
  const { data_folder: _folder, candidates: _candidates, ...job } = row
  return job
}

/** In the order in which they were taken. Throws `conflict` if the node is not registered. */
export async function claimJobs(tx: Transaction, input: Input<'claimJobs'>): Promise<ClaimedJob[]> {
  const { node_id, limit } = input
  if (limit <= 0) return []
  const cap = tx.caps.max_running
  tx.later(tx.run(OUT_OF_INDEXES))
  const [capped] = await Promise.all([
    tx.all<{ workspace_id: string }>(LOCK_CAPPED, cap),
    requireNode(tx, node_id),
  ])
  const locked = capped.map(({ workspace_id }) => workspace_id)
  const taken: ClaimedJob[] = []
  for (let round = 0; round < ROUNDS && taken.length < limit; round += 1) {
    const most = limit - taken.length + SPARE
    const rows = await tx.all<Candidate>(CLAIM, limit - taken.length, most, cap, locked)
    const changes = rows.map((row) => claimed(ownedOf(row), node_id, tx.now))
    writeMoves(tx, changes)
    for (const [index, { states }] of changes.entries())
      taken.push({ job: shown(states[0]!), data_folder: rows[index]!.data_folder })
    if ((rows[0]?.candidates ?? 0) < most) break
  }
  return taken
}

const INSERT_INSIGHTS = `
  INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body)
  SELECT insight_id, assignment_id, workspace_id, $4, body
  FROM ROWS FROM (unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), json_array_elements($5::json))
    AS given (insight_id, assignment_id, workspace_id, body)`

interface NewInsight {
  insight_id: string
  job: OwnedJob
  body: string
}

function insertInsights(tx: Transaction, insights: NewInsight[]): void {
  if (insights.length === 0) return
  const column = <T>(of: (insight: NewInsight) => T): T[] => insights.map(of)
  const inserted = tx.run(
    INSERT_INSIGHTS,
    column(({ insight_id }) => insight_id),
    column(({ job }) => job.assignment_id),
    column(({ job }) => job.workspace_id),
    tx.now,
    `[${column(({ body }) => body).join(',')}]`,
  )
  tx.later(inserted)
}

/** What the workers of one process report, in order. Answers for each whether it was written. */
export async function settleJobs(tx: Transaction, settles: Settle[]): Promise<boolean[]> {
  const ids = [...new Set(settles.map(({ assignment_id }) => assignment_id))]
  const jobs = new Map((await lockJobs(tx, ids)).map((job) => [job.assignment_id, job]))
  const changes = new Map<string, JobChange>()
  const insights: NewInsight[] = []
  const written = settles.map((settle) => {
    const { assignment_id } = settle
    const change = settled(jobs.get(assignment_id), settle, tx.now)
    if (!change) return false
    const job = change.states.at(-1)!
    jobs.set(assignment_id, job)
    const before = changes.get(assignment_id)
    changes.set(
      assignment_id,
      before ? { before: before.before, states: [...before.states, ...change.states] } : change,
    )
    if (settle.kind === 'complete') {
      const { skipped: _, ...insight } = settle.findings
      insights.push({ insight_id: settle.insight_id, job, body: JSON.stringify(insight) })
    }
    return true
  })
  writeMoves(tx, [...changes.values()])
  insertInsights(tx, insights)
  return written
}
