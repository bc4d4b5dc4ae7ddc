/**
 * The claim state of a webhook, in its own row: read with a lock, worked out by store/turn.ts, written back. The lock
 * of the webhook is taken before that of its deliveries, and locks of several in the order of their ids.
 */
import { asOf, claimAt, type Turn } from '../turn.ts'
import type { Transaction } from './connection.ts'

export interface LockedTurn extends Turn {
  webhook_id: string
  failing_since: string | null
}

const COLUMNS = `webhook_id, failing_since, status, in_flight, max_in_flight, rate_per_second, due_at, turn_at, rate_at,
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
    `UPDATE webhooks SET in_flight = turn.in_flight, due_at = turn.due_at, turn_at = turn.turn_at,
       rate_at = turn.rate_at, failures = turn.failures, open_until = turn.open_until, claim_at = turn.claim_at
     FROM unnest($1::text[], $2::int[], $3::timestamptz[], $4::timestamptz[], $5::float8[], $6::int[],
       $7::timestamptz[], $8::timestamptz[])
       AS turn (webhook_id, in_flight, due_at, turn_at, rate_at, failures, open_until, claim_at)
     WHERE webhooks.webhook_id = turn.webhook_id`,
    column((turn) => turn.webhook_id),
    column((turn) => turn.in_flight),
    column((turn) => turn.due_at),
    column((turn) => turn.turn_at),
    column((turn) => turn.rate_at),
    column((turn) => turn.failures),
    column((turn) => turn.open_until),
    column((turn) => claimAt(turn)),
  )
}

/** When the first of its unclaimed deliveries is due. */
export async function earliestDue(tx: Transaction, webhook_id: string): Promise<string | null> {
  const row = await tx.one<{ due_at: string }>(
    `SELECT due_at FROM deliveries WHERE webhook_id = $1 AND status = 'pending' AND owner IS NULL
     ORDER BY due_at LIMIT 1`,
    webhook_id,
  )
  return row?.due_at ?? null
}

/** After the deliveries or the settings of a locked webhook changed; `freed` of its claimed ones are claimed no more. */
export async function refreshTurn(tx: Transaction, turn: LockedTurn, freed = 0): Promise<void> {
  const due_at = await earliestDue(tx, turn.webhook_id)
  await writeTurns(tx, [{ ...turn, in_flight: turn.in_flight - freed, due_at }])
}
