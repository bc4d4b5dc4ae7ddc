/** Changes of waiting and claimed deliveries that their dispatcher does not make: give back, cancel, make due, delete. */
import type { Routine, Transaction, Writer } from '../../rows.ts'
import { both, statement, type Text } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { DELIVERIES, type DeliveryRow } from '../../tables/webhooks/deliveries.ts'
import { canceled, givenBack } from './delivery-move.ts'
import { lockOfJobs, lockOfNodes, lockState, refreshFreed, refreshStates } from './states.ts'

const CLAIM = ['delivery_id', 'webhook_id', 'status', 'due_at', 'owner', 'last_try', 'ahead'] as const
export type Claim = Pick<DeliveryRow, (typeof CLAIM)[number]>

const LOCK_OF_NODES = DELIVERIES.select(
  `WHERE status = 'pending' AND owner = ANY (:node_ids) AND delivery_id <> ALL (:but) FOR NO KEY UPDATE`,
  CLAIM,
)
const LOCK_OF_JOBS = DELIVERIES.select(
  `WHERE assignment_id = ANY (:assignment_ids) AND status = 'pending' FOR NO KEY UPDATE`,
  CLAIM,
)
const WRITE = DELIVERIES.updateAll(['owner', 'status', 'due_at'])
// An array is used, because PostgreSQL may otherwise look each attempt up among the deliveries. Attempts are deleted
// only with their deliveries.
const OF_JOBS = 'SELECT delivery_id FROM deliveries WHERE assignment_id = ANY (:assignment_ids)'
const DELETE_ATTEMPTS = statement({
  sqlite: `DELETE FROM attempts WHERE delivery_id IN (${OF_JOBS})`,
  postgres: `DELETE FROM attempts WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM attempts WHERE delivery_id = ANY (ARRAY (${OF_JOBS})) ORDER BY delivery_id, number FOR UPDATE))`,
})
const OF_WEBHOOK = 'workspace_id = :workspace_id AND webhook_id = :webhook_id'
// SQLite's index of claimed deliveries names no webhook, so SQLite would not choose it.
const END_PENDING = statement({
  sqlite: `UPDATE deliveries INDEXED BY deliveries_owned SET last_try = true WHERE owner IS NOT NULL AND ${OF_WEBHOOK}`,
  postgres: `UPDATE deliveries SET last_try = true WHERE status = 'pending' AND owner IS NOT NULL AND ${OF_WEBHOOK}`,
})
const CANCEL = statement(
  `UPDATE deliveries SET status = 'canceled', due_at = NULL WHERE delivery_id IN (
     SELECT delivery_id FROM deliveries WHERE ${OF_WEBHOOK} AND status = 'pending' AND owner IS NULL
     ORDER BY due_at LIMIT :most)`,
)
const MAKE_DUE = statement(
  `UPDATE deliveries SET due_at = :at WHERE delivery_id IN (
     SELECT delivery_id FROM deliveries WHERE webhook_id = :webhook_id AND status = 'pending' AND owner IS NULL
       AND due_at > :at ORDER BY due_at LIMIT :most)`,
)
const SOME = `SELECT delivery_id FROM deliveries WHERE webhook_id = :webhook_id
  ORDER BY status, created_at, delivery_id LIMIT :most`
const DELETE = DELIVERIES.sql<Pick<DeliveryRow, 'owner' | 'webhook_id' | 'ahead'>>(
  both((database) => `${deletionOf(SOME)[database]} RETURNING owner, webhook_id, ahead`),
)

/**
 * Returns the deletion of rows. PostgreSQL first locks them in the order of ids, because others may delete them by
 * another condition. `ids`: a query.
 */
export function deletionOf(ids: string): Exclude<Text, string> {
  return {
    sqlite: `DELETE FROM deliveries WHERE delivery_id IN (${ids})`,
    postgres: `DELETE FROM deliveries WHERE delivery_id = ANY (ARRAY (
      SELECT delivery_id FROM deliveries WHERE delivery_id = ANY (ARRAY (${ids})) ORDER BY delivery_id FOR UPDATE))`,
  }
}

export function writeClaims(tx: Writer, claims: readonly Claim[]): Routine<void> {
  return tx.writeAll(WRITE, claims)
}

/** Makes deliveries that the nodes hold due again. Their claims do not count. `but` stays claimed. Returns their number. */
export function* giveBackDeliveries(
  tx: Transaction,
  node_ids: readonly string[],
  but: readonly string[] = [],
): Routine<number> {
  const states = yield* lockOfNodes(tx, node_ids, but)
  if (states.length === 0) return 0
  const held = yield* tx.all(LOCK_OF_NODES, { node_ids, but })
  if (held.length === 0) return 0
  yield* writeClaims(tx, held.map(givenBack))
  const touched = new Set(held.map(({ webhook_id }) => webhook_id))
  yield* refreshFreed(
    tx,
    states.filter(({ webhook_id }) => touched.has(webhook_id)),
    held,
  )
  tx.hint({ topic: 'deliveries' })
  return held.length
}

/** Cancels the waiting deliveries of deleted jobs, claimed or not. */
export function* cancelDeliveriesOfJobs(tx: Transaction, assignment_ids: readonly string[]): Routine<void> {
  const states = yield* lockOfJobs(tx, assignment_ids)
  const locked = new Set(states.map(({ webhook_id }) => webhook_id))
  const rows = states.length === 0 ? [] : yield* tx.all(LOCK_OF_JOBS, { assignment_ids })
  const pending = rows.filter(({ webhook_id }) => locked.has(webhook_id))
  yield* writeClaims(tx, pending.map(canceled))
  yield* refreshFreed(
    tx,
    states,
    pending.filter(({ owner }) => owner !== null),
  )
}

/** Deletes the deliveries of deleted jobs, with their attempts and bodies. */
export function* removeDeliveriesOfJobs(tx: Transaction, assignment_ids: readonly string[]): Routine<void> {
  yield* cancelDeliveriesOfJobs(tx, assignment_ids)
  yield* tx.run(DELETE_ATTEMPTS, { assignment_ids })
}

/** Ends deliveries under way with their present try, because nobody can call them back. */
export function* endPending(tx: Transaction, key: Input<'cancelPending'>): Routine<void> {
  if (yield* lockState(tx, key.webhook_id)) yield* tx.run(END_PENDING, key)
}

/** Cancels at most `most` waiting deliveries. Returns their number. */
export function* cancelPending(tx: Transaction, key: Input<'cancelPending'>, most: number): Routine<number> {
  yield* tx.native.useIndexes()
  const state = yield* lockState(tx, key.webhook_id)
  if (!state) return 0
  const count = yield* tx.run(CANCEL, { ...key, most })
  if (count > 0) yield* refreshStates(tx, [state])
  return count
}

/** Makes at most `most` waiting deliveries due now. Returns their number. */
export function* makeDue(tx: Transaction, webhook_id: string, most: number): Routine<number> {
  yield* tx.native.useIndexes()
  const state = yield* lockState(tx, webhook_id)
  if (!state) return 0
  const count = yield* tx.run(MAKE_DUE, { webhook_id, most, at: tx.now })
  if (count > 0) yield* refreshStates(tx, [state])
  return count
}

/** Deletes at most `most` deliveries with their attempts, claimed or not. Returns their number. */
export function* deleteDeliveries(tx: Transaction, webhook_id: string, most: number): Routine<number> {
  const state = yield* lockState(tx, webhook_id)
  if (!state) return 0
  const deleted = yield* tx.all(DELETE, { webhook_id, most })
  yield* refreshFreed(
    tx,
    [state],
    deleted.filter(({ owner }) => owner !== null),
  )
  return deleted.length
}
