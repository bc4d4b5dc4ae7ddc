/** The sending state of a webhook, in its own row: read, worked out by store/sending-state.ts, written back. */
import type { Health } from '@assay/model/webhook'
import { asOf, claimAt, type SendingState } from '../sending-state.ts'
import type { Connection } from './connection.ts'

const COLUMNS = `status, in_flight, max_in_flight, rate_per_second, due_at, last_claim_at, rate_at, failures, open_until,
  failing_since, failing_reason, warned_at`

export function readState(connection: Connection, webhook_id: string): (SendingState & Health) | undefined {
  return connection.one<SendingState & Health>(
    `SELECT ${COLUMNS} FROM webhooks WHERE webhook_id = ?`,
    webhook_id,
  )
}

export function writeState(connection: Connection, webhook_id: string, given: SendingState): void {
  const state = asOf(given, connection.clock.now())
  connection.run(
    `UPDATE webhooks SET in_flight = ?, due_at = ?, last_claim_at = ?, rate_at = ?, failures = ?, open_until = ?, claim_at = ?
     WHERE webhook_id = ?`,
    state.in_flight,
    state.due_at,
    state.last_claim_at,
    state.rate_at,
    state.failures,
    state.open_until,
    claimAt(state),
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
export function refreshState(connection: Connection, webhook_id: string, freed = 0): void {
  const state = readState(connection, webhook_id)
  if (!state) return
  writeState(connection, webhook_id, {
    ...state,
    in_flight: state.in_flight - freed,
    due_at: earliestDue(connection, webhook_id),
  })
}
