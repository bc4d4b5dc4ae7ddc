/**
 * A claim of deliveries visits webhooks by (in_flight, claim_at): first those with none in flight, then those with one, and takes one
 * delivery of each. It reads only as far as it takes, so its cost does not grow with webhooks or waiting deliveries. The sending
 * state changes in memory, and the row of a webhook is written once.
 */
import { type Event, eventText } from '@assay/model/event'
import type { ClaimedDelivery } from '../contract/webhooks/deliveries.ts'
import { afterClaim, claimAt, mayRun } from '../nouns/webhooks/sending-state.ts'
import { writeStates } from '../nouns/webhooks/states.ts'
import type { Routine, Transaction, Writer } from '../rows.ts'
import { statement } from '../statement.ts'
import type { Input } from '../store.ts'
import { WEBHOOK, WEBHOOKS, type WebhookRow } from '../tables/webhooks/webhooks.ts'

const LEVEL = WEBHOOKS.select(
  'WHERE claim_at IS NOT NULL AND in_flight = :level AND claim_at <= :at ORDER BY claim_at LIMIT :most',
)
const NEXT_LEVEL = statement<{ level: number | null }>(
  'SELECT min(in_flight) AS level FROM webhooks WHERE claim_at IS NOT NULL AND in_flight >= :least',
)
const WAITING = statement<Waiting>(
  `SELECT rowid, delivery_id, due_at FROM deliveries
   WHERE webhook_id = :webhook_id AND status = 'pending' AND owner IS NULL AND (due_at, delivery_id) > (:due_at, :delivery_id)
   ORDER BY due_at, delivery_id LIMIT :most`,
)

interface Waiting {
  rowid: number
  delivery_id: string
  due_at: string
}

/** The state of a webhook within one claim. */
interface Taker {
  row: WebhookRow
  state: WebhookRow
  /** Its next deliveries, read from the index alone: all of them, or one more than is taken. */
  waiting: Waiting[]
  /** The number of them that are taken. */
  taken: number
  /** The last delivery that was taken; null if none was. */
  last: Waiting | null
  /** The runs of its slots. */
  runs: Waiting[][]
}

function* readOn(tx: Writer, taker: Taker, most: number): Routine<void> {
  const { webhook_id } = taker.row
  const { delivery_id, due_at } = taker.last ?? { delivery_id: '', due_at: '' }
  taker.taken = 0
  taker.waiting = yield* tx.all(WAITING, { webhook_id, delivery_id, due_at, most })
  taker.state.due_at = taker.waiting[0]?.due_at ?? null
}

function* takeNext(tx: Writer, taker: Taker): Routine<Waiting> {
  const next = taker.waiting[taker.taken]!
  taker.last = next
  taker.taken += 1
  if (taker.taken === taker.waiting.length) yield* readOn(tx, taker, 2 * taker.taken)
  taker.state.due_at = taker.waiting[taker.taken]?.due_at ?? null
  return next
}

function* takeSlot(tx: Writer, taker: Taker): Routine<Slot> {
  const run = [yield* takeNext(tx, taker)]
  taker.runs.push(run)
  const state = afterClaim(taker.state, Date.parse(tx.now))
  taker.state = { ...state, claim_at: claimAt(state) }
  return { run, row: taker.row }
}

/** Spreads further due deliveries over the webhook's slots in turn, up to `most` for each. */
function* fillRuns(tx: Writer, taker: Taker, most: number): Routine<void> {
  const { runs, state } = taker
  const wanted = runs.length * (most - 1)
  if (wanted >= taker.waiting.length - taker.taken && wanted > 0) yield* readOn(tx, taker, wanted + 1)
  for (let more = runs.length; more < runs.length * most; more += 1) {
    if (state.due_at === null || state.due_at > tx.now) break
    runs[more % runs.length]!.push(yield* takeNext(tx, taker))
  }
}

/** A slot: one delivery, or a run of deliveries that are sent one after the other. */
interface Slot {
  run: Waiting[]
  row: WebhookRow
}

/** Returns the webhooks with `level` deliveries in flight that may be claimed now, the longest wait first. */
function dueTakers(takers: Iterable<Taker>, level: number, at: string): Taker[] {
  return [...takers]
    .filter(({ state }) => state.in_flight === level && state.claim_at !== null && state.claim_at <= at)
    .toSorted((a, b) => (a.state.claim_at! < b.state.claim_at! ? -1 : 1))
}

function* takersAt(tx: Writer, level: number, most: number): Routine<Taker[]> {
  const takers: Taker[] = []
  for (const row of yield* tx.all(LEVEL, { level, most, at: tx.now })) {
    const taker: Taker = { row, state: { ...row }, waiting: [], taken: 0, last: null, runs: [] }
    yield* readOn(tx, taker, 2)
    takers.push(taker)
  }
  return takers
}

function* storedFrom(tx: Writer, least: number): Routine<number> {
  return (yield* tx.find(NEXT_LEVEL, { least }))!.level ?? Infinity
}

/** Chooses the deliveries in their order, and writes the rows of the webhooks. */
function* takeSlots(tx: Writer, { limit, runs }: Input<'claimDeliveries'>): Routine<Slot[]> {
  const takers: Taker[] = []
  const taken: Slot[] = []
  // Changed rows lie below `stored`, which is at least `level`, so no row is read twice.
  let stored = yield* storedFrom(tx, 0)
  for (let level = stored; level < limit - taken.length; ) {
    if (level === stored) {
      takers.push(...(yield* takersAt(tx, level, limit - taken.length)))
      stored = yield* storedFrom(tx, level + 1)
    }
    for (const taker of dueTakers(takers, level, tx.now))
      if (level < limit - taken.length) taken.push(yield* takeSlot(tx, taker))
    const moved = takers.some(({ state }) => state.in_flight > level && state.claim_at !== null)
    level = moved ? level + 1 : stored
  }
  for (const taker of takers)
    if (mayRun(taker.state)) yield* fillRuns(tx, taker, runs?.get(taker.row.webhook_id) ?? 1)
  yield* writeStates(
    tx,
    takers.map(({ state }) => state),
  )
  return taken
}

const CLAIM = statement('UPDATE deliveries SET owner = :node_id, ahead = :ahead WHERE rowid = ANY (:rowids)')
// Reads the claimed deliveries in the order of the list. The data is read as text, because the body repeats it byte
// by byte.
const CLAIMED = statement<Claimed>(
  `SELECT delivery_id, deliveries.workspace_id, attempt_count, seq, events.event_id, events.type, timestamp, data
   FROM json_each(:rowids) AS given CROSS JOIN deliveries ON deliveries.rowid = given.value
     CROSS JOIN events ON events.seq = event_seq`,
)

interface Claimed extends Pick<ClaimedDelivery, 'delivery_id' | 'workspace_id'>, Omit<Event, 'data'> {
  attempt_count: number
  seq: number
  data: string
}
type Told = Pick<ClaimedDelivery, 'event' | 'body'>

export function* claimDeliveries(
  tx: Transaction,
  input: Input<'claimDeliveries'>,
): Routine<ClaimedDelivery[]> {
  const { node_id } = input
  const taken = yield* takeSlots(tx, input)
  if (taken.length === 0) return []
  const claim = (claimed: Waiting[], ahead: boolean): Routine<number> =>
    tx.run(CLAIM, { node_id, ahead, rowids: claimed.map(({ rowid }) => rowid) })
  yield* claim(
    taken.flatMap(({ run }) => run.slice(0, -1)),
    true,
  )
  yield* claim(
    taken.map(({ run }) => run.at(-1)!),
    false,
  )
  const rowids = taken.flatMap(({ run }) => run.map(({ rowid }) => rowid))
  const rows = yield* tx.all(CLAIMED, { rowids })
  const events = new Map<number, Told>()
  let nth = 0
  return taken.flatMap(({ run, row }, slot) => {
    const webhook = WEBHOOKS.pick(row, WEBHOOK)
    return run.map((): ClaimedDelivery => {
      const { delivery_id, workspace_id, attempt_count, seq, data, ...event } = rows[nth++]!
      const told = events.get(seq) ?? { event, body: eventText(event, data) }
      events.set(seq, told)
      return { delivery_id, workspace_id, ...told, webhook, attempt: attempt_count + 1, node_id, slot }
    })
  })
}
