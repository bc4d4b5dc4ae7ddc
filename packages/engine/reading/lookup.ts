/** Reads what the service needs from a template that a client wrote. */
import type { Fault, Origin, Template, TemplateSource, TemplateView } from '@assay/model/template'
import { templateVersion } from './partials.ts'
import { connectionNames, parsedTemplate, templateSource, templateView } from './template-cache.ts'

/** The part of a template that the service needs beside its source. */
export type TemplateHead = Pick<Template, 'template_id' | 'title' | 'variables' | 'sources' | 'time_zone'> & {
  /** The blocks that the title may read. */
  blocks: readonly { name: string }[]
}

export interface FoundTemplate {
  origin: Origin
  template: TemplateHead
  source: TemplateSource
  view: TemplateView
}

/**
 * The result of reading. `faults`: errors and warnings. `found`: null if the template cannot be read at all. A job
 * needs one without errors.
 */
export interface ReadHead {
  found: FoundTemplate | null
  faults: Fault[]
}

/** Makes a source without partials. */
export function sourceOf(template_id: string, source: string): TemplateSource {
  return { template_id, version: templateVersion(source, {}), source, partials: {} }
}

/** Reads a template. Its time grows with the source: up to 300 ms of the processor. */
export function readHead(source: TemplateSource): ReadHead {
  const { template, faults } = parsedTemplate(source)
  if (!template) return { found: null, faults }
  const { template_id, title, variables, sources, time_zone } = template
  const blocks = template.blocks.flatMap(({ name }) => (title.includes(name) ? [{ name }] : []))
  const view = templateView(template, 'workspace')
  return {
    found: {
      origin: 'workspace',
      template: { template_id, title, variables, sources, time_zone, blocks },
      source: templateSource(template),
      view,
    },
    faults,
  }
}

export const errorsOf = (faults: readonly Fault[]): Fault[] =>
  faults.filter(({ severity }) => severity === 'error')

const SHOWN_SOURCES = 50
const SHOWN_LETTERS = 200

/** Returns what the sources of a template read, each once: `file:PATH` or `connection:NAME`. */
export function readsOf({ sources }: Pick<Template, 'sources'>): string[] {
  const reads = sources.map(({ connection, file }) =>
    connection ? `connection:${connection.name}` : `file:${file ?? ''}`,
  )
  return [...new Set(reads.map((name) => name.slice(0, SHOWN_LETTERS)))].toSorted().slice(0, SHOWN_SOURCES)
}

/** Returns the names of the connections of its sources, each once. Empty if the template cannot be read. */
export function connectionsOf(source: TemplateSource): string[] {
  const { template } = parsedTemplate(source)
  return template ? connectionNames(template) : []
}
