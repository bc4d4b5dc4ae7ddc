/**
 * Decides which workspace an admin may administer. An admin administers the own workspace. An admin of the default
 * workspace is the operator, and administers the other workspaces, the nodes and the settings, too.
 */

import { AppError, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE, includesScope, type Principal, SCOPES } from '@assay/model/token'
import type { Services } from '../dependencies.ts'

export const WorkspaceId = Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' })

export const Scopes = Type.Array(Type.Enum([...SCOPES]), {
  minItems: 1,
  uniqueItems: true,
  description:
    'viewer reads, analyst also runs jobs and webhooks, publisher also publishes templates and metrics, admin also administers',
})

/** The parameter that names a workspace. */
export const OfWorkspace = Type.Optional(
  Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
    description: 'The workspace; only an admin of the default workspace may name another than its own',
  }),
)

export function requireOperator({ workspace_id, scopes }: Principal): void {
  if (workspace_id !== DEFAULT_WORKSPACE || !includesScope(scopes, 'admin'))
    throw new AppError('forbidden', `This takes an admin token of the workspace ${DEFAULT_WORKSPACE}.`)
}

/** The workspace to administer. Throws a 404 if it does not exist, and `forbidden` if the principal may not administer it. */
export async function administered(
  { store }: Pick<Services, 'store'>,
  principal: Principal,
  wanted: string | undefined,
): Promise<string> {
  if (wanted === undefined || wanted === principal.workspace_id) return principal.workspace_id
  requireOperator(principal)
  if (!(await store.getWorkspace(wanted))) throw notFound('workspace', wanted)
  return wanted
}
