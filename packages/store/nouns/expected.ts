/** Conditions of changes. They are checked in the transaction of the change, under a lock on the row. */
import {
  type Expected,
  tagOfCollection,
  tagOfConnection,
  tagOfJob,
  tagOfOutgoing,
  tagOfReader,
  tagOfSchedule,
  tagOfSource,
  tagOfToken,
  tagOfUser,
  tagOfWebhook,
  tagOfWorkspace,
  type Versioned,
  vetConditions,
} from '@assay/model/entity-tag'
import type { Routine, Writer } from '../rows.ts'
import { lockDraft } from './accounts/kept-drafts.ts'
import { lockCollection } from './jobs/collections.ts'
import { lockJobs } from './jobs/moves.ts'
import { lockSchedule } from './jobs/schedules.ts'
import { lockToDelete } from './webhooks/webhooks.ts'
import { lockToken, lockUser, lockWorkspace } from './workspaces/accounts.ts'
import { lockConnection } from './workspaces/connections.ts'
import { lockMetric } from './workspaces/metrics.ts'
import { lockRules } from './workspaces/outgoing.ts'
import { lockReader } from './workspaces/readers.ts'
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
  *draft(tx, { workspace_id, id }) {
    const found = yield* lockDraft(tx, workspace_id, id)
    return found && tagOfSource(found.source)
  },
  *job(tx, { workspace_id, id: assignment_id }) {
    const found = (yield* lockJobs(tx, [assignment_id])).find((one) => one.workspace_id === workspace_id)
    return found ? tagOfJob(found) : null
  },
  *collection(tx, { workspace_id, id: collection_id }) {
    const found = yield* lockCollection(tx, { workspace_id, collection_id })
    return found && tagOfCollection(found)
  },
  *reader(tx, { workspace_id, id: reader_id }) {
    const found = yield* lockReader(tx, { workspace_id, reader_id })
    return found && tagOfReader(found)
  },
  *user(tx, { workspace_id, id: user_id }) {
    const found = yield* lockUser(tx, { workspace_id, user_id })
    return found && tagOfUser(found)
  },
  *token(tx, { workspace_id, id: token_id }) {
    const found = yield* lockToken(tx, { workspace_id, token_id })
    return found && tagOfToken(found)
  },
  *workspace(tx, { id: workspace_id }) {
    const found = yield* lockWorkspace(tx, workspace_id)
    return found && tagOfWorkspace(found)
  },
  *outgoing(tx, { workspace_id }) {
    const found = yield* lockRules(tx, workspace_id)
    return found && tagOfOutgoing(found)
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
