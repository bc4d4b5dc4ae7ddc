/** What becomes of a delivery: pure, shared by both stores. Whoever changes one has locked the row of its webhook. */
import type { DeliveryStatus } from '@assay/model/delivery'

interface Pending {
  status: DeliveryStatus
  due_at: string | null
  owner: string | null
  /** It ends with its present attempt, even if that fails. */
  last_try: boolean
}

/** Claimed no more, the claim not counted. */
export function givenBack<Row extends Pending>(row: Row): Row {
  return row.last_try ? canceled(row) : { ...row, owner: null }
}

export function canceled<Row extends Pending>(row: Row): Row {
  return { ...row, owner: null, status: 'canceled', due_at: null }
}

/** After an attempt. `due_at`: of the next one, for a delivery that stays pending. */
export function tried<Row extends Pending & { attempt_count: number }>(
  row: Row,
  status: DeliveryStatus,
  due_at: string | null,
): Row {
  const counted = { ...row, owner: null, attempt_count: row.attempt_count + 1 }
  if (status === 'pending' && row.last_try) return canceled(counted)
  return { ...counted, status, due_at: status === 'pending' ? due_at : null }
}
