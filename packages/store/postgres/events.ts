/** Events, and their fan-out: one delivery for each webhook that subscribes, in the transaction that made it true. */
import type { Event, EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import type { NewEvent } from '../rows.ts'
import type { Transaction } from './connection.ts'

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
 * The events, and a delivery of each to every webhook that `webhook_events` names for it: an event of a job with a presence
 * name goes to the webhooks of that name, every other to all of its type. The id of a delivery begins as that of its
 * event, so that deliveries that are due at once are sent in the order of their events.
 */
const WRITE_EVENTS = `
  WITH given AS MATERIALIZED (
    SELECT *, nextval(pg_get_serial_sequence('events', 'seq')) AS seq
    FROM ROWS FROM (unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::timestamptz[]),
      unnest($5::text[]), unnest($6::text[]), unnest($7::boolean[]), json_array_elements($8::json))
      AS given (event_id, workspace_id, type, at, assignment_id, presence_name, skipped, data)
  ), told AS (
    INSERT INTO events (seq, event_id, workspace_id, type, timestamp, data) OVERRIDING SYSTEM VALUE
    SELECT seq, event_id, workspace_id, type, at, data FROM given
  ), sent AS (
    INSERT INTO deliveries (delivery_id, workspace_id, webhook_id, event_seq, event_id, event_type, event_at,
      assignment_id, status, due_at, created_at)
    SELECT left(event_id, 24) || right(gen_random_uuid()::text, 12), given.workspace_id, webhook_id, seq, event_id, type,
      at, assignment_id, 'pending', $9, $9
    FROM given JOIN webhook_events AS wanted ON wanted.workspace_id = given.workspace_id
      AND wanted.event_type = given.type AND wanted.skipped >= given.skipped
      AND wanted.presence_name = coalesce(given.presence_name, wanted.presence_name)
    RETURNING webhook_id
  )
  SELECT DISTINCT webhook_id FROM sent`

/** Their webhooks are woken when the transaction ends (`wakeWebhooks`): their rows are locked for the commit only. */
export function writeEvents(tx: Transaction, events: NewEvent[]): void {
  if (events.length === 0) return
  const column = <T>(of: (event: NewEvent) => T): T[] => events.map(of)
  const sent = tx.all<{ webhook_id: string }>(
    WRITE_EVENTS,
    column(() => uuidv7()),
    column(({ workspace_id }) => workspace_id),
    column(({ type }) => type),
    column(({ at }) => at),
    column(({ job }) => job?.assignment_id ?? null),
    column(({ job }) => job?.presence_name ?? null),
    column(({ job }) => (job?.skipped ?? null) !== null),
    `[${column(({ data }) => JSON.stringify(data)).join(',')}]`,
    tx.now,
  )
  tx.wake(sent.then((rows) => rows.map(({ webhook_id }) => webhook_id)))
}
