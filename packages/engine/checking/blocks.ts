/** Judges sources, SQL and analysis blocks against the columns of the data. */

import type { Column } from '@assay/model/insight'
import type { AnalysisBlock, Fault, SqlBlock, Template, Variable } from '@assay/model/template'
import type { TSchema } from 'typebox'
import { makeFault, type Position, positionsIn } from '../language/fault.ts'
import { queryFaults } from '../language/remote-query.ts'
import { offsetsOfNames, sqlNames } from '../language/sql-clauses.ts'
import type { Fields } from '../methods/shared/fields.ts'
import { bindOptions, optionReferences, withDefaults } from '../reading/options.ts'
import { schemaFaults } from '../reading/schema-faults.ts'
import { suggest, suggestAmong } from '../values/near.ts'
import { NUMERIC, withArticle } from './static-values.ts'

/** The columns of the data. A missing block could not be prepared: its columns are not judged. */
export interface Inspection {
  sources: Record<string, { columns: Column[] } | { error: string }>
  blocks: Record<string, Column[]>
}

/** The part of a method that the checks use. */
export interface MethodShape {
  options: TSchema
  columns(options: Record<string, unknown>): { option: string; column: string; numeric: boolean }[]
  fields: Fields
}
export type MethodTable = Readonly<Record<string, MethodShape>>

export function columnsOf(inspection: Inspection, name: string): Column[] | null {
  const source = inspection.sources[name]
  if (source) return 'columns' in source ? source.columns : null
  return inspection.blocks[name] ?? null
}

export function sourceFaults(template: Template, inspection: Inspection): Fault[] {
  const faults: Fault[] = []
  for (const source of template.sources) {
    const found = inspection.sources[source.name]
    faults.push(...queryFaults(source, template))
    if (found && 'error' in found) {
      const remedy = source.connection
        ? 'Correct the query or the connection.'
        : 'Put the file below the data folder, or correct its name.'
      faults.push(makeFault('source_unavailable', source, `${source.name}: ${found.error}`, remedy))
    }
    if (!found || 'error' in found) continue
    const known = found.columns.map((column) => column.name)
    for (const name of Object.keys(source.columns)) {
      if (known.includes(name)) continue
      const message = `${source.name} has no column ${JSON.stringify(name)}.`
      faults.push(makeFault('unknown_column', source, message, suggest(name, known)))
    }
  }
  return faults
}

/** `until: source.column` must name dates. */
export function untilFaults(variable: Variable, inspection: Inspection): Fault[] {
  if (variable.until === null) return []
  const [source, ...rest] = variable.until.split('.')
  const columns = columnsOf(inspection, source!)
  if (columns === null) return []
  const name = rest.join('.')
  const position = { line: variable.line, column: 1 }
  const column = columns.find((one) => one.name === name)
  if (!column) {
    const message = `${variable.name}: ${source} has no column ${JSON.stringify(name)}.`
    const known = columns.map((one) => one.name)
    return [makeFault('unknown_column', position, message, suggest(name, known))]
  }
  if (column.type === 'date' || column.type === 'timestamp') return []
  const message = `${variable.name}: "until" needs dates; ${name} is ${withArticle(column.type)}.`
  return [makeFault('wrong_type', position, message, 'Name a date or timestamp column.')]
}

export function sqlFaults(block: SqlBlock, template: Template): Fault[] {
  const names = template.variables.map((variable) => variable.name)
  const positionOf = positionsIn(block.sql)
  const offsets = offsetsOfNames(block.sql)
  return sqlNames(block.sql)
    .names.filter((name) => !names.includes(name))
    .map((name) => {
      const position = positionOf(offsets.get(name)!)
      const at = { line: block.line + position.line - 1, column: position.column }
      const remedy = suggest(name, names, 'Declare it under "variables".')
      return makeFault('unknown_variable', at, `There is no variable $${name}.`, remedy)
    })
}

export function analysisFaults(
  block: AnalysisBlock,
  template: Template,
  inspection: Inspection,
  { methods, lines }: { methods: MethodTable; lines: string[] },
): Fault[] {
  const positionOf = positionInBlock(block, lines)
  const faults = [...relationFaults(block, template, positionOf(['of']))]
  for (const { name, path } of optionReferences(block.options)) {
    if (template.variables.some((variable) => variable.name === name)) continue
    const known = template.variables.map((variable) => variable.name)
    const remedy = suggest(name, known, 'Declare it under "variables".')
    faults.push(makeFault('unknown_variable', positionOf(path), `There is no variable $${name}.`, remedy))
  }
  const method = Object.hasOwn(methods, block.method) ? methods[block.method]! : null
  if (!method) {
    const message = `There is no method ${JSON.stringify(block.method)}.`
    const remedy = suggest(block.method, Object.keys(methods))
    return [...faults, makeFault('unknown_method', positionOf(['method']), message, remedy)]
  }
  if (faults.length > 0) return faults
  const columns = columnsOf(inspection, block.of)
  const given = bindOptions(block.options, sampleVars(template, inspection))
  const options = withDefaults(method.options, given)
  const wrong = schemaFaults(method.options, options, `the analysis "${block.name}"`, positionOf)
  return wrong.length > 0 ? wrong : columnFaults(block, method, options, columns, positionOf)
}

type PositionOf = (path: readonly (string | number)[]) => Position

/** `lines`: those of the template. */
function positionInBlock(block: AnalysisBlock, lines: string[]): PositionOf {
  return (path) => {
    const key = String(path[0] ?? '')
    const line = block.lines[key] ?? block.line
    return { line, column: Math.max(0, lines[line - 1]?.indexOf(key) ?? 0) + 1 }
  }
}

/** `of` must name a source, or an SQL block above. */
function relationFaults(block: AnalysisBlock, template: Template, position: Position): Fault[] {
  const above = template.blocks.slice(0, template.blocks.indexOf(block))
  const known = [
    ...template.sources.map(({ name }) => name),
    ...above.filter(({ kind }) => kind === 'sql').map(({ name }) => name),
  ]
  if (known.includes(block.of)) return []
  const other = template.blocks.find(({ name }) => name === block.of)
  const refuse = (code: string, message: string, remedy: string): Fault[] => [
    makeFault(code, position, message, remedy),
  ]
  if (!other) {
    return refuse(
      'unknown_block',
      `There is no source or block ${JSON.stringify(block.of)}.`,
      suggest(block.of, known),
    )
  }
  if (other.kind === 'analysis') {
    return refuse(
      'wrong_type',
      `"${block.of}" is an analysis and has no rows to work on.`,
      'Name an SQL block.',
    )
  }
  return refuse('block_order', `"${block.of}" stands below "${block.name}".`, 'Move it above.')
}

function columnFaults(
  block: AnalysisBlock,
  method: MethodShape,
  options: Record<string, unknown>,
  columns: Column[] | null,
  positionOf: PositionOf,
): Fault[] {
  if (columns === null) return []
  const fromVariables = new Set(optionReferences(block.options).map(({ path }) => path[0]))
  const faults: Fault[] = []
  for (const { option, column, numeric } of method.columns(options)) {
    if (fromVariables.has(option)) continue
    const found = columns.find(({ name }) => name.toLowerCase() === column.toLowerCase())
    if (!found) {
      const known = columns.map(({ name }) => name)
      const message = `${option}: ${block.of} has no column ${JSON.stringify(column)}.`
      faults.push(makeFault('unknown_column', positionOf([option]), message, suggestAmong(column, known)))
    } else if (numeric && !NUMERIC.has(found.type)) {
      const message = `${option}: ${JSON.stringify(column)} is ${withArticle(found.type)}, not a number.`
      const remedy = 'Choose another column, or cast it in SQL.'
      faults.push(makeFault('wrong_type', positionOf([option]), message, remedy))
    }
  }
  return faults
}

/** A value for each variable, to validate options that use one against the schema. */
export function sampleVars(template: Template, inspection: Inspection): Record<string, unknown> {
  return Object.fromEntries(
    template.variables.map((variable) => [variable.name, sampleOf(variable, inspection)]),
  )
}

const SAMPLES: Record<Variable['type'], unknown> = {
  string: 'text',
  integer: 1,
  number: 1,
  boolean: true,
  date: '2024-01-31',
  timestamp: '2024-01-31T00:00:00',
  period: {
    start: '2024-01-01',
    end: '2024-02-01',
    label: '2024-01-01 to 2024-01-31',
    previous: { start: '2023-12-01', end: '2024-01-01', label: '2023-12-01 to 2023-12-31' },
  },
  column: 'column',
  file: 'file',
  list: ['text'],
}

function sampleOf(variable: Variable, inspection: Inspection): unknown {
  if (variable.type === 'period') return SAMPLES.period
  const given = variable.default ?? variable.enum?.[0] ?? variable.min ?? variable.max
  if (given !== null && given !== undefined) return given
  if (variable.type !== 'column') return SAMPLES[variable.type]
  return columnsOf(inspection, variable.of ?? '')?.[0]?.name ?? SAMPLES.column
}
