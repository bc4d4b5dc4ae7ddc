/** The lock of writes that count against a cap of their workspace. */
import { by } from '../tables/table.ts'
import { WORKSPACES } from '../tables/workspaces/accounts.ts'

/** Locks the row of the workspace, so that of two transactions at once the second counts what the first has written. */
export const LOCK_WORKSPACE = WORKSPACES.select(`${by('workspace_id')} FOR NO KEY UPDATE`, ['workspace_id'])
