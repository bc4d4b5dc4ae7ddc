/** Events, and their fan-out: one delivery for each webhook that subscribes, in the transaction that made it true. */
import { uuidv7 } from '@assay/model/ids'
import { addDeliveries, insertEvent } from '../nouns/webhooks/deliveries.ts'
import { lockWebhooks } from '../nouns/webhooks/states.ts'
import type { NewEvent, Routine, Transaction } from '../rows.ts'
import { WEBHOOK_EVENTS } from '../tables/webhooks/webhooks.ts'

/** `notifies` of webhook.ts as a query: `webhook_events` holds what it says of each enabled webhook. */
const subscribed = (also: string) =>
  WEBHOOK_EVENTS.select(
    `WHERE workspace_id = :workspace_id AND event_type = :type AND skipped >= :skipped ${also}`,
    ['webhook_id'],
  )
const SUBSCRIBED = subscribed('')
const SUBSCRIBED_BY_NAME = subscribed('AND presence_name = :presence_name')

// Statement by statement: in one process none is waited for, and most events have no subscriber.
export function* writeEvents(tx: Transaction, events: readonly NewEvent[]): Routine<void> {
  for (const event of events) {
    const told = yield* insertEvent(tx, uuidv7(), event)
    const presence_name = event.job?.presence_name ?? null
    const found = yield* tx.all(presence_name === null ? SUBSCRIBED : SUBSCRIBED_BY_NAME, {
      ...event,
      presence_name,
      skipped: (event.job?.skipped ?? null) !== null,
    })
    if (found.length === 0) continue
    const webhooks = yield* lockWebhooks(
      tx,
      found.map(({ webhook_id }) => webhook_id),
    )
    const assignment_id = event.job?.assignment_id ?? null
    yield* addDeliveries(
      tx,
      webhooks.map((webhook) => ({ delivery_id: uuidv7(), webhook, event: told, assignment_id })),
    )
  }
}
