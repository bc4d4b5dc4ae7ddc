/** Writes events and one delivery for each webhook that subscribes, in the transaction of the change. */
import { uuidv7 } from '@assay/model/ids'
import { EVERY_NAME } from '@assay/model/webhook'
import { addDeliveries, insertEvent } from '../nouns/webhooks/deliveries.ts'
import { lockWebhooks } from '../nouns/webhooks/states.ts'
import type { NewEvent, Routine, Transaction } from '../rows.ts'
import { WEBHOOK_EVENTS } from '../tables/webhooks/webhooks.ts'

/** `notifies` of webhook.ts as a query over `webhook_events`, which holds the events of each enabled webhook. */
const subscribed = (also: string) =>
  WEBHOOK_EVENTS.select(
    `WHERE workspace_id = :workspace_id AND event_type = :type AND skipped >= :skipped ${also}`,
    ['webhook_id'],
  )
const ALL = subscribed('')
const WEBHOOKS = subscribed('AND people = 0')
const NAMED = subscribed('AND people IN (0, 1) AND presence_name = :presence_name')
const NAMED_WEBHOOKS = subscribed('AND people = 0 AND presence_name = :presence_name')
const EVERY = subscribed(`AND people = 0 AND presence_name = '${EVERY_NAME}'`)
const NOTIFIED = subscribed('AND people = 1 AND webhook_id = ANY (:notify)')

/** The ids of the webhooks that get an event. */
function* toldOf(tx: Transaction, { job, type, workspace_id }: NewEvent): Routine<string[]> {
  const { presence_name = null, notify = null, skipped = null, personal = false } = job ?? {}
  const values = { type, workspace_id, presence_name, notify, skipped: skipped !== null }
  const named = personal ? NAMED_WEBHOOKS : NAMED
  const found = yield* tx.all(job === null ? ALL : presence_name === null ? WEBHOOKS : named, values)
  if (job !== null && presence_name !== null) found.push(...(yield* tx.all(EVERY, values)))
  if (notify !== null && notify.length > 0) found.push(...(yield* tx.all(NOTIFIED, values)))
  return [...new Set(found.map(({ webhook_id }) => webhook_id))]
}

// Writes one statement after the other: in one process nothing waits, and most events have no subscriber.
export function* writeEvents(tx: Transaction, events: readonly NewEvent[]): Routine<void> {
  for (const event of events) {
    const told = yield* insertEvent(tx, uuidv7(), event)
    const ids = yield* toldOf(tx, event)
    if (ids.length === 0) continue
    const webhooks = yield* lockWebhooks(tx, ids)
    const assignment_id = event.job?.assignment_id ?? null
    yield* addDeliveries(
      tx,
      webhooks.map((webhook) => ({ delivery_id: uuidv7(), webhook, event: told, assignment_id })),
    )
  }
}
