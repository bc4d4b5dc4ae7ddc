/**
 * What workers do with jobs. A claim reads the counts of the workspaces: the highest priority at the head of a queue, then the workspace
 * with the fewest running (of those below their cap), then the oldest. A settle is fenced by attempt and owner: a lost lease writes nothing.
 */
import { AppError } from '@assay/model/errors'
import { claimed as claimedBy, type OwnedJob, type Settle, settled, shown } from '../job-move.ts'
import type { ClaimedJob, Input, Lease } from '../store.ts'
import type { Connection } from './connection.ts'
import { findOwned, type JobRow, toJob, writeMoves } from './job-moves.ts'

const NEXT_WORKSPACE = `
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
  const next = connection.one<{ workspace_id: string }>(NEXT_WORKSPACE, connection.caps.max_running)
  const row = next && connection.one<JobRow>(HEAD, next.workspace_id)
  if (!row) return undefined
  const change = claimedBy({ ...toJob(row), owner: null }, node_id, connection.now())
  writeMoves(connection, change)
  return change.states[0]
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

/** What a worker reports of a job that it holds. False: the lease is lost, or the report does not fit the state. */
export function settleJob(connection: Connection, settle: Settle): boolean {
  const now = connection.now()
  const change = settled(findOwned(connection, settle.assignment_id), settle, now)
  if (!change) return false
  if (settle.kind === 'complete') {
    const { skipped: _, ...insight } = settle.findings
    connection.run(
      'INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body) VALUES (?, ?, ?, ?, ?)',
      settle.insight_id,
      settle.assignment_id,
      change.before.workspace_id,
      now,
      JSON.stringify(insight),
    )
  }
  writeMoves(connection, change)
  return true
}

export function startJob(connection: Connection, lease: Lease): boolean {
  return settleJob(connection, { kind: 'start', ...lease })
}

export function completeJob(connection: Connection, input: Input<'completeJob'>): boolean {
  return settleJob(connection, { kind: 'complete', ...input })
}

export function failJob(connection: Connection, input: Input<'failJob'>): boolean {
  return settleJob(connection, { kind: 'fail', ...input })
}

export function loseJob(connection: Connection, lease: Lease): boolean {
  return settleJob(connection, { kind: 'lose', ...lease })
}

export function releaseJobs(connection: Connection, leases: Lease[]): void {
  for (const lease of leases) settleJob(connection, { kind: 'release', ...lease })
}
