/** Events, and their fan-out: one delivery for each webhook that subscribes, in the transaction that made it true. */
import type { Event, EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { Input, Page } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
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

export function toEvent(row: Pick<EventRow, 'event_id' | 'type' | 'timestamp' | 'data'>): Event {
  const { event_id, type, timestamp, data } = row
  return { event_id, type, timestamp, data }
}

export interface NewEvent {
  workspace_id: string
  type: EventType
  at: string
  data: Record<string, unknown>
  /** Null for events of no job. One without an assignment is a schedule's, which notifies as its jobs would. */
  job: { assignment_id: string | null; presence_name: string | null; skipped: string | null } | null
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

type Position = [xid: number, seq: number]

const START: Position = [0, 0]
const END: Position = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]

/**
 * Forward, only what no transaction under way can come before: a reader that went past (xid, seq) has seen all up to
 * there. Where the database was restored from a dump its transactions count anew: `afterRestore` of schema.ts has set
 * the old events' xid to 0, and a cursor from before goes on among them.
 */
const FORWARD = `
  AND (xid, seq) > (CASE WHEN $2::xid8 >= pg_snapshot_xmax(pg_current_snapshot()) THEN '0' ELSE $2 END::xid8, $3)
  AND xid < pg_snapshot_xmin(pg_current_snapshot()) ORDER BY xid, seq`
const BACKWARD = 'AND (xid, seq) < ($2::xid8, $3) ORDER BY xid DESC, seq DESC'

export async function listEvents(from: Session, query: Input<'listEvents'>): Promise<Page<Event>> {
  const list = `events ${query.order}`
  const oldestFirst = query.order === 'oldest'
  const start = oldestFirst ? START : END
  const position =
    query.cursor === undefined ? start : (decodeCursor(list, query.cursor, ['number', 'number']) as Position)
  const [xid, seq] = position
  const rows = await from.all<EventRow>(
    `SELECT * FROM events WHERE workspace_id = $1 ${query.type === undefined ? '' : 'AND type = $5'}
     ${oldestFirst ? FORWARD : BACKWARD} LIMIT $4`,
    query.workspace_id,
    String(xid),
    seq,
    query.limit + 1,
    ...(query.type === undefined ? [] : [query.type]),
  )
  const page = rows.slice(0, query.limit)
  const last = page.at(-1)
  const next = encodeCursor(list, last ? [Number(last.xid), last.seq] : position)
  return { items: page.map(toEvent), next_cursor: oldestFirst || rows.length > query.limit ? next : null }
}
