/**
 * How deliveries are claimed and settled. A claim locks the webhooks whose turn it is, passing over those that another
 * dispatcher or a settle holds, and hands out their deliveries in the order of (in_flight, claim_at), as SQLite does:
 * first those with none in flight, then those with one ... All of them are claimed by one statement.
 */
import { type Delivery, latencyBucket } from '../../delivery.ts'
import type { Event } from '../../event.ts'
import { breakerAfter, MAX_IN_FLIGHT, type Webhook } from '../../webhook.ts'
import type { AttemptOutcome, ClaimedDelivery, Input } from '../store.ts'
import { afterClaim, claimAt } from '../turn.ts'
import { requireNode } from './claims.ts'
import type { Transaction } from './connection.ts'
import { addDeliveries, findDelivery, toDelivery } from './deliveries.ts'
import { insertEvent, toEvent } from './events.ts'
import { type LockedTurn, lockWebhook, lockWebhooks, refreshTurn, writeTurns } from './turns.ts'
import { disableWebhook, getWebhook, toWebhook } from './webhooks.ts'

// Level by level: an index range over (in_flight, claim_at) would read all that wait for a later time.
const NEXT_WEBHOOKS = `
  SELECT webhook.* FROM generate_series(0, $2::int - 1) AS level, LATERAL (
    SELECT * FROM webhooks WHERE claim_at IS NOT NULL AND in_flight = level AND claim_at <= $1
    ORDER BY claim_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) AS webhook
  LIMIT $2`
const THEIR_DELIVERIES = `
  SELECT turn.webhook_id, delivery_id, due_at
  FROM unnest($1::text[], $2::int[]) AS turn (webhook_id, most), LATERAL (
    SELECT delivery_id, due_at FROM deliveries
    WHERE deliveries.webhook_id = turn.webhook_id AND status = 'pending' AND owner IS NULL
    ORDER BY due_at, delivery_id LIMIT turn.most) AS due
  ORDER BY due_at, delivery_id`
const CLAIM = `
  UPDATE deliveries SET owner = $1 FROM events
  WHERE delivery_id = ANY ($2) AND events.seq = event_seq
  RETURNING delivery_id, deliveries.workspace_id, attempt_count, events.event_id, events.type, events.timestamp,
    events.data`

type WebhookRow = Webhook & LockedTurn

interface Candidate {
  row: WebhookRow
  turn: LockedTurn
  /** In order; one more than it may claim, where there are so many. */
  waiting: { delivery_id: string; due_at: string }[]
}

async function candidates(tx: Transaction, limit: number): Promise<Candidate[]> {
  const rows = await tx.all<WebhookRow>(NEXT_WEBHOOKS, tx.now, limit)
  if (rows.length === 0) return []
  const most = rows.map((row) => Math.min(limit, (row.max_in_flight ?? MAX_IN_FLIGHT) - row.in_flight) + 1)
  const waiting = await tx.all<{ webhook_id: string; delivery_id: string; due_at: string }>(
    THEIR_DELIVERIES,
    rows.map(({ webhook_id }) => webhook_id),
    most,
  )
  return rows.map((row) => {
    const own = waiting.filter(({ webhook_id }) => webhook_id === row.webhook_id)
    return { row, waiting: own, turn: { ...row, due_at: own[0]?.due_at ?? null } }
  })
}

/** Whose turn it is: the fewest in flight, then the longest wait; within what it leaves free. */
function nextOf(all: Candidate[], now: string, free: number): Candidate | undefined {
  let next: { candidate: Candidate; at: string } | undefined
  for (const candidate of all) {
    const at = claimAt(candidate.turn)
    const { in_flight } = candidate.turn
    if (at === null || at > now || in_flight >= free) continue
    const best = next?.candidate.turn.in_flight ?? Number.POSITIVE_INFINITY
    if (in_flight < best || (in_flight === best && at < next!.at)) next = { candidate, at }
  }
  return next?.candidate
}

/** Changes the candidates' turns. Answers the deliveries in order, each with its webhook. */
function choose(all: Candidate[], now: string, limit: number): { delivery_id: string; row: WebhookRow }[] {
  const chosen: { delivery_id: string; row: WebhookRow }[] = []
  for (;;) {
    const next = nextOf(all, now, limit - chosen.length)
    if (!next) return chosen
    chosen.push({ delivery_id: next.waiting.shift()!.delivery_id, row: next.row })
    next.turn = { ...afterClaim(next.turn, Date.parse(now)), due_at: next.waiting[0]?.due_at ?? null }
  }
}

type ClaimedRow = Event & { delivery_id: string; workspace_id: string; attempt_count: number }

export async function claimDeliveries(
  tx: Transaction,
  input: Input<'claimDeliveries'>,
): Promise<ClaimedDelivery[]> {
  const { node_id, limit } = input
  await requireNode(tx, node_id)
  const all = await candidates(tx, limit)
  const chosen = choose(all, tx.now, limit)
  const rows = await tx.all<ClaimedRow>(
    CLAIM,
    node_id,
    chosen.map(({ delivery_id }) => delivery_id),
  )
  // Also those that had nothing due after all: their turn is put right.
  await writeTurns(
    tx,
    all
      .filter(({ row, turn }) => turn.in_flight !== row.in_flight || turn.due_at !== row.due_at)
      .map(({ turn }) => turn),
  )
  const claimed = new Map(rows.map((row) => [row.delivery_id, row]))
  return chosen.map(({ delivery_id, row }) => {
    const delivery = claimed.get(delivery_id)!
    return {
      delivery_id,
      workspace_id: delivery.workspace_id,
      event: toEvent(delivery),
      webhook: toWebhook(row),
      attempt: delivery.attempt_count + 1,
      node_id,
    }
  })
}

interface Claim {
  delivery_id: string
  attempt: number
  node_id: string
}

const CLAIMED = `delivery_id = $1 AND owner = $2 AND attempt_count = $3 - 1 AND status = 'pending'`

/** The webhook of a claimed delivery, locked; undefined where the claim is lost. */
async function lockWebhookOf(tx: Transaction, claim: Claim): Promise<LockedTurn | undefined> {
  const { delivery_id, node_id, attempt } = claim
  const row = await tx.one<{ webhook_id: string }>(
    `SELECT webhook_id FROM deliveries WHERE ${CLAIMED}`,
    delivery_id,
    node_id,
    attempt,
  )
  return row && lockWebhook(tx, row.webhook_id)
}

// The fence, the attempt and its count in one statement: where the claim is lost, none of them is written.
const SETTLE = `
  WITH settled AS (
    UPDATE deliveries SET owner = NULL, attempt_count = attempt_count + 1,
      status = CASE WHEN $4 = 'pending' AND last_try THEN 'canceled' ELSE $4 END,
      due_at = CASE WHEN $4 = 'pending' AND NOT last_try THEN clock_timestamp() + $5 * interval '1 ms' END
    WHERE ${CLAIMED} RETURNING webhook_id
  ), recorded AS (
    INSERT INTO attempts (delivery_id, number, record) SELECT $1, $3, $6 FROM settled
  )
  INSERT INTO attempt_counts (webhook_id, hour, bucket, count)
  SELECT webhook_id, date_trunc('hour', clock_timestamp(), 'UTC'), $7, 1 FROM settled
  ON CONFLICT (webhook_id, hour, bucket) DO UPDATE SET count = attempt_counts.count + 1`

export async function recordAttempt(tx: Transaction, outcome: AttemptOutcome): Promise<boolean> {
  const turn = await lockWebhookOf(tx, outcome)
  if (!turn) return false
  const { next, record } = outcome
  const delivered = next.status === 'delivered'
  const settled = await tx.run(
    SETTLE,
    outcome.delivery_id,
    outcome.node_id,
    outcome.attempt,
    next.status,
    next.status === 'pending' ? next.wait_ms : 0,
    JSON.stringify(record),
    delivered ? latencyBucket(record.duration_ms) : -1,
  )
  if (settled === 0) return false
  if (delivered === (turn.failing_since !== null))
    await tx.run(
      'UPDATE webhooks SET failing_since = $1 WHERE webhook_id = $2',
      delivered ? null : tx.now,
      turn.webhook_id,
    )
  await refreshTurn(tx, { ...turn, ...breakerAfter(turn, delivered, Date.parse(tx.now), outcome.hold_ms) }, 1)
  if (outcome.disable) await disableWebhook(tx, turn.webhook_id, outcome.disable.reason)
  tx.hint({ topic: 'delivery', delivery_id: outcome.delivery_id })
  return true
}

export async function releaseDeliveries(tx: Transaction, claims: Claim[]): Promise<void> {
  // All at once, in the order of their ids, so that two who release the same webhooks do not wait for each other.
  await lockWebhooks(
    tx,
    'webhook_id IN (SELECT webhook_id FROM deliveries WHERE delivery_id = ANY ($1))',
    claims.map(({ delivery_id }) => delivery_id),
  )
  for (const claim of claims) {
    const turn = await lockWebhookOf(tx, claim)
    if (!turn) continue
    const released = await tx.run(
      `UPDATE deliveries SET owner = NULL, status = CASE WHEN last_try THEN 'canceled' ELSE status END,
         due_at = CASE WHEN last_try THEN NULL ELSE due_at END
       WHERE ${CLAIMED}`,
      claim.delivery_id,
      claim.node_id,
      claim.attempt,
    )
    if (released === 0) continue
    await refreshTurn(tx, turn, 1)
    tx.hint({ topic: 'deliveries' })
  }
}

/** One event to one webhook, whatever it subscribes to. */
export async function sendEvent(tx: Transaction, input: Input<'sendEvent'>): Promise<Delivery | null> {
  const { workspace_id, webhook_id, delivery_id, event_id, type, data } = input
  if (!(await getWebhook(tx, input))) return null
  const webhook = await lockWebhook(tx, webhook_id)
  if (!webhook) return null
  if (!(await findDelivery(tx, input))) {
    const at = tx.now
    const event = await insertEvent(tx, event_id, { workspace_id, type, at, data })
    await addDeliveries(tx, [{ delivery_id, webhook, event, assignment_id: null, at }])
  }
  const made = await findDelivery(tx, input)
  return made ? toDelivery(made) : null
}
