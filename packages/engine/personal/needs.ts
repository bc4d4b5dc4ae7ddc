/**
 * Finds what a template needs of its reader. A template is personal if one of its sources or metrics has a rule, or if
 * its SQL or its text reads `reader`. It never runs without a reader.
 */
import type { Reader } from '@assay/model/reader'
import { readerFault } from '@assay/model/reader'
import type { Template } from '@assay/model/template'
import { attributesInProse } from './prose-attributes.ts'
import { attributesAnywhere, attributesInSql } from './sql-attributes.ts'

export interface ReaderNeeds {
  personal: boolean
  /** The names of the attributes, sorted. `id` is left out, because each reader has one. */
  attributes: string[]
}

const known = new WeakMap<Template, ReaderNeeds>()

/**
 * Returns the needs. `template`: with its metrics by the values of its variables (withMetricsOf), else those by their
 * defaults are used.
 */
export function readerNeeds(template: Template): ReaderNeeds {
  const found = known.get(template) ?? needsOf(template)
  known.set(template, found)
  return found
}

function needsOf(template: Template): ReaderNeeds {
  const { sources, blocks } = withDefaultMetrics(template)
  const rules = sources.flatMap(({ rows, query }) => rows ?? query?.rule ?? [])
  const named = [
    ...sources.flatMap(({ query }) => (query ? attributesAnywhere(query.text) : [])),
    ...blocks.flatMap((block) => (block.kind === 'sql' ? attributesInSql(block.sql) : [])),
    ...attributesInProse(template),
  ]
  const all = [...rules.flatMap(({ attributes }) => attributes), ...named.flatMap((name) => name ?? [])]
  return {
    personal: rules.length > 0 || named.length > 0,
    attributes: [...new Set(all)].filter((name) => name !== 'id').toSorted(),
  }
}

/** Returns the template in which a block whose metrics a variable names has those of its default. */
function withDefaultMetrics({ sources, blocks, variables }: Template): Pick<Template, 'sources' | 'blocks'> {
  const defaults = Object.fromEntries(variables.map((one) => [one.name, one.default]))
  const expanded = blocks.flatMap((block) =>
    block.kind === 'sql' && block.expand ? [block.expand(defaults)] : [],
  )
  return {
    sources: [...sources, ...expanded.flatMap((one) => one.sources)],
    blocks: [...blocks, ...expanded.map(({ block }) => block)],
  }
}

/** Returns a sentence on why this reader cannot have a run of the template; null if she can. */
export function readerRefusal({ personal, attributes }: ReaderNeeds, reader: Reader | null): string | null {
  if (!personal) return null
  const needed = attributes.length > 0 ? ` with ${attributes.join(', ')}` : ''
  if (reader === null)
    return `The template is personal, and this run has no reader: give one${needed} (--reader NAME=VALUE, or "reader" in the request).`
  const fault = readerFault(reader)
  if (fault !== null) return fault
  const missing = attributes.filter((name) => !Object.hasOwn(reader, name))
  if (missing.length === 0) return null
  return `The reader has no ${missing.map((name) => JSON.stringify(name)).join(', ')}: the template needs a reader${needed}.`
}
