/**
 * How deliveries are claimed and settled. A claim goes over the webhooks whose turn it is by (in_flight, claim_at):
 * first those with none in flight, then those with one ..., and takes one delivery of each. What it costs depends on
 * what it takes, not on how many webhooks there are or how many deliveries wait. Turns move on in memory: a webhook's
 * row is written once for all that a claim takes, and once for all outcomes of one commit.
 */
import { type Delivery, latencyBucket } from '../../delivery.ts'
import type { Event } from '../../event.ts'
import { iso } from '../../runtime/clock.ts'
import { breakerAfter, type Webhook } from '../../webhook.ts'
import type { AttemptOutcome, ClaimedDelivery, Input } from '../store.ts'
import { afterClaim, claimAt, type Turn } from '../turn.ts'
import { requireNode } from './claims.ts'
import type { Connection } from './connection.ts'
import { addDelivery, type DeliveryRow, findDelivery, toDelivery } from './deliveries.ts'
import { type EventRow, insertEvent, toEvent } from './events.ts'
import { earliestDue, readTurn, writeTurn } from './turns.ts'
import { disableWebhook, getWebhook, toWebhook, type WebhookRow } from './webhooks.ts'

const LEVEL = `
  SELECT * FROM webhooks WHERE claim_at IS NOT NULL AND in_flight = ? AND claim_at <= ? ORDER BY claim_at LIMIT ?`
const NEXT_LEVEL =
  'SELECT min(in_flight) AS level FROM webhooks WHERE claim_at IS NOT NULL AND in_flight >= ?'
const WAITING = `
  SELECT delivery_id, due_at FROM deliveries
  WHERE webhook_id = ? AND status = 'pending' AND owner IS NULL AND (due_at, delivery_id) > (?, ?)
  ORDER BY due_at, delivery_id LIMIT ?`

type TurnRow = WebhookRow & Turn & { claim_at: string | null }

interface Waiting {
  delivery_id: string
  due_at: string
}

/** A webhook within one claim. */
interface Taker {
  webhook: Webhook
  turn: Pick<TurnRow, 'webhook_id' | 'claim_at'> & Turn
  /** The first of its deliveries that are not yet taken: read twice as far each time, from the index alone. */
  waiting: Waiting[]
  read: number
}

function readOn(connection: Connection, taker: Taker, last: Waiting | undefined): void {
  taker.read *= 2
  const after = last ?? { due_at: '', delivery_id: '' }
  const { webhook_id } = taker.turn
  taker.waiting = connection.all<Waiting>(WAITING, webhook_id, after.due_at, after.delivery_id, taker.read)
}

function takeNext(connection: Connection, taker: Taker, now: number): string {
  const next = taker.waiting.shift()!
  if (taker.waiting.length === 0) readOn(connection, taker, next)
  const turn = { ...afterClaim(taker.turn, now), due_at: taker.waiting[0]?.due_at ?? null }
  taker.turn = { ...turn, claim_at: claimAt(turn) }
  return next.delivery_id
}

function newTaker(connection: Connection, row: TurnRow): Taker {
  const taker: Taker = { webhook: toWebhook(row), turn: row, waiting: [], read: 1 }
  readOn(connection, taker, undefined)
  return taker
}

interface Taken {
  delivery_id: string
  webhook: Webhook
}

/** Those at this level whose turn it is, by who has waited longest. */
function dueTakers(takers: Iterable<Taker>, level: number, at: string): Taker[] {
  return [...takers]
    .filter(({ turn }) => turn.in_flight === level && turn.claim_at !== null && turn.claim_at <= at)
    .toSorted((a, b) => (a.turn.claim_at! < b.turn.claim_at! ? -1 : 1))
}

/** What is to be claimed, in its order; the webhooks' rows are written. */
function takeTurns(connection: Connection, limit: number): Taken[] {
  const now = connection.clock.now()
  const at = iso(now)
  const takers = new Map<string, Taker>()
  const taken: Taken[] = []
  // Rows whose turn has moved on are below `stored`, which is not below `level`: none is read twice.
  const storedFrom = (least: number): number =>
    connection.one<{ level: number | null }>(NEXT_LEVEL, least)!.level ?? Infinity
  let stored = storedFrom(0)
  for (let level = stored; level < limit - taken.length; ) {
    if (level === stored) {
      for (const row of connection.all<TurnRow>(LEVEL, level, at, limit - taken.length))
        takers.set(row.webhook_id, newTaker(connection, row))
      stored = storedFrom(level + 1)
    }
    for (const taker of dueTakers(takers.values(), level, at))
      if (level < limit - taken.length)
        taken.push({ delivery_id: takeNext(connection, taker, now), webhook: taker.webhook })
    const moved = [...takers.values()].some(({ turn }) => turn.in_flight > level && turn.claim_at !== null)
    level = moved ? level + 1 : stored
  }
  for (const { turn } of takers.values()) writeTurn(connection, turn.webhook_id, turn)
  return taken
}

export function claimDeliveries(connection: Connection, input: Input<'claimDeliveries'>): ClaimedDelivery[] {
  requireNode(connection, input.node_id)
  const { node_id, limit } = input
  const events = new Map<number, Event>()
  const eventOf = (seq: number): Event => {
    const event =
      events.get(seq) ?? toEvent(connection.one<EventRow>('SELECT * FROM events WHERE seq = ?', seq)!)
    events.set(seq, event)
    return event
  }
  return takeTurns(connection, limit).map(({ delivery_id, webhook }) => {
    const row = connection.one<Pick<DeliveryRow, 'workspace_id' | 'event_seq' | 'attempt_count'>>(
      'UPDATE deliveries SET owner = ? WHERE delivery_id = ? RETURNING workspace_id, event_seq, attempt_count',
      node_id,
      delivery_id,
    )!
    const { workspace_id, event_seq, attempt_count } = row
    return {
      delivery_id,
      workspace_id,
      event: eventOf(event_seq),
      webhook,
      attempt: attempt_count + 1,
      node_id,
    }
  })
}

/** Fenced: only where the node still holds this attempt. Null: it was taken over. */
function settle(connection: Connection, outcome: AttemptOutcome, now: number): string | null {
  const { next, delivery_id, node_id, attempt } = outcome
  const row = connection.one<{ webhook_id: string }>(
    `UPDATE deliveries SET owner = NULL, attempt_count = attempt_count + 1,
       status = CASE WHEN last_try = 1 AND :status = 'pending' THEN 'canceled' ELSE :status END,
       due_at = CASE WHEN last_try = 1 THEN NULL ELSE :due_at END
     WHERE delivery_id = :delivery_id AND owner = :node_id AND attempt_count = :attempt - 1 AND status = 'pending'
     RETURNING webhook_id`,
    {
      status: next.status,
      due_at: next.status === 'pending' ? iso(now + next.wait_ms) : null,
      delivery_id,
      node_id,
      attempt,
    },
  )
  if (!row) return null
  connection.run(
    'INSERT INTO attempts (delivery_id, number, record) VALUES (?, ?, ?)',
    delivery_id,
    attempt,
    JSON.stringify(outcome.record),
  )
  connection.hint({ topic: 'delivery', delivery_id })
  return row.webhook_id
}

function countAttempts(
  connection: Connection,
  webhook_id: string,
  outcomes: AttemptOutcome[],
  at: string,
): void {
  const buckets = Map.groupBy(outcomes, ({ next, record }) =>
    next.status === 'delivered' ? latencyBucket(record.duration_ms) : -1,
  )
  for (const [bucket, of] of buckets)
    connection.run(
      `INSERT INTO attempt_counts (webhook_id, hour, bucket, count) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
      webhook_id,
      `${at.slice(0, 13)}:00:00.000Z`,
      bucket,
      of.length,
    )
}

/** The webhook after these outcomes, in their order. */
function updateHealth(
  connection: Connection,
  webhook_id: string,
  outcomes: AttemptOutcome[],
  now: number,
): void {
  const before = readTurn(connection, webhook_id)!
  const after = { ...before, in_flight: before.in_flight - outcomes.length }
  for (const { next, hold_ms } of outcomes) {
    const delivered = next.status === 'delivered'
    Object.assign(after, breakerAfter(after, delivered, now, hold_ms))
    after.failing_since = delivered ? null : (after.failing_since ?? iso(now))
  }
  writeTurn(connection, webhook_id, { ...after, due_at: earliestDue(connection, webhook_id) })
  if (after.failing_since !== before.failing_since)
    connection.run(
      'UPDATE webhooks SET failing_since = ? WHERE webhook_id = ?',
      after.failing_since,
      webhook_id,
    )
  const off = outcomes.find(({ disable }) => disable)
  if (off?.disable) disableWebhook(connection, webhook_id, off.disable.reason)
}

/** All outcomes of one commit. Answers for each whether it was written. */
export function recordAttempts(connection: Connection, outcomes: AttemptOutcome[]): boolean[] {
  const now = connection.clock.now()
  const settled = outcomes.map((outcome) => ({ outcome, webhook_id: settle(connection, outcome, now) }))
  for (const [webhook_id, of] of Map.groupBy(settled, (one) => one.webhook_id)) {
    if (webhook_id === null) continue
    const written = of.map(({ outcome }) => outcome)
    countAttempts(connection, webhook_id, written, iso(now))
    updateHealth(connection, webhook_id, written, now)
  }
  return settled.map(({ webhook_id }) => webhook_id !== null)
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
