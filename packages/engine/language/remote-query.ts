/**
 * The query of a source, in the SQL of its database, with `[[ ... ]]` and `$name` as in SQL blocks. Values become parameters
 * of the database and are never pasted; the fields of a period are parameters ($period.start).
 */
import type { Reader } from '@assay/model/reader'
import type { Fault, Source, Template, Variable, VariableType } from '@assay/model/template'
import { ATTRIBUTE, attributesInSql, READER, WITHOUT_ATTRIBUTE } from '../personal/sql-attributes.ts'
import { suggest } from '../values/near.ts'
import { makeFault } from './fault.ts'
import {
  bindSql,
  offsetsOfNames,
  replaceVariables,
  type SqlSyntax,
  STANDARD_SYNTAX,
  sqlNames,
} from './sql-clauses.ts'

/** A value with its declared type. Dates and timestamps are ISO text. Null if there is no value. */
export interface Parameter {
  /** The name of the variable, with the field of a period. */
  name: string
  type: Exclude<VariableType, 'period' | 'column' | 'list' | 'file'>
  /** True for a list of values of `type`. */
  list: boolean
  value: ParameterValue
}

/** A value as variables hold it. Integers beyond 2^53 are text. */
export type Plain = string | number | boolean | null
export type ParameterValue = Plain | Plain[]

export interface BoundQuery {
  sql: string
  /** The parameters in the order of the placeholders. */
  parameters: Parameter[]
}

export interface QueryDialect {
  syntax: SqlSyntax
  /** Returns the text of a placeholder. `index`: the number of the parameter, from 1. */
  placeholder(index: number, parameter: Parameter): string
  /** True if several placeholders may share one parameter. */
  reuses: boolean
}

const FIELD = /^\.(start|end|label|previous\.(?:start|end|label))\b/

/** Returns the faults of a query that show without the database. */
export function queryFaults(source: Source, template: Template, syntax = STANDARD_SYNTAX): Fault[] {
  const { query } = source
  if (query === null) return []
  const known = template.variables.map(({ name }) => name)
  const offsets = offsetsOfNames(query.text, syntax)
  return sqlNames(query.text, syntax).names.flatMap((name) => {
    if (name === READER) {
      if (!attributesInSql(query.text, syntax).includes(null)) return []
      const { message, remedy } = WITHOUT_ATTRIBUTE
      return [
        makeFault('wrong_type', query.placeOf(offsets.get(name)!), `${source.name}: ${message}`, remedy),
      ]
    }
    const variable = template.variables.find((one) => one.name === name)
    const fault = nameFault(name, variable, source, query.text, syntax)
    if (fault === null) return []
    const remedy = variable ? fault.remedy : suggest(name, known, 'Declare it under "variables".')
    const place = query.placeOf(offsets.get(name)!)
    return [makeFault(fault.code, place, `${source.name}: ${fault.message}`, remedy)]
  })
}

function nameFault(
  name: string,
  variable: Variable | undefined,
  source: Source,
  text: string,
  syntax: SqlSyntax,
): { code: string; message: string; remedy: string } | null {
  if (!variable) return { code: 'unknown_variable', message: `There is no variable $${name}.`, remedy: '' }
  if (variable.type === 'column') {
    const message = `$${name} is the name of a column, and a parameter of a query cannot be one.`
    return {
      code: 'wrong_type',
      message,
      remedy: 'Read the columns that are wanted, and choose in an SQL block.',
    }
  }
  if (variable.type !== 'period') return null
  if (variable.until?.split('.')[0] === source.name) {
    const message = `$${name} is counted back from ${variable.until}, which this query itself reads.`
    return { code: 'circular_period', message, remedy: 'Name another source in "until".' }
  }
  let whole = false
  replaceVariables(text, syntax, (found, rest) => {
    if (found === name && !FIELD.test(rest)) whole = true
    return { text: '', taken: 0 }
  })
  const message = `$${name} is a period, and a query takes one of its days.`
  return whole ? { code: 'wrong_type', message, remedy: `Write $${name}.start or $${name}.end.` } : null
}

/** Returns the variables that a query names; empty for a file. */
export function queryVariables(source: Source, syntax = STANDARD_SYNTAX): string[] {
  return source.query === null ? [] : sqlNames(source.query.text, syntax).names
}

/** Binds the variables, in which periods are resolved. The query must have no faults. */
export function bindQuery(
  text: string,
  variables: readonly Pick<Variable, 'name' | 'type' | 'items'>[],
  vars: Record<string, unknown>,
  dialect: QueryDialect,
): BoundQuery {
  const { syntax } = dialect
  const settled = bindSql(text, { vars, columnVars: [], syntax }).sql
  const parameters: Parameter[] = []
  const sql = replaceVariables(settled, syntax, (name, rest) => {
    const variable = variables.find((one) => one.name === name)!
    const field =
      name === READER ? ATTRIBUTE.exec(rest) : variable.type === 'period' ? FIELD.exec(rest) : null
    const parameter =
      name === READER
        ? readerParameter(vars[READER] as Reader, field![1]!)
        : parameterOf(variable, field?.[1], vars[name] ?? null)
    const known = dialect.reuses ? parameters.findIndex((one) => one.name === parameter.name) : -1
    const index = known < 0 ? parameters.push(parameter) : known + 1
    return { text: dialect.placeholder(index, parameter), taken: field?.[0].length ?? 0 }
  })
  return { sql, parameters }
}

function readerParameter(reader: Reader, attribute: string): Parameter {
  const value = reader[attribute]
  const name = `${READER}.${attribute}`
  if (Array.isArray(value)) return { name, type: 'string', list: true, value }
  const type = typeof value === 'boolean' ? 'boolean' : typeof value === 'number' ? 'number' : 'string'
  return { name, type, list: false, value: value ?? null }
}

function parameterOf(
  variable: Pick<Variable, 'name' | 'type' | 'items'>,
  field: string | undefined,
  value: unknown,
): Parameter {
  const { name, type } = variable
  if (field === undefined) {
    const single = type === 'list' ? (variable.items ?? 'string') : type
    return { name, type: plainType(single), list: type === 'list', value: value as ParameterValue }
  }
  const picked = field
    .split('.')
    .reduce<unknown>((from, step) => (from as Record<string, unknown> | null)?.[step] ?? null, value)
  return {
    name: `${name}.${field}`,
    type: field.endsWith('label') ? 'string' : 'date',
    list: false,
    value: picked as Plain,
  }
}

function plainType(type: VariableType): Parameter['type'] {
  return type === 'period' || type === 'column' || type === 'list' || type === 'file' ? 'string' : type
}
