/** Judges sources, SQL and analysis blocks against the columns of the data. */

import type { Column } from '@assay/model/insight'
import type { AnalysisBlock, Fault, Source, SqlBlock, Template, Variable } from '@assay/model/template'
import type { TSchema } from 'typebox'
import { makeFault, type Position, positionsIn } from '../language/fault.ts'
import { queryFaults } from '../language/remote-query.ts'
import { offsetsOfNames, sqlNames } from '../language/sql-clauses.ts'
import { SqlTextFault } from '../language/sql-tokens.ts'
import type { Fields } from '../methods/shared/fields.ts'
import type { Either } from '../methods/shared/method.ts'
import { nodesOf, parseRowExpression } from '../metrics/expression.ts'
import { classesOf, vetRule } from '../personal/condition.ts'
import { ruleFault } from '../personal/rows-key.ts'
import { attributesInSql, READER, WITHOUT_ATTRIBUTE } from '../personal/sql-attributes.ts'
import { bindOptions, optionReferences, withDefaults } from '../reading/options.ts'
import { schemaFaults } from '../reading/schema-faults.ts'
import { suggest, suggestAmong } from '../values/near.ts'
import type { News } from '../values/news.ts'
import { NUMERIC, withArticle } from './static-values.ts'

/** The columns of the data. A block that could not be prepared is missing, and its columns are not judged. */
export interface Inspection {
  sources: Record<string, { columns: Column[] } | { error: string }>
  blocks: Record<string, Column[]>
  /** The text columns of a source without any value, among those that an analysis takes for numbers or times. */
  empty?: Record<string, readonly string[]>
}

/** The part of a method that the checks use. */
export interface MethodShape {
  options: TSchema
  either?: readonly Either[]
  columns(options: Record<string, unknown>): { option: string; column: string; numeric: boolean }[]
  fields: Fields
  news?: News
}
export type MethodTable = Readonly<Record<string, MethodShape>>

export function columnsOf(inspection: Inspection, name: string): Column[] | null {
  const source = Object.hasOwn(inspection.sources, name) ? inspection.sources[name] : undefined
  if (source) return 'columns' in source ? source.columns : null
  return inspection.blocks[name] ?? null
}

export function sourceFaults(template: Template, inspection: Inspection): Fault[] {
  const faults: Fault[] = []
  for (const source of template.sources) {
    const found = inspection.sources[source.name]
    faults.push(...queryFaults(source, template), ...conditionFaults(source, template))
    if (found && 'error' in found) {
      const missing = /There is no file|must lie below|No file/.test(found.error)
      const remedy = source.connection
        ? 'Correct the query or the connection.'
        : missing
          ? 'Put the file below the data folder, or correct its name.'
          : 'Correct the file, or what "sources" says of it.'
      faults.push(makeFault('source_unavailable', source, `${source.name}: ${found.error}`, remedy))
    }
    if (!found || 'error' in found) continue
    const known = found.columns.map((column) => column.name)
    for (const name of Object.keys(source.columns)) {
      if (known.includes(name)) continue
      const message = `${source.name} has no column ${JSON.stringify(name)}.`
      faults.push(makeFault('unknown_column', source, message, suggest(name, known)))
    }
    faults.push(...rowFaults(source, found.columns), ...conditionColumns(source, known))
  }
  return faults
}

/** Finds faults of a condition's variables. They must be declared, and have one value each, or be a list. */
function conditionFaults({ name: source, where }: Source, { variables }: Template): Fault[] {
  if (!where) return []
  return [...nodesOf(parseRowExpression(where.text))].flatMap((node) => {
    if (node.kind !== 'variable') return []
    const [name, field] = node.name.split('.') as [string, string?]
    const variable = variables.find((one) => one.name === name)
    const known = variables.map((one) => one.name)
    const fault = (code: string, message: string, remedy: string): Fault =>
      makeFault(code, where.placeOf(node.at), `${source}: ${message}`, remedy)
    if (!variable)
      return fault(
        'unknown_variable',
        `There is no variable $${name}.`,
        suggest(name, known, 'Declare it under "variables".'),
      )
    if ((variable.type === 'period') === (field !== undefined) && variable.type !== 'column') return []
    const remedy =
      variable.type === 'period'
        ? `Write $${name}.start or $${name}.end.`
        : 'Write a value, or a variable with one.'
    return fault('wrong_type', `$${node.name} is not a value.`, remedy)
  })
}

/** Finds columns of a condition that do not exist. */
function conditionColumns({ name, where }: Source, known: readonly string[]): Fault[] {
  if (!where) return []
  return [...nodesOf(parseRowExpression(where.text))].flatMap((node) => {
    if (node.kind !== 'column' || known.some((one) => one.toLowerCase() === node.name.toLowerCase()))
      return []
    const message = `${name} has no column ${JSON.stringify(node.name)}.`
    return makeFault('unknown_column', where.placeOf(node.at), message, suggest(node.name, [...known]))
  })
}

/** Finds faults of a rule's columns. They must exist, and must be compared with values of their type. */
export function rowFaults({ name, rows }: Source, columns: readonly Column[]): Fault[] {
  if (!rows) return []
  try {
    const known = columns.map((column) => column.name)
    vetRule(rows, known, classesOf(columns))
    return []
  } catch (error) {
    if (!(error instanceof SqlTextFault)) throw error
    const fault = ruleFault(error, rows.placeOf)
    return [{ ...fault, message: `${name}: ${fault.message}` }]
  }
}

/** Finds faults of `until: source.column`, which must name dates. */
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
  const whole = attributesInSql(block.sql).includes(null)
  return sqlNames(block.sql)
    .names.filter((name) => (name === READER ? whole : !names.includes(name)))
    .map((name) => {
      const position = positionOf(offsets.get(name)!)
      const at = { line: block.line + position.line - 1, column: position.column }
      if (name === READER)
        return makeFault('wrong_type', at, WITHOUT_ATTRIBUTE.message, WITHOUT_ATTRIBUTE.remedy)
      const remedy = suggest(name, names, 'Declare it under "variables".')
      return makeFault('unknown_variable', at, `There is no variable $${name}.`, remedy)
    })
}

/** Finds columns of a block's metrics that do not exist. `columnsOf` returns null if they are not known. */
export function metricFaults(
  block: SqlBlock,
  columnsOf: (relation: string) => readonly Column[] | null,
): Fault[] {
  return (block.metrics ?? []).flatMap(({ info, relation, columns, by }) => {
    const known = relation === null ? null : columnsOf(relation)
    if (known === null) return []
    const names = known.map(({ name }) => name)
    const lower = new Set(names.map((name) => name.toLowerCase()))
    const asked = [...columns, ...by.map((column) => ({ column, key: 'by' }))]
    return asked
      .filter(({ column }) => !lower.has(column.toLowerCase()))
      .map(({ column, key }) => {
        const message = `The metric "${info.metric}": ${key} names the column ${JSON.stringify(column)}, which its source does not have.`
        return makeFault(
          'unknown_column',
          { line: block.line, column: 1 },
          message,
          suggestAmong(column, names),
        )
      })
  })
}

export function analysisFaults(
  block: AnalysisBlock,
  template: Template,
  inspection: Inspection,
  { methods, lines }: { methods: MethodTable; lines: string[] },
): Fault[] {
  const positionOf = positionInBlock(block, lines)
  const faults = referenceFaults(block, template, methods, positionOf)
  if (faults.length > 0) return faults
  const method = methods[block.method]!
  const empty = inspection.empty?.[block.of] ?? []
  const columns = asNumbers(columnsOf(inspection, block.of), empty)
  const given = bindOptions(block.options, sampleVars(template, inspection))
  const options = withDefaults(method.options, given)
  const wrong = schemaFaults(method.options, options, `the analysis "${block.name}"`, positionOf)
  if (wrong.length > 0) return wrong
  return columnFaults({ block, method, options, positionOf }, columns, undecided(block, template))
}

/** Finds methods, relations and variables of the block that do not exist. */
export function referenceFaults(
  block: AnalysisBlock,
  template: Template,
  methods: MethodTable,
  positionOf: PositionOf,
): Fault[] {
  const faults = [...relationFaults(block, template, positionOf(['of']))]
  for (const { name, path } of optionReferences(block.options)) {
    if (template.variables.some((variable) => variable.name === name)) continue
    if (name === READER) {
      const remedy = 'Compare with it in an SQL block, or write a rule: rows of the source.'
      faults.push(makeFault('wrong_type', positionOf(path), 'An analysis takes no $reader.', remedy))
      continue
    }
    const known = template.variables.map((variable) => variable.name)
    const remedy = suggest(name, known, 'Declare it under "variables".')
    faults.push(makeFault('unknown_variable', positionOf(path), `There is no variable $${name}.`, remedy))
  }
  if (Object.hasOwn(methods, block.method)) return faults
  const message = `There is no method ${JSON.stringify(block.method)}.`
  const remedy = suggest(block.method, Object.keys(methods))
  return [...faults, makeFault('unknown_method', positionOf(['method']), message, remedy)]
}

/** Returns the options that hold a variable without a default, for which any column may be chosen. */
function undecided(block: AnalysisBlock, { variables }: Template): Set<unknown> {
  const open = new Set(variables.filter((one) => (one.default ?? null) === null).map(({ name }) => name))
  const found = optionReferences(block.options).filter(({ name }) => open.has(name))
  return new Set(found.map(({ path }) => path[0]))
}

export type PositionOf = (path: readonly (string | number)[]) => Position

/** Returns the positions within the block. `lines`: the lines of the template. */
export function positionInBlock(block: AnalysisBlock, lines: string[]): PositionOf {
  return (path) => {
    const key = String(path[0] ?? '')
    const line = block.lines[key] ?? block.line
    return { line, column: Math.max(0, lines[line - 1]?.indexOf(key) ?? 0) + 1 }
  }
}

/** Finds the fault of `of`, which must name a source, or an SQL block above. */
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

/** A block with its options as it is run or judged: bound, with defaults. */
export interface BoundBlock {
  block: AnalysisBlock
  method: MethodShape
  options: Record<string, unknown>
  positionOf: PositionOf
}

/**
 * Returns the faults of groups of options with too many or too few options, which the schema accepts and the method
 * does not.
 */
function eitherFaults({ block, method, options, positionOf }: BoundBlock): Fault[] {
  const isGiven = (name: string): boolean => (options[name] ?? null) !== null
  return (method.either ?? []).flatMap((groups) => {
    const begun = groups.filter((group) => group.some(isGiven))
    if (begun.length === 1 && begun[0]!.every(isGiven)) return []
    const words = groups.map((group) => group.join(' and ')).join(', or ')
    const extra = begun[1]?.find(isGiven)
    const message = `${block.method} needs either ${words}${extra === undefined ? '' : ', not both'}.`
    const at = positionOf([extra ?? begun[0]?.find(isGiven) ?? 'method'])
    const remedy = extra === undefined ? 'Add what is missing.' : 'Remove one.'
    return [makeFault(extra === undefined ? 'missing_key' : 'leftover_key', at, message, remedy)]
  })
}

const isNumber = ({ type }: Column): boolean => NUMERIC.has(type)
const isMoment = (column: Column): boolean => ['date', 'timestamp'].includes(column.type) || isNumber(column)
const isYesNo = (column: Column): boolean => column.type === 'boolean' || isNumber(column)

/** Returns the type that the column of an option must have, and the remedy if it has another one. */
function demandOf(
  option: string,
  numeric: boolean,
): { fits: (column: Column) => boolean; words: string; cast: (name: string) => string } | null {
  const cast = (to: string) => (name: string) =>
    `Choose another column, or cast it in an SQL block: cast("${name}" as ${to}).`
  if (option === 'time') {
    const read = (name: string) =>
      `${cast('date')(name)} Other forms are read by strptime("${name}", '%d/%m/%Y').`
    return { fits: isMoment, words: 'a date, a timestamp or a number', cast: read }
  }
  if (option === 'success') return { fits: isYesNo, words: 'true or false, or 0 or 1', cast: cast('boolean') }
  return numeric ? { fits: isNumber, words: 'a number', cast: cast('double') } : null
}

/**
 * Returns the text columns of which options ask numbers, times or truth values. A column without any value is read as
 * texts too.
 */
export function textsAsked(
  used: ReturnType<MethodShape['columns']>,
  columns: readonly Column[],
): readonly Column[] {
  const asked = used.filter(({ option, numeric }) => demandOf(option, numeric) !== null)
  const names = new Set(asked.map(({ column }) => column.toLowerCase()))
  return columns.filter(({ name, type }) => type === 'text' && names.has(name.toLowerCase()))
}

/** Returns columns without any value as numbers, because they have no type and an option asks for numbers. */
export function asNumbers<T extends readonly Column[] | null>(columns: T, empty: readonly string[]): T {
  const typed = columns?.map(
    (column): Column =>
      empty.includes(column.name) ? { ...column, type: 'number', database_type: 'DOUBLE' } : column,
  )
  return (typed ?? null) as T
}

/** Returns the faults of the options that a schema cannot find. `skip`: options whose columns are not known yet. */
export function columnFaults(
  bound: BoundBlock,
  columns: readonly Column[] | null,
  skip: ReadonlySet<unknown> = new Set(),
): Fault[] {
  const { block, method, options, positionOf } = bound
  const faults = eitherFaults(bound)
  if (columns === null || faults.length > 0) return faults
  for (const { option, column, numeric } of method.columns(options)) {
    if (skip.has(option)) continue
    const found =
      columns.find(({ name }) => name === column) ??
      columns.find(({ name }) => name.toLowerCase() === column.toLowerCase())
    const demand = demandOf(option, numeric)
    if (!found) {
      const known = columns.map(({ name }) => name)
      const message = `${option}: ${block.of} has no column ${JSON.stringify(column)}.`
      faults.push(makeFault('unknown_column', positionOf([option]), message, suggestAmong(column, known)))
    } else if (demand && !demand.fits(found)) {
      const message = `${option}: ${JSON.stringify(column)} is ${withArticle(found.type)}, not ${demand.words}.`
      faults.push(makeFault('wrong_type', positionOf([option]), message, demand.cast(found.name)))
    }
  }
  return faults
}

/** Returns a value for each variable, to validate options that use one against the schema. */
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
    label: 'January 2024',
    unit: 'month',
    previous: { start: '2023-12-01', end: '2024-01-01', label: 'December 2023' },
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
