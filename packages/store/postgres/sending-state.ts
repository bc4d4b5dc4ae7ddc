/**
 * The sending state of a webhook, in its own row: read with a lock, worked out by store/sending-state.ts, written back. The lock
 * of the webhook is taken before that of its deliveries, and locks of several in the order of their ids.
 */

import type { Health } from '@assay/model/webhook'
import { asOf, claimAt, type SendingState } from '../sending-state.ts'
import type { Transaction } from './connection.ts'

export interface LockedWebhook extends SendingState, Health {
  webhook_id: string
}

const COLUMNS = `webhook_id, failing_since, failing_reason, warned_at, status, in_flight, max_in_flight, rate_per_second, due_at, last_claim_at, rate_at,
  failures, open_until`

/** Those for which the condition holds. */
export function lockWebhooks(
  tx: Transaction,
  condition: string,
  ...values: unknown[]
): Promise<LockedWebhook[]> {
  return tx.all<LockedWebhook>(
    `SELECT ${COLUMNS} FROM webhooks WHERE ${condition} ORDER BY webhook_id FOR NO KEY UPDATE`,
    ...values,
  )
}

export async function lockWebhook(tx: Transaction, webhook_id: string): Promise<LockedWebhook | undefined> {
  const [state] = await lockWebhooks(tx, 'webhook_id = $1', webhook_id)
  return state
}

/** All in one statement; none where nothing is given. */
export async function writeStates(tx: Transaction, given: LockedWebhook[]): Promise<void> {
  if (given.length === 0) return
  const now = Date.parse(tx.now)
  const states = given.map((state) => asOf(state, now))
  const column = <T>(of: (state: LockedWebhook) => T): T[] => states.map(of)
  await tx.run(
    `UPDATE webhooks SET in_flight = state.in_flight, due_at = state.due_at, last_claim_at = state.last_claim_at,
       rate_at = state.rate_at, failures = state.failures, open_until = state.open_until, claim_at = state.claim_at
     FROM unnest($1::text[], $2::int[], $3::timestamptz[], $4::timestamptz[], $5::float8[], $6::int[],
       $7::timestamptz[], $8::timestamptz[])
       AS state (webhook_id, in_flight, due_at, last_claim_at, rate_at, failures, open_until, claim_at)
     WHERE webhooks.webhook_id = state.webhook_id`,
    column((state) => state.webhook_id),
    column((state) => state.in_flight),
    column((state) => state.due_at),
    column((state) => state.last_claim_at),
    column((state) => state.rate_at),
    column((state) => state.failures),
    column((state) => state.open_until),
    column((state) => claimAt(state)),
  )
}

/** Webhooks that this transaction has made deliveries for: due now, unless an earlier one waits already. */
export async function wakeWebhooks(tx: Transaction, webhook_ids: string[]): Promise<void> {
  const webhooks = await lockWebhooks(tx, 'webhook_id = ANY ($1)', webhook_ids)
  const later = webhooks.filter(({ due_at }) => due_at === null || due_at > tx.now)
  tx.later(
    writeStates(
      tx,
      later.map((webhook) => ({ ...webhook, due_at: tx.now })),
    ),
  )
}

export interface Due {
  webhook_id: string
  delivery_id: string
  due_at: string
}

/** The unclaimed deliveries of each webhook in the order in which they are due: from a time on, so many at most. */
export function dueDeliveries(
  tx: Transaction,
  asked: { webhook_id: string; since: string | null; most: number }[],
): Promise<Due[]> {
  return tx.all<Due>(
    'SELECT * FROM due_deliveries($1, $2, $3)',
    asked.map(({ webhook_id }) => webhook_id),
    asked.map(({ since }) => since),
    asked.map(({ most }) => most),
  )
}

/** After the deliveries or the settings of locked webhooks changed. */
export async function refreshStates(tx: Transaction, states: LockedWebhook[]): Promise<void> {
  if (states.length === 0) return
  const first = await dueDeliveries(
    tx,
    states.map(({ webhook_id }) => ({ webhook_id, since: '-infinity', most: 1 })),
  )
  const due = new Map(first.map(({ webhook_id, due_at }) => [webhook_id, due_at]))
  await writeStates(
    tx,
    states.map((state) => ({ ...state, due_at: due.get(state.webhook_id) ?? null })),
  )
}

/** The same for one; `freed` of its places are free again. */
export function refreshState(tx: Transaction, state: LockedWebhook, freed = 0): Promise<void> {
  return refreshStates(tx, [{ ...state, in_flight: state.in_flight - freed }])
}
