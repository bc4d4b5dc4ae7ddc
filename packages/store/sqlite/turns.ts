/** The claim state of a webhook, in its own row: read, worked out by store/turn.ts, written back. */
import type { Health } from '@assay/model/webhook'
import { asOf, claimAt, type Turn } from '../turn.ts'
import type { Connection } from './connection.ts'

const COLUMNS = `status, in_flight, max_in_flight, rate_per_second, due_at, last_claim_at, rate_at, failures, open_until,
  failing_since, failing_reason, warned_at`

export function readTurn(connection: Connection, webhook_id: string): (Turn & Health) | undefined {
  return connection.one<Turn & Health>(`SELECT ${COLUMNS} FROM webhooks WHERE webhook_id = ?`, webhook_id)
}

export function writeTurn(connection: Connection, webhook_id: string, given: Turn): void {
  const turn = asOf(given, connection.clock.now())
  connection.run(
    `UPDATE webhooks SET in_flight = ?, due_at = ?, last_claim_at = ?, rate_at = ?, failures = ?, open_until = ?, claim_at = ?
     WHERE webhook_id = ?`,
    turn.in_flight,
    turn.due_at,
    turn.last_claim_at,
    turn.rate_at,
    turn.failures,
    turn.open_until,
    claimAt(turn),
    webhook_id,
  )
}

/** When the first of its unclaimed deliveries is due. */
export function earliestDue(connection: Connection, webhook_id: string): string | null {
  const row = connection.one<{ due_at: string }>(
    `SELECT due_at FROM deliveries WHERE webhook_id = ? AND status = 'pending' AND owner IS NULL
     ORDER BY due_at LIMIT 1`,
    webhook_id,
  )
  return row?.due_at ?? null
}

/** After its deliveries or its settings changed; `freed` of its claimed deliveries are claimed no more. */
export function refreshTurn(connection: Connection, webhook_id: string, freed = 0): void {
  const turn = readTurn(connection, webhook_id)
  if (!turn) return
  writeTurn(connection, webhook_id, {
    ...turn,
    in_flight: turn.in_flight - freed,
    due_at: earliestDue(connection, webhook_id),
  })
}
