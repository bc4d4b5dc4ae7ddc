/** Finds the template with an id: a file's, or one that was uploaded to the workspace. */
import type { Fault, Origin, Template, TemplateSource, TemplateView } from '@assay/model/template'
import type { Catalog } from './catalog.ts'
import { templateVersion } from './partials.ts'
import { parsedTemplate, templateSource, templateView } from './template-cache.ts'

export interface FoundTemplate {
  origin: Origin
  template: Template
  source: TemplateSource
  view: TemplateView
}

/** A source without partials. */
export function sourceOf(template_id: string, source: string): TemplateSource {
  return { template_id, version: templateVersion(source, {}), source, partials: {} }
}

export function foundTemplate(template: Template): FoundTemplate {
  const view = templateView(template, 'workspace')
  return { origin: 'workspace', template, source: templateSource(template), view }
}

/** Parses a source. Gives its errors, without warnings, if it has any. */
export function readTemplate(template_id: string, source: string): Template | { faults: Fault[] } {
  const { template, faults } = parsedTemplate(sourceOf(template_id, source))
  const errors = faults.filter((fault) => fault.severity === 'error')
  return template && errors.length === 0 ? template : { faults: errors }
}

/** Null if there is none. `faults` if an uploaded one can no longer be read. `stored` reads the uploaded source. */
export async function findTemplate(
  catalog: Pick<Catalog, 'get'>,
  template_id: string,
  stored: () => Promise<{ source: string } | null>,
): Promise<FoundTemplate | { faults: Fault[] } | null> {
  const entry = catalog.get(template_id)
  if (entry) return entry
  const put = await stored()
  if (!put) return null
  const read = readTemplate(template_id, put.source)
  return 'faults' in read ? read : foundTemplate(read)
}
