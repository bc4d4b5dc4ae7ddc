/**
 * Parses the text of a template and finds every fault that shows without data. A text with faults still gives a
 * Template if its front matter can be read, so that check.ts can find more.
 */
import {
  type AnalysisBlock,
  type Block,
  type Fault,
  type Source,
  type SqlBlock,
  TEMPLATE_ID,
  type Template,
} from '@assay/model/template'
import { makeFault, positionsIn, sortFaults } from '../language/fault.ts'
import { type Fence, splitTemplate } from '../language/fences.ts'
import { liquidFaults, type Names } from '../language/liquid-in-blocks.ts'
import { proseFaults } from '../language/prose-syntax.ts'
import { readMetricFence } from '../metrics/use.ts'
import { readerFaults } from '../personal/prose-attributes.ts'
import { queryThere, tableThere } from '../sources/stays.ts'
import { type FrontMatter, readFrontMatter } from './front-matter.ts'
import { partialCycle, reachablePartials, templateVersion } from './partials.ts'
import { analysisSchema } from './schema.ts'
import { schemaFaults } from './schema-faults.ts'
import { readYaml } from './yaml-reading.ts'

export interface ParseInput {
  /** The name of the file, or the id of the upload. */
  template_id: string
  source: string
  partials: Record<string, string>
}

export interface Parsed {
  /** The template; null if the front matter cannot be read. */
  template: Template | null
  /** Errors and warnings in the order of the text. A template with errors must not run. */
  faults: Fault[]
}

/** The most characters of a source with its partials. */
const MAX_SOURCE = 1_000_000
/** The most SQL and analysis blocks of a template. A check, which any caller may request, prepares each of them. */
const MAX_BLOCKS = 1_000

/** The most characters of all analysis blocks together. Reading them takes a microsecond or two a character. */
const MAX_ANALYSES = 50_000

export function parseTemplate(input: ParseInput): Parsed {
  const partials = reachablePartials(input.source, input.partials)
  const length = Object.values(partials).reduce((sum, text) => sum + text.length, input.source.length)
  if (length > MAX_SOURCE) {
    const message = `The template has ${length} characters with its partials.`
    const remedy = `At most ${MAX_SOURCE} are read.`
    return { template: null, faults: [makeFault('too_long', { line: 1, column: 1 }, message, remedy)] }
  }
  const pieces = splitTemplate(input.source)
  const over = blockBound(pieces.fences)
  if (over) return { template: null, faults: [over] }
  const { settings, faults } = readFrontMatter(pieces.front_matter)
  faults.unshift(...pieces.faults)
  const names = namesOf(settings, pieces.fences)
  faults.push(...queryLiquid(settings, names))
  const { template_id, partials: metrics } = input
  const context: BlockContext = { template_id, names, settings, partials: metrics, sources: [], faults }
  const blocks = pieces.fences.map((fence) => readBlock(fence, context)).filter((block) => block !== null)
  if (settings) checkNames(settings, pieces.fences, faults)
  const cycle = partialCycle(partials)
  if (cycle !== null) {
    const message = `The partial "${cycle}" renders itself.`
    faults.push(
      makeFault('partial_cycle', { line: 1, column: 1 }, message, 'Break the circle.', { partial: cycle }),
    )
  }
  const template =
    settings && assemble(input, withSources(settings, context.sources), blocks, pieces.body, partials)
  if (template) faults.push(...identityFaults(template), ...proseFaults(template), ...readerFaults(template))
  return { template, faults: sortFaults(faults) }
}

function blockBound(fences: Fence[]): Fault | null {
  const divide = 'Divide the template into several.'
  const over = fences[MAX_BLOCKS]
  if (over) {
    const message = `The block "${over.name}" is one too many: the template has ${fences.length}.`
    const remedy = `At most ${MAX_BLOCKS} SQL and analysis blocks are read. ${divide}`
    return makeFault('too_many_blocks', over.opening, message, remedy)
  }
  let characters = 0
  for (const { kind, name, text, opening } of fences) {
    if (kind !== 'sql') characters += text.length
    if (characters <= MAX_ANALYSES) continue
    const message = `The analysis and metric blocks up to "${name}" have more than ${MAX_ANALYSES} characters together.`
    return makeFault('too_long', opening, message, `Keep long lists in a data file. ${divide}`)
  }
  return null
}

function assemble(
  input: ParseInput,
  { id, title: given, ...settings }: FrontMatter,
  blocks: Block[],
  body: string,
  partials: Record<string, string>,
): Template {
  const template_id = id ?? input.template_id
  const title = given ?? firstHeading(body) ?? { text: template_id, line: 1 }
  return {
    template_id,
    version: templateVersion(input.source, partials),
    title: title.text,
    title_line: title.line,
    ...settings,
    blocks,
    body,
    source: input.source,
    partials,
  }
}

function firstHeading(body: string): { text: string; line: number } | null {
  let fence: string | null = null
  for (const [index, line] of body.split('\n').entries()) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark !== undefined && (fence === null || mark.startsWith(fence))) fence = fence === null ? mark : null
    const opening = fence === null ? /^ {0,3}#[ \t]+/.exec(line) : null
    const text = opening ? withoutClosing(line.slice(opening[0].length).trimEnd()) : ''
    if (text !== '') return { text, line: index + 1 }
  }
  return null
}

/** Turns "Delays ##" into "Delays". A loop is linear in the white space; a pattern would backtrack. */
function withoutClosing(heading: string): string {
  let end = heading.length
  while (heading[end - 1] === '#') end -= 1
  const closed = end === 0 || heading[end - 1] === ' ' || heading[end - 1] === '\t'
  return closed ? heading.slice(0, end).trimEnd() : heading
}

function identityFaults(template: Template): Fault[] {
  if (new RegExp(TEMPLATE_ID).test(template.template_id)) return []
  const message = `${JSON.stringify(template.template_id)} cannot be the id of a template.`
  const remedy = 'Use lower-case letters, digits, "-" and "_", at most 128, a letter or digit first.'
  return [makeFault('bad_name', { line: 1, column: 1 }, message, remedy)]
}

/** Finds sources and blocks with equal names. Both are tables in SQL, so their names must differ. */
function checkNames(settings: FrontMatter, fences: Fence[], faults: Fault[]): void {
  const taken = new Map(settings.sources.map((source) => [source.name, `the source on line ${source.line}`]))
  for (const fence of fences) {
    const owner = taken.get(fence.name)
    if (owner !== undefined) {
      const message = `The name "${fence.name}" is taken by ${owner}.`
      faults.push(makeFault('duplicate_name', fence.opening, message, 'Choose another name.'))
    }
    taken.set(fence.name, owner ?? `the block on line ${fence.opening.line}`)
  }
}

function namesOf(settings: FrontMatter | null, fences: Fence[]): Names {
  const blocks = fences.filter(({ kind }) => kind !== 'analysis')
  return {
    variables: new Set(settings?.variables.map(({ name }) => name)),
    relations: new Set([...(settings?.sources ?? []), ...blocks].map(({ name }) => name)),
  }
}

function queryLiquid(settings: FrontMatter | null, names: Names): Fault[] {
  return (settings?.sources ?? []).flatMap(({ query }) =>
    query === null ? [] : liquidFaults(query.text, 'sql', names, query.placeOf),
  )
}

interface BlockContext {
  template_id: string
  names: Names
  settings: FrontMatter | null
  /** All known metrics, so that a fault can name the nearest one. */
  partials: Record<string, string>
  /** The sources of the metrics. */
  sources: Source[]
  faults: Fault[]
}

/** Adds sources. A file that several blocks read is one source. */
function withSources(settings: FrontMatter, more: readonly Source[]): FrontMatter {
  const named = new Map([...settings.sources, ...more].toReversed().map((source) => [source.name, source]))
  return { ...settings, sources: [...named.values()].toReversed() }
}

/** Returns `template` with its metrics by the values of its variables, or the faults if there are any. */
export function withMetricsOf(
  template: Template,
  values: Record<string, unknown>,
): Template | { faults: Fault[] } {
  const faults: Fault[] = []
  const sources: Source[] = []
  const blocks = template.blocks.map((block) => {
    if (block.kind !== 'sql' || !block.expand) return block
    const found = block.expand(values)
    faults.push(...found.faults)
    sources.push(...found.sources)
    return found.block
  })
  if (faults.length > 0) return { faults }
  const known = new Set(template.sources.map(({ name }) => name))
  const more = new Map(sources.map((source) => [source.name, source]))
  return {
    ...template,
    blocks,
    sources: [...template.sources, ...[...more.values()].filter(({ name }) => !known.has(name))],
  }
}

function readMetricBlock(fence: Fence, { settings, partials, sources, faults }: BlockContext): SqlBlock {
  const variables = settings?.variables ?? []
  const { variable, ...found } = readMetricFence(fence, partials, variables, null)
  sources.push(...found.sources)
  faults.push(...found.faults)
  if (variable === null) return found.block
  return {
    ...found.block,
    metricsOf: variable,
    expand: (values) => readMetricFence(fence, partials, variables, values),
  }
}

function readBlock(fence: Fence, context: BlockContext): Block | null {
  const { names, faults } = context
  const positionOf = positionsIn(fence.text)
  const liquid = liquidFaults(fence.text, fence.kind === 'sql' ? 'sql' : 'analysis', names, (offset) => {
    const { line, column } = positionOf(offset)
    return { line: fence.line + line - 1, column }
  })
  faults.push(...liquid)
  if (fence.text.trim() === '') {
    const message = `The block "${fence.name}" is empty.`
    const remedy = {
      sql: 'Write one SELECT.',
      metric: 'Write "metric: NAME".',
      analysis: 'Write "method" and "of".',
    }[fence.kind]
    faults.push(makeFault('empty_block', fence.opening, message, remedy))
    return null
  }
  if (fence.kind === 'sql' && fence.at !== null) {
    const { template_id } = context
    context.sources.push(queryThere(fence, { connection: fence.at, template_id }, positionOf))
    return null
  }
  if (fence.kind === 'sql') return { kind: 'sql', name: fence.name, sql: fence.text, line: fence.line }
  if (liquid.length > 0) return null
  return fence.kind === 'metric' ? readMetricBlock(fence, context) : readAnalysis(fence, context)
}

function readAnalysis(fence: Fence, { names, sources, faults }: BlockContext): AnalysisBlock | null {
  const yaml = readYaml(fence.text, fence.line)
  const found =
    yaml.faults.length > 0
      ? yaml.faults
      : schemaFaults(analysisSchema, yaml.value, `the analysis "${fence.name}"`, yaml.position)
  faults.push(...found)
  if (found.length > 0) return null
  const { method, of, ...options } = yaml.value as Record<string, unknown>
  const keys = Object.keys(yaml.value as object)
  const lines = Object.fromEntries(keys.map((key) => [key, yaml.position([key], 'key').line]))
  const table = tableThere(of as string, names.relations, yaml.position(['of']))
  if (table) sources.push(table)
  return {
    kind: 'analysis',
    name: fence.name,
    method: method as string,
    of: of as string,
    options,
    line: fence.line,
    lines,
  }
}
