/** Nodes and their leases: whoever holds jobs or deliveries is a row here, renewed by the database's clock. */
import { AppError } from '@assay/model/errors'
import { changeOf, type OwnedJob } from '../job-move.ts'
import type { Input, NodeInfo, Renewal } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { giveBackDeliveries } from './deliveries.ts'
import { writeMoves } from './job-moves.ts'

function heldBy(tx: Transaction, node_id: string): Promise<OwnedJob[]> {
  return tx.all<OwnedJob>('SELECT * FROM jobs WHERE owner = $1 ORDER BY assignment_id FOR UPDATE', node_id)
}

/** Takes jobs that are held from their node: with a loss, or without one. */
function giveBack(tx: Transaction, jobs: OwnedJob[], kind: 'lose' | 'release'): void {
  writeMoves(
    tx,
    jobs.map((job) => changeOf(job, { kind }, tx.now)!),
  )
}

async function takeFrom(tx: Transaction, node_id: string): Promise<{ jobs: number; deliveries: number }> {
  const jobs = await heldBy(tx, node_id)
  giveBack(tx, jobs, 'lose')
  return { jobs: jobs.length, deliveries: await giveBackDeliveries(tx, node_id) }
}

/** What a node that bore this id before still holds is given back as lost: the new one knows nothing of it. */
export async function registerNode(tx: Transaction, input: Input<'registerNode'>): Promise<void> {
  // What the one before it is claiming in this moment is waited for: it is taken, too.
  await tx.run('SELECT 1 FROM nodes WHERE node_id = $1 FOR UPDATE', input.node_id)
  await tx.run(
    `INSERT INTO nodes (node_id, name, roles, version, started_at, lease_until)
     VALUES ($1, $2, $3, $4, clock_timestamp(), clock_timestamp() + $5 * interval '1 ms')
     ON CONFLICT (node_id) DO UPDATE SET name = excluded.name, roles = excluded.roles, version = excluded.version,
       started_at = excluded.started_at, lease_until = excluded.lease_until`,
    input.node_id,
    input.name,
    JSON.stringify(input.roles),
    input.version,
    input.lease_ms,
  )
  await takeFrom(tx, input.node_id)
}

// Progress is written where it is given; no index holds it, so the row stays on its page.
const WRITE_PROGRESS = `
  UPDATE jobs SET progress = held.progress
  FROM unnest($2::text[], $3::int[], $4::json[]) AS held (assignment_id, attempt, progress)
  WHERE jobs.assignment_id = held.assignment_id AND jobs.attempt = held.attempt AND jobs.owner = $1
    AND jobs.job_status IN ('active', 'executing') AND held.progress IS NOT NULL
  RETURNING jobs.assignment_id`
const STILL_HELD = `
  SELECT jobs.assignment_id, jobs.attempt FROM jobs
  WHERE owner = $1 AND job_status IN ('active', 'executing')`

export async function renewNode(tx: Transaction, input: Input<'renewNode'>): Promise<Renewal> {
  const { node_id, lease_ms, held } = input
  const renewed = await tx.run(
    `UPDATE nodes SET lease_until = clock_timestamp() + $2 * interval '1 ms' WHERE node_id = $1`,
    node_id,
    lease_ms,
  )
  if (renewed === 0)
    throw new AppError(
      'conflict',
      `The node ${JSON.stringify(node_id)} was taken for dead: stop its work and register it anew.`,
    )
  if (held.some(({ progress }) => progress !== null)) {
    const written = await tx.all<{ assignment_id: string }>(
      WRITE_PROGRESS,
      node_id,
      held.map(({ assignment_id }) => assignment_id),
      held.map(({ attempt }) => attempt),
      held.map(({ progress }) => progress && JSON.stringify(progress)),
    )
    for (const { assignment_id } of written) tx.hint({ topic: 'job', assignment_id })
  }
  const rows =
    held.length === 0 ? [] : await tx.all<{ assignment_id: string; attempt: number }>(STILL_HELD, node_id)
  const still = new Set(rows.map(({ assignment_id, attempt }) => `${assignment_id} ${attempt}`))
  const lost = held.filter(({ assignment_id, attempt }) => !still.has(`${assignment_id} ${attempt}`))
  return { stop: lost.map(({ assignment_id, attempt }) => ({ assignment_id, attempt })) }
}

export async function reportProgress(tx: Transaction, input: Input<'reportProgress'>): Promise<void> {
  const written = await tx.run(
    `UPDATE jobs SET progress = $1 WHERE assignment_id = $2 AND attempt = $3 AND owner = $4
     AND job_status IN ('active', 'executing')`,
    JSON.stringify(input.progress),
    input.assignment_id,
    input.attempt,
    input.node_id,
  )
  if (written > 0) tx.hint({ topic: 'job', assignment_id: input.assignment_id })
}

export function listNodes(from: Session): Promise<NodeInfo[]> {
  return from.all<NodeInfo>('SELECT * FROM nodes ORDER BY started_at, node_id')
}

/** The node's row goes first: whoever claims for it waits, and then finds that it is gone. */
export async function removeNode(tx: Transaction, node_id: string): Promise<void> {
  await tx.run('DELETE FROM nodes WHERE node_id = $1', node_id)
  giveBack(tx, await heldBy(tx, node_id), 'release')
  await giveBackDeliveries(tx, node_id)
}

/** Several nodes may reap at once: each takes others. One that claims or renews in this moment is left for later. */
export async function reapNodes(
  tx: Transaction,
  input: Input<'reapNodes'>,
): Promise<{ nodes: number; jobs: number; deliveries: number }> {
  const expired = await tx.all<{ node_id: string }>(
    `SELECT node_id FROM nodes WHERE ($1 OR lease_until <= clock_timestamp()) AND node_id <> $2
     ORDER BY node_id FOR UPDATE SKIP LOCKED`,
    input.all,
    input.but ?? '',
  )
  const reaped = { nodes: expired.length, jobs: 0, deliveries: 0 }
  for (const { node_id } of expired) {
    const taken = await takeFrom(tx, node_id)
    reaped.jobs += taken.jobs
    reaped.deliveries += taken.deliveries
    await tx.run('DELETE FROM nodes WHERE node_id = $1', node_id)
  }
  return reaped
}

/** The lock of the node's row waits for its claims, which hold it until they are committed. */
export async function giveBackUnknown(
  tx: Transaction,
  { node_id, jobs, deliveries }: Input<'giveBackUnknown'>,
): Promise<{ jobs: number; deliveries: number }> {
  await tx.run('SELECT 1 FROM nodes WHERE node_id = $1 FOR UPDATE', node_id)
  const known = new Set(jobs?.map(({ assignment_id, attempt }) => `${assignment_id} ${attempt}`))
  const unknown = (jobs === undefined ? [] : await heldBy(tx, node_id)).filter(
    ({ assignment_id, attempt }) => !known.has(`${assignment_id} ${attempt}`),
  )
  giveBack(tx, unknown, 'release')
  const given = deliveries === undefined ? 0 : await giveBackDeliveries(tx, node_id, deliveries)
  return { jobs: unknown.length, deliveries: given }
}
