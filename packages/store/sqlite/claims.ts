/**
 * What workers do with jobs. A claim reads the lanes: the highest priority at the head of a queue, then the workspace
 * with the fewest running (of those below their cap), then the oldest. A settle is fenced by attempt and owner: a lost lease writes nothing.
 */
import { AppError } from '@assay/model/errors'
import { type JobError, LOSSES_MAX } from '@assay/model/job'
import { begun, completed, moved, NO_PROGRESS, type OwnedJob, shown } from '../job-move.ts'
import type { ClaimedJob, Input, Lease } from '../store.ts'
import type { Connection } from './connection.ts'
import { type JobRow, leasedJob, moveJob, toJob, writeMoves } from './job-moves.ts'

const NEXT_LANE = `
  SELECT workspace_id FROM job_counts WHERE head_priority IS NOT NULL AND active + executing < coalesce(
    (SELECT max_running FROM workspaces WHERE workspaces.workspace_id = job_counts.workspace_id), ?, 1e9)
  ORDER BY head_priority DESC, active + executing, head_queued_at LIMIT 1`
const HEAD = `
  SELECT * FROM jobs WHERE workspace_id = ? AND job_status = 'queued'
  ORDER BY priority DESC, queued_at, assignment_id LIMIT 1`

/** Claims of a node that was reaped would never come back. */
export function requireNode(connection: Connection, node_id: string): void {
  if (!connection.one('SELECT 1 FROM nodes WHERE node_id = ?', node_id))
    throw new AppError('conflict', `The node ${JSON.stringify(node_id)} is not registered: register it anew.`)
}

function claimNext(connection: Connection, node_id: string): OwnedJob | undefined {
  const lane = connection.one<{ workspace_id: string }>(NEXT_LANE, connection.caps.max_running)
  const row = lane && connection.one<JobRow>(HEAD, lane.workspace_id)
  if (!row) return undefined
  return moveJob(connection, { ...toJob(row), owner: null }, 'active', {
    owner: node_id,
    attempt: row.attempt + 1,
    progress: NO_PROGRESS,
  })
}

export function claimJobs(connection: Connection, input: Input<'claimJobs'>): ClaimedJob[] {
  requireNode(connection, input.node_id)
  const claimed: ClaimedJob[] = []
  while (claimed.length < input.limit) {
    const job = claimNext(connection, input.node_id)
    if (!job) break
    const workspace = connection.one<{ data_folder: string | null }>(
      'SELECT data_folder FROM workspaces WHERE workspace_id = ?',
      job.workspace_id,
    )
    claimed.push({ job: shown(job), data_folder: workspace?.data_folder ?? null })
  }
  return claimed
}

export function startJob(connection: Connection, lease: Lease): boolean {
  const job = leasedJob(connection, lease)
  if (job?.job_status !== 'active') return false
  moveJob(connection, job, 'executing')
  return true
}

export function completeJob(connection: Connection, input: Input<'completeJob'>): boolean {
  const job = leasedJob(connection, input)
  const now = connection.now()
  const executing = job && begun(job, now, input.ran_ms)
  if (!executing) return false
  const { skipped, ...insight } = input.findings
  const { insight_id } = input
  connection.run(
    'INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body) VALUES (?, ?, ?, ?, ?)',
    insight_id,
    job.assignment_id,
    job.workspace_id,
    now,
    JSON.stringify(insight),
  )
  const states = [executing, completed(executing, now, { insight_id, skipped })]
  writeMoves(connection, job, states.slice(executing === job ? 1 : 0))
  return true
}

function end(connection: Connection, job: OwnedJob, error: JobError): void {
  moveJob(connection, job, 'canceled', { owner: null, error })
}

export function failJob(connection: Connection, input: Input<'failJob'>): boolean {
  const job = leasedJob(connection, input)
  if (!job) return false
  const now = connection.now()
  const began = begun(job, now, input.ran_ms) ?? job
  const states = [began, moved(began, 'canceled', now, { owner: null, error: input.error })]
  writeMoves(connection, job, states.slice(began === job ? 1 : 0))
  return true
}

/** Back to the queue with a loss; the last one allowed ends the job. */
export function giveBackLost(connection: Connection, job: OwnedJob): void {
  const losses = job.losses + 1
  if (losses >= LOSSES_MAX)
    end(
      connection,
      { ...job, losses },
      { code: 'worker_lost', detail: `${losses} workers were lost while they ran the job.` },
    )
  else moveJob(connection, job, 'queued', { owner: null, losses, progress: NO_PROGRESS })
}

/** Back to the queue without a loss. */
export function giveBack(connection: Connection, job: OwnedJob): void {
  moveJob(connection, job, 'queued', { owner: null, progress: NO_PROGRESS })
}

export function loseJob(connection: Connection, lease: Lease): boolean {
  const job = leasedJob(connection, lease)
  if (!job) return false
  giveBackLost(connection, job)
  return true
}

export function releaseJobs(connection: Connection, leases: Lease[]): void {
  for (const lease of leases) {
    const job = leasedJob(connection, lease)
    if (job) giveBack(connection, job)
  }
}
