/**
 * Recoveries: what failed is delivered anew, in steps of a bounded size. The window in time is turned into a range of
 * event sequence numbers once; a recovery walks over it and is at `next_seq`. And statistics of a webhook.
 */
import { type Recovery, webhookStats as statsOf, type WebhookStats } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import { notifies, type Webhook } from '@assay/model/webhook'
import type { Input, NewRecovery } from '../store.ts'
import type { Connection } from './connection.ts'
import { addDelivery } from './deliveries.ts'
import type { EventRow } from './events.ts'
import { getWebhook } from './webhooks.ts'

/** Part of the work: events from `next_seq` to `to_seq`. */
export interface Walk {
  webhook: Webhook
  include_unsent: boolean
  event_types: EventType[] | null
  next_seq: number
  to_seq: number
}

export function beginWalk(connection: Connection, input: Omit<NewRecovery, 'recovery_id'>): Walk | null {
  const webhook = getWebhook(connection, input)
  if (!webhook) return null
  const first = connection.one<{ seq: number }>(
    'SELECT seq FROM events WHERE timestamp >= ? ORDER BY timestamp, seq LIMIT 1',
    input.since,
  )
  const last =
    input.until === null
      ? connection.one<{ seq: number | null }>('SELECT max(seq) AS seq FROM events')
      : connection.one<{ seq: number }>(
          'SELECT seq FROM events WHERE timestamp < ? ORDER BY timestamp DESC, seq DESC LIMIT 1',
          input.until,
        )
  const to_seq = last?.seq ?? 0
  const { include_unsent, event_types = null } = input
  return { webhook, include_unsent, event_types, next_seq: first?.seq ?? to_seq + 1, to_seq }
}

const FAILED_EVENTS = `
  SELECT * FROM events WHERE seq IN (
    SELECT DISTINCT event_seq FROM deliveries
    WHERE webhook_id = ? AND status = 'failed' AND event_seq BETWEEN ? AND ? ORDER BY event_seq LIMIT ?)
  ORDER BY seq`
const ALL_EVENTS = 'SELECT * FROM events WHERE workspace_id = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?'

function isMissing(connection: Connection, walk: Walk, event: EventRow): boolean {
  const { webhook, event_types } = walk
  if (event_types !== null && !event_types.includes(event.type)) return false
  const statuses = connection
    .all<{ status: string }>(
      'SELECT status FROM deliveries WHERE event_seq = ? AND webhook_id = ?',
      event.seq,
      webhook.webhook_id,
    )
    .map(({ status }) => status)
  if (statuses.includes('pending') || statuses.includes('delivered')) return false
  if (statuses.includes('failed')) return true
  // Never sent. A test is for the webhook that it was made for.
  if (event.type === 'webhook.test') return false
  const data = JSON.parse(event.data) as { presence_name?: string | null; skipped?: string | null }
  const job = { presence_name: data.presence_name ?? null, skipped: data.skipped ?? null }
  return notifies({ ...webhook, status: 'enabled' }, event.type, job)
}

/** One step: the events to deliver among the next `limit`, and the walk after them; null once it is at its end. */
export function stepWalk(
  connection: Connection,
  walk: Walk,
  limit: number,
): { events: EventRow[]; rest: Walk | null } {
  const { webhook, next_seq, to_seq, include_unsent } = walk
  const rows = connection.all<EventRow>(
    include_unsent ? ALL_EVENTS : FAILED_EVENTS,
    include_unsent ? webhook.workspace_id : webhook.webhook_id,
    next_seq,
    to_seq,
    limit,
  )
  const last = rows.at(-1)
  const rest = rows.length < limit || !last ? null : { ...walk, next_seq: last.seq + 1 }
  return { events: rows.filter((event) => isMissing(connection, walk, event)), rest }
}

interface RecoveryRow extends Recovery {
  workspace_id: string
  include_unsent: number
  event_types: string | null
  next_seq: number
  to_seq: number
}

function toRecovery(row: RecoveryRow): Recovery {
  const { recovery_id, webhook_id, status, done, count, created_at } = row
  return { recovery_id, webhook_id, status, done, count, created_at }
}

export function getRecovery(connection: Connection, input: Input<'getRecovery'>): Recovery | null {
  const row = connection.one<RecoveryRow>(
    'SELECT * FROM recoveries WHERE recovery_id = ? AND webhook_id = ? AND workspace_id = ?',
    input.recovery_id,
    input.webhook_id,
    input.workspace_id,
  )
  return row ? toRecovery(row) : null
}

/** `count` was counted from the same walk. Where the id exists the recovery is answered as it is. */
export function insertRecovery(
  connection: Connection,
  input: NewRecovery,
  walk: Walk,
  count: number,
): Recovery | null {
  if (!getWebhook(connection, input)) return null
  connection.run(
    `INSERT INTO recoveries (recovery_id, workspace_id, webhook_id, include_unsent, event_types, next_seq, to_seq,
       status, count, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?) ON CONFLICT DO NOTHING`,
    input.recovery_id,
    input.workspace_id,
    input.webhook_id,
    Number(input.include_unsent),
    walk.event_types && JSON.stringify(walk.event_types),
    walk.next_seq,
    walk.to_seq,
    count,
    connection.now(),
  )
  connection.hint({ topic: 'deliveries' })
  return getRecovery(connection, input)
}

function assignmentOf(event: EventRow): string | null {
  const data = JSON.parse(event.data) as { assignment_id?: string }
  return data.assignment_id ?? null
}

export function advanceRecoveries(connection: Connection, input: { limit: number }): boolean {
  const row = connection.one<RecoveryRow>(
    `SELECT * FROM recoveries WHERE status = 'running' ORDER BY created_at LIMIT 1`,
  )
  if (!row) return false
  const webhook = getWebhook(connection, row)!
  const walk: Walk = {
    webhook,
    include_unsent: row.include_unsent === 1,
    event_types: row.event_types === null ? null : (JSON.parse(row.event_types) as EventType[]),
    next_seq: row.next_seq,
    to_seq: row.to_seq,
  }
  const { events, rest } = stepWalk(connection, walk, input.limit)
  const at = connection.now()
  for (const event of events)
    addDelivery(connection, {
      delivery_id: uuidv7(),
      webhook_id: row.webhook_id,
      event,
      assignment_id: assignmentOf(event),
      at,
    })
  connection.run(
    'UPDATE recoveries SET done = done + ?, next_seq = ?, status = ? WHERE recovery_id = ?',
    events.length,
    rest?.next_seq ?? row.to_seq + 1,
    rest ? 'running' : 'completed',
    row.recovery_id,
  )
  return true
}

export function webhookStats(connection: Connection, input: Input<'webhookStats'>): WebhookStats | null {
  if (!getWebhook(connection, input)) return null
  const rows = connection.all<{ hour: string; bucket: number; count: number }>(
    'SELECT hour, bucket, count FROM attempt_counts WHERE webhook_id = ? AND hour >= ?',
    input.webhook_id,
    `${new Date(input.since).toISOString().slice(0, 13)}:00:00.000Z`,
  )
  return statsOf(rows.map((row) => ({ ...row, bucket: row.bucket === -1 ? null : row.bucket })))
}
