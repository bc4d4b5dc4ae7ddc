/**
 * A claim of deliveries locks webhooks that may be claimed, skips those that another dispatcher or a settle holds, and hands out their
 * deliveries by (in_flight, claim_at), as SQLite does: first those with none in flight, then those with one. One query reads the
 * candidates, and one statement claims them.
 */
import { type Event, eventText } from '@assay/model/event'
import { MAX_IN_FLIGHT } from '@assay/model/webhook'
import type { ClaimedDelivery } from '../contract/webhooks/deliveries.ts'
import { afterClaim, claimAt, mayRun } from '../nouns/webhooks/sending-state.ts'
import { writeStates } from '../nouns/webhooks/states.ts'
import type { Routine } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Input } from '../store.ts'
import { WEBHOOK, WEBHOOKS, type WebhookRow } from '../tables/webhooks/webhooks.ts'
import type { Transaction } from './connection.ts'

// The webhooks are read level by level: an index range over (in_flight, claim_at) would read all that wait for a
// later time. While nothing waits there is no level.
const NEXT_WEBHOOKS = statement<WebhookRow>(`
  SELECT webhook.*
  FROM generate_series(0, (SELECT least(:limit::int - 1, coalesce(max(in_flight), -1)) FROM webhooks WHERE claim_at IS NOT NULL)) AS level, LATERAL (
    SELECT * FROM webhooks WHERE claim_at IS NOT NULL AND in_flight = level AND claim_at <= :at
    ORDER BY claim_at LIMIT :limit FOR NO KEY UPDATE SKIP LOCKED) AS webhook
  LIMIT :limit`)
const DUE = statement<Due>('SELECT * FROM due_deliveries(:webhook_ids, :since, :most)')
const CLAIM = statement<ClaimedRow>(
  `UPDATE deliveries SET owner = :node_id, ahead = taken.ahead
   FROM unnest(:delivery_ids::text[], :ahead::boolean[]) AS taken (delivery_id, ahead)
   WHERE deliveries.delivery_id = taken.delivery_id
   RETURNING deliveries.delivery_id, workspace_id, attempt_count, event_seq`,
)
// The data is read as text, because the body repeats it byte by byte.
const THEIR_EVENTS = statement<EventText>(
  'SELECT seq, event_id, type, timestamp, data::text AS data FROM events WHERE seq = ANY (:seqs)',
)

interface Due {
  webhook_id: string
  delivery_id: string
  due_at: string
}

interface Candidate {
  row: WebhookRow
  state: WebhookRow
  /** The candidates in order. There is one more than the webhook may get, if so many exist. */
  waiting: Due[]
  /** The number of candidates that are taken. */
  taken: number
  /** The most deliveries that one of its slots gets. */
  most: number
  /** The runs of its slots. */
  runs: Due[][]
}

function* candidatesOf(tx: Transaction, { limit, runs }: Input<'claimDeliveries'>): Routine<Candidate[]> {
  const rows = yield* tx.all(NEXT_WEBHOOKS, { at: tx.now, limit })
  if (rows.length === 0) return []
  const most = rows.map((row) => (mayRun(row) ? (runs?.get(row.webhook_id) ?? 1) : 1))
  const slots = rows.map((row) => Math.min(limit, (row.max_in_flight ?? MAX_IN_FLIGHT) - row.in_flight))
  const due = yield* tx.all(DUE, {
    webhook_ids: rows.map(({ webhook_id }) => webhook_id),
    // Unclaimed deliveries are due no earlier than the row of the webhook says. The index also holds claimed ones,
    // which are due before.
    since: rows.map(({ due_at }) => due_at),
    most: rows.map((_, index) => slots[index]! * most[index]! + 1),
  })
  const waiting = Map.groupBy(due, ({ webhook_id }) => webhook_id)
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

/** Spreads further due deliveries over the webhook's slots in turn. */
function fillRuns(candidate: Candidate, now: string): void {
  const { runs, state, most } = candidate
  for (let more = runs.length; more < runs.length * most; more += 1) {
    if (state.due_at === null || state.due_at > now) return
    runs[more % runs.length]!.push(takeNext(candidate))
  }
}

/** Returns the webhooks with `level` deliveries in flight that may be claimed now, the longest wait first. */
function dueAt(all: Candidate[], level: number, now: string): Candidate[] {
  return all
    .filter(({ state }) => state.in_flight === level)
    .map((candidate) => ({ candidate, at: claimAt(candidate.state) }))
    .filter((due): due is { candidate: Candidate; at: string } => due.at !== null && due.at <= now)
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .map(({ candidate }) => candidate)
}

/** A slot: one delivery, or a run of deliveries that are sent one after the other. */
interface Slot {
  run: Due[]
  row: WebhookRow
}

/** Chooses the deliveries of the slots. Changes the states of the candidates. */
function choose(all: Candidate[], now: string, limit: number): Slot[] {
  const chosen: Slot[] = []
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

interface ClaimedRow {
  delivery_id: string
  workspace_id: string
  attempt_count: number
  event_seq: number
}

/** Returns the parts of claimed deliveries other than webhooks, by the id of the delivery. */
function* claimed(
  tx: Transaction,
  node_id: string,
  chosen: Slot[],
): Routine<Map<string, Omit<ClaimedDelivery, 'webhook' | 'slot'>>> {
  const marks = chosen.flatMap(({ run }) =>
    run.map(({ delivery_id }, index) => ({ delivery_id, ahead: index < run.length - 1 })),
  )
  if (marks.length === 0) return new Map()
  const rows = yield* tx.all(CLAIM, {
    node_id,
    delivery_ids: marks.map(({ delivery_id }) => delivery_id),
    ahead: marks.map(({ ahead }) => ahead),
  })
  const seqs = [...new Set(rows.map(({ event_seq }) => event_seq))]
  const events = yield* tx.all(THEIR_EVENTS, { seqs })
  const told = new Map(
    events.map(({ seq, data, ...event }) => [seq, { event, body: eventText(event, data) }]),
  )
  return new Map(
    rows.map(({ event_seq, attempt_count, delivery_id, workspace_id }) => {
      const attempt = attempt_count + 1
      return [delivery_id, { delivery_id, workspace_id, ...told.get(event_seq)!, attempt, node_id }]
    }),
  )
}

export function* claimDeliveries(
  tx: Transaction,
  input: Input<'claimDeliveries'>,
): Routine<ClaimedDelivery[]> {
  const { node_id, limit } = input
  const all = yield* candidatesOf(tx, input)
  const chosen = choose(all, tx.now, limit)
  const deliveries = yield* claimed(tx, node_id, chosen)
  // The state of webhooks that had nothing due is corrected too.
  const moved = all.filter(
    ({ row, state }) => state.in_flight !== row.in_flight || state.due_at !== row.due_at,
  )
  yield* writeStates(
    tx,
    moved.map(({ state }) => state),
  )
  return chosen.flatMap(({ run, row }, slot) => {
    const webhook = WEBHOOKS.pick(row, WEBHOOK)
    return run.map(({ delivery_id }) => ({ ...deliveries.get(delivery_id)!, webhook, slot }))
  })
}
