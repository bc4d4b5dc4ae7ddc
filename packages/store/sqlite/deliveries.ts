/** Deliveries as rows: made, listed, given back, canceled. How they are claimed and settled is in sending.ts. */
import { type Attempt, type AttemptRecord, type Delivery, toAttempt } from '@assay/model/delivery'
import { type Event, eventText } from '@assay/model/event'
import { DELIVERIES } from '../lists.ts'
import { type Counts, DELIVERIES_COUNTED, type Input, type Page } from '../store.ts'
import type { Connection } from './connection.ts'
import { newestFirst } from './page.ts'
import { readState, refreshState, writeState } from './sending-state.ts'

export interface DeliveryRow extends Omit<Delivery, 'next_attempt_at'> {
  event_seq: number
  due_at: string | null
  owner: string | null
  last_try: number
  /** It does not count as in flight: others of its run come after it. */
  ahead: number
}

export function toDelivery(row: DeliveryRow): Delivery {
  const { event_seq: _seq, due_at, owner: _owner, last_try: _last, ahead: _ahead, ...delivery } = row
  return { ...delivery, next_attempt_at: due_at }
}

export interface NewDelivery {
  delivery_id: string
  webhook_id: string
  event: { seq: number; event_id: string; type: string; workspace_id: string }
  assignment_id: string | null
  at: string
  /** When it is due: `at` unless given. */
  due_at?: string
}

export function addDelivery(connection: Connection, input: NewDelivery): void {
  const { delivery_id, webhook_id, event, assignment_id, at, due_at = at } = input
  connection.run(
    `INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, assignment_id,
       status, due_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
    delivery_id,
    event.workspace_id,
    webhook_id,
    event.seq,
    event.event_id,
    event.type,
    assignment_id,
    due_at,
    at,
  )
  const state = readState(connection, webhook_id)!
  if (state.due_at === null || due_at < state.due_at) writeState(connection, webhook_id, { ...state, due_at })
  connection.hint({ topic: 'deliveries' })
}

export function findDelivery(
  connection: Connection,
  input: { workspace_id: string; delivery_id: string },
): DeliveryRow | undefined {
  return connection.one<DeliveryRow>(
    'SELECT * FROM deliveries WHERE delivery_id = ? AND workspace_id = ?',
    input.delivery_id,
    input.workspace_id,
  )
}

export function redeliver(connection: Connection, input: Input<'redeliver'>): Delivery | null {
  const original = findDelivery(connection, input)
  if (!original) return null
  const key = { workspace_id: input.workspace_id, delivery_id: input.new_delivery_id }
  if (!findDelivery(connection, key))
    addDelivery(connection, {
      delivery_id: input.new_delivery_id,
      webhook_id: original.webhook_id,
      event: {
        seq: original.event_seq,
        event_id: original.event_id,
        type: original.event_type,
        workspace_id: original.workspace_id,
      },
      assignment_id: original.assignment_id,
      at: connection.now(),
    })
  const made = findDelivery(connection, key)
  return made ? toDelivery(made) : null
}

export function getDelivery(
  connection: Connection,
  input: Input<'getDelivery'>,
): (Delivery & { attempts: Attempt[] }) | null {
  const row = findDelivery(connection, input)
  if (!row) return null
  const attempts = connection.all<{ record: string }>(
    'SELECT record FROM attempts WHERE delivery_id = ? ORDER BY number',
    input.delivery_id,
  )
  const event = connection.one<Pick<Event, 'type' | 'timestamp'> & { data: string }>(
    'SELECT type, timestamp, data FROM events WHERE seq = ?',
    row.event_seq,
  )!
  const body = eventText(event, event.data)
  return {
    ...toDelivery(row),
    attempts: attempts.map(({ record }) => toAttempt(JSON.parse(record) as AttemptRecord, body)),
  }
}

export function listDeliveries(connection: Connection, query: Input<'listDeliveries'>): Page<Delivery> {
  return newestFirst<DeliveryRow, Delivery>(
    connection,
    DELIVERIES,
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'webhook_id = ?': query.webhook_id,
      'assignment_id = ?': query.assignment_id,
      'status = ?': query.status,
      'event_type = ?': query.event_type,
      'created_at >= ?': query.created_after,
      'created_at < ?': query.created_before,
    },
    toDelivery,
  )
}

/** Those under way end with their present try: they cannot be called back. */
export function endPending(connection: Connection, input: Input<'cancelPending'>): void {
  connection.run(
    `UPDATE deliveries INDEXED BY deliveries_owned SET last_try = 1
     WHERE owner IS NOT NULL AND workspace_id = ? AND webhook_id = ?`,
    input.workspace_id,
    input.webhook_id,
  )
}

/** At most so many. Answers how many. */
export function cancelPending(connection: Connection, input: Input<'cancelPending'>, most: number): number {
  const canceled = connection.run(
    `UPDATE deliveries SET status = 'canceled', due_at = NULL WHERE rowid IN (
       SELECT rowid FROM deliveries WHERE workspace_id = ? AND webhook_id = ? AND status = 'pending' AND owner IS NULL
       ORDER BY due_at LIMIT ?)`,
    input.workspace_id,
    input.webhook_id,
    most,
  )
  if (canceled > 0) refreshState(connection, input.webhook_id)
  return canceled
}

/** What waits for a later time is due now: at most so many. Answers how many. */
export function makeDue(connection: Connection, webhook_id: string, most: number): number {
  const now = connection.now()
  const due = connection.run(
    `UPDATE deliveries SET due_at = ?1 WHERE rowid IN (
       SELECT rowid FROM deliveries WHERE webhook_id = ?2 AND status = 'pending' AND owner IS NULL AND due_at > ?1
       ORDER BY due_at LIMIT ?3)`,
    now,
    webhook_id,
    most,
  )
  if (due > 0) refreshState(connection, webhook_id)
  return due
}

/** With their attempts, claimed or not: at most so many. Answers how many. */
export function deleteDeliveries(connection: Connection, webhook_id: string, most: number): number {
  const places = connection.all<{ place: number }>(
    `DELETE FROM deliveries WHERE rowid IN (SELECT rowid FROM deliveries WHERE webhook_id = ? LIMIT ?)
     RETURNING owner IS NOT NULL AND ahead = 0 AS place`,
    webhook_id,
    most,
  )
  refreshState(connection, webhook_id, places.filter(({ place }) => place === 1).length)
  return places.length
}

/** `but`: these stay claimed. */
export function giveBackDeliveries(
  connection: Connection,
  node_id: string,
  but: readonly string[] = [],
): number {
  const known = new Set(but)
  const held = connection
    .all<{ delivery_id: string; webhook_id: string; ahead: number }>(
      'SELECT delivery_id, webhook_id, ahead FROM deliveries WHERE owner = ?',
      node_id,
    )
    .filter(({ delivery_id }) => !known.has(delivery_id))
  if (held.length === 0) return 0
  for (const { delivery_id } of held)
    connection.run(
      `UPDATE deliveries SET owner = NULL, status = CASE WHEN last_try = 1 THEN 'canceled' ELSE status END,
         due_at = CASE WHEN last_try = 1 THEN NULL ELSE due_at END WHERE delivery_id = ?`,
      delivery_id,
    )
  for (const [webhook_id, own] of Map.groupBy(held, (delivery) => delivery.webhook_id))
    refreshState(connection, webhook_id, own.filter(({ ahead }) => ahead === 0).length)
  connection.hint({ topic: 'deliveries' })
  return held.length
}

/** A deleted job: what waits is canceled, claimed or not, and the attempts go with the bodies that they hold. */
export function removeDeliveriesOfJob(connection: Connection, assignment_id: string): void {
  const pending = connection.all<{ webhook_id: string; places: number }>(
    `SELECT webhook_id, sum(owner IS NOT NULL AND ahead = 0) AS places FROM deliveries
     WHERE assignment_id = ? AND status = 'pending' GROUP BY webhook_id`,
    assignment_id,
  )
  connection.run(
    `UPDATE deliveries SET status = 'canceled', due_at = NULL, owner = NULL
     WHERE assignment_id = ? AND status = 'pending'`,
    assignment_id,
  )
  connection.run(
    'DELETE FROM attempts WHERE delivery_id IN (SELECT delivery_id FROM deliveries WHERE assignment_id = ?)',
    assignment_id,
  )
  for (const { webhook_id, places } of pending) refreshState(connection, webhook_id, places)
}

/** Reads no more than so many of the index of what is due. What a disabled webhook has waits. */
export function countDeliveries(connection: Connection): Counts['deliveries'] {
  const row = connection.one<Counts['deliveries']>(
    `SELECT coalesce(sum(due * (status = 'enabled')), 0) AS due,
       coalesce(sum(pending - due * (status = 'enabled')), 0) AS waiting,
       (SELECT min(due_at) FROM webhooks) AS oldest_at
     FROM (SELECT webhook_id, count(*) AS pending, sum(due_at <= ?) AS due
           FROM (SELECT webhook_id, due_at FROM deliveries WHERE status = 'pending' AND owner IS NULL LIMIT ?)
           GROUP BY webhook_id)
     JOIN webhooks USING (webhook_id)`,
    connection.now(),
    DELIVERIES_COUNTED,
  )!
  return { ...row }
}
