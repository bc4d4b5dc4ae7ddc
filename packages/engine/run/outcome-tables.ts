/**
 * Turns the lists of rows of an analysis into tables for later SQL blocks: `points` of the analysis `ahead` is
 * `ahead_points`. With one outcome for each group the lists of all groups are one table, whose first column is `by`
 * (`each` if the rows have a `by`). A table is made only if a block reads it. Its columns are those that the method
 * describes: numbers, truth values and texts. Times have the type of the column from which the analysis reads them, and
 * nested values are JSON.
 */
import type { Column, Outcome } from '@assay/model/insight'
import type { AnalysisBlock, Template } from '@assay/model/template'
import { VARCHAR } from '@duckdb/node-api'
import { describeQuery, type Engine, execute, identifier, literal } from '../duckdb/duckdb.ts'
import { isZoned } from '../methods/shared/columns.ts'
import { type FieldSchema, moment, outcomeSchema } from '../methods/shared/fields.ts'
import { catalogOfMethods } from '../reading/methods-on-demand.ts'
import { bindOptions } from '../reading/options.ts'

/** A list of rows of an analysis. */
export interface OutcomeTable {
  name: string
  block: AnalysisBlock
  field: string
  columns: { name: string; type: string }[]
}

type Row = Record<string, unknown>

const TYPES: Record<string, string> = {
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  string: 'VARCHAR',
}

/**
 * Returns the tables of an analysis that the SQL of a later block may name. The name of a source or block takes
 * precedence. `columns` are those of the relation that the analysis reads.
 */
export function outcomeTables(
  block: AnalysisBlock,
  { template, vars, columns }: { template: Template; vars: Row; columns: readonly Column[] | null },
): OutcomeTable[] {
  const below = template.blocks.slice(template.blocks.indexOf(block) + 1)
  const starts = ['_', '.'].map((mark) => `${block.name}${mark}`.toLowerCase())
  const named = below.some(
    (one) => one.kind === 'sql' && starts.some((start) => one.sql.toLowerCase().includes(start)),
  )
  if (!named) return []
  const methods = catalogOfMethods()
  if (!Object.hasOwn(methods, block.method)) return []
  const options = bindOptions(block.options, vars)
  const taken = new Set([...template.sources, ...template.blocks].map(({ name }) => name.toLowerCase()))
  const time = momentType(columns, options.time)
  const { properties = {} } = outcomeSchema(methods[block.method]!.fields, options) as FieldSchema
  const lists = Object.entries(properties).flatMap(([field, schema]) => rowsOf(field, schema))
  const inGroups = Object.entries(properties.groups?.items?.properties ?? {})
    .flatMap(([field, schema]) => rowsOf(field, schema))
    .filter(({ field }) => !Object.hasOwn(properties, field))
    .map(({ field, row }) => ({ field, row: { [groupName(row)]: { type: 'string' }, ...row } }))
  return [...lists, ...inGroups]
    .map(({ field, row }) => ({
      name: `${block.name}_${field}`,
      block,
      field,
      columns: Object.entries(row).map(([name, schema]) => ({ name, type: typeOf(schema, time) })),
    }))
    .filter(({ name }) => !taken.has(name.toLowerCase()))
}

function rowsOf(field: string, schema: FieldSchema): { field: string; row: Record<string, FieldSchema> }[] {
  const row = schema.type === 'array' ? schema.items?.properties : undefined
  return row && Object.keys(row).length > 0 ? [{ field, row }] : []
}

/** Returns the name of the column of groups. The rows of some lists have a `by` of their own. */
const groupName = (row: object): 'by' | 'each' => (Object.hasOwn(row, 'by') ? 'each' : 'by')

const MOMENT = JSON.stringify(moment)

function typeOf(schema: FieldSchema, time: string): string {
  if (JSON.stringify(schema) === MOMENT) return time
  const kinds = (schema.anyOf ?? [schema]).map(({ type }) => type).filter((type) => type !== 'null')
  return (kinds.length === 1 ? TYPES[kinds[0] ?? ''] : undefined) ?? 'VARCHAR'
}

/** Returns the type of the times of an outcome, by the column from which they come. */
function momentType(columns: readonly Column[] | null, name: unknown): string {
  const found = columns?.find((column) => column.name.toLowerCase() === String(name).toLowerCase())
  const type = found?.type
  if (type === 'date') return 'DATE'
  if (found && type === 'timestamp') return isZoned(found) ? 'TIMESTAMP WITH TIME ZONE' : 'TIMESTAMP'
  return type === 'integer' || type === 'number' || type === 'decimal' ? 'DOUBLE' : 'VARCHAR'
}

/** Makes the table with the rows of the outcome, or without rows, and returns its columns. */
export async function makeTable(
  engine: Engine,
  table: OutcomeTable,
  outcome: Outcome | null,
): Promise<Column[]> {
  const rows = outcome === null ? [] : rowsIn(outcome, table.field)
  const structure = JSON.stringify([Object.fromEntries(table.columns.map(({ name }) => [name, 'VARCHAR']))])
  const columns = table.columns.map(
    ({ name, type }) => `try_cast(r.${identifier(name)} as ${type}) as ${identifier(name)}`,
  )
  await execute(
    engine,
    `create or replace table ${identifier(table.name)} as
    select ${columns.join(', ')} from (select unnest(from_json($rows::json, ${literal(structure)})) as r)`,
    { rows: { value: JSON.stringify(rows), type: VARCHAR } },
  )
  return describeQuery(engine, `select * from ${identifier(table.name)}`)
}

function rowsIn(outcome: Outcome, field: string): Row[] {
  if (Array.isArray(outcome[field])) return outcome[field] as Row[]
  const groups = Array.isArray(outcome.groups) ? (outcome.groups as Row[]) : []
  return groups.flatMap(({ by, [field]: list }) =>
    Array.isArray(list) ? (list as Row[]).map((row) => ({ [groupName(row)]: by, ...row })) : [],
  )
}
