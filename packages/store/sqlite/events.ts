/** Events, and their fan-out: one delivery for each webhook that subscribes, in the transaction that made it true. */
import type { Event, EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { Input, Page } from '../store.ts'
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

export function toEvent(row: EventRow): Event {
  const { event_id, type, timestamp } = row
  return { event_id, type, timestamp, data: JSON.parse(row.data) as Event['data'] }
}

export interface NewEvent {
  workspace_id: string
  type: EventType
  at: string
  data: Record<string, unknown>
  /** Null for events of no job. One without an assignment is a schedule's, which notifies as its jobs would. */
  job: { assignment_id: string | null; presence_name: string | null; skipped: string | null } | null
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

/** The two that every job makes are in no index of types; the index of the others must be named by its condition. */
const INDEXED = `AND type <> 'job.queued' AND type <> 'job.started'`

function typed(type: EventType | undefined): string {
  if (type === undefined) return ''
  return `AND type = ? ${type === 'job.queued' || type === 'job.started' ? '' : INDEXED}`
}

export function listEvents(connection: Connection, query: Input<'listEvents'>): Page<Event> {
  const list = `events ${query.order}`
  const oldestFirst = query.order === 'oldest'
  const start = oldestFirst ? 0 : Number.MAX_SAFE_INTEGER
  const [position] = query.cursor === undefined ? [start] : decodeCursor(list, query.cursor, ['number'])
  const rows = connection.all<EventRow>(
    `SELECT * FROM events WHERE workspace_id = ? ${typed(query.type)}
     AND seq ${oldestFirst ? '>' : '<'} ? ORDER BY seq ${oldestFirst ? 'ASC' : 'DESC'} LIMIT ?`,
    query.workspace_id,
    ...(query.type === undefined ? [] : [query.type]),
    position!,
    query.limit + 1,
  )
  const page = rows.slice(0, query.limit)
  const next = encodeCursor(list, [page.at(-1)?.seq ?? position!])
  return { items: page.map(toEvent), next_cursor: oldestFirst || rows.length > query.limit ? next : null }
}
