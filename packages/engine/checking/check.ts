/**
 * Finds the faults of a parsed template without running it. The caller passes the columns of its data and the methods, so
 * this folder needs no engine.
 */
import type { AnalysisBlock, Fault, Template } from '@assay/model/template'
import { Reader } from '../language/expressions.ts'
import { makeFault, OffsetFault, sortFaults } from '../language/fault.ts'
import { sqlNames } from '../language/sql-clauses.ts'
import { bindOptions, optionReferences } from '../reading/options.ts'
import { sourceVariables } from '../sources/files/row-condition.ts'
import { visibleSchema } from '../values/news.ts'
import {
  analysisFaults,
  columnsOf,
  type Inspection,
  type MethodTable,
  metricFaults,
  sampleVars,
  sourceFaults,
  sqlFaults,
  untilFaults,
} from './blocks.ts'
import { type Judge, judgeExpression } from './expressions.ts'
import { headlineFaults } from './headlines.ts'
import { judgeText, type ProseContext } from './prose.ts'
import { object, ofSchema, ofVariable, type Static, scalar, UNKNOWN } from './static-values.ts'
import { tileFaults } from './tiles.ts'

export type { Inspection, MethodShape, MethodTable } from './blocks.ts'

/** Returns the faults in the order of the text, without those that parseTemplate finds. */
export function checkTemplate(template: Template, inspection: Inspection, methods: MethodTable): Fault[] {
  const faults = [
    ...sourceFaults(template, inspection),
    ...template.variables.flatMap((variable) => untilFaults(variable, inspection)),
  ]
  const lines = template.source.split('\n')
  const used = new Set(template.sources.flatMap((source) => sourceVariables(source)))
  for (const block of template.blocks) {
    if (block.kind === 'sql') {
      faults.push(...sqlFaults(block, template))
      faults.push(...metricFaults(block, (name) => columnsOf(inspection, name)))
      for (const name of sqlNames(block.sql).names) used.add(name)
      if (block.metricsOf !== undefined) used.add(block.metricsOf)
    } else {
      faults.push(...analysisFaults(block, template, inspection, { methods, lines }))
      for (const { name } of optionReferences(block.options)) used.add(name)
    }
  }
  const context: ProseContext = {
    template,
    globals: globalsOf(template, inspection, methods),
    usedVariables: used,
    faults,
    open: [],
  }
  judgeText(template.body, context)
  judgeFrontMatter(template, context)
  faults.push(
    ...headlineFaults(template),
    ...tileFaults(template, context.globals),
    ...unusedFaults(template, used),
  )
  return sortFaults(faults)
}

function globalsOf(
  template: Template,
  inspection: Inspection,
  methods: MethodTable,
): ReadonlyMap<string, Static> {
  const vars = object(
    'vars',
    Object.fromEntries(template.variables.map((one) => [one.name, ofVariable(one)])),
  )
  const run = object('run', { started_at: scalar('timestamp'), time_zone: scalar('text') })
  const globals = new Map<string, Static>([
    ['vars', vars],
    ['run', run],
    // parseTemplate finds names that are not attributes.
    ['reader', object('reader', {}, true)],
  ])
  for (const block of template.blocks) {
    if (block.kind === 'sql') {
      const columns = columnsOf(inspection, block.name)
      const types = columns && new Map(columns.map(({ name, type }) => [name, scalar(type)]))
      globals.set(block.name, { kind: 'rows', name: block.name, columns: types })
    } else globals.set(block.name, outcomeOf(block, template, inspection, methods))
  }
  return globals
}

function outcomeOf(
  block: AnalysisBlock,
  template: Template,
  inspection: Inspection,
  methods: MethodTable,
): Static {
  if (!Object.hasOwn(methods, block.method)) return UNKNOWN
  const options = bindOptions(block.options, sampleVars(template, inspection))
  return ofSchema(block.name, visibleSchema(methods[block.method]!, options))
}

/**
 * Judges the front matter. The title and paths see `vars` alone, `deliver_if` sees all. A title from a heading was
 * judged with the body.
 */
function judgeFrontMatter(template: Template, context: ProseContext): void {
  const onlyVars = new Map([['vars', context.globals.get('vars')!]])
  for (const { file, line, column } of template.sources) {
    if (file !== null) judgeText(file, { ...context, globals: onlyVars }, { position: { line, column } })
  }
  const heading = template.body.split('\n')[template.title_line - 1]?.includes(template.title) ?? false
  if (!heading) judgeText(template.title, context, { position: { line: template.title_line, column: 1 } })
  if (!template.deliver_if) return
  const { expression, line } = template.deliver_if
  const judge: Judge = {
    scopes: [context.globals],
    report(code, _offset, message, remedy) {
      context.faults.push(makeFault(code, { line, column: 1 }, `deliver_if: ${message}`, remedy))
    },
    onVariable: (name) => context.usedVariables.add(name),
  }
  try {
    judgeExpression(new Reader(expression).expression(), judge)
  } catch (error) {
    // parseTemplate reports faults of syntax.
    if (!(error instanceof OffsetFault)) throw error
  }
}

/** Tells whether a source is that of a metric. Its name has a blank, and the blocks that made it read it. */
const isOfMetric = ({ name }: { name: string }): boolean => name.includes(' ')

function unusedFaults(template: Template, used: Set<string>): Fault[] {
  const warning = { severity: 'warning' as const }
  const variables = template.variables
    .filter(({ name }) => !used.has(name))
    .map(({ name, line }) => {
      const message = `The variable "${name}" is never used.`
      return makeFault('unused_variable', { line, column: 1 }, message, 'Use it, or remove it.', warning)
    })
  const read = readNames(template)
  const sources = template.sources
    .filter((source) => !isOfMetric(source) && !read.has(source.name.toLowerCase()))
    .map((source) => {
      const message = `The source "${source.name}" is never read.`
      return makeFault('unused_source', source, message, 'Read it in a block, or remove it.', warning)
    })
  return [...variables, ...sources]
}

/**
 * Returns the names that are read, in lower case. Every word of SQL counts as one, so no warning is wrong, but some
 * may be missing.
 */
function readNames({ blocks, variables }: Template): Set<string> {
  const names = new Set<string>()
  for (const block of blocks) {
    if (block.kind === 'analysis') names.add(block.of.toLowerCase())
    else for (const [word] of block.sql.matchAll(/\w+/g)) names.add(word.toLowerCase())
  }
  for (const { of, until } of variables)
    for (const name of [of, until?.split('.')[0]]) if (name) names.add(name.toLowerCase())
  return names
}
