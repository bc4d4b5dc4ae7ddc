/**
 * Reads the sending state of webhooks with a lock, lets sending-state.ts compute the new one, and writes it. The order of locks
 * (docs/decisions/0115-one-order-of-locks.md): webhooks before their deliveries, all webhooks of a transaction at once, by id.
 */
import type { CLOSED } from '@assay/model/webhook'
import type { Routine, Writer } from '../../rows.ts'
import { both, type Statement, type Text } from '../../statement.ts'
import { DELIVERIES } from '../../tables/webhooks/deliveries.ts'
import { WEBHOOKS, type WebhookRow } from '../../tables/webhooks/webhooks.ts'
import { asOf, claimAt, NOT_HELD } from './sending-state.ts'

const STATE = [
  'webhook_id',
  'failing_since',
  'failing_reason',
  'warned_at',
  'status',
  'in_flight',
  'max_in_flight',
  'rate_per_second',
  'due_at',
  'last_claim_at',
  'rate_at',
  'failures',
  'open_until',
  'held_until',
  'held_reason',
] as const
export type LockedWebhook = Pick<WebhookRow, (typeof STATE)[number]>

/** Locks the webhooks that meet the condition until the transaction ends. */
export function lock(where: string): Statement<LockedWebhook> {
  const tail: Text = {
    sqlite: `WHERE ${where}`,
    postgres: `WHERE ${where} ORDER BY webhook_id FOR NO KEY UPDATE`,
  }
  return WEBHOOKS.select(tail, STATE)
}

/**
 * Returns the lock of the webhooks of some deliveries. PostgreSQL looks an array up first; in a join it may read all
 * deliveries of each webhook. `also`: further ids that the transaction needs, locked with them.
 */
function lockOf(deliveries: string, also = ''): Statement<LockedWebhook> {
  const found = `SELECT DISTINCT webhook_id FROM deliveries WHERE ${deliveries}`
  const where = both((database) =>
    database === 'sqlite' ? `webhook_id IN (${found})` : `webhook_id = ANY (ARRAY (${found})${also})`,
  )
  return { ...lock(where.postgres), sqlite: lock(where.sqlite).sqlite }
}

const LOCK = lock('webhook_id = ANY (:webhook_ids)')
const LOCK_OF_DELIVERIES = lockOf('delivery_id = ANY (:delivery_ids)')
const LOCK_OF_JOBS = lockOf(`assignment_id = ANY (:assignment_ids) AND status = 'pending'`)
const LOCK_HELD = lock(
  `webhook_id IN (
    SELECT webhook_id FROM webhooks WHERE workspace_id = :workspace_id AND held_until IS NOT NULL LIMIT 1000)`,
)
// Also locks the webhooks that the jobs have told (postgres/events.ts), which are woken at the end of the transaction.
const LOCK_OF_NODES = lockOf(
  `status = 'pending' AND owner = ANY (:node_ids) AND delivery_id <> ALL (:but)`,
  ` || string_to_array(coalesce(current_setting('assay.woken', true), ''), ' ')`,
)
// Also locks the webhooks that are told if one of the others fails.
const LOCK_TO_TELL = lockOf(
  'delivery_id = ANY (:delivery_ids)',
  ` || ARRAY (SELECT webhook_id FROM webhook_events WHERE event_type IN ('webhook.failing', 'webhook.disabled')
      AND workspace_id IN (SELECT workspace_id FROM deliveries WHERE delivery_id = ANY (:delivery_ids)))`,
)
const LOCK_OF_WORKSPACE = lock('workspace_id = :workspace_id')
const WRITE = WEBHOOKS.updateAll([
  'in_flight',
  'due_at',
  'last_claim_at',
  'rate_at',
  'failures',
  'open_until',
  'held_until',
  'held_reason',
  'claim_at',
])
// PostgreSQL's function uses the index of due deliveries even with old statistics.
const EARLIEST = DELIVERIES.sql<{ webhook_id: string; due_at: string | null }>({
  sqlite: `SELECT value AS webhook_id, (SELECT due_at FROM deliveries
      WHERE webhook_id = value AND status = 'pending' AND owner IS NULL ORDER BY due_at LIMIT 1) AS due_at
    FROM json_each(:webhook_ids)`,
  postgres: 'SELECT webhook_id, due_at FROM due_deliveries(:webhook_ids, :since, :most)',
})

export function lockWebhooks(tx: Writer, webhook_ids: readonly string[]): Routine<LockedWebhook[]> {
  return tx.all(LOCK, { webhook_ids })
}

export function* lockState(tx: Writer, webhook_id: string): Routine<LockedWebhook | undefined> {
  return (yield* lockWebhooks(tx, [webhook_id]))[0]
}

/**
 * Locks the webhooks of the deliveries. `tells`: a failing webhook may be reported, so the webhooks that are told of
 * it are locked too.
 */
export function lockOfDeliveries(
  tx: Writer,
  delivery_ids: readonly string[],
  tells: boolean,
): Routine<LockedWebhook[]> {
  return tx.all(tells ? LOCK_TO_TELL : LOCK_OF_DELIVERIES, { delivery_ids })
}

/** Locks the webhooks with pending deliveries of these jobs. */
export function lockOfJobs(tx: Writer, assignment_ids: readonly string[]): Routine<LockedWebhook[]> {
  return tx.all(LOCK_OF_JOBS, { assignment_ids })
}

/** Locks the webhooks with deliveries that the nodes hold, except these deliveries. It may lock more than needed. */
export function lockOfNodes(
  tx: Writer,
  node_ids: readonly string[],
  but: readonly string[],
): Routine<LockedWebhook[]> {
  return tx.all(LOCK_OF_NODES, { node_ids, but })
}

export function lockOfWorkspace(tx: Writer, workspace_id: string): Routine<LockedWebhook[]> {
  return tx.all(LOCK_OF_WORKSPACE, { workspace_id })
}

/** Writes the state of each, with the time at which it may be claimed. */
export function writeStates(tx: Writer, states: readonly LockedWebhook[]): Routine<void> {
  const now = Date.parse(tx.now)
  return tx.writeAll(
    WRITE,
    states.map((given) => {
      const state = asOf(given, now)
      return { ...state, claim_at: claimAt(state) }
    }),
  )
}

/** Computes the state of locked webhooks anew after their deliveries or settings changed. */
export function* refreshStates(tx: Writer, states: readonly LockedWebhook[]): Routine<void> {
  if (states.length === 0) return
  const first = yield* tx.all(EARLIEST, {
    webhook_ids: states.map(({ webhook_id }) => webhook_id),
    since: states.map(() => '-infinity'),
    most: states.map(() => 1),
  })
  const due = new Map(first.map(({ webhook_id, due_at }) => [webhook_id, due_at]))
  yield* writeStates(
    tx,
    states.map((state) => ({ ...state, due_at: due.get(state.webhook_id) ?? null })),
  )
}

/**
 * Computes the state of webhooks after claims were released. Each claim frees its slot, unless later deliveries of
 * its run remain.
 */
export function refreshFreed(
  tx: Writer,
  states: readonly LockedWebhook[],
  freed: readonly { webhook_id: string; ahead: boolean }[],
): Routine<void> {
  const slots = Map.groupBy(
    freed.filter(({ ahead }) => !ahead),
    ({ webhook_id }) => webhook_id,
  )
  return refreshStates(
    tx,
    states.map((state) => ({
      ...state,
      in_flight: state.in_flight - (slots.get(state.webhook_id)?.length ?? 0),
    })),
  )
}

/** Locks a webhook and computes its state, with further changes. */
export function* refreshWebhook(
  tx: Writer,
  webhook_id: string,
  change: Partial<typeof CLOSED> = {},
): Routine<void> {
  const state = yield* lockState(tx, webhook_id)
  if (state) yield* refreshStates(tx, [{ ...state, ...change }])
}

/** Lets deliveries that the rules held back be claimed again: those of 1,000 receivers now, the others within a minute. */
export function* releaseHeld(tx: Writer, workspace_id: string): Routine<void> {
  const states = yield* tx.all(LOCK_HELD, { workspace_id })
  yield* refreshStates(
    tx,
    states.map((state) => ({ ...state, ...NOT_HELD })),
  )
  tx.hint({ topic: 'deliveries' })
}
