/** The lock of writes that count against a cap of their workspace, and the plain caps: so many rows of a kind. */
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
  /** The plural that the refusal says. */
  what: string
}

/** Throws `conflict` if the workspace has as many as it may. Of several at once the later ones count the earlier. */
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
