/** Deliveries as rows: made, listed, given back, canceled. How they are claimed and settled is in sending.ts. */
import { type Attempt, type AttemptRecord, type Delivery, toAttempt } from '@assay/model/delivery'
import { type Event, eventText } from '@assay/model/event'
import { DELIVERIES } from '../lists.ts'
import { type Counts, DELIVERIES_COUNTED, type Input, type Page } from '../store.ts'
import { OUT_OF_INDEXES, type Session, type Transaction } from './connection.ts'
import { newestFirst } from './page.ts'
import { type LockedWebhook, lockWebhook, lockWebhooks, refreshState, writeStates } from './sending-state.ts'

export interface DeliveryRow extends Omit<Delivery, 'next_attempt_at'> {
  event_seq: number
  event_at: string
  due_at: string | null
  owner: string | null
  last_try: boolean
  /** It does not count as in flight: others of its run come after it. */
  ahead: boolean
}

export function toDelivery(row: DeliveryRow): Delivery {
  const { event_seq: _seq, event_at: _at, owner: _owner, last_try: _last, ahead: _ahead, ...rest } = row
  const { due_at, ...delivery } = rest
  return { ...delivery, next_attempt_at: due_at }
}

export interface NewDelivery {
  delivery_id: string
  /** Locked. Several deliveries to one webhook share one object, which is changed. */
  webhook: LockedWebhook
  event: { seq: number; event_id: string; type: string; workspace_id: string; timestamp: string }
  assignment_id: string | null
  at: string
  /** When it is due: `at` unless given. */
  due_at?: string
}

export async function addDeliveries(tx: Transaction, deliveries: NewDelivery[]): Promise<void> {
  if (deliveries.length === 0) return
  const column = <T>(of: (delivery: NewDelivery) => T): T[] => deliveries.map(of)
  await tx.run(
    `INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at,
       assignment_id, status, due_at, created_at)
     SELECT delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at, assignment_id, 'pending',
       due_at, at
     FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::timestamptz[],
       $8::text[], $9::timestamptz[], $10::timestamptz[])
       AS new (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at, assignment_id, at, due_at)`,
    column(({ delivery_id }) => delivery_id),
    column(({ event }) => event.workspace_id),
    column(({ webhook }) => webhook.webhook_id),
    column(({ event }) => event.seq),
    column(({ event }) => event.event_id),
    column(({ event }) => event.type),
    column(({ event }) => event.timestamp),
    column(({ assignment_id }) => assignment_id),
    column(({ at }) => at),
    column(({ at, due_at }) => due_at ?? at),
  )
  const earlier = new Set<LockedWebhook>()
  for (const { webhook, at, due_at = at } of deliveries) {
    if (webhook.due_at !== null && due_at >= webhook.due_at) continue
    webhook.due_at = due_at
    earlier.add(webhook)
  }
  await writeStates(tx, [...earlier])
  tx.hint({ topic: 'deliveries' })
}

export function findDelivery(
  from: Session,
  input: { workspace_id: string; delivery_id: string },
): Promise<DeliveryRow | undefined> {
  return from.one<DeliveryRow>(
    'SELECT * FROM deliveries WHERE delivery_id = $1 AND workspace_id = $2',
    input.delivery_id,
    input.workspace_id,
  )
}

export async function redeliver(tx: Transaction, input: Input<'redeliver'>): Promise<Delivery | null> {
  const original = await findDelivery(tx, input)
  const webhook = original && (await lockWebhook(tx, original.webhook_id))
  if (!original || !webhook) return null
  const key = { workspace_id: input.workspace_id, delivery_id: input.new_delivery_id }
  if (!(await findDelivery(tx, key)))
    await addDeliveries(tx, [
      {
        delivery_id: input.new_delivery_id,
        webhook,
        event: {
          seq: original.event_seq,
          event_id: original.event_id,
          type: original.event_type,
          workspace_id: original.workspace_id,
          timestamp: original.event_at,
        },
        assignment_id: original.assignment_id,
        at: tx.now,
      },
    ])
  const made = await findDelivery(tx, key)
  return made ? toDelivery(made) : null
}

export async function getDelivery(
  from: Session,
  input: Input<'getDelivery'>,
): Promise<(Delivery & { attempts: Attempt[] }) | null> {
  const row = await findDelivery(from, input)
  if (!row) return null
  const attempts = await from.all<{ record: AttemptRecord }>(
    'SELECT record FROM attempts WHERE delivery_id = $1 ORDER BY number',
    input.delivery_id,
  )
  const event = await from.one<Pick<Event, 'type' | 'timestamp'> & { data: string }>(
    'SELECT type, timestamp, data::text AS data FROM events WHERE seq = $1',
    row.event_seq,
  )
  // Deleted in between.
  if (!event) return null
  const body = eventText(event, event.data)
  return { ...toDelivery(row), attempts: attempts.map(({ record }) => toAttempt(record, body)) }
}

export function listDeliveries(from: Session, query: Input<'listDeliveries'>): Promise<Page<Delivery>> {
  return newestFirst<DeliveryRow, Delivery>(
    from,
    DELIVERIES,
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'webhook_id = ?': query.webhook_id,
      'status = ?': query.status,
      'event_type = ?': query.event_type,
      'assignment_id = ?': query.assignment_id,
      'created_at >= ?': query.created_after,
      'created_at < ?': query.created_before,
    },
    toDelivery,
  )
}

/** Those under way end with their present try: they cannot be called back. */
export async function endPending(tx: Transaction, input: Input<'cancelPending'>): Promise<void> {
  if (!(await lockWebhook(tx, input.webhook_id))) return
  await tx.run(
    `UPDATE deliveries SET last_try = true
     WHERE status = 'pending' AND owner IS NOT NULL AND workspace_id = $1 AND webhook_id = $2`,
    input.workspace_id,
    input.webhook_id,
  )
}

/** At most so many. Answers how many. */
export async function cancelPending(
  tx: Transaction,
  input: Input<'cancelPending'>,
  most: number,
): Promise<number> {
  await tx.run(OUT_OF_INDEXES)
  const state = await lockWebhook(tx, input.webhook_id)
  if (!state) return 0
  const canceled = await tx.run(
    `UPDATE deliveries SET status = 'canceled', due_at = NULL WHERE delivery_id IN (
       SELECT delivery_id FROM deliveries
       WHERE workspace_id = $1 AND webhook_id = $2 AND status = 'pending' AND owner IS NULL ORDER BY due_at LIMIT $3)`,
    input.workspace_id,
    input.webhook_id,
    most,
  )
  if (canceled > 0) await refreshState(tx, state)
  return canceled
}

/** What waits for a later time is due now: at most so many of a locked webhook. Answers how many. */
export async function makeDue(tx: Transaction, state: LockedWebhook, most: number): Promise<number> {
  await tx.run(OUT_OF_INDEXES)
  const due = await tx.run(
    `UPDATE deliveries SET due_at = $1 WHERE delivery_id IN (
       SELECT delivery_id FROM deliveries
       WHERE webhook_id = $2 AND status = 'pending' AND owner IS NULL AND due_at > $1 ORDER BY due_at LIMIT $3)`,
    tx.now,
    state.webhook_id,
    most,
  )
  if (due > 0) await refreshState(tx, state)
  return due
}

/** With their attempts, claimed or not: at most so many of a locked webhook. Answers how many. */
export async function deleteDeliveries(tx: Transaction, state: LockedWebhook, most: number): Promise<number> {
  const places = await tx.all<{ place: boolean }>(
    `DELETE FROM deliveries WHERE delivery_id IN (
       SELECT delivery_id FROM deliveries WHERE webhook_id = $1 ORDER BY created_at, delivery_id LIMIT $2)
     RETURNING owner IS NOT NULL AND NOT ahead AS place`,
    state.webhook_id,
    most,
  )
  await refreshState(tx, state, places.filter(({ place }) => place).length)
  return places.length
}

/** What the node holds is due again, each claim not counted. Answers how many. */
export async function giveBackDeliveries(
  tx: Transaction,
  node_id: string,
  but: readonly string[] = [],
): Promise<number> {
  const states = await lockWebhooks(
    tx,
    `webhook_id IN (
       SELECT webhook_id FROM deliveries WHERE status = 'pending' AND owner = $1 AND delivery_id <> ALL ($2))`,
    node_id,
    but,
  )
  if (states.length === 0) return 0
  const given = await tx.all<{ webhook_id: string; ahead: boolean }>(
    `UPDATE deliveries SET owner = NULL, status = CASE WHEN last_try THEN 'canceled' ELSE status END,
       due_at = CASE WHEN last_try THEN NULL ELSE due_at END
     WHERE status = 'pending' AND owner = $1 AND delivery_id <> ALL ($2) RETURNING webhook_id, ahead`,
    node_id,
    but,
  )
  for (const state of states) {
    const freed = given.filter(({ webhook_id, ahead }) => !ahead && webhook_id === state.webhook_id)
    await refreshState(tx, state, freed.length)
  }
  tx.hint({ topic: 'deliveries' })
  return given.length
}

/** Deleted jobs: what waits is canceled, claimed or not, and the attempts go with the bodies that they hold. */
export async function removeDeliveriesOfJobs(tx: Transaction, assignment_ids: string[]): Promise<void> {
  const states = await lockWebhooks(
    tx,
    `webhook_id IN (SELECT webhook_id FROM deliveries WHERE assignment_id = ANY ($1) AND status = 'pending')`,
    assignment_ids,
  )
  // The old owner comes from the same rows before the change: RETURNING shows them after it.
  const canceled = await tx.all<{ webhook_id: string; place: boolean }>(
    `UPDATE deliveries SET status = 'canceled', due_at = NULL, owner = NULL
     FROM (SELECT delivery_id, owner, ahead FROM deliveries
           WHERE assignment_id = ANY ($1) AND status = 'pending' AND webhook_id = ANY ($2) FOR UPDATE) AS old
     WHERE deliveries.delivery_id = old.delivery_id
     RETURNING deliveries.webhook_id, old.owner IS NOT NULL AND NOT old.ahead AS place`,
    assignment_ids,
    states.map(({ webhook_id }) => webhook_id),
  )
  await tx.run(
    'DELETE FROM attempts WHERE delivery_id = ANY (ARRAY (SELECT delivery_id FROM deliveries WHERE assignment_id = ANY ($1)))',
    assignment_ids,
  )
  for (const state of states) {
    const freed = canceled.filter(({ webhook_id, place }) => place && webhook_id === state.webhook_id)
    await refreshState(tx, state, freed.length)
  }
}

/** Reads no more than so many of the index of what is due. What a disabled webhook has waits. */
export async function countDeliveries(from: Session): Promise<Counts['deliveries']> {
  const row = await from.one<Counts['deliveries']>(
    `SELECT count(*) FILTER (WHERE due_at <= clock_timestamp() AND webhooks.status = 'enabled') AS due,
       count(*) FILTER (WHERE due_at > clock_timestamp() OR webhooks.status <> 'enabled') AS waiting,
       (SELECT min(due_at) FROM webhooks) AS oldest_at
     FROM (SELECT webhook_id, deliveries.due_at FROM deliveries WHERE status = 'pending' AND owner IS NULL LIMIT $1) AS pending
     JOIN (SELECT webhook_id, status FROM webhooks) AS webhooks USING (webhook_id)`,
    DELIVERIES_COUNTED,
  )
  return row!
}
