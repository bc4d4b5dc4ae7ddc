/** The lock for writes that count against a cap of their workspace, and the caps on the number of rows of a kind. */
import { AppError } from '@assay/model/errors'
import type { Routine, Writer } from '../rows.ts'
import type { Statement } from '../statement.ts'
import { by } from '../tables/table.ts'
import { WORKSPACES } from '../tables/workspaces/accounts.ts'

/** Locks the row of the workspace, so that of two transactions at once the second counts what the first has written. */
export const LOCK_WORKSPACE = WORKSPACES.select(`${by('workspace_id')} FOR NO KEY UPDATE`, ['workspace_id'])

export interface Cap {
  /** Counts the workspace's other rows of the kind. */
  others: Statement<{ count: number }>
  most: number
  /** The plural of the noun, for the refusal. */
  what: string
}

/** Throws `conflict` if the workspace has as many as it may. Calls at the same time count each other. */
export function* admitOneMore(
  tx: Writer,
  row: { workspace_id: string },
  { others, most, what }: Cap,
): Routine<void> {
  yield* tx.find(LOCK_WORKSPACE, row)
  if ((yield* tx.find(others, row))!.count >= most)
    throw new AppError(
      'conflict',
      `The workspace has ${most} ${what}, the most it may have: delete some first.`,
    )
}
