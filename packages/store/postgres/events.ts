/** Events, and their fan-out: one delivery for each webhook that subscribes, in the transaction that made it true. */
import type { Event, EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import type { NewEvent } from '../rows.ts'
import type { Transaction } from './connection.ts'
import { addDeliveries } from './deliveries.ts'
import { lockWebhooks } from './turns.ts'

export interface EventRow {
  seq: number
  /** The transaction that wrote it. */
  xid: string
  event_id: string
  workspace_id: string
  type: EventType
  timestamp: string
  data: Event['data']
}

export async function insertEvent(
  tx: Transaction,
  event_id: string,
  event: Pick<NewEvent, 'workspace_id' | 'type' | 'at' | 'data'>,
): Promise<EventRow> {
  const { workspace_id, type, at, data } = event
  const row = await tx.one<EventRow>(
    'INSERT INTO events (event_id, workspace_id, type, timestamp, data) VALUES ($1, $2, $3, $4, $5) RETURNING *',
    event_id,
    workspace_id,
    type,
    at,
    JSON.stringify(data),
  )
  return row!
}

/**
 * `notifies` of webhook.ts as a query: `webhook_events` holds what it says of each enabled webhook. The locks come last
 * in a transaction that settles a job, so that jobs which tell the same webhook wait for each other's commit only.
 */
const SUBSCRIBED = `webhook_id = ANY (ARRAY (
  SELECT webhook_id FROM webhook_events
  WHERE workspace_id = $1 AND event_type = $2 AND presence_name = coalesce($3, presence_name)
    AND skipped >= $4)) AND status = 'enabled'`

export async function writeEvent(tx: Transaction, event: NewEvent): Promise<void> {
  const row = await insertEvent(tx, uuidv7(), event)
  const { workspace_id, type } = event
  const { presence_name: presence = null, skipped = null } = event.job ?? {}
  const webhooks = await lockWebhooks(tx, SUBSCRIBED, workspace_id, type, presence, skipped !== null)
  await addDeliveries(
    tx,
    webhooks.map((webhook) => ({
      delivery_id: uuidv7(),
      webhook,
      event: row,
      assignment_id: event.job?.assignment_id ?? null,
      // Not the event's time: that of a job's move is never before the one before, even where the clock was set back.
      at: tx.now,
    })),
  )
}
