/** Finds the template of an id in a file or in the workspace, with the metrics that it can reach. */
import type { Catalog } from '@assay/engine/reading/catalog'
import { errorsOf, type FoundTemplate } from '@assay/engine/reading/lookup'
import type { Fault, Origin, TemplateSource } from '@assay/model/template'
import type { DraftOrigin, Store } from '@assay/store/store'
import { type MetricsOf, nameNearest, ownSource, withMetrics } from './own-metrics.ts'
import type { TemplateReader } from './template-reader.ts'

export interface Lookup extends MetricsOf {
  store: MetricsOf['store'] & Pick<Store, 'getTemplate'>
  catalog: MetricsOf['catalog'] & Pick<Catalog, 'get'>
  templates: Pick<TemplateReader, 'read'>
}

/** A template with errors, of which no job can be created. `found`: null if the template cannot be read at all. */
export interface FaultyTemplate {
  found: FoundTemplate | null
  faults: Fault[]
}

/**
 * Tells whether a template of the workspace wins over the file of its id. A template that the workspace put before
 * the repository had such a file stays the workspace's.
 */
function mayBePut(entry: Pick<FoundTemplate, 'origin'> | null): boolean {
  return entry === null || entry.origin === 'git'
}

/** Tells whether the template is the one that the draft was made of, as far as this is known without reading it. */
export function isAsPut({ catalog }: Pick<Lookup, 'catalog'>, draft: DraftOrigin): boolean {
  return draft.is_as_put && mayBePut(catalog.get(draft.template_id))
}

/** Finds the template. Null if there is none; `faults` if it has errors. Rejects as the reader of templates does. */
export async function findTemplate(
  given: Lookup,
  { workspace_id, template_id }: { workspace_id: string; template_id: string },
): Promise<FoundTemplate | FaultyTemplate | null> {
  const entry = given.catalog.get(template_id)
  const put = mayBePut(entry) ? await given.store.getTemplate({ workspace_id, template_id }) : null
  if (entry && !put) {
    const source = await withMetrics(given, workspace_id, entry.source)
    if (source === entry.source) return entry
    return headOf(given, workspace_id, source, entry.origin)
  }
  if (!put) return null
  const source = await ownSource(given, workspace_id, template_id, put.source)
  return headOf(given, workspace_id, source, 'workspace')
}

async function headOf(
  given: Lookup,
  workspace_id: string,
  source: TemplateSource,
  origin: Origin,
): Promise<FoundTemplate | FaultyTemplate> {
  const { found: read, faults } = await given.templates.read(source, workspace_id)
  const { commit_id = null } = source
  const found = read && { ...read, source, origin, view: { ...read.view, origin, commit_id } }
  const errors = errorsOf(faults)
  if (found && errors.length === 0) return found
  return { found, faults: await nameNearest(given, workspace_id, errors) }
}
