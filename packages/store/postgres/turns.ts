/**
 * The claim state of a webhook, in its own row: read with a lock, worked out by store/turn.ts, written back. The lock
 * of the webhook is taken before that of its deliveries, and locks of several in the order of their ids.
 */

import type { Health } from '@assay/model/webhook'
import { asOf, claimAt, type Turn } from '../turn.ts'
import type { Transaction } from './connection.ts'

export interface LockedTurn extends Turn, Health {
  webhook_id: string
}

const COLUMNS = `webhook_id, failing_since, failing_reason, warned_at, status, in_flight, max_in_flight, rate_per_second, due_at, last_claim_at, rate_at,
  failures, open_until`

/** Those for which the condition holds. */
export function lockWebhooks(
  tx: Transaction,
  condition: string,
  ...values: unknown[]
): Promise<LockedTurn[]> {
  return tx.all<LockedTurn>(
    `SELECT ${COLUMNS} FROM webhooks WHERE ${condition} ORDER BY webhook_id FOR NO KEY UPDATE`,
    ...values,
  )
}

export async function lockWebhook(tx: Transaction, webhook_id: string): Promise<LockedTurn | undefined> {
  const [turn] = await lockWebhooks(tx, 'webhook_id = $1', webhook_id)
  return turn
}

/** All in one statement; none where nothing is given. */
export async function writeTurns(tx: Transaction, given: LockedTurn[]): Promise<void> {
  if (given.length === 0) return
  const now = Date.parse(tx.now)
  const turns = given.map((turn) => asOf(turn, now))
  const column = <T>(of: (turn: LockedTurn) => T): T[] => turns.map(of)
  await tx.run(
    `UPDATE webhooks SET in_flight = turn.in_flight, due_at = turn.due_at, last_claim_at = turn.last_claim_at,
       rate_at = turn.rate_at, failures = turn.failures, open_until = turn.open_until, claim_at = turn.claim_at
     FROM unnest($1::text[], $2::int[], $3::timestamptz[], $4::timestamptz[], $5::float8[], $6::int[],
       $7::timestamptz[], $8::timestamptz[])
       AS turn (webhook_id, in_flight, due_at, last_claim_at, rate_at, failures, open_until, claim_at)
     WHERE webhooks.webhook_id = turn.webhook_id`,
    column((turn) => turn.webhook_id),
    column((turn) => turn.in_flight),
    column((turn) => turn.due_at),
    column((turn) => turn.last_claim_at),
    column((turn) => turn.rate_at),
    column((turn) => turn.failures),
    column((turn) => turn.open_until),
    column((turn) => claimAt(turn)),
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
export async function refreshTurns(tx: Transaction, turns: LockedTurn[]): Promise<void> {
  if (turns.length === 0) return
  const first = await dueDeliveries(
    tx,
    turns.map(({ webhook_id }) => ({ webhook_id, since: '-infinity', most: 1 })),
  )
  const due = new Map(first.map(({ webhook_id, due_at }) => [webhook_id, due_at]))
  await writeTurns(
    tx,
    turns.map((turn) => ({ ...turn, due_at: due.get(turn.webhook_id) ?? null })),
  )
}

/** The same for one; `freed` of its places are free again. */
export function refreshTurn(tx: Transaction, turn: LockedTurn, freed = 0): Promise<void> {
  return refreshTurns(tx, [{ ...turn, in_flight: turn.in_flight - freed }])
}
