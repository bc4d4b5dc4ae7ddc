/**
 * How deliveries are claimed and settled. A claim goes over the webhooks whose turn it is by (in_flight, claim_at):
 * first those with none in flight, then those with one ..., and takes one delivery of each. What it costs depends on
 * what it takes, not on how many webhooks there are or how many deliveries wait.
 */
import { type Delivery, latencyBucket } from '../../delivery.ts'
import { iso } from '../../runtime/clock.ts'
import { breakerAfter, type Webhook } from '../../webhook.ts'
import type { AttemptOutcome, ClaimedDelivery, Input } from '../store.ts'
import { afterClaim, type Turn } from '../turn.ts'
import { requireNode } from './claims.ts'
import type { Connection } from './connection.ts'
import { addDelivery, type DeliveryRow, findDelivery, toDelivery } from './deliveries.ts'
import { type EventRow, insertEvent, toEvent } from './events.ts'
import { earliestDue, readTurn, writeTurn } from './turns.ts'
import { disableWebhook, getWebhook, toWebhook, type WebhookRow } from './webhooks.ts'

const NEXT_WEBHOOK = `
  SELECT * FROM webhooks WHERE claim_at IS NOT NULL AND in_flight = ? AND claim_at <= ? ORDER BY claim_at LIMIT 1`
const NEXT_LEVEL = 'SELECT min(in_flight) AS level FROM webhooks WHERE claim_at IS NOT NULL AND in_flight > ?'
const NEXT_DELIVERY = `
  SELECT * FROM deliveries WHERE webhook_id = ? AND status = 'pending' AND owner IS NULL
  ORDER BY due_at, delivery_id LIMIT 1`

type TurnRow = WebhookRow & Turn

function claimOne(connection: Connection, node_id: string, row: TurnRow): Omit<ClaimedDelivery, 'webhook'> {
  const delivery = connection.one<DeliveryRow>(NEXT_DELIVERY, row.webhook_id)!
  connection.run('UPDATE deliveries SET owner = ? WHERE delivery_id = ?', node_id, delivery.delivery_id)
  const turn = afterClaim(row, connection.clock.now())
  writeTurn(connection, row.webhook_id, { ...turn, due_at: earliestDue(connection, row.webhook_id) })
  const event = connection.one<EventRow>('SELECT * FROM events WHERE seq = ?', delivery.event_seq)!
  return {
    delivery_id: delivery.delivery_id,
    workspace_id: delivery.workspace_id,
    event: toEvent(event),
    attempt: delivery.attempt_count + 1,
    node_id,
  }
}

export function claimDeliveries(connection: Connection, input: Input<'claimDeliveries'>): ClaimedDelivery[] {
  requireNode(connection, input.node_id)
  const { node_id, limit } = input
  const webhooks = new Map<string, Webhook>()
  const claimed: ClaimedDelivery[] = []
  let level: number | null = 0
  while (level !== null && level < limit - claimed.length) {
    const row: TurnRow | undefined = connection.one<TurnRow>(NEXT_WEBHOOK, level, connection.now())
    if (!row) {
      level = connection.one<{ level: number | null }>(NEXT_LEVEL, level)?.level ?? null
      continue
    }
    const webhook = webhooks.get(row.webhook_id) ?? toWebhook(row)
    webhooks.set(row.webhook_id, webhook)
    claimed.push({ ...claimOne(connection, node_id, row), webhook })
  }
  return claimed
}

interface Claim {
  delivery_id: string
  attempt: number
  node_id: string
}

function claimedDelivery(connection: Connection, claim: Claim): DeliveryRow | undefined {
  return connection.one<DeliveryRow>(
    `SELECT * FROM deliveries WHERE delivery_id = ? AND owner = ? AND attempt_count = ? - 1 AND status = 'pending'`,
    claim.delivery_id,
    claim.node_id,
    claim.attempt,
  )
}

function settle(connection: Connection, row: DeliveryRow, next: AttemptOutcome['next'], now: number): void {
  const status = next.status === 'pending' && row.last_try === 1 ? 'canceled' : next.status
  const due_at = status === 'pending' && next.status === 'pending' ? iso(now + next.wait_ms) : null
  connection.run(
    `UPDATE deliveries SET status = ?, due_at = ?, owner = NULL, attempt_count = attempt_count + 1
     WHERE delivery_id = ?`,
    status,
    due_at,
    row.delivery_id,
  )
}

function countAttempt(connection: Connection, webhook_id: string, outcome: AttemptOutcome, at: string): void {
  const bucket = outcome.next.status === 'delivered' ? latencyBucket(outcome.record.duration_ms) : -1
  connection.run(
    `INSERT INTO attempt_counts (webhook_id, hour, bucket, count) VALUES (?, ?, ?, 1)
     ON CONFLICT DO UPDATE SET count = count + 1`,
    webhook_id,
    `${at.slice(0, 13)}:00:00.000Z`,
    bucket,
  )
}

export function recordAttempt(connection: Connection, outcome: AttemptOutcome): boolean {
  const row = claimedDelivery(connection, outcome)
  if (!row) return false
  const now = connection.clock.now()
  const { webhook_id } = row
  connection.run(
    'INSERT INTO attempts (delivery_id, number, record) VALUES (?, ?, ?)',
    row.delivery_id,
    outcome.attempt,
    JSON.stringify(outcome.record),
  )
  settle(connection, row, outcome.next, now)
  countAttempt(connection, webhook_id, outcome, iso(now))
  const delivered = outcome.next.status === 'delivered'
  connection.run(
    `UPDATE webhooks SET failing_since = ${delivered ? 'NULL' : 'coalesce(failing_since, ?)'} WHERE webhook_id = ?`,
    ...(delivered ? [] : [iso(now)]),
    webhook_id,
  )
  const turn = readTurn(connection, webhook_id)!
  writeTurn(connection, webhook_id, {
    ...turn,
    ...breakerAfter(turn, delivered, now),
    in_flight: turn.in_flight - 1,
    due_at: earliestDue(connection, webhook_id),
  })
  if (outcome.disable) disableWebhook(connection, webhook_id, outcome.disable.reason)
  connection.hint({ topic: 'delivery', delivery_id: row.delivery_id })
  return true
}

export function releaseDeliveries(connection: Connection, claims: Claim[]): void {
  for (const claim of claims) {
    const row = claimedDelivery(connection, claim)
    if (!row) continue
    connection.run(
      `UPDATE deliveries SET owner = NULL, status = ?, due_at = ? WHERE delivery_id = ?`,
      row.last_try === 1 ? 'canceled' : 'pending',
      row.last_try === 1 ? null : row.due_at,
      row.delivery_id,
    )
    const turn = readTurn(connection, row.webhook_id)!
    writeTurn(connection, row.webhook_id, {
      ...turn,
      in_flight: turn.in_flight - 1,
      due_at: earliestDue(connection, row.webhook_id),
    })
    connection.hint({ topic: 'deliveries' })
  }
}

/** One event to one webhook, whatever it subscribes to. */
export function sendEvent(connection: Connection, input: Input<'sendEvent'>): Delivery | null {
  const { workspace_id, webhook_id, delivery_id, event_id, type, data } = input
  if (!getWebhook(connection, input)) return null
  if (!findDelivery(connection, input)) {
    const at = connection.now()
    const event = insertEvent(connection, event_id, { workspace_id, type, at, data })
    addDelivery(connection, { delivery_id, webhook_id, event, assignment_id: null, at })
  }
  return toDelivery(findDelivery(connection, input)!)
}
