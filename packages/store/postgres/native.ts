/** What PostgreSQL does with SQL of its own, as the nouns ask for it. */
import { uuidv7 } from '@assay/model/ids'
import { answerOf, type Native, type Transaction as Rows } from '../rows.ts'
import { assignmentOf } from '../tables/events.ts'
import { OUT_OF_INDEXES, type Transaction } from './connection.ts'
import { addDeliveries, deleteDeliveries, makeDue, removeDeliveriesOfJobs } from './deliveries.ts'
import { writeEvents } from './events.ts'
import { cancelJob, createJob, queueJob, removeJobs } from './jobs.ts'
import { type LockedWebhook, lockWebhook, refreshState } from './sending-state.ts'

function nativeOf(tx: Transaction): Native {
  async function locked(
    webhook_id: string,
    change: (webhook: LockedWebhook) => Promise<number>,
  ): Promise<number> {
    const webhook = await lockWebhook(tx, webhook_id)
    return webhook ? change(webhook) : 0
  }
  return {
    createJob: (input) => answerOf(createJob(tx, input)),
    queueJob: (key) => answerOf(queueJob(tx, key)),
    cancelJob: (key) => answerOf(cancelJob(tx, key)),
    *removeJobs(assignment_ids) {
      if (assignment_ids.length > 0) yield removeJobs(tx, assignment_ids)
    },
    *removeDrafts(drafts) {
      if (drafts.length === 0) return
      yield removeJobs(
        tx,
        drafts.map(({ assignment_id }) => assignment_id),
      )
    },
    removeDeliveriesOfJobs: (assignment_ids) => answerOf(removeDeliveriesOfJobs(tx, assignment_ids)),
    writeEvent: (event) => answerOf(writeEvents(tx, [event])),
    *useIndexes() {
      yield tx.run(OUT_OF_INDEXES)
    },
    *refreshWebhook(webhook_id, change = {}) {
      yield lockWebhook(tx, webhook_id).then((state) => state && refreshState(tx, { ...state, ...change }))
    },
    makeDue: (webhook_id, most) => answerOf(locked(webhook_id, (webhook) => makeDue(tx, webhook, most))),
    *addDeliveries(webhook_id, events) {
      const webhook = (yield lockWebhook(tx, webhook_id)) as LockedWebhook
      const made = events.map((event) => ({
        delivery_id: uuidv7(),
        webhook,
        event,
        assignment_id: assignmentOf(event),
        at: tx.now,
      }))
      yield addDeliveries(tx, made)
    },
    deleteDeliveries: (webhook_id, most) =>
      answerOf(locked(webhook_id, (webhook) => deleteDeliveries(tx, webhook, most))),
  }
}

/** The transaction as the nouns see it. */
export function transactionOf(tx: Transaction): Rows {
  return { ...tx.rows, native: nativeOf(tx) }
}
