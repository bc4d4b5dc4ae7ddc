/** The template that an id names for a workspace: a file's, or one that was put, parsed; or why there is none. */
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

/** A source that stands alone: no partials, a version of its own. */
export function sourceOf(template_id: string, source: string): TemplateSource {
  return { template_id, version: templateVersion(source, {}), source, partials: {} }
}

export function foundTemplate(template: Template): FoundTemplate {
  const view = templateView(template, 'workspace')
  return { origin: 'workspace', template, source: templateSource(template), view }
}

/** Parses a source; errors alone among the faults where it cannot be used. */
export function readTemplate(template_id: string, source: string): Template | { faults: Fault[] } {
  const { template, faults } = parsedTemplate(sourceOf(template_id, source))
  const errors = faults.filter((fault) => fault.severity === 'error')
  return template && errors.length === 0 ? template : { faults: errors }
}

/** Null: there is none. `faults`: one that was put and cannot be read any more. `stored` reads what was put. */
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
