/** What a change expects of the object that it changes: vetted in the transaction of the change, under a lock on the row. */
import {
  type Expected,
  tagOfConnection,
  tagOfSchedule,
  tagOfSource,
  tagOfWebhook,
  type Versioned,
  vetConditions,
} from '@assay/model/entity-tag'
import type { Routine, Writer } from '../rows.ts'
import { lockSchedule } from './jobs/schedules.ts'
import { lockToDelete } from './webhooks/webhooks.ts'
import { lockConnection } from './workspaces/connections.ts'
import { lockMetric } from './workspaces/metrics.ts'
import { lockTemplate } from './workspaces/templates.ts'

/** The present tag; null: there is none. */
type TagOf = (tx: Writer, key: { workspace_id: string; id: string }) => Routine<string | null>

const TAGS: Record<Versioned, TagOf> = {
  *template(tx, { workspace_id, id: template_id }) {
    const found = yield* lockTemplate(tx, { workspace_id, template_id })
    return found && tagOfSource(found.source)
  },
  *metric(tx, { workspace_id, id: metric_id }) {
    const found = yield* lockMetric(tx, { workspace_id, metric_id })
    return found && tagOfSource(found.source)
  },
  *schedule(tx, { workspace_id, id: schedule_id }) {
    const found = yield* lockSchedule(tx, { workspace_id, schedule_id })
    return found && tagOfSchedule(found)
  },
  *connection(tx, { workspace_id, id: name }) {
    const found = yield* lockConnection(tx, { workspace_id, name })
    return found && tagOfConnection(found)
  },
  *webhook(tx, { workspace_id, id: webhook_id }) {
    const found = yield* lockToDelete(tx, { workspace_id, webhook_id })
    return found && tagOfWebhook(found)
  },
}

/** Throws `precondition_failed`. */
export function* vetExpected(tx: Writer, expected: Expected): Routine<void> {
  const { noun } = expected
  vetConditions(noun, yield* TAGS[noun](tx, expected), expected)
}

/** A row that is not there cannot be locked: what another has put meanwhile shows in the answer of the change. */
export function vetMade(result: unknown, { noun, noneMatch }: Expected): void {
  if (noneMatch?.trim() === '*' && result === 'replaced')
    vetConditions(noun, '"another"', { match: null, noneMatch })
}
