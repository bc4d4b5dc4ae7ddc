/**
 * Writes the SQL that reads one column of a text as column decisions say. Plain values are read by the engine as they
 * are parsed. All others are read as text and converted here; a value that does not fit raises MISFIT and is never made
 * null or rounded.
 */
import type { ColumnDialect } from '@assay/model/dialect'
import { identifier, literal } from '../../duckdb/duckdb.ts'
import { formSql, isForm } from './date-forms.ts'
import { writtenSql } from './numbers/written-sql.ts'
import type { Decision } from './tally.ts'
import { type DateShape, dateFormat, MISSING_MARKS, numberPattern } from './values.ts'

/** The beginning of the errors of these conversions. */
export const MISFIT = 'A value does not fit'

/** Returns the sentence of such an error, with the column and what to write, or null for any other error. */
export function misfitFault(reason: string): string | null {
  const [, name, value] = new RegExp(`${MISFIT}: ([^]*?)(?:: ([^]*))?$`).exec(reason) ?? []
  if (name === undefined) return null
  const what = value === undefined ? 'a value' : JSON.stringify(value)
  const own = `columns: { ${JSON.stringify(name)}: { missing: [...] } }`
  return `column ${JSON.stringify(name)}: ${what} does not fit the way in which the column is read. Correct it, correct what the source says of the column, or write what stands for a missing value as "${own}".`
}

export interface ColumnSql {
  /** The type with which the engine parses the column. */
  parsed: string
  /** The expression over the parsed column; null to take it as it is. */
  sql: string | null
}

export interface ColumnContext {
  name: string
  declared: ColumnDialect
  /** The missing marks that occur in the column. */
  marks: readonly string[]
  /** True if blanks stand around a value. */
  padded: boolean
  /** The type that the template declares. */
  type: string | null
  /** True if every value has been seen. Whole numbers then need no check. */
  covered: boolean
  /** True if the column is parsed as text, so that a value that does not fit cannot count as a bad row. */
  asText: boolean
}

const PLAIN: Record<string, string> = {
  integer: 'BIGINT',
  number: 'DOUBLE',
  time: 'TIME',
  boolean: 'BOOLEAN',
}

export function columnSql(decision: Decision, context: ColumnContext): ColumnSql {
  const { name, declared, marks, padded, type, covered, asText } = context
  if (type !== null && isText(type)) return { parsed: type, sql: null }
  if (decision.kind === 'text') {
    // A declared type of date does not settle which of two readings is meant.
    if (decision.doubt?.kind === 'two_readings') return { parsed: 'VARCHAR', sql: null }
    if (type !== null) return asText ? cast(name, type) : { parsed: type, sql: null }
    if (declared.missing === undefined) return { parsed: 'VARCHAR', sql: null }
    return { parsed: 'VARCHAR', sql: withMarks(context, textOf(name), null) }
  }
  const plain = plainType(decision)
  if (plain !== null && !asText) {
    if (marks.length === 0) {
      if (type !== null) return { parsed: type, sql: null }
      return plain === 'BIGINT' && !covered ? checkedInteger(name) : { parsed: plain, sql: null }
    }
    if (covered && !padded && plain !== 'BOOLEAN') return castBut(marks, name, type ?? plain)
  }
  const text = textOf(name)
  const { value, fits } = converted(decision, text)
  const sql = withMarks(context, text, { value, fits })
  return { parsed: 'VARCHAR', sql: type === null ? sql : `cast(${sql} as ${type})` }
}

export const isText = (type: string): boolean => /^(varchar|text|string|char|bpchar|nvarchar)\b/i.test(type)

function cast(name: string, type: string): ColumnSql {
  return { parsed: 'VARCHAR', sql: `cast(${identifier(name)} as ${type})` }
}

/**
 * Casts all values but the missing marks, for a column whose values have all been seen. With many columns, a check of each value would
 * take longer to plan than all else.
 */
function castBut(marks: readonly string[], name: string, type: string): ColumnSql {
  const text = marks.reduce((value, mark) => `nullif(${value}, ${literal(mark)})`, identifier(name))
  return { parsed: 'VARCHAR', sql: `cast(${text} as ${type})` }
}

/** Returns the text of a value without blanks around it. */
function textOf(name: string): string {
  return `trim(${identifier(name)}, ${literal(' \t\u00a0')})`
}

function plainType(decision: Decision): string | null {
  if (decision.kind === 'integer') return decision.long ? 'HUGEINT' : 'BIGINT'
  if (decision.kind === 'number')
    return decision.format === null && decision.around === null ? 'DOUBLE' : null
  if (decision.kind !== 'date') return PLAIN[decision.kind] ?? null
  return decision.order === null ? isoType(decision.shapes) : null
}

function isoType(shapes: readonly DateShape[]): string {
  if (shapes.some(({ zone }) => zone)) return 'TIMESTAMP WITH TIME ZONE'
  return shapes.some(({ time }) => time !== '') ? 'TIMESTAMP' : 'DATE'
}

/**
 * Returns SQL that refuses numbers that are not whole, because a cast to BIGINT would round 1.5 to 2. Doubles hold
 * these numbers exactly and are parsed as fast. Most numbers fit 32 bits, which is the fastest check: if all values of
 * a batch fit, DuckDB skips the other branches.
 */
function checkedInteger(name: string): ColumnSql {
  const column = identifier(name)
  const short = `try_cast(${column} as integer)`
  const whole = `${column} = trunc(${column}) and abs(${column}) < 9e15`
  return {
    parsed: 'DOUBLE',
    sql: `case when ${short} = ${column} then cast(${short} as bigint) when ${column} is null then null
      when ${whole} then cast(${column} as bigint) else error(${literal(`${MISFIT}: ${name}`)}) end`,
  }
}

/** Replaces missing marks by null. If `read` is null, all other values stay as they are. */
function withMarks(
  { name, declared }: ColumnContext,
  text: string,
  read: { value: string; fits: string } | null,
): string {
  const column = identifier(name)
  // This is one pattern and not "in", because for a list the engine holds a vector for each mark of each column.
  const marks = ['', ...(declared.missing ?? MISSING_MARKS)].map(quoted).join('|')
  const missing = `${column} is null or regexp_full_match(${text}, ${literal(marks)})`
  if (read === null) return `case when ${missing} then null else ${column} end`
  const misfit = `error(${literal(`${MISFIT}: ${name}: `)} || ${column})`
  return `case when ${missing} then null when ${read.fits} then ${read.value} else ${misfit} end`
}

/** Returns a pattern that matches this text alone. */
const quoted = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** Converts a column. `fits` and `value`: SQL over the text `v`. */
function converted(
  decision: Exclude<Decision, { kind: 'text' }>,
  v: string,
): { value: string; fits: string } {
  switch (decision.kind) {
    case 'integer':
      return {
        value: `cast(${v} as ${decision.long ? 'hugeint' : 'bigint'})`,
        fits: `regexp_full_match(${v}, '-?(0|[1-9][0-9]*)')`,
      }
    case 'number':
      return numberSql(decision, v)
    case 'date':
      return dateSql(decision, v)
    case 'time':
      return { value: `cast(${v} as time)`, fits: `contains(${v}, ':')` }
    default:
      return {
        value: `lower(${v}) in ('true', 'yes', 't', 'y')`,
        fits: `lower(${v}) in ('true', 'false', 'yes', 'no', 't', 'f', 'y', 'n')`,
      }
  }
}

function numberSql(
  { format, integer, around }: Extract<Decision, { kind: 'number' }>,
  v: string,
): { value: string; fits: string } {
  const used = format ?? { decimal: '.' as const, groups: '' }
  if (around !== null) return writtenSql({ format: used, integer, around }, v)
  let text = v
  for (const group of used.groups) text = `replace(${text}, ${literal(group)}, '')`
  if (used.decimal === ',') text = `replace(${text}, ',', '.')`
  const pattern = numberPattern(used, integer)
  if (integer)
    return {
      value: `cast(${text} as bigint)`,
      fits: `regexp_full_match(${v}, ${literal(pattern)})`,
    }
  const fits = `regexp_full_match(${v}, ${literal(`(?:${pattern})|(?i:nan|-?inf|-?infinity)`)})`
  return { value: `cast(${text} as double)`, fits }
}

function dateSql(
  { order, shapes }: Extract<Decision, { kind: 'date' }>,
  v: string,
): { value: string; fits: string } {
  if (order === null)
    return {
      value: `cast(${v} as ${isoType(shapes)})`,
      fits: `regexp_matches(${v}, '^[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}')`,
    }
  if (isForm(order)) return formSql(order, v)
  const formats = [...new Set(shapes.map((shape) => `${dateFormat(order, shape)}${shape.time}`))]
  const parsed = `try_strptime(${v}, [${formats.map(literal).join(', ')}])`
  const year = Math.max(...shapes.map((shape) => shape.year))
  const form =
    order === 'ymd' ? `^[0-9]{${year}}[-/.]` : `^[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{${year}}([ T]|$)`
  const days = shapes.every(({ time }) => time === '')
  return {
    value: days ? `cast(${parsed} as date)` : parsed,
    fits: `(regexp_matches(${v}, ${literal(form)}) and ${parsed} is not null)`,
  }
}
