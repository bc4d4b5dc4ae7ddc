/** Deliveries as people use them: make, read, list, send again. claim-deliveries.ts of each database claims them. */
import { type Attempt, DELIVERY_STATUSES, type Delivery, toAttempt } from '@assay/model/delivery'
import { type Event, eventText } from '@assay/model/event'
import type { Page } from '../../contract/page.ts'
import { listOf, WHOLE } from '../../list.ts'
import type { NewEvent, Reader, Routine, Transaction, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import { type Counts, DELIVERIES_COUNTED, type Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import { ATTEMPTS, DELIVERIES } from '../../tables/webhooks/deliveries.ts'
import { EVENTS, type EventRow } from '../../tables/webhooks/events.ts'
import { dueFirst } from './sending-state.ts'
import { type LockedWebhook, lockState, writeStates } from './states.ts'
import { getWebhook } from './webhooks.ts'

const SHOWN = DELIVERIES.except('event_seq', 'event_at', 'owner', 'last_try', 'ahead')
const OF_ID = by('delivery_id', 'workspace_id')
const FIND = DELIVERIES.select(OF_ID, SHOWN)
const FIND_WHOLE = DELIVERIES.select(OF_ID)
const INSERT = DELIVERIES.insert(DELIVERIES.except('owner', 'attempt_count', 'last_try', 'ahead'))
const INSERT_EVENT = EVENTS.insert<Told>(
  ['event_id', 'workspace_id', 'type', 'timestamp', 'data'],
  'RETURNING seq, event_id, workspace_id, type, timestamp',
)
const KEEP = EVENTS.select('WHERE seq = ANY (:seqs) FOR KEY SHARE', ['seq'])
const THEIR_ATTEMPTS = ATTEMPTS.select(`${by('delivery_id')} ORDER BY number`, ['record'])
// Read as text, because a request's body repeats it byte by byte.
const EVENT_OF = statement<Pick<Event, 'type' | 'timestamp'> & { data: string }>(
  `SELECT type, timestamp, CAST(data AS text) AS data FROM events
   WHERE seq = (SELECT event_seq FROM deliveries WHERE delivery_id = :delivery_id)`,
)
const LIST = listOf(DELIVERIES, {
  columns: SHOWN,
  id: 'delivery_id',
  filters: { event_type: null },
  indexed: [
    // A job has few deliveries, so its index comes before that of the webhook.
    ['workspace_id', 'assignment_id'],
    ['workspace_id', 'webhook_id', 'status'],
    ['workspace_id', 'webhook_id'],
  ],
  // On PostgreSQL a list has only the index of states, because each change of a delivery writes every index there.
  parts: (given) =>
    given.includes('status') || given.includes('assignment_id')
      ? WHOLE
      : { ...WHOLE, postgres: DELIVERY_STATUSES.map((status) => ({ where: `status = '${status}'` })) },
})
// Reads at most :most entries of the index of due deliveries. Those of a disabled webhook wait.
const COUNT = statement<Counts['deliveries']>(
  `SELECT count(*) FILTER (WHERE looked_at.due_at <= :now AND webhooks.status = 'enabled') AS due,
     count(*) FILTER (WHERE looked_at.due_at > :now OR webhooks.status <> 'enabled') AS waiting,
     (SELECT min(due_at) FROM webhooks) AS oldest_at
   FROM (SELECT webhook_id, due_at FROM deliveries WHERE status = 'pending' AND owner IS NULL LIMIT :most) AS looked_at
   JOIN (SELECT webhook_id, status FROM webhooks) AS webhooks USING (webhook_id)`,
)

export type Told = Pick<EventRow, 'seq' | 'event_id' | 'workspace_id' | 'type' | 'timestamp'>
type Row = Omit<Delivery, 'next_attempt_at'> & { due_at: string | null }

function toDelivery({ due_at, ...delivery }: Row): Delivery {
  return { ...delivery, next_attempt_at: due_at }
}

export interface NewDelivery {
  delivery_id: string
  /**
   * The webhook, which the transaction has locked. Several deliveries to one webhook share one object, which is
   * changed.
   */
  webhook: LockedWebhook
  event: Told
  assignment_id: string | null
  /** The due time; the default is now. */
  due_at?: string
}

/** Adds deliveries of events that this transaction has made or locked. */
export function* addDeliveries(tx: Writer, deliveries: readonly NewDelivery[]): Routine<void> {
  if (deliveries.length === 0) return
  const earlier = new Set<LockedWebhook>()
  const rows = deliveries.map(({ delivery_id, webhook, event, assignment_id, due_at = tx.now }) => {
    if (webhook.due_at === null || due_at < webhook.due_at) {
      webhook.due_at = due_at
      earlier.add(webhook)
    }
    return {
      delivery_id,
      workspace_id: event.workspace_id,
      webhook_id: webhook.webhook_id,
      event_seq: event.seq,
      event_id: event.event_id,
      event_type: event.type,
      event_at: event.timestamp,
      assignment_id,
      status: 'pending',
      due_at,
      created_at: tx.now,
    }
  })
  yield* tx.writeAll(INSERT, rows)
  yield* writeStates(tx, [...earlier])
  tx.hint({ topic: 'deliveries' })
}

/** Returns the events that still exist. They are locked against retention until the transaction ends. */
export function* lockEvents<Event extends Told>(tx: Writer, events: readonly Event[]): Routine<Event[]> {
  const rows = yield* tx.all(KEEP, { seqs: events.map(({ seq }) => seq) })
  const kept = new Set(rows.map(({ seq }) => seq))
  return events.filter(({ seq }) => kept.has(seq))
}

export function* insertEvent(
  tx: Writer,
  event_id: string,
  { workspace_id, type, at, data }: Omit<NewEvent, 'job'>,
): Routine<Told> {
  return (yield* tx.find(INSERT_EVENT, { event_id, workspace_id, type, timestamp: at, data }))!
}

function* findDelivery(
  from: Reader,
  key: { workspace_id: string; delivery_id: string },
): Routine<Delivery | null> {
  const row = yield* from.find(FIND, key)
  return row ? toDelivery(row) : null
}

export function* redeliver(tx: Transaction, input: Input<'redeliver'>): Routine<Delivery | null> {
  const { workspace_id, new_delivery_id: delivery_id } = input
  const original = yield* tx.find(FIND_WHOLE, input)
  const webhook = original && (yield* lockState(tx, original.webhook_id))
  if (!original || !webhook) return null
  const known = yield* findDelivery(tx, { workspace_id, delivery_id })
  if (known) return known
  const { event_seq: seq, event_id, event_type: type, event_at: timestamp, assignment_id } = original
  const [event] = yield* lockEvents(tx, [{ seq, event_id, type, timestamp, workspace_id }])
  if (!event) return null
  yield* addDeliveries(tx, [{ delivery_id, webhook, event, assignment_id }])
  return yield* findDelivery(tx, { workspace_id, delivery_id })
}

/** Sends one event to one webhook, whatever it subscribes to. */
export function* sendEvent(tx: Transaction, input: Input<'sendEvent'>): Routine<Delivery | null> {
  const { webhook_id, delivery_id, event_id } = input
  if (!(yield* getWebhook(tx, input))) return null
  const webhook = yield* lockState(tx, webhook_id)
  if (!webhook) return null
  const known = yield* findDelivery(tx, input)
  if (known) return known
  const event = yield* insertEvent(tx, event_id, { ...input, at: tx.now })
  const first = dueFirst(webhook, tx.now)
  yield* addDeliveries(tx, [{ delivery_id, webhook, event, assignment_id: null, due_at: first.due_at }])
  yield* writeStates(tx, [first])
  return yield* findDelivery(tx, input)
}

export function* getDelivery(
  from: Reader,
  key: Input<'getDelivery'>,
): Routine<(Delivery & { attempts: Attempt[] }) | null> {
  const delivery = yield* findDelivery(from, key)
  if (!delivery) return null
  const attempts = yield* from.all(THEIR_ATTEMPTS, key)
  const event = yield* from.find(EVENT_OF, key)
  // The event was deleted between the two statements.
  if (!event) return null
  const body = eventText(event, event.data)
  return { ...delivery, attempts: attempts.map(({ record }) => toAttempt(record, body)) }
}

export function* listDeliveries(from: Reader, query: Input<'listDeliveries'>): Routine<Page<Delivery>> {
  const { items, next_cursor } = yield* LIST.page(from, query)
  return { items: items.map(toDelivery), next_cursor }
}

export function* countDeliveries(from: Reader): Routine<Counts['deliveries']> {
  return (yield* from.find(COUNT, { most: DELIVERIES_COUNTED }))!
}
