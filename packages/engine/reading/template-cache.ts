/** Keeps parsed templates by version: parsing takes milliseconds, and the same few templates are requested repeatedly. */
import type { Origin, Template, TemplateSource, TemplateView } from '@assay/model/template'
import { type Parsed, parseTemplate } from './parse.ts'

const MOST = 500
const cache = new Map<string, Parsed>()

/** The version must be the hash of the source and its partials: it is the key. */
export function parsedTemplate(source: TemplateSource): Parsed {
  const key = `${source.template_id}\n${source.version}`
  const known = cache.get(key)
  const parsed = known ?? parseTemplate(source)
  cache.delete(key)
  cache.set(key, parsed)
  if (cache.size > MOST) cache.delete(cache.keys().next().value!)
  return parsed
}

/** The part of a template that is stored with a job and sent to the child process. */
export function templateSource(template: Template): TemplateSource {
  const { template_id, version, source, partials } = template
  return { template_id, version, source, partials }
}

/** Replaces Liquid in a title by the name of its value: "Delays from {origin}". */
function plainTitle(title: string): string {
  const named = title
    .replace(/\{%.*?%\}/g, '')
    .replace(/\{\{-?\s*(?:vars\.)?([^|}]*?)\s*(?:\|.*?)?-?\}\}/g, '{$1}')
  return named.replace(/\s+/g, ' ').trim()
}

/** The names of the connections of its sources, each once. */
export function connectionNames({ sources }: Template): string[] {
  return [...new Set(sources.flatMap(({ connection }) => connection?.name ?? []))].toSorted()
}

export function templateView(template: Template, origin: Origin): TemplateView {
  return {
    template_id: template.template_id,
    title: plainTitle(template.title),
    description: template.description,
    version: template.version,
    variables: template.variables.map((variable) => ({
      name: variable.name,
      type: variable.type,
      required: variable.required,
      default: variable.default,
      description: variable.description,
      enum: variable.enum,
      min: variable.min,
      max: variable.max,
      pattern: variable.pattern,
    })),
    tags: template.tags,
    origin,
    connections: connectionNames(template),
  }
}
