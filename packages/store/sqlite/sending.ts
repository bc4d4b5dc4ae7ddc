/**
 * How deliveries are claimed and settled. A claim goes over the webhooks that may be claimed, by (in_flight, claim_at):
 * first those with none in flight, then those with one ..., and takes one delivery of each. What it costs depends on
 * what it takes, not on how many webhooks there are or how many deliveries wait. Turns move on in memory: a webhook's
 * row is written once for all that a claim takes, and once for all outcomes of one commit.
 */

import { iso } from '@assay/model/clock'
import { type Delivery, latencyBucket } from '@assay/model/delivery'
import { type Event, eventText } from '@assay/model/event'
import type { Webhook } from '@assay/model/webhook'
import { disableWebhook, getWebhook, warnOfFailing, writeHealth } from '../nouns/webhooks.ts'
import { finish } from '../rows.ts'
import {
  afterAttempts,
  afterClaim,
  claimAt,
  dueFirst,
  mayRun,
  type SendingState,
  type Settled,
} from '../sending-state.ts'
import type { AttemptOutcome, ClaimedDelivery, Input } from '../store.ts'
import { WEBHOOK, WEBHOOKS } from '../tables/webhooks.ts'
import { requireNode } from './claims.ts'
import type { Connection } from './connection.ts'
import { addDelivery, findDelivery, toDelivery } from './deliveries.ts'
import { insertEvent } from './events.ts'
import { transactionOf } from './native.ts'
import { shownOf } from './rows.ts'
import { readState, refreshState, writeState } from './sending-state.ts'

const LEVEL = `
  SELECT * FROM webhooks WHERE claim_at IS NOT NULL AND in_flight = ? AND claim_at <= ? ORDER BY claim_at LIMIT ?`
const NEXT_LEVEL =
  'SELECT min(in_flight) AS level FROM webhooks WHERE claim_at IS NOT NULL AND in_flight >= ?'
const WAITING = `
  SELECT rowid, delivery_id, due_at FROM deliveries
  WHERE webhook_id = ? AND status = 'pending' AND owner IS NULL AND (due_at, delivery_id) > (?, ?)
  ORDER BY due_at, delivery_id LIMIT ?`

type SendingRow = SendingState & { webhook_id: string; claim_at: string | null }

type Waiting = [rowid: number, delivery_id: string, due_at: string]

/** A webhook within one claim. */
interface Taker {
  webhook: Webhook
  state: Pick<SendingRow, 'webhook_id' | 'claim_at'> & SendingState
  /** The first of its deliveries that are not yet taken, from the index alone; all, or one more than is taken. */
  waiting: Waiting[]
  /** So many of them are taken, */
  taken: number
  /** and this is the last that was. */
  last: Waiting | null
  /** The runs of its places. */
  runs: Waiting[][]
}

function readOn(connection: Connection, taker: Taker, most: number): void {
  taker.taken = 0
  const [, delivery_id, due_at] = taker.last ?? [0, '', '']
  taker.waiting = connection.tuples<Waiting>(WAITING, taker.state.webhook_id, due_at, delivery_id, most)
  taker.state.due_at = taker.waiting[0]?.[2] ?? null
}

function takeNext(connection: Connection, taker: Taker): Waiting {
  const next = taker.waiting[taker.taken]!
  taker.last = next
  taker.taken += 1
  if (taker.taken === taker.waiting.length) readOn(connection, taker, 2 * taker.taken)
  taker.state.due_at = taker.waiting[taker.taken]?.[2] ?? null
  return next
}

function takePlace(connection: Connection, taker: Taker, now: number): Taken {
  const run = [takeNext(connection, taker)]
  taker.runs.push(run)
  const state = afterClaim(taker.state, now)
  taker.state = { ...state, claim_at: claimAt(state) }
  return { run, webhook: taker.webhook }
}

/** What else is due goes to the places that the webhook was given, one to each, then again, up to `most` for each. */
function fillRuns(connection: Connection, taker: Taker, most: number, at: string): void {
  const { runs, state } = taker
  const wanted = runs.length * (most - 1)
  if (wanted >= taker.waiting.length - taker.taken && wanted > 0) readOn(connection, taker, wanted + 1)
  for (let more = runs.length; more < runs.length * most; more += 1) {
    if (state.due_at === null || state.due_at > at) break
    runs[more % runs.length]!.push(takeNext(connection, taker))
  }
  state.claim_at = claimAt(state)
}

function newTaker(connection: Connection, row: SendingRow): Taker {
  const taker: Taker = {
    webhook: shownOf(WEBHOOKS, WEBHOOK, row),
    state: { ...row },
    waiting: [],
    taken: 0,
    last: null,
    runs: [],
  }
  readOn(connection, taker, 2)
  return taker
}

/** A place. */
interface Taken {
  run: Waiting[]
  webhook: Webhook
}

/** Those at this level that may be claimed now, the longest wait first. */
function dueTakers(takers: Iterable<Taker>, level: number, at: string): Taker[] {
  return [...takers]
    .filter(({ state }) => state.in_flight === level && state.claim_at !== null && state.claim_at <= at)
    .toSorted((a, b) => (a.state.claim_at! < b.state.claim_at! ? -1 : 1))
}

/** What is to be claimed, in its order; the webhooks' rows are written. */
function takeTurns(connection: Connection, { limit, runs }: Input<'claimDeliveries'>): Taken[] {
  const now = connection.clock.now()
  const at = iso(now)
  const takers = new Map<string, Taker>()
  const taken: Taken[] = []
  // Rows whose state has moved on are below `stored`, which is not below `level`: none is read twice.
  const storedFrom = (least: number): number =>
    connection.one<{ level: number | null }>(NEXT_LEVEL, least)!.level ?? Infinity
  let stored = storedFrom(0)
  for (let level = stored; level < limit - taken.length; ) {
    if (level === stored) {
      for (const row of connection.all<SendingRow>(LEVEL, level, at, limit - taken.length))
        takers.set(row.webhook_id, newTaker(connection, row))
      stored = storedFrom(level + 1)
    }
    for (const taker of dueTakers(takers.values(), level, at))
      if (level < limit - taken.length) taken.push(takePlace(connection, taker, now))
    const moved = [...takers.values()].some(({ state }) => state.in_flight > level && state.claim_at !== null)
    level = moved ? level + 1 : stored
  }
  for (const taker of takers.values()) {
    if (mayRun(taker.state)) fillRuns(connection, taker, runs?.get(taker.state.webhook_id) ?? 1, at)
    writeState(connection, taker.state.webhook_id, taker.state)
  }
  return taken
}

const CLAIM = 'UPDATE deliveries SET owner = ?, ahead = ? WHERE rowid IN (SELECT value FROM json_each(?))'
// In the order of the list.
const CLAIMED = `
  SELECT delivery_id, deliveries.workspace_id, attempt_count, seq, events.event_id, events.type, timestamp, data
  FROM json_each(?) AS given CROSS JOIN deliveries ON deliveries.rowid = given.value
    CROSS JOIN events ON events.seq = event_seq`

type Claimed = [
  delivery_id: string,
  workspace_id: string,
  attempt_count: number,
  event_seq: number,
  event_id: string,
  type: Event['type'],
  timestamp: string,
  data: string,
]
type Told = Pick<ClaimedDelivery, 'event' | 'body'>

function rowids(of: readonly Waiting[]): string {
  return `[${of.map(([rowid]) => rowid).join(',')}]`
}

export function claimDeliveries(connection: Connection, input: Input<'claimDeliveries'>): ClaimedDelivery[] {
  requireNode(connection, input.node_id)
  const { node_id } = input
  const taken = takeTurns(connection, input)
  if (taken.length === 0) return []
  connection.run(CLAIM, node_id, 1, rowids(taken.flatMap(({ run }) => run.slice(0, -1))))
  connection.run(CLAIM, node_id, 0, rowids(taken.map(({ run }) => run.at(-1)!)))
  const events = new Map<number, Told>()
  const rows = connection.tuples<Claimed>(CLAIMED, rowids(taken.flatMap(({ run }) => run)))
  let nth = 0
  return taken.flatMap(({ run, webhook }, place) =>
    run.map((): ClaimedDelivery => {
      const [delivery_id, workspace_id, attempt_count, seq, event_id, type, timestamp, data] = rows[nth++]!
      let told = events.get(seq)
      if (!told) {
        const event = { event_id, type, timestamp }
        events.set(seq, (told = { event, body: eventText(event, data) }))
      }
      const { event, body } = told
      return { delivery_id, workspace_id, event, body, webhook, attempt: attempt_count + 1, node_id, place }
    }),
  )
}

interface SettledOf extends Settled {
  webhook_id: string
}

/** Fenced: only where the node still holds this attempt. Null: it was taken over. */
function settle(connection: Connection, outcome: AttemptOutcome, now: number): SettledOf | null {
  const { next, delivery_id, node_id, attempt } = outcome
  const row = connection.tuple<[webhook_id: string, ahead: number, due_at: string | null]>(
    `UPDATE deliveries SET owner = NULL, attempt_count = attempt_count + 1,
       status = CASE WHEN last_try = 1 AND ?1 = 'pending' THEN 'canceled' ELSE ?1 END,
       due_at = CASE WHEN last_try = 1 THEN NULL ELSE ?2 END
     WHERE delivery_id = ?3 AND owner = ?4 AND attempt_count = ?5 - 1 AND status = 'pending'
     RETURNING webhook_id, ahead, due_at`,
    next.status,
    next.status === 'pending' ? iso(now + next.wait_ms) : null,
    delivery_id,
    node_id,
    attempt,
  )
  if (!row) return null
  connection.run(
    'INSERT INTO attempts (delivery_id, number, record) VALUES (?, ?, ?)',
    delivery_id,
    attempt,
    JSON.stringify(outcome.record),
  )
  connection.hint({ topic: 'delivery', delivery_id })
  const [webhook_id, ahead, due_at] = row
  return { outcome, webhook_id, due_at, freed: ahead === 0 }
}

function countAttempts(connection: Connection, webhook_id: string, settled: Settled[], at: string): void {
  const buckets = Map.groupBy(settled, ({ outcome: { next, record } }) =>
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
function updateHealth(connection: Connection, webhook_id: string, settled: Settled[], now: number): void {
  const before = readState(connection, webhook_id)!
  const after = afterAttempts(before, settled, now)
  writeState(connection, webhook_id, after)
  if (after.failing_since !== before.failing_since || after.failing_reason !== before.failing_reason)
    finish(writeHealth(connection.rows, webhook_id, after))
  const outcomes = settled.map(({ outcome }) => outcome)
  const off = outcomes.find(({ disable }) => disable)
  const fails = outcomes.find(({ warn }) => warn)
  if (off?.disable)
    finish(disableWebhook(transactionOf(connection), webhook_id, off.disable.reason, off.delivery_id))
  else if (fails) finish(warnOfFailing(transactionOf(connection), webhook_id, fails.delivery_id))
}

/** All outcomes of one commit. Answers for each whether it was written. */
export function recordAttempts(connection: Connection, outcomes: AttemptOutcome[]): boolean[] {
  const now = connection.clock.now()
  const settled = outcomes.map((outcome) => settle(connection, outcome, now))
  const written = settled.filter((one) => one !== null)
  for (const [webhook_id, of] of Map.groupBy(written, (one) => one.webhook_id)) {
    countAttempts(connection, webhook_id, of, iso(now))
    updateHealth(connection, webhook_id, of, now)
  }
  return settled.map((one) => one !== null)
}

interface Claim {
  delivery_id: string
  attempt: number
  node_id: string
}

const RELEASE = `
  UPDATE deliveries SET owner = NULL,
    status = CASE WHEN last_try = 1 THEN 'canceled' ELSE status END,
    due_at = CASE WHEN last_try = 1 THEN NULL ELSE due_at END
  WHERE delivery_id = ? AND owner = ? AND attempt_count = ? - 1 AND status = 'pending'
  RETURNING webhook_id, ahead`

export function releaseDeliveries(connection: Connection, claims: Claim[]): void {
  const released = claims.flatMap(({ delivery_id, node_id, attempt }) => {
    const row = connection.one<{ webhook_id: string; ahead: 0 | 1 }>(RELEASE, delivery_id, node_id, attempt)
    return row ? [row] : []
  })
  for (const [webhook_id, own] of Map.groupBy(released, (row) => row.webhook_id))
    refreshState(connection, webhook_id, own.filter(({ ahead }) => ahead === 0).length)
  if (released.length > 0) connection.hint({ topic: 'deliveries' })
}

/** One event to one webhook, whatever it subscribes to. */
export function sendEvent(connection: Connection, input: Input<'sendEvent'>): Delivery | null {
  const { workspace_id, webhook_id, delivery_id, event_id, type, data } = input
  if (!finish(getWebhook(connection.rows, input))) return null
  if (!findDelivery(connection, input)) {
    const at = connection.now()
    const event = insertEvent(connection, event_id, { workspace_id, type, at, data })
    const first = dueFirst(readState(connection, webhook_id)!, at)
    addDelivery(connection, { delivery_id, webhook_id, event, assignment_id: null, at, due_at: first.due_at })
    writeState(connection, webhook_id, first)
  }
  return toDelivery(findDelivery(connection, input)!)
}
