/** Nodes and their leases: whoever holds jobs or deliveries is a row here, renewed while it lives. */

import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { changeOf, type OwnedJob } from '../job-move.ts'
import type { Input, Lease, NodeInfo, Renewal } from '../store.ts'
import type { Connection } from './connection.ts'
import { giveBackDeliveries } from './deliveries.ts'
import { findOwned, type JobRow, toJob, writeMoves } from './job-moves.ts'

function heldBy(connection: Connection, node_id: string): OwnedJob[] {
  return connection
    .all<JobRow>('SELECT * FROM jobs WHERE owner = ?', node_id)
    .map((row) => ({ ...toJob(row), owner: row.owner }))
}

/** What a node that bore this id before still holds is given back as lost: the new one knows nothing of it. */
export function registerNode(connection: Connection, input: Input<'registerNode'>): void {
  takeFrom(connection, input.node_id)
  const at = connection.clock.now()
  connection.run(
    `INSERT OR REPLACE INTO nodes (node_id, name, roles, version, started_at, lease_until)
     VALUES (?, ?, ?, ?, ?, ?)`,
    input.node_id,
    input.name,
    JSON.stringify(input.roles),
    input.version,
    iso(at),
    iso(at + input.lease_ms),
  )
}

export function renewNode(connection: Connection, input: Input<'renewNode'>): Renewal {
  const renewed = connection.run(
    'UPDATE nodes SET lease_until = ? WHERE node_id = ?',
    iso(connection.clock.now() + input.lease_ms),
    input.node_id,
  )
  if (renewed === 0)
    throw new AppError(
      'conflict',
      `The node ${JSON.stringify(input.node_id)} was taken for dead: stop its work and register it anew.`,
    )
  const lost = input.held.filter(({ assignment_id, attempt, progress }) => {
    const lease = { assignment_id, attempt, node_id: input.node_id }
    return progress ? !reportProgress(connection, { ...lease, progress }) : !holds(connection, lease)
  })
  return { stop: lost.map(({ assignment_id, attempt }) => ({ assignment_id, attempt })) }
}

/** False: the lease is lost. */
export function reportProgress(connection: Connection, input: Input<'reportProgress'>): boolean {
  const written = connection.run(
    `UPDATE jobs SET progress = ? WHERE assignment_id = ? AND attempt = ? AND owner = ?
     AND job_status IN ('active', 'executing')`,
    JSON.stringify(input.progress),
    input.assignment_id,
    input.attempt,
    input.node_id,
  )
  if (written > 0) connection.hint({ topic: 'job', assignment_id: input.assignment_id })
  return written > 0
}

export function listNodes(connection: Connection): NodeInfo[] {
  return connection
    .all<Omit<NodeInfo, 'roles'> & { roles: string }>('SELECT * FROM nodes ORDER BY started_at, node_id')
    .map((row) => ({ ...row, roles: JSON.parse(row.roles) as string[] }))
}

function holds(connection: Connection, { assignment_id, attempt, node_id }: Lease): boolean {
  const job = findOwned(connection, assignment_id)
  return job?.attempt === attempt && job.owner === node_id
}

/** Takes jobs that are held from their node: with a loss, or without one. */
function giveBack(connection: Connection, jobs: OwnedJob[], kind: 'lose' | 'release'): void {
  for (const job of jobs) writeMoves(connection, changeOf(job, { kind }, connection.now())!)
}

export function removeNode(connection: Connection, node_id: string): void {
  giveBack(connection, heldBy(connection, node_id), 'release')
  giveBackDeliveries(connection, node_id)
  connection.run('DELETE FROM nodes WHERE node_id = ?', node_id)
}

function takeFrom(connection: Connection, node_id: string): { jobs: number; deliveries: number } {
  const jobs = heldBy(connection, node_id)
  giveBack(connection, jobs, 'lose')
  return { jobs: jobs.length, deliveries: giveBackDeliveries(connection, node_id) }
}

export function reapNodes(
  connection: Connection,
  input: Input<'reapNodes'>,
): { nodes: number; jobs: number; deliveries: number } {
  const expired = connection.all<{ node_id: string }>(
    'SELECT node_id FROM nodes WHERE (? OR lease_until <= ?) AND node_id <> ?',
    Number(input.all),
    connection.now(),
    input.but ?? '',
  )
  const reaped = { nodes: expired.length, jobs: 0, deliveries: 0 }
  for (const { node_id } of expired) {
    const taken = takeFrom(connection, node_id)
    reaped.jobs += taken.jobs
    reaped.deliveries += taken.deliveries
    connection.run('DELETE FROM nodes WHERE node_id = ?', node_id)
  }
  return reaped
}

export function giveBackUnknown(
  connection: Connection,
  { node_id, jobs, deliveries }: Input<'giveBackUnknown'>,
): { jobs: number; deliveries: number } {
  const known = new Set(jobs?.map(({ assignment_id, attempt }) => `${assignment_id} ${attempt}`))
  const unknown = (jobs === undefined ? [] : heldBy(connection, node_id)).filter(
    ({ assignment_id, attempt }) => !known.has(`${assignment_id} ${attempt}`),
  )
  giveBack(connection, unknown, 'release')
  const given = deliveries === undefined ? 0 : giveBackDeliveries(connection, node_id, deliveries)
  return { jobs: unknown.length, deliveries: given }
}
