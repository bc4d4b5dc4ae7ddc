/** Finds the columns that options name, checks them and turns them into SQL. */
import type { Column } from '@assay/model/insight'
import { type Method, MethodError, quote, type Relation } from './method.ts'

const NUMERIC = new Set(['integer', 'number', 'decimal'])
const TEMPORAL = new Set(['date', 'timestamp'])

/** Returns the column of that name. SQL's names do not distinguish case, but an exact match takes precedence. */
export function columnOf(table: Relation, option: string, name: string): Column {
  const found =
    table.columns.find((column) => column.name === name) ??
    table.columns.find((column) => column.name.toLowerCase() === name.toLowerCase())
  if (found) return found
  const names = table.columns.map((column) => column.name).join(', ')
  throw new MethodError(`${option}: there is no column "${name}". Columns: ${names}.`)
}

export function isNumeric(column: Column): boolean {
  return NUMERIC.has(column.type)
}

export function isTemporal(column: Column): boolean {
  return TEMPORAL.has(column.type)
}

/** Returns SQL for the column's values as doubles. */
export function numberSql(table: Relation, option: string, name: string): string {
  const column = columnOf(table, option, name)
  if (!isNumeric(column)) {
    throw new MethodError(
      `${option}: column "${name}" is ${column.database_type}, and numbers are needed. Cast it in the SQL block: cast(${quote(name)} as double).`,
    )
  }
  return `cast(${quote(column.name)} as double)`
}

/**
 * Returns SQL for the column's values as names of groups: nested values as text, the others as they are (twice as
 * fast).
 */
export function groupSql(table: Relation, option: string, name: string): string {
  const column = columnOf(table, option, name)
  return column.type === 'other' ? `cast(${quote(column.name)} as varchar)` : quote(column.name)
}

/**
 * Returns SQL of a group's name as text: whole numbers without decimals, as data write them. The cast is left out if
 * the type is no double.
 */
export function nameSql(group: string): string {
  const text = `cast(${group} as varchar)`
  return `case when typeof(${group}) in ('DOUBLE', 'FLOAT') and ends_with(${text}, '.0') then left(${text}, -2) else ${text} end`
}

/**
 * Returns SQL for `value`, an expression of the column's type, in the form that JSON carries. Dates and timestamps are
 * ISO text, or null if they are infinite. Text is cut at 200 characters.
 */
export function cellSql(column: Column, value = quote(column.name)): string {
  if (column.type === 'date') return `case when isfinite(${value}) then cast(${value} as varchar) end`
  if (column.type === 'timestamp') {
    const zoned = isZoned(column)
    const text = zoned ? `make_timestamp(epoch_us(${value}))` : value
    return `case when isfinite(${value}) then replace(cast(${text} as varchar), ' ', 'T')${zoned ? " || 'Z'" : ''} end`
  }
  if (isNumeric(column) || column.type === 'boolean') return value
  return `left(cast(${value} as varchar), 200)`
}

/** Tells whether a timestamp is a moment (with a zone) rather than a wall clock's reading. */
export function isZoned(column: Column): boolean {
  return column.database_type.includes('ZONE')
}

/** Returns the column of a `time` option: a date, a timestamp or a number. */
export function timeColumn(table: Relation, name: string): Column {
  const column = columnOf(table, 'time', name)
  if (isNumeric(column) || isTemporal(column)) return column
  throw new MethodError(
    `time: column "${name}" is ${column.database_type}; a date, a timestamp or a number is needed. Cast it in the SQL block: cast(${quote(name)} as date).`,
  )
}

/** Implements `Method.columns` for a method with the options `time` and `value`. */
export const seriesColumns: Method['columns'] = (options) => [
  { option: 'time', column: options.time as string, numeric: false },
  { option: 'value', column: options.value as string, numeric: true },
]

/** Implements `Method.columns` for a method with the options `value` and `by`. */
export const groupedColumns: Method['columns'] = (options) => [
  { option: 'value', column: options.value as string, numeric: true },
  { option: 'by', column: options.by as string, numeric: false },
]
