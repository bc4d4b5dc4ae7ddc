/**
 * How deliveries are claimed and settled. A claim locks the webhooks that may be claimed, passing over those that another
 * dispatcher or a settle holds, and hands out their deliveries in the order of (in_flight, claim_at), as SQLite does:
 * first those with none in flight, then those with one ... All of them are claimed by one statement.
 */
import { type Delivery, latencyBucket } from '@assay/model/delivery'
import { type Event, eventText } from '@assay/model/event'
import { MAX_IN_FLIGHT, type Webhook } from '@assay/model/webhook'
import { disableWebhook, getWebhook, warnOfFailing, writeHealth } from '../nouns/webhooks.ts'
import { follow } from '../rows.ts'
import { afterAttempts, afterClaim, claimAt, dueFirst, mayRun, type Settled } from '../sending-state.ts'
import type { AttemptOutcome, ClaimedDelivery, Input } from '../store.ts'
import { WEBHOOK, WEBHOOKS } from '../tables/webhooks.ts'
import { requireNode } from './claims.ts'
import type { Transaction } from './connection.ts'
import { addDeliveries, findDelivery, toDelivery } from './deliveries.ts'
import { insertEvent } from './events.ts'
import { transactionOf } from './native.ts'
import {
  type Due,
  dueDeliveries,
  type LockedWebhook,
  lockWebhook,
  lockWebhooks,
  refreshStates,
  writeStates,
} from './sending-state.ts'

// Level by level: an index range over (in_flight, claim_at) would read all that wait for a later time. While nothing waits
// there is no level.
const NEXT_WEBHOOKS = `
  SELECT webhook.*
  FROM generate_series(0, (SELECT least($2::int - 1, coalesce(max(in_flight), -1)) FROM webhooks WHERE claim_at IS NOT NULL)) AS level, LATERAL (
    SELECT * FROM webhooks WHERE claim_at IS NOT NULL AND in_flight = level AND claim_at <= $1
    ORDER BY claim_at LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED) AS webhook
  LIMIT $2`
const CLAIM = `
  UPDATE deliveries SET owner = $1, ahead = taken.ahead
  FROM unnest($2::text[], $3::boolean[]) AS taken (delivery_id, ahead)
  WHERE deliveries.delivery_id = taken.delivery_id
  RETURNING deliveries.delivery_id, workspace_id, attempt_count, event_seq`
const THEIR_EVENTS = `
  SELECT seq, event_id, type, timestamp, data::text AS data FROM events WHERE seq = ANY ($1)`

type WebhookRow = Webhook & LockedWebhook

interface Candidate {
  row: WebhookRow
  state: LockedWebhook
  /** In order; one more than it may be given, where there are so many. */
  waiting: Due[]
  /** So many of them are taken. */
  taken: number
  /** The most that one of its places is given. */
  most: number
  /** The runs of its places. */
  runs: Due[][]
}

async function candidates(tx: Transaction, { limit, runs }: Input<'claimDeliveries'>): Promise<Candidate[]> {
  const rows = await tx.all<WebhookRow>(NEXT_WEBHOOKS, tx.now, limit)
  if (rows.length === 0) return []
  const most = rows.map((row) => (mayRun(row) ? (runs?.get(row.webhook_id) ?? 1) : 1))
  const places = rows.map((row) => Math.min(limit, (row.max_in_flight ?? MAX_IN_FLIGHT) - row.in_flight))
  // No unclaimed one is due before what the webhook's row says: the claimed ones, which the index holds too, lie before.
  const asked = rows.map(({ webhook_id, due_at }, index) => ({
    webhook_id,
    since: due_at,
    most: places[index]! * most[index]! + 1,
  }))
  const waiting = Map.groupBy(await dueDeliveries(tx, asked), ({ webhook_id }) => webhook_id)
  return rows.map((row, index) => {
    const own = waiting.get(row.webhook_id) ?? []
    const state = { ...row, due_at: own[0]?.due_at ?? null }
    return { row, state, waiting: own, taken: 0, most: most[index]!, runs: [] }
  })
}

function takeNext(candidate: Candidate): Due {
  const next = candidate.waiting[candidate.taken]!
  candidate.taken += 1
  candidate.state.due_at = candidate.waiting[candidate.taken]?.due_at ?? null
  return next
}

/** What else is due goes to the places that the webhook was given, one to each, then again. */
function fillRuns(candidate: Candidate, now: string): void {
  const { runs, state, most } = candidate
  for (let more = runs.length; more < runs.length * most; more += 1) {
    if (state.due_at === null || state.due_at > now) return
    runs[more % runs.length]!.push(takeNext(candidate))
  }
}

/** Those with so many in flight that may be claimed now, the longest wait first. */
function dueAt(all: Candidate[], level: number, now: string): Candidate[] {
  return all
    .filter(({ state }) => state.in_flight === level)
    .map((candidate) => ({ candidate, at: claimAt(candidate.state) }))
    .filter((due): due is { candidate: Candidate; at: string } => due.at !== null && due.at <= now)
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .map(({ candidate }) => candidate)
}

/** A place. */
interface Taken {
  run: Due[]
  row: WebhookRow
}

/** Changes the states of the candidates. */
function choose(all: Candidate[], now: string, limit: number): Taken[] {
  const chosen: Taken[] = []
  for (let level = 0; level < limit - chosen.length; level += 1)
    for (const candidate of dueAt(all, level, now)) {
      if (level >= limit - chosen.length) break
      const run = [takeNext(candidate)]
      candidate.runs.push(run)
      candidate.state = afterClaim(candidate.state, Date.parse(now))
      chosen.push({ run, row: candidate.row })
    }
  for (const candidate of all) fillRuns(candidate, now)
  return chosen
}

type EventText = Omit<Event, 'data'> & { seq: number; data: string }

async function eventsOf(
  tx: Transaction,
  seqs: number[],
): Promise<(seq: number) => Pick<ClaimedDelivery, 'event' | 'body'>> {
  const rows = seqs.length === 0 ? [] : await tx.all<EventText>(THEIR_EVENTS, [...new Set(seqs)])
  const told = new Map(
    rows.map(({ seq, data, ...event }) => [seq, { event, body: eventText(event, data) }] as const),
  )
  return (seq) => told.get(seq)!
}

interface ClaimedRow {
  delivery_id: string
  workspace_id: string
  attempt_count: number
  event_seq: number
}

async function markClaimed(tx: Transaction, node_id: string, chosen: Taken[]): Promise<ClaimedRow[]> {
  const marks = chosen.flatMap(({ run }) =>
    run.map(({ delivery_id }, index) => ({ delivery_id, ahead: index < run.length - 1 })),
  )
  if (marks.length === 0) return []
  return tx.all<ClaimedRow>(
    CLAIM,
    node_id,
    marks.map(({ delivery_id }) => delivery_id),
    marks.map(({ ahead }) => ahead),
  )
}

export async function claimDeliveries(
  tx: Transaction,
  input: Input<'claimDeliveries'>,
): Promise<ClaimedDelivery[]> {
  const { node_id, limit } = input
  await requireNode(tx, node_id)
  const all = await candidates(tx, input)
  const chosen = choose(all, tx.now, limit)
  const rows = await markClaimed(tx, node_id, chosen)
  const eventOf = await eventsOf(
    tx,
    rows.map(({ event_seq }) => event_seq),
  )
  // Also those that had nothing due after all: their state is put right.
  await writeStates(
    tx,
    all
      .filter(({ row, state }) => state.in_flight !== row.in_flight || state.due_at !== row.due_at)
      .map(({ state }) => state),
  )
  const claimed = new Map(rows.map((row) => [row.delivery_id, row]))
  return chosen.flatMap(({ run, row }, place) => {
    const webhook = WEBHOOKS.pick(row, WEBHOOK)
    return run.map(({ delivery_id }) => {
      const { workspace_id, event_seq, attempt_count } = claimed.get(delivery_id)!
      const attempt = attempt_count + 1
      return { delivery_id, workspace_id, ...eventOf(event_seq), webhook, attempt, node_id, place }
    })
  })
}

interface Claim {
  delivery_id: string
  attempt: number
  node_id: string
}

// The fence, the attempts and their counts in one statement: where a claim is lost, none of them is written. What has an
// owner is pending: said once more, it would open the index of all that wait to the planner.
const SETTLE = `
  WITH settled AS (
    UPDATE deliveries SET owner = NULL, attempt_count = attempt_count + 1,
      status = CASE WHEN given.status = 'pending' AND last_try THEN 'canceled' ELSE given.status END,
      due_at = CASE WHEN given.status = 'pending' AND NOT last_try
        THEN clock_timestamp() + given.wait_ms * interval '1 ms' END
    FROM ROWS FROM (unnest($1::text[]), unnest($2::text[]), unnest($3::int[]), unnest($4::text[]),
      unnest($5::float8[]), unnest($6::int[]), json_array_elements($7::json))
      AS given (delivery_id, node_id, attempt, status, wait_ms, bucket, record)
    WHERE deliveries.delivery_id = given.delivery_id AND owner = given.node_id
      AND attempt_count = given.attempt - 1
    RETURNING deliveries.delivery_id, webhook_id, deliveries.due_at, ahead, given.node_id, given.attempt, given.bucket, given.record
  ), recorded AS (
    INSERT INTO attempts (delivery_id, number, record) SELECT delivery_id, attempt, record FROM settled
  ), counted AS (
    INSERT INTO attempt_counts (webhook_id, hour, bucket, count)
    SELECT webhook_id, date_trunc('hour', clock_timestamp(), 'UTC'), bucket, count(*) FROM settled
    GROUP BY webhook_id, bucket ORDER BY webhook_id, bucket
    ON CONFLICT (webhook_id, hour, bucket) DO UPDATE SET count = attempt_counts.count + excluded.count
  )
  SELECT delivery_id, webhook_id, due_at, ahead, node_id, attempt FROM settled`

interface SettledRow {
  delivery_id: string
  webhook_id: string
  /** Where it is to be tried again. */
  due_at: string | null
  ahead: boolean
  node_id: string
  attempt: number
}

// As an array they are found first: as a join, each webhook's deliveries may be.
const OF_DELIVERIES = `
  webhook_id = ANY (ARRAY (SELECT DISTINCT webhook_id FROM deliveries WHERE delivery_id = ANY ($1)))`

/** Of an outcome, or of what was written of it. */
function keyOf({ delivery_id, node_id, attempt }: Claim): string {
  return `${delivery_id} ${node_id} ${attempt}`
}

function settle(tx: Transaction, outcomes: AttemptOutcome[]): Promise<SettledRow[]> {
  const column = <T>(of: (outcome: AttemptOutcome) => T): T[] => outcomes.map(of)
  return tx.all<SettledRow>(
    SETTLE,
    column(({ delivery_id }) => delivery_id),
    column(({ node_id }) => node_id),
    column(({ attempt }) => attempt),
    column(({ next }) => next.status),
    column(({ next }) => (next.status === 'pending' ? next.wait_ms : 0)),
    column(({ next, record }) => (next.status === 'delivered' ? latencyBucket(record.duration_ms) : -1)),
    `[${column(({ record }) => JSON.stringify(record)).join(',')}]`,
  )
}

/** The webhook after these outcomes, in their order. */
async function updateHealth(
  tx: Transaction,
  before: LockedWebhook,
  settled: readonly Settled[],
): Promise<LockedWebhook> {
  const after = afterAttempts(before, settled, Date.parse(tx.now))
  if (after.failing_since !== before.failing_since || after.failing_reason !== before.failing_reason)
    await follow(writeHealth(tx.rows, after.webhook_id, after))
  return after
}

/** All outcomes of one transaction. Answers for each whether it was written. */
export async function recordAttempts(tx: Transaction, outcomes: AttemptOutcome[]): Promise<boolean[]> {
  const states = await lockWebhooks(
    tx,
    OF_DELIVERIES,
    outcomes.map(({ delivery_id }) => delivery_id),
  )
  const rows = new Map((await settle(tx, outcomes)).map((row) => [keyOf(row), row]))
  const of = new Map<string, Settled[]>(states.map(({ webhook_id }) => [webhook_id, []]))
  const written = outcomes.map((outcome) => {
    const key = keyOf(outcome)
    const row = rows.get(key)
    // The same attempt told twice is written once.
    rows.delete(key)
    if (!row) return false
    of.get(row.webhook_id)?.push({ outcome, due_at: row.due_at, freed: !row.ahead })
    tx.hint({ topic: 'delivery', delivery_id: outcome.delivery_id })
    return true
  })
  const after: LockedWebhook[] = []
  for (const state of states) {
    const own = of.get(state.webhook_id)!
    if (own.length > 0) after.push(await updateHealth(tx, state, own))
  }
  await writeStates(tx, after)
  for (const [webhook_id, own] of of) {
    const outcomes = own.map(({ outcome }) => outcome)
    const off = outcomes.find(({ disable }) => disable)
    const fails = outcomes.find(({ warn }) => warn)
    if (off?.disable)
      await follow(disableWebhook(transactionOf(tx), webhook_id, off.disable.reason, off.delivery_id))
    else if (fails) await follow(warnOfFailing(transactionOf(tx), webhook_id, fails.delivery_id))
  }
  return written
}

// One statement, as a settle is: while thousands are given back, the outcomes of the same webhook wait for its lock.
const RELEASE = `
  UPDATE deliveries SET owner = NULL,
    status = CASE WHEN last_try THEN 'canceled' ELSE deliveries.status END,
    due_at = CASE WHEN last_try THEN NULL ELSE due_at END
  FROM unnest($1::text[], $2::text[], $3::int[]) AS given (delivery_id, node_id, attempt)
  WHERE deliveries.delivery_id = given.delivery_id AND owner = given.node_id
    AND attempt_count = given.attempt - 1
  RETURNING webhook_id, ahead`

export async function releaseDeliveries(tx: Transaction, claims: Claim[]): Promise<void> {
  const delivery_ids = claims.map(({ delivery_id }) => delivery_id)
  const states = await lockWebhooks(tx, OF_DELIVERIES, delivery_ids)
  const rows = await tx.all<{ webhook_id: string; ahead: boolean }>(
    RELEASE,
    delivery_ids,
    claims.map(({ node_id }) => node_id),
    claims.map(({ attempt }) => attempt),
  )
  if (rows.length === 0) return
  const released = Map.groupBy(rows, ({ webhook_id }) => webhook_id)
  await refreshStates(
    tx,
    states.flatMap((state) => {
      const own = released.get(state.webhook_id)
      return own ? [{ ...state, in_flight: state.in_flight - own.filter(({ ahead }) => !ahead).length }] : []
    }),
  )
  tx.hint({ topic: 'deliveries' })
}

/** One event to one webhook, whatever it subscribes to. */
export async function sendEvent(tx: Transaction, input: Input<'sendEvent'>): Promise<Delivery | null> {
  const { workspace_id, webhook_id, delivery_id, event_id, type, data } = input
  if (!(await follow(getWebhook(tx.rows, input)))) return null
  const webhook = await lockWebhook(tx, webhook_id)
  if (!webhook) return null
  if (!(await findDelivery(tx, input))) {
    const at = tx.now
    const event = await insertEvent(tx, event_id, { workspace_id, type, at, data })
    const first = dueFirst(webhook, at)
    await addDeliveries(tx, [{ delivery_id, webhook, event, assignment_id: null, at, due_at: first.due_at }])
    await writeStates(tx, [first])
  }
  const made = await findDelivery(tx, input)
  return made ? toDelivery(made) : null
}
