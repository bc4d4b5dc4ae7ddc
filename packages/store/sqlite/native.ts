/** What SQLite does with SQL of its own, as the nouns ask for it. */
import { uuidv7 } from '@assay/model/ids'
import { answerOf, type Native, type Transaction } from '../rows.ts'
import { assignmentOf } from '../tables/events.ts'
import type { Connection } from './connection.ts'
import { addDelivery, deleteDeliveries, makeDue, removeDeliveriesOfJob } from './deliveries.ts'
import { writeEvent } from './events.ts'
import { cancelJob, createJob, queueJob, removeDraft, removeJob } from './jobs.ts'
import { readState, refreshState, writeState } from './sending-state.ts'

function nativeOf(connection: Connection): Native {
  return {
    createJob: (input) => answerOf(createJob(connection, input)),
    queueJob: (key) => answerOf(queueJob(connection, key)),
    cancelJob: (key) => answerOf(cancelJob(connection, key)),
    *removeJobs(assignment_ids) {
      for (const id of assignment_ids) yield* answerOf(removeJob(connection, id))
    },
    *removeDrafts(drafts) {
      for (const draft of drafts) yield* answerOf(removeDraft(connection, draft))
    },
    *removeDeliveriesOfJobs(assignment_ids) {
      for (const id of assignment_ids) yield* answerOf(removeDeliveriesOfJob(connection, id))
    },
    writeEvent: (event) => answerOf(writeEvent(connection, event)),
    useIndexes: () => answerOf(undefined),
    refreshWebhook(webhook_id, change) {
      const state = readState(connection, webhook_id)
      if (state && change) writeState(connection, webhook_id, { ...state, ...change })
      return answerOf(refreshState(connection, webhook_id))
    },
    makeDue: (webhook_id, most) => answerOf(makeDue(connection, webhook_id, most)),
    addDeliveries(webhook_id, events) {
      const at = connection.now()
      for (const event of events) {
        const assignment_id = assignmentOf(event)
        addDelivery(connection, { delivery_id: uuidv7(), webhook_id, event, assignment_id, at })
      }
      return answerOf(undefined)
    },
    deleteDeliveries: (webhook_id, most) => answerOf(deleteDeliveries(connection, webhook_id, most)),
  }
}

const transactions = new WeakMap<Connection, Transaction>()

/** The connection as the nouns see it within a write. */
export function transactionOf(connection: Connection): Transaction {
  const known = transactions.get(connection)
  if (known) return known
  const made = Object.create(connection.rows, { native: { value: nativeOf(connection) } }) as Transaction
  transactions.set(connection, made)
  return made
}
