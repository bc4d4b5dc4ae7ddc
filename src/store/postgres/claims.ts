/**
 * What workers do with jobs. A claim goes by the highest priority at the head of a queue, then the workspace with the
 * fewest running, then the oldest. A settle is fenced by attempt and owner: a lost lease writes nothing.
 */
import { AppError } from '../../errors.ts'
import { type JobError, LOSSES_MAX } from '../../job.ts'
import type { JobCaps } from '../caps.ts'
import { begun, completed, moved, NO_PROGRESS, type OwnedJob, shown } from '../job-move.ts'
import type { ClaimedJob, Input, Lease } from '../store.ts'
import type { Statement, Transaction } from './connection.ts'
import { leasedJob, moveJob, toMove, writeMoves } from './job-moves.ts'

/**
 * The workspaces that have something queued and may run more. SQLite keeps the head of each queue in its lanes; here
 * they are found anew, so that no row is one that all workers write. `queues` walks from workspace to workspace over
 * the index of what is queued (one probe each), however many jobs wait in it; `running` reads the index of what is owned.
 */
const OPEN = `
  WITH RECURSIVE queues (workspace_id) AS (
    (SELECT workspace_id FROM jobs WHERE job_status = 'queued' ORDER BY workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT jobs.workspace_id FROM jobs
            WHERE job_status = 'queued' AND jobs.workspace_id > queues.workspace_id
            ORDER BY jobs.workspace_id LIMIT 1)
    FROM queues WHERE queues.workspace_id IS NOT NULL
  ),
  running AS (SELECT workspace_id, count(*) AS count FROM jobs WHERE owner IS NOT NULL GROUP BY workspace_id),
  open AS MATERIALIZED (
    SELECT * FROM (
      SELECT workspace_id, coalesce(running.count, 0) AS running, CASE
        WHEN coalesce(max_running, $1::int) IS NULL THEN 1000000000
        WHEN coalesce(running.count, 0) >= coalesce(max_running, $1) THEN 0
        ELSE room_to_run(workspace_id, coalesce(max_running, $1)) END AS room
      FROM queues JOIN workspaces USING (workspace_id) LEFT JOIN running USING (workspace_id)) AS waiting
    WHERE room > 0
  )`

/**
 * Of the best queues the first jobs are looked at, a few more than are wanted: what another worker has locked in this
 * moment is passed over. Within a queue the k-th job counts as if the k-1 before it ran already, so the whole order is
 * one ORDER BY, and what would be beyond the cap is left out.
 */
const CLAIM = `${OPEN},
  heads AS (
    SELECT open.* FROM open CROSS JOIN LATERAL (
      SELECT priority, queued_at FROM jobs
      WHERE jobs.workspace_id = open.workspace_id AND job_status = 'queued'
      ORDER BY priority DESC, queued_at, assignment_id LIMIT 1) AS head
    ORDER BY head.priority DESC, running, head.queued_at LIMIT $3
  ),
  candidates AS (
    SELECT waiting.assignment_id, row_number() OVER (
      ORDER BY priority DESC, running + place, queued_at, waiting.assignment_id) AS turn
    FROM heads CROSS JOIN LATERAL (
      SELECT assignment_id, priority, queued_at,
        row_number() OVER (ORDER BY priority DESC, queued_at, assignment_id) AS place
      FROM (SELECT assignment_id, priority, queued_at FROM jobs
            WHERE jobs.workspace_id = heads.workspace_id AND job_status = 'queued'
            ORDER BY priority DESC, queued_at, assignment_id LIMIT $3) AS first) AS waiting
    WHERE place <= room
    ORDER BY turn LIMIT $3
  ),
  -- A node that was reaped claims nothing: the lock keeps it from being reaped until the claim is committed. (A renewal
  -- changes no key and does not wait for it.)
  node AS MATERIALIZED (SELECT 1 FROM nodes WHERE node_id = $4 FOR KEY SHARE),
  chosen AS (
    SELECT assignment_id, candidates.turn FROM candidates JOIN jobs USING (assignment_id)
    -- Looked at anew in the locked row, and in no form in which it would tempt the planner to walk the queue for each.
    WHERE jobs.job_status || '' = 'queued'
    ORDER BY candidates.turn LIMIT CASE WHEN EXISTS (SELECT 1 FROM node) THEN $2::int ELSE 0 END
    FOR UPDATE OF jobs SKIP LOCKED
  ),
  taken AS (
    UPDATE jobs SET job_status = 'active', owner = $4, attempt = jobs.attempt + 1, progress = $5,
      moves = (left(jobs.moves::text, -1) || ${toMove(
        "'active'",
        `greatest(clock_timestamp()::timestamptz(3), (jobs.moves->-1->>'at')::timestamptz(3))`,
        'jobs.attempt + 1',
      )} || ']')::json
    FROM chosen WHERE jobs.assignment_id = chosen.assignment_id
    RETURNING jobs.*, chosen.turn
  )
  SELECT (SELECT count(*) FROM node) AS nodes, (SELECT count(*) FROM candidates) AS seen, taken.*, (
    SELECT data_folder FROM workspaces WHERE workspaces.workspace_id = taken.workspace_id) AS data_folder
  FROM (SELECT) AS always LEFT JOIN taken ON true ORDER BY taken.turn`

/** So many workers may be claiming in the same moment without one of them going away empty. */
const SPARE = 16

/** A row for each job that was taken, or one without a job. */
type Taken = OwnedJob & { nodes: number; seen: number; turn: number | null; data_folder: string | null }

export interface Claimed {
  jobs: ClaimedJob[]
  /** There was no more to claim: otherwise others hold what came first, or took it just now. */
  all: boolean
}

export function claimStatement({ node_id, limit }: Input<'claimJobs'>, { max_running }: JobCaps): Statement {
  return { sql: CLAIM, values: [max_running, limit, limit + SPARE, node_id, JSON.stringify(NO_PROGRESS)] }
}

/** Throws `conflict` where the node is not registered. */
export function claimedBy({ node_id, limit }: Input<'claimJobs'>, rows: Taken[]): Claimed {
  const { nodes, seen } = rows[0]!
  if (nodes === 0) throw unregistered(node_id)
  const taken = rows.filter(({ turn }) => turn !== null)
  return {
    all: taken.length === limit || seen < limit + SPARE,
    jobs: taken.map(({ nodes: _nodes, seen: _seen, turn: _turn, data_folder, ...job }) => ({
      job: shown(job),
      data_folder,
    })),
  }
}

function unregistered(node_id: string): AppError {
  return new AppError('conflict', `The node ${JSON.stringify(node_id)} is not registered: register it anew.`)
}

/**
 * Claims of a node that was reaped would never come back: the lock keeps the node from being reaped until the claim is
 * committed.
 */
export async function requireNode(tx: Transaction, node_id: string): Promise<void> {
  const node = await tx.one('SELECT 1 FROM nodes WHERE node_id = $1 FOR KEY SHARE', node_id)
  if (!node) throw unregistered(node_id)
}

export async function startJob(tx: Transaction, lease: Lease): Promise<boolean> {
  const job = await leasedJob(tx, lease)
  if (job?.job_status !== 'active') return false
  await moveJob(tx, job, 'executing')
  return true
}

export async function completeJob(tx: Transaction, input: Input<'completeJob'>): Promise<boolean> {
  const job = await leasedJob(tx, input)
  const executing = job && begun(job, tx.now, input.ran_ms)
  if (!executing) return false
  const { skipped, ...insight } = input.findings
  const { insight_id } = input
  await tx.run(
    `INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body) VALUES ($1, $2, $3, $4, $5)`,
    insight_id,
    job.assignment_id,
    job.workspace_id,
    tx.now,
    JSON.stringify(insight),
  )
  const states = [executing, completed(executing, tx.now, { insight_id, skipped })]
  await writeMoves(tx, states.slice(executing === job ? 1 : 0))
  return true
}

async function end(tx: Transaction, job: OwnedJob, error: JobError): Promise<void> {
  await moveJob(tx, job, 'canceled', { owner: null, error })
}

export async function failJob(tx: Transaction, input: Input<'failJob'>): Promise<boolean> {
  const job = await leasedJob(tx, input)
  if (!job) return false
  const began = begun(job, tx.now, input.ran_ms) ?? job
  const states = [began, moved(began, 'canceled', tx.now, { owner: null, error: input.error })]
  await writeMoves(tx, states.slice(began === job ? 1 : 0))
  return true
}

/** Back to the queue with a loss; the last one allowed ends the job. */
export async function giveBackLost(tx: Transaction, job: OwnedJob): Promise<void> {
  const losses = job.losses + 1
  if (losses >= LOSSES_MAX)
    await end(
      tx,
      { ...job, losses },
      { code: 'worker_lost', detail: `${losses} workers were lost while they ran the job.` },
    )
  else await moveJob(tx, job, 'queued', { owner: null, losses, progress: NO_PROGRESS })
}

/** Back to the queue without a loss. */
export async function giveBack(tx: Transaction, job: OwnedJob): Promise<void> {
  await moveJob(tx, job, 'queued', { owner: null, progress: NO_PROGRESS })
}

export async function loseJob(tx: Transaction, lease: Lease): Promise<boolean> {
  const job = await leasedJob(tx, lease)
  if (!job) return false
  await giveBackLost(tx, job)
  return true
}

export async function releaseJobs(tx: Transaction, leases: Lease[]): Promise<void> {
  const ordered = leases.toSorted((a, b) => (a.assignment_id < b.assignment_id ? -1 : 1))
  for (const lease of ordered) {
    const job = await leasedJob(tx, lease)
    if (job) await giveBack(tx, job)
  }
}
