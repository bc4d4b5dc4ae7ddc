/** Events, and their fan-out: one delivery for each webhook that subscribes, in the transaction that made it true. */
import type { EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import type { NewEvent } from '../rows.ts'
import type { Connection } from './connection.ts'
import { addDelivery } from './deliveries.ts'

export interface EventRow {
  seq: number
  event_id: string
  workspace_id: string
  type: EventType
  timestamp: string
  data: string
}

export function insertEvent(
  connection: Connection,
  event_id: string,
  event: Pick<NewEvent, 'workspace_id' | 'type' | 'at' | 'data'>,
): EventRow {
  const { workspace_id, type, at, data } = event
  return connection.one<EventRow>(
    'INSERT INTO events (event_id, workspace_id, type, timestamp, data) VALUES (?, ?, ?, ?, ?) RETURNING *',
    event_id,
    workspace_id,
    type,
    at,
    JSON.stringify(data),
  )!
}

/** `notifies` of webhook.ts as a query: `webhook_events` holds what it says of each enabled webhook. */
const SUBSCRIBED = `SELECT webhook_id FROM webhook_events WHERE workspace_id = ? AND event_type = ?
  AND skipped >= ?`

export function writeEvent(connection: Connection, event: NewEvent): void {
  const row = insertEvent(connection, uuidv7(), event)
  const { workspace_id, type } = event
  const presence = event.job?.presence_name ?? null
  const skipped = event.job?.skipped ? 1 : 0
  const webhooks =
    presence === null
      ? connection.all<{ webhook_id: string }>(SUBSCRIBED, workspace_id, type, skipped)
      : connection.all<{ webhook_id: string }>(
          `${SUBSCRIBED} AND presence_name = ?`,
          workspace_id,
          type,
          skipped,
          presence,
        )
  // Due now by the clock as it stands: the event's time may lie ahead of it, where the clock was set back meanwhile.
  const at = connection.now()
  for (const { webhook_id } of webhooks)
    addDelivery(connection, {
      delivery_id: uuidv7(),
      webhook_id,
      event: row,
      assignment_id: event.job?.assignment_id ?? null,
      at,
    })
}
