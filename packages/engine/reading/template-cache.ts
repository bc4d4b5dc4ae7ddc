/** Keeps parsed templates by version: parsing takes milliseconds, and the same few templates are requested repeatedly. */
import type { Origin, Template, TemplateSource, TemplateView } from '@assay/model/template'
import { readMetric } from '../metrics/definition.ts'
import { metricNames, metricPartial } from '../metrics/names.ts'
import { readerNeeds } from '../personal/needs.ts'
import { type Parsed, parseTemplate } from './parse.ts'
import { plainTitle } from './titles.ts'

const MOST = 500
const cache = new Map<string, Parsed>()

/** Returns the parsed template. Its version must be the hash of the source and its partials, because it is the key. */
export function parsedTemplate(source: TemplateSource): Parsed {
  const key = `${source.template_id}\n${source.version}`
  const known = cache.get(key)
  const parsed = known ?? parseTemplate(source)
  cache.delete(key)
  cache.set(key, parsed)
  if (cache.size > MOST) cache.delete(cache.keys().next().value!)
  return parsed
}

/** Returns the part of a template that is stored with a job and sent to the child process. */
export function templateSource(template: Template): TemplateSource {
  const { template_id, version, source, partials } = template
  return { template_id, version, source, partials }
}

/**
 * Returns the names of the connections of its sources, each once. If a variable chooses among metrics, those of all
 * metrics count.
 */
export function connectionNames({ sources, blocks, partials }: Template): string[] {
  const open = blocks.some((block) => block.kind === 'sql' && block.metricsOf !== undefined)
  const ofMetrics = open
    ? metricNames(partials).flatMap(
        (name) => readMetric(name, partials[metricPartial(name)]!).metric?.source.connection ?? [],
      )
    : []
  return [
    ...new Set([...sources.flatMap(({ connection }) => connection?.name ?? []), ...ofMetrics]),
  ].toSorted()
}

export function templateView(template: Template, origin: Origin): TemplateView {
  const { personal, attributes } = readerNeeds(template)
  return {
    template_id: template.template_id,
    title: plainTitle(template),
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
    commit_id: null,
    connections: connectionNames(template),
    personal,
    reader_attributes: attributes,
  }
}
