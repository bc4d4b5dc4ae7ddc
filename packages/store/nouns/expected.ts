/** Conditions of changes. They are checked in the transaction of the change, under a lock on the row. */
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

/** Returns the present tag; null if there is none. */
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

/** Checks the condition. Throws `precondition_failed`. */
export function* vetExpected(tx: Writer, expected: Expected): Routine<void> {
  const { noun } = expected
  vetConditions(noun, yield* TAGS[noun](tx, expected), expected)
}

/**
 * Checks a creation. A missing row cannot be locked, so the answer of the change shows what another request has put
 * meanwhile.
 */
export function vetMade(result: unknown, { noun, noneMatch }: Expected): void {
  if (noneMatch?.trim() === '*' && result === 'replaced')
    vetConditions(noun, '"another"', { match: null, noneMatch })
}
