/**
 * Reads dates in JSON strings, and numbers with a currency or another sign around them, by the same decision as those of a table in
 * text. Strings of digits alone stay text: whoever wrote them as strings meant so. DuckDB would read "01-02-2023" day
 * first and "01-02-23" year first. Only columns are converted; dates within lists and objects stay text.
 */
import type { ColumnDialect, Dialect, FoundColumn } from '@assay/model/dialect'
import type { Column } from '@assay/model/insight'
import { type Engine, identifier, readTable } from '../../duckdb/duckdb.ts'
import { columnSql } from './column-sql.ts'
import { formHasTime, isForm } from './date-forms.ts'
import { eachKind } from './keys.ts'
import type { FoundAround } from './numbers/around.ts'
import { type Decision, type Evidence, impliedBy, Tally } from './tally.ts'

/** Date formats that no string fits, so that DuckDB leaves dates as they are. */
export const NO_DATES = ", dateformat = '~%Y~', timestampformat = '~%Y~'"

const SAMPLE_ROWS = 20_480

export interface JsonDate {
  name: string
  /** The expression that reads the column, and the type that it gives. */
  sql: string
  type: string
}

/**
 * Finds the text columns that hold dates. `relation`: a table or a query in brackets. `typed`: the names with a
 * declared type.
 */
export async function jsonDates(
  engine: Engine,
  relation: string,
  columns: readonly Column[],
  dialect: Dialect,
  typed: readonly string[],
): Promise<{ dates: JsonDate[]; found: FoundColumn[] }> {
  const texts = columns.filter(({ name, type }) => type === 'text' && !typed.includes(name))
  const dates: JsonDate[] = []
  const found: FoundColumn[] = []
  if (texts.length === 0) return { dates, found }
  const list = texts.map(({ name }) => identifier(name)).join(', ')
  const sample = await readTable(
    engine,
    `select ${list} from ${relation} limit ${SAMPLE_ROWS}`,
    {},
    SAMPLE_ROWS,
  )
  for (const [index, { name }] of texts.entries()) {
    const declared = declaredFor(dialect, name)
    const tally = new Tally(declared)
    for (const row of sample.rows) if (row[index] !== null) tally.note(row[index] as string)
    if (!tally.holdsDates && !tally.holdsWritten && !tally.holdsUnits) continue
    const all = sample.total < SAMPLE_ROWS ? tally : await tallyOfAll(engine, relation, name, declared)
    const decision = all.decide(evidenceOf(declared))
    if (decision.kind === 'text' && decision.doubt) found.push({ name, doubt: decision.doubt })
    if (decision.kind === 'number' && decision.around !== null) {
      found.push(foundNumber(name, decision.around))
      dates.push(numberOf(name, decision, declared, all))
    }
    if (decision.kind !== 'date') continue
    const { order, sure } = decision
    if (order !== null) found.push({ name, dates: { is: order, sure } })
    dates.push(dateOf(name, decision, declared, all))
  }
  return { dates, found }
}

function declaredFor(source: Dialect, name: string): ColumnDialect {
  const { dates, decimal, thousands, percent, minus, missing } = source
  const given = { dates, decimal, thousands, percent, minus, missing, ...source.columns?.[name] }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

async function tallyOfAll(
  engine: Engine,
  relation: string,
  name: string,
  declared: ColumnDialect,
): Promise<Tally> {
  const tally = new Tally(declared)
  await eachKind(engine, [name], `select * from ${relation}`, (_, value, times) => tally.note(value, times))
  return tally
}

/**
 * Returns what the template says of numbers. Other columns of JSON say nothing, since their numbers are numbers
 * already.
 */
function evidenceOf(declared: ColumnDialect): Evidence {
  const decimal = declared.decimal ?? null
  const thousands = declared.thousands ?? null
  if (decimal === null && thousands === null) return { decimal, thousands, sure: 'likely' }
  return { decimal: decimal ?? impliedBy(thousands), thousands, sure: 'declared' }
}

function foundNumber(name: string, { currencies, percent, minus }: FoundAround): FoundColumn {
  return {
    name,
    ...(currencies.length > 0 && { currency: { is: currencies[0]!, sure: 'settled' as const } }),
    ...(percent && { percent }),
    ...(minus && { minus }),
  }
}

function numberOf(
  name: string,
  decision: Extract<Decision, { kind: 'number' }>,
  declared: ColumnDialect,
  { missing, padded }: Tally,
): JsonDate {
  const context = {
    name,
    declared,
    marks: [...missing.keys()],
    padded,
    type: null,
    covered: true,
    asText: true,
  }
  const type = decision.integer && decision.around?.percent?.is !== 'share' ? 'bigint' : 'double'
  return { name, type, sql: columnSql(decision, context).sql! }
}

function dateOf(
  name: string,
  decision: Extract<Decision, { kind: 'date' }>,
  declared: ColumnDialect,
  { missing, padded }: Tally,
): JsonDate {
  const marks = [...missing.keys()]
  const context = { name, declared, marks, padded, type: null, covered: true, asText: true }
  const { order, shapes } = decision
  const days = order !== null && isForm(order) ? !formHasTime(order) : shapes.every(({ time }) => time === '')
  const type = days ? 'date' : 'timestamp'
  // A time with a zone becomes one in UTC, as DuckDB reads it in JSON.
  return { name, type, sql: `cast(${columnSql(decision, context).sql} as ${type})` }
}
