/** How a delivery changes. Pure; both stores use it. A caller locks the row of the webhook first. */
import type { DeliveryStatus } from '@assay/model/delivery'

interface Pending {
  status: DeliveryStatus
  due_at: string | null
  owner: string | null
  /** True if the present attempt is the last, even if it fails. */
  last_try: boolean
}

/** Returns the delivery without its claim, which then does not count as an attempt. */
export function givenBack<Row extends Pending>(row: Row): Row {
  return row.last_try ? canceled(row) : { ...row, owner: null }
}

export function canceled<Row extends Pending>(row: Row): Row {
  return { ...row, owner: null, status: 'canceled', due_at: null }
}

/** Returns the delivery after an attempt. `due_at`: the time of the next attempt of a pending delivery. */
export function tried<Row extends Pending & { attempt_count: number }>(
  row: Row,
  status: DeliveryStatus,
  due_at: string | null,
): Row {
  const counted = { ...row, owner: null, attempt_count: row.attempt_count + 1 }
  if (status === 'pending' && row.last_try) return canceled(counted)
  return { ...counted, status, due_at: status === 'pending' ? due_at : null }
}
