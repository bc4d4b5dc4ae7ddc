/** The caps of workspaces, by the functions of the schema (0004_limits): one question each, and no queue is counted. */
import { queueFull } from '../caps.ts'
import type { Transaction } from './connection.ts'

/** Refuses (`queue_full`) where the workspace may not have so many more jobs queued. */
export async function requireRoom(tx: Transaction, workspace_id: string, more = 1): Promise<void> {
  const cap = await tx.one<{ reached: number | null }>(
    'SELECT reached_queue_cap($1, $2, $3) AS reached',
    workspace_id,
    tx.caps.max_queued,
    more,
  )
  if (cap && cap.reached !== null) throw queueFull(cap.reached)
}
