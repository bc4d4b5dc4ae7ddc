/** Nodes and their leases: each node that holds jobs or deliveries has a row, renewed by the store's clock. */
import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { HELD } from '@assay/model/job'
import type { NodeInfo, Renewal } from '../../contract/jobs/nodes.ts'
import type { Reader, Routine, Transaction, Writer } from '../../rows.ts'
import { listed } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { JOBS } from '../../tables/jobs/jobs.ts'
import { NODES } from '../../tables/jobs/nodes.ts'
import { by } from '../../tables/table.ts'
import { giveBackDeliveries } from '../webhooks/waiting.ts'
import { changeOf, type OwnedJob } from './job-move.ts'
import { holdJobs, lockHeld, writeMoves } from './moves.ts'

const LIST = NODES.select('ORDER BY started_at, node_id')
const KEEP = NODES.select(`${by('node_id')} FOR KEY SHARE`, ['node_id'])
const LOCK = NODES.select(`${by('node_id')} FOR UPDATE`, ['node_id'])
const WRITE = NODES.upsert()
const RENEW = NODES.update(['lease_until'], by('node_id'))
const DELETE = NODES.delete(by('node_id'))
const DELETE_ALL = NODES.delete('WHERE node_id = ANY (:node_ids)')
const LOCK_EXPIRED = NODES.select(
  'WHERE (:all OR lease_until <= :now) AND node_id <> :but ORDER BY node_id FOR UPDATE SKIP LOCKED',
  ['node_id'],
)
const IS_HELD = `job_status IN (${listed(HELD)})`
// No index holds the progress, so PostgreSQL writes the new row on the same page and touches no index.
const WRITE_PROGRESS = JOBS.updateAll(['progress'], ['assignment_id', 'attempt', 'owner'], `AND ${IS_HELD}`)
const STILL_HELD = JOBS.select(`WHERE owner = :node_id AND ${IS_HELD}`, ['assignment_id', 'attempt'])

/**
 * Locks the node's row, so that nobody reaps the node before its claim is committed: a claim of a reaped node would never end. A
 * renewal changes no key and does not wait for the lock. Throws `conflict` if the node is not registered.
 */
export function* requireNode(tx: Writer, node_id: string): Routine<void> {
  if (!(yield* tx.find(KEEP, { node_id })))
    throw new AppError('conflict', `The node ${JSON.stringify(node_id)} is not registered: register it anew.`)
}

function leaseUntil(tx: Writer, lease_ms: number): string {
  return iso(Date.parse(tx.now) + lease_ms)
}

/** Takes held jobs from their node, with or without a loss. */
function giveBack(tx: Transaction, jobs: OwnedJob[], kind: 'lose' | 'release'): Routine<void> {
  return writeMoves(
    tx,
    jobs.map((job) => changeOf(job, { kind }, tx.now)!),
  )
}

/** Takes held work from several nodes at once, because locks of jobs come before those of webhooks. */
function* takeFrom(
  tx: Transaction,
  node_ids: readonly string[],
): Routine<{ jobs: number; deliveries: number }> {
  const jobs = yield* lockHeld(tx, node_ids)
  yield* giveBack(tx, jobs, 'lose')
  return { jobs: jobs.length, deliveries: yield* giveBackDeliveries(tx, node_ids) }
}

/**
 * Registers the node. Gives back as lost what an earlier node of this id still holds, since the new one knows nothing
 * of it.
 */
export function* registerNode(tx: Transaction, input: Input<'registerNode'>): Routine<{ now: string }> {
  // The lock waits for a claim that the earlier node has under way. That claim is taken back too.
  yield* tx.find(LOCK, input)
  yield* tx.run(WRITE, { ...input, started_at: tx.now, lease_until: leaseUntil(tx, input.lease_ms) })
  yield* takeFrom(tx, [input.node_id])
  return { now: tx.now }
}

export function* renewNode(tx: Transaction, input: Input<'renewNode'>): Routine<Renewal> {
  const { node_id, lease_ms, held } = input
  if ((yield* tx.run(RENEW, { node_id, lease_until: leaseUntil(tx, lease_ms) })) === 0)
    throw new AppError(
      'conflict',
      `The node ${JSON.stringify(node_id)} was taken for dead: stop its work and register it anew.`,
    )
  if (held.length === 0) return { now: tx.now, stop: [] }
  const told = held.filter(({ progress }) => progress !== null)
  yield* holdJobs(
    tx,
    told.map(({ assignment_id }) => assignment_id),
  )
  yield* tx.writeAll(
    WRITE_PROGRESS,
    told.map((one) => ({ ...one, owner: node_id })),
  )
  for (const { assignment_id } of told) tx.hint({ topic: 'job', assignment_id })
  const rows = yield* tx.all(STILL_HELD, { node_id })
  const still = new Set(rows.map(leaseKey))
  const lost = held.filter((lease) => !still.has(leaseKey(lease)))
  return { now: tx.now, stop: lost.map(({ assignment_id, attempt }) => ({ assignment_id, attempt })) }
}

function leaseKey({ assignment_id, attempt }: { assignment_id: string; attempt: number }): string {
  return `${assignment_id} ${attempt}`
}

export function* reportProgress(tx: Transaction, input: Input<'reportProgress'>): Routine<void> {
  const { assignment_id, node_id } = input
  if ((yield* tx.run(WRITE_PROGRESS, { ...input, owner: node_id })) > 0)
    tx.hint({ topic: 'job', assignment_id })
}

export function listNodes(from: Reader): Routine<NodeInfo[]> {
  return from.all(LIST)
}

/** Deletes the node's row first. A claim for the node waits for that, and then finds no node. */
export function* removeNode(tx: Transaction, node_id: string): Routine<void> {
  yield* tx.run(DELETE, { node_id })
  yield* giveBack(tx, yield* lockHeld(tx, [node_id]), 'release')
  yield* giveBackDeliveries(tx, [node_id])
}

/**
 * Reaps nodes. Several nodes may reap at once, and each takes other rows. A node that claims or renews at this moment
 * is left for later.
 */
export function* reapNodes(
  tx: Transaction,
  { all, but = '' }: Input<'reapNodes'>,
): Routine<{ nodes: number; jobs: number; deliveries: number }> {
  const expired = yield* tx.all(LOCK_EXPIRED, { all, but })
  if (expired.length === 0) return { nodes: 0, jobs: 0, deliveries: 0 }
  const node_ids = expired.map(({ node_id }) => node_id)
  const taken = yield* takeFrom(tx, node_ids)
  yield* tx.run(DELETE_ALL, { node_ids })
  return { nodes: node_ids.length, ...taken }
}

/**
 * Gives back what the node does not know. It waits for the lock of the node's row, which claims hold until they are
 * committed.
 */
export function* giveBackUnknown(
  tx: Transaction,
  { node_id, jobs, deliveries }: Input<'giveBackUnknown'>,
): Routine<{ jobs: number; deliveries: number }> {
  yield* tx.find(LOCK, { node_id })
  const known = new Set(jobs?.map(leaseKey))
  const held = jobs === undefined ? [] : yield* lockHeld(tx, [node_id])
  const unknown = held.filter((job) => !known.has(leaseKey(job)))
  yield* giveBack(tx, unknown, 'release')
  const given = deliveries === undefined ? 0 : yield* giveBackDeliveries(tx, [node_id], deliveries)
  return { jobs: unknown.length, deliveries: given }
}
