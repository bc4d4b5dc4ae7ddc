/**
 * Recoveries: failed events of a window of time are delivered again, in steps of a bounded size. Also the statistics
 * of a webhook.
 */
import { iso } from '@assay/model/clock'
import { type Recovery, webhookStats as statsOf, type WebhookStats } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import { type Audience, notifies, type Webhook } from '@assay/model/webhook'
import type { NewRecovery } from '../../contract/webhooks/recoveries.ts'
import type { Reader, Routine, Transaction, Writer } from '../../rows.ts'
import type { Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { assignmentOf, EVENTS, type EventRow } from '../../tables/webhooks/events.ts'
import { ATTEMPT_COUNTS, type Position, RECOVERIES } from '../../tables/webhooks/recoveries.ts'
import { addDeliveries, lockEvents } from './deliveries.ts'
import { lockState } from './states.ts'
import { getWebhook, lockWebhook } from './webhooks.ts'

/** The walk over events from a position on. */
export interface Walk {
  webhook: Webhook
  include_unsent: boolean
  event_types: EventType[] | null
  position: Position
}

// SQLite turns the window into a range of sequence numbers (see Position).
const BEGIN = RECOVERIES.sql<Position>({
  sqlite: `SELECT last AS to_seq, coalesce(
      (SELECT seq FROM events WHERE timestamp >= :since ORDER BY timestamp, seq LIMIT 1), last + 1) AS next_seq
    FROM (SELECT coalesce(CASE WHEN :window_end IS NULL THEN (SELECT max(seq) FROM events) ELSE (
      SELECT seq FROM events WHERE timestamp < :window_end ORDER BY timestamp DESC, seq DESC LIMIT 1) END, 0) AS last)`,
  postgres: `SELECT :since::timestamptz AS next_at, 0 AS next_seq,
    coalesce(:window_end::timestamptz, (:now + interval '1 ms')::timestamptz(3)) AS until`,
})

type WalkedEvent = EventRow & { statuses: string[] }

const STATUSES = {
  sqlite: `(SELECT json_group_array(status) FROM deliveries
    WHERE event_seq = events.seq AND webhook_id = :webhook_id) AS statuses`,
  postgres: `to_json(ARRAY (SELECT status FROM deliveries
    WHERE event_seq = events.seq AND webhook_id = :webhook_id)) AS statuses`,
}
const walked = (text: { sqlite: string; postgres: string }) => ({
  ...EVENTS.sql<WalkedEvent>(text),
  kinds: { ...EVENTS.kinds, statuses: 'json' as const },
})
const FAILED = walked({
  sqlite: `SELECT *, ${STATUSES.sqlite} FROM events WHERE seq IN (
      SELECT DISTINCT event_seq FROM deliveries
      WHERE webhook_id = :webhook_id AND status = 'failed' AND event_seq BETWEEN :next_seq AND :to_seq
      ORDER BY event_seq LIMIT :most)
    ORDER BY seq`,
  postgres: `SELECT events.*, ${STATUSES.postgres} FROM events JOIN (
      SELECT DISTINCT event_at, event_seq FROM deliveries
      WHERE webhook_id = :webhook_id AND status = 'failed' AND (event_at, event_seq) >= (:next_at, :next_seq)
        AND event_at < :until
      ORDER BY event_at, event_seq LIMIT :most) AS failed ON failed.event_seq = events.seq
    ORDER BY events.timestamp, events.seq`,
})
const ALL = walked({
  sqlite: `SELECT *, ${STATUSES.sqlite} FROM events
    WHERE workspace_id = :workspace_id AND seq BETWEEN :next_seq AND :to_seq ORDER BY seq LIMIT :most`,
  postgres: `SELECT events.*, ${STATUSES.postgres} FROM events
    WHERE workspace_id = :workspace_id AND (timestamp, seq) >= (:next_at, :next_seq) AND timestamp < :until
    ORDER BY timestamp, seq LIMIT :most`,
})

const SHOWN = ['recovery_id', 'webhook_id', 'status', 'done', 'count', 'created_at'] as const
const FIND = RECOVERIES.select(by('recovery_id', 'webhook_id', 'workspace_id'), SHOWN)
const INSERT = RECOVERIES.insert(RECOVERIES.columns, 'ON CONFLICT DO NOTHING')
// Skips a recovery that another dispatcher is advancing.
const FIND_RUNNING = RECOVERIES.select(`WHERE status = 'running' ORDER BY created_at LIMIT 1`)
const LOCK_RUNNING = RECOVERIES.select(`${by('recovery_id')} AND status = 'running' FOR UPDATE`)
const ADVANCE = RECOVERIES.update(['done', 'next_seq', 'next_at', 'status'], by('recovery_id'))
const COUNTS = ATTEMPT_COUNTS.select('WHERE webhook_id = :webhook_id AND hour >= :hour', [
  'hour',
  'bucket',
  'count',
])

export function* beginWalk(from: Reader, input: Omit<NewRecovery, 'recovery_id'>): Routine<Walk | null> {
  const webhook = yield* getWebhook(from, input)
  if (!webhook) return null
  const { since, until: window_end, include_unsent, event_types = null } = input
  const position = (yield* from.find(BEGIN, { since, window_end }))!
  return { webhook, include_unsent, event_types, position }
}

/** Returns who gets the event of a job; null for an event of no job. */
function audienceOf({ data }: EventRow): Audience | null {
  if (!('presence_name' in data)) return null
  const { presence_name, notify, skipped, personal } = data as Partial<Audience>
  return {
    presence_name: presence_name ?? null,
    notify: notify ?? null,
    skipped: skipped ?? null,
    personal: personal ?? false,
  }
}

function isMissing({ webhook, event_types }: Walk, event: WalkedEvent): boolean {
  if (event_types !== null && !event_types.includes(event.type)) return false
  const { statuses } = event
  if (statuses.includes('pending') || statuses.includes('delivered')) return false
  if (statuses.includes('failed')) return true
  // This event was never sent. A test belongs to its own webhook.
  if (event.type === 'webhook.test') return false
  return notifies({ ...webhook, status: 'enabled' }, event.type, audienceOf(event))
}

/** Makes one step. Returns the events to deliver among the next `most`, and the walk after them; null at the end. */
export function* stepWalk(
  from: Reader,
  walk: Walk,
  most: number,
): Routine<{ events: EventRow[]; rest: Walk | null }> {
  const { webhook_id, workspace_id } = walk.webhook
  const values = { ...walk.position, webhook_id, workspace_id, most }
  const events = yield* from.all(walk.include_unsent ? ALL : FAILED, values)
  const last = events.at(-1)
  const rest =
    events.length < most || !last
      ? null
      : { ...walk, position: { ...walk.position, next_at: last.timestamp, next_seq: last.seq + 1 } }
  return { events: events.filter((event) => isMissing(walk, event)), rest }
}

export function* getRecovery(from: Reader, input: Input<'getRecovery'>): Routine<Recovery | null> {
  return (yield* from.find(FIND, input)) ?? null
}

/** Inserts a recovery. `count` comes from the same walk. If the id exists, returns that recovery. */
export function* insertRecovery(
  tx: Writer,
  input: NewRecovery,
  walk: Walk,
  count: number,
): Routine<Recovery | null> {
  if (!(yield* getWebhook(tx, input))) return null
  const { event_types, position } = walk
  const { recovery_id, workspace_id, webhook_id, include_unsent } = input
  yield* tx.run(INSERT, {
    ...position,
    recovery_id,
    workspace_id,
    webhook_id,
    include_unsent,
    event_types,
    count,
    status: 'running',
    done: 0,
    created_at: tx.now,
  })
  tx.hint({ topic: 'deliveries' })
  return yield* getRecovery(tx, input)
}

/**
 * Advances the oldest running recovery. It locks the webhook's row, so that two recoveries of one webhook make no
 * delivery twice. That lock precedes the recovery's, as in a deletion of a webhook with its recoveries.
 */
export function* advanceRecoveries(tx: Transaction, { limit }: { limit: number }): Routine<boolean> {
  const running = yield* tx.find(FIND_RUNNING)
  if (!running) return false
  const webhook = yield* lockWebhook(tx, running)
  const recovery = yield* tx.find(LOCK_RUNNING, running)
  // Another node has ended or deleted the recovery meanwhile.
  if (!webhook || !recovery) return true
  const { include_unsent, event_types } = recovery
  const { events, rest } = yield* stepWalk(
    tx,
    { webhook, include_unsent, event_types, position: recovery },
    limit,
  )
  const state = (yield* lockState(tx, recovery.webhook_id))!
  yield* addDeliveries(
    tx,
    (yield* lockEvents(tx, events)).map((event) => ({
      delivery_id: uuidv7(),
      webhook: state,
      event,
      assignment_id: assignmentOf(event),
    })),
  )
  yield* tx.run(ADVANCE, {
    ...recovery,
    ...rest?.position,
    recovery_id: recovery.recovery_id,
    done: recovery.done + events.length,
    status: rest ? 'running' : 'completed',
  })
  return true
}

const HOUR_MS = 3_600_000

export function* webhookStats(from: Reader, input: Input<'webhookStats'>): Routine<WebhookStats | null> {
  if (!(yield* getWebhook(from, input))) return null
  const hour = iso(Math.floor(Date.parse(input.since) / HOUR_MS) * HOUR_MS)
  const counts = yield* from.all(COUNTS, { webhook_id: input.webhook_id, hour })
  return statsOf(counts.map((row) => ({ ...row, bucket: row.bucket === -1 ? null : row.bucket })))
}
