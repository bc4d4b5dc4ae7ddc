/**
 * Finds and parses the template of an id, in the template folders or the workspace, and converts values of its
 * variables.
 */

import { errorsOf, type FoundTemplate } from '@assay/engine/reading/lookup'
import type { ConnectionAccess } from '@assay/engine/run/connection-requests'
import type { Roots } from '@assay/engine/run/protocol'
import { notFound } from '@assay/model/errors'
import { type Fault, faultToFieldError, type TemplateSource } from '@assay/model/template'
import { DEFAULT_WORKSPACE, includesScope, type Principal } from '@assay/model/token'
import { downloadFaults } from '../../outgoing/host-faults.ts'
import { createFinder } from '../../partitions/keeper.ts'
import { findTemplate } from '../../templates/find-template.ts'
import { nameNearest, withMetrics } from '../../templates/own-metrics.ts'
import type { Services } from '../dependencies.ts'
import { invalid } from '../http/validate.ts'

function refuse(faults: Fault[]): never {
  throw invalid(faults.map(faultToFieldError))
}

/**
 * Returns the template of an id. Throws a 404 for an unknown one, and a 422 with the faults for a stored one that no
 * longer parses.
 */
export async function requireTemplate(
  services: Pick<Services, 'catalog' | 'store' | 'templates'>,
  { workspace_id }: Principal,
  template_id: string,
): Promise<FoundTemplate> {
  const found = await findTemplate(services, { workspace_id, template_id })
  if (!found) throw notFound('template', template_id)
  return 'faults' in found ? refuse(found.faults) : found
}

/** Returns the template of an id with its faults. Throws a 404 for an unknown one. */
export async function requireReadable(
  services: Pick<Services, 'catalog' | 'store' | 'templates'>,
  { workspace_id }: Principal,
  template_id: string,
): Promise<FoundTemplate> {
  const found = await findTemplate(services, { workspace_id, template_id })
  if (!found) throw notFound('template', template_id)
  if (!('faults' in found)) return found
  return found.found ?? refuse(found.faults)
}

/** Reads a source from a client. Throws a 422 with the faults, each with line and column. */
export async function readSource(
  services: Pick<Services, 'catalog' | 'store' | 'templates'>,
  { workspace_id }: Principal,
  given: TemplateSource,
): Promise<FoundTemplate> {
  const own = await withMetrics(services, workspace_id, given)
  const { found, faults } = await services.templates.read(own, workspace_id)
  const errors = errorsOf(faults)
  return found && errors.length === 0 ? found : refuse(await nameNearest(services, workspace_id, errors))
}

/** Converts the values of variables. Throws a 422 with every fault. `at`: the path of the values in the body. */
export async function variablesOf(
  { templates }: Pick<Services, 'templates'>,
  { workspace_id }: Principal,
  template: Pick<FoundTemplate, 'template'>,
  given: Record<string, unknown>,
  at = 'payload.template_vars',
): Promise<Record<string, unknown>> {
  const [converted] = await templates.convert(template, [given], workspace_id)
  const { values, errors } = converted!
  if (errors.length === 0) return values
  throw invalid(errors.map((error) => ({ ...error, path: error.path.replace('payload.template_vars', at) })))
}

/**
 * Returns the template of a job that is about to be made. Throws a 422 at `path` for a host that the workspace may
 * not reach. The rule may be newer than the template, and templates of folders and repositories were never checked by
 * it.
 */
export async function runnableTemplate(
  services: Pick<Services, 'catalog' | 'store' | 'templates' | 'ledger'>,
  principal: Principal,
  template_id: string,
  path: 'template_id' | 'payload.template_id',
): Promise<FoundTemplate> {
  const found = await requireTemplate(services, principal, template_id)
  const vetting = { ledger: services.ledger, workspace_id: principal.workspace_id }
  const faults = await downloadFaults(vetting, found.template.sources, path)
  if (faults.length > 0) throw invalid(faults)
  return found
}

/** Returns the folders and files that `file:` sources of a workspace may read. */
export async function rootsOf(services: Services, { workspace_id }: Principal): Promise<Roots> {
  const workspace = await services.store.getWorkspace(workspace_id)
  const own = workspace?.data_folder ?? null
  return {
    sample: services.sample,
    data: workspace_id === DEFAULT_WORKSPACE ? (own ?? services.config.data) : own,
    ...(await services.files.roots(workspace_id, true)),
  }
}

/**
 * Returns the connections of a draft. A draft may hold any query, so only callers who may publish and run it as a
 * template may use connections.
 */
export function connectionsFor(
  { connections, store, files }: Pick<Services, 'connections' | 'store' | 'files'>,
  { workspace_id, scopes }: Principal,
  { view }: Pick<FoundTemplate, 'view'>,
  draft: boolean,
): ConnectionAccess {
  const withheld =
    draft && !includesScope(scopes, 'publisher')
      ? 'A draft reads over a connection only with a token of the scope publisher: use one, or ask somebody who has it to publish the template.'
      : undefined
  return {
    ...connections.accessFor({ workspace_id, names: async () => view.connections, withheld }),
    keeper: createFinder({ store, files }, workspace_id),
  }
}
