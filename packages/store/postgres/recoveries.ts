/**
 * Recoveries: what failed is delivered anew, in steps of a bounded size. A recovery walks over the events of its window
 * by (timestamp, seq) and is at (`next_at`, `next_seq`): unlike SQLite's, sequence numbers do not rise with the times.
 * And statistics of a webhook.
 */

import { iso } from '@assay/model/clock'
import {
  type AttemptCount,
  type Recovery,
  webhookStats as statsOf,
  type WebhookStats,
} from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import { notifies, type Webhook } from '@assay/model/webhook'
import type { Input, NewRecovery } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { addDeliveries } from './deliveries.ts'
import type { EventRow } from './events.ts'
import { lockWebhook } from './turns.ts'
import { getWebhook } from './webhooks.ts'

/** Part of the work: events from (`next_at`, `next_seq`) on and before `until`. */
export interface Walk {
  webhook: Webhook
  include_unsent: boolean
  event_types: EventType[] | null
  next_at: string
  next_seq: number
  until: string
}

export async function beginWalk(
  from: Session,
  input: Omit<NewRecovery, 'recovery_id'>,
): Promise<Walk | null> {
  const webhook = await getWebhook(from, input)
  if (!webhook) return null
  const { since, until, include_unsent, event_types = null } = input
  const time = await from.one<{ soon: string }>(
    `SELECT (clock_timestamp() + interval '1 ms')::timestamptz(3) AS soon`,
  )
  return { webhook, include_unsent, event_types, next_at: since, next_seq: 0, until: until ?? time!.soon }
}

const STATUSES = 'ARRAY (SELECT status FROM deliveries WHERE event_seq = events.seq AND webhook_id = $1)'
const FAILED_EVENTS = `
  SELECT events.*, ${STATUSES} AS statuses FROM events JOIN (
    SELECT DISTINCT event_at, event_seq FROM deliveries
    WHERE webhook_id = $1 AND status = 'failed' AND (event_at, event_seq) >= ($2, $3) AND event_at < $4
    ORDER BY event_at, event_seq LIMIT $5) AS failed ON failed.event_seq = events.seq
  ORDER BY events.timestamp, events.seq`
const ALL_EVENTS = `
  SELECT events.*, ${STATUSES} AS statuses FROM events
  WHERE workspace_id = $6 AND (timestamp, seq) >= ($2, $3) AND timestamp < $4 ORDER BY timestamp, seq LIMIT $5`

type WalkedEvent = EventRow & { statuses: string[] }

function isMissing({ webhook, event_types }: Walk, event: WalkedEvent): boolean {
  if (event_types !== null && !event_types.includes(event.type)) return false
  const { statuses } = event
  if (statuses.includes('pending') || statuses.includes('delivered')) return false
  if (statuses.includes('failed')) return true
  // Never sent. A test is for the webhook that it was made for.
  if (event.type === 'webhook.test') return false
  const data = event.data as { presence_name?: string | null; skipped?: string | null }
  const job = { presence_name: data.presence_name ?? null, skipped: data.skipped ?? null }
  return notifies({ ...webhook, status: 'enabled' }, event.type, job)
}

/** One step: the events to deliver among the next `limit`, and the walk after them; null once it is at its end. */
export async function stepWalk(
  from: Session,
  walk: Walk,
  limit: number,
): Promise<{ events: EventRow[]; rest: Walk | null }> {
  const { webhook, next_at, next_seq, until, include_unsent } = walk
  const rows = await from.all<WalkedEvent>(
    include_unsent ? ALL_EVENTS : FAILED_EVENTS,
    webhook.webhook_id,
    next_at,
    next_seq,
    until,
    limit,
    ...(include_unsent ? [webhook.workspace_id] : []),
  )
  const last = rows.at(-1)
  const rest =
    rows.length < limit || !last ? null : { ...walk, next_at: last.timestamp, next_seq: last.seq + 1 }
  return { events: rows.filter((event) => isMissing(walk, event)), rest }
}

interface RecoveryRow extends Recovery {
  workspace_id: string
  include_unsent: boolean
  event_types: string | null
  next_at: string
  next_seq: number
  until: string
}

function toRecovery(row: RecoveryRow): Recovery {
  const { recovery_id, webhook_id, status, done, count, created_at } = row
  return { recovery_id, webhook_id, status, done, count, created_at }
}

export async function getRecovery(from: Session, input: Input<'getRecovery'>): Promise<Recovery | null> {
  const row = await from.one<RecoveryRow>(
    'SELECT * FROM recoveries WHERE recovery_id = $1 AND webhook_id = $2 AND workspace_id = $3',
    input.recovery_id,
    input.webhook_id,
    input.workspace_id,
  )
  return row ? toRecovery(row) : null
}

/** `count` was counted from the same walk. Where the id exists the recovery is answered as it is. */
export async function insertRecovery(
  tx: Transaction,
  input: NewRecovery,
  walk: Walk,
  count: number,
): Promise<Recovery | null> {
  if (!(await getWebhook(tx, input))) return null
  await tx.run(
    `INSERT INTO recoveries (recovery_id, workspace_id, webhook_id, include_unsent, event_types, next_at, next_seq,
       until, status, count, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'running', $9, $10) ON CONFLICT DO NOTHING`,
    input.recovery_id,
    input.workspace_id,
    input.webhook_id,
    input.include_unsent,
    walk.event_types && JSON.stringify(walk.event_types),
    walk.next_at,
    walk.next_seq,
    walk.until,
    count,
    tx.now,
  )
  tx.hint({ topic: 'deliveries' })
  return getRecovery(tx, input)
}

function assignmentOf(event: EventRow): string | null {
  const { assignment_id } = event.data as { assignment_id?: string }
  return assignment_id ?? null
}

/**
 * Dispatchers that come at once wait for each other at the webhook's row: two recoveries of one webhook make no
 * delivery twice. What another works at is passed over.
 */
export async function advanceRecoveries(tx: Transaction, input: { limit: number }): Promise<boolean> {
  const row = await tx.one<RecoveryRow>(
    `SELECT * FROM recoveries WHERE status = 'running' ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
  )
  const turn = row && (await lockWebhook(tx, row.webhook_id))
  const webhook = row && (await getWebhook(tx, row))
  if (!row || !turn || !webhook) return false
  const { include_unsent, next_at, next_seq, until } = row
  const event_types = row.event_types === null ? null : (JSON.parse(row.event_types) as EventType[])
  const { events, rest } = await stepWalk(
    tx,
    { webhook, include_unsent, event_types, next_at, next_seq, until },
    input.limit,
  )
  await addDeliveries(
    tx,
    events.map((event) => ({
      delivery_id: uuidv7(),
      webhook: turn,
      event,
      assignment_id: assignmentOf(event),
      at: tx.now,
    })),
  )
  await tx.run(
    'UPDATE recoveries SET done = done + $1, next_at = $2, next_seq = $3, status = $4 WHERE recovery_id = $5',
    events.length,
    rest?.next_at ?? row.until,
    rest?.next_seq ?? 0,
    rest ? 'running' : 'completed',
    row.recovery_id,
  )
  return true
}

const HOUR_MS = 3_600_000

export async function webhookStats(
  from: Session,
  input: Input<'webhookStats'>,
): Promise<WebhookStats | null> {
  if (!(await getWebhook(from, input))) return null
  const rows = await from.all<{ hour: string; bucket: number; count: number }>(
    'SELECT hour, bucket, count FROM attempt_counts WHERE webhook_id = $1 AND hour >= $2',
    input.webhook_id,
    iso(Math.floor(Date.parse(input.since) / HOUR_MS) * HOUR_MS),
  )
  return statsOf(rows.map((row): AttemptCount => ({ ...row, bucket: row.bucket === -1 ? null : row.bucket })))
}
