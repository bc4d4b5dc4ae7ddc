/**
 * Reads the rows of a regression as columns. At most 200,000 complete rows are fetched, in the order of a date column
 * if each row has its own date.
 */
import { isSorted, seriesOrder } from '../relations/series-order.ts'
import { columnOf, numberSql } from '../shared/columns.ts'
import { MethodError, quote, type Relation } from '../shared/method.ts'

const MAX_ROWS = 200_000
/** The fewest rows whose order is read as a series. */
const LEAST_ROWS = 20

export interface NamedTerm {
  name: string
  column: string
  power: number
}

export interface Design {
  response: number[]
  /** One column for each term, not yet raised to its power. */
  columns: number[][]
  left: number
  /**
   * The reason why the rows may be a series: a date of their own, a single x with even steps, or the order of the data
   * if it sorts none of the columns. Null if they are no series.
   */
  series: 'dated' | 'even' | 'rows' | null
}

export async function readDesign(
  table: Relation,
  y: string,
  terms: readonly NamedTerm[],
  logistic: boolean,
): Promise<Design> {
  const selected = [
    logistic ? flagSql(table, y) : numberSql(table, 'y', y),
    ...terms.map((term) => numberSql(table, 'x', term.column)),
  ]
  const names = selected.map((_, index) => `c${index}`)
  const order = await seriesOrder(table)
  const source = `(select ${selected.map((sql, index) => `${sql} as c${index}`).join(', ')}, ${order.sql} as t from ${table.relation})`
  const kept = names.map((name) => `coalesce(isfinite(${name}), false)`).join(' and ')
  const [counted] = await table.query(
    `select count(*) as total, count(*) filter (${kept}) as n from ${source}`,
  )
  const n = counted!.n as number
  if (n > MAX_ROWS) {
    throw new MethodError(
      `regression reads at most ${MAX_ROWS.toLocaleString('en-US')} rows, and there are ${n.toLocaleString('en-US')}: group or filter them in the SQL block.`,
    )
  }
  const found = await table.query(`select ${names.join(', ')} from ${source} where ${kept} order by t`)
  const columns = names.map((name) => found.map((row) => row[name] as number))
  const single = new Set(terms.map(({ column }) => column)).size === 1
  const series = order.dated
    ? 'dated'
    : single && !table.unordered && isEven(columns[1]!)
      ? 'even'
      : table.unordered || n < LEAST_ROWS || columns.some(isSorted)
        ? null
        : 'rows'
  return { response: columns[0]!, columns: columns.slice(1), left: (counted!.total as number) - n, series }
}

/** Tells whether values rise or fall in steps of one size, as an index or a year does. */
function isEven(values: readonly number[]): boolean {
  const step = values[1]! - values[0]!
  return (
    values.length >= 10 &&
    step !== 0 &&
    values.every((value, i) => i === 0 || Math.abs(value - values[i - 1]! - step) <= 1e-9 * Math.abs(step))
  )
}

/** Returns SQL of a column of true and false, or of 1 and 0, as numbers. */
function flagSql(table: Relation, y: string): string {
  const column = columnOf(table, 'y', y)
  if (column.type === 'boolean') return `cast(cast(${quote(column.name)} as integer) as double)`
  return numberSql(table, 'y', y)
}

/** The range of standard deviations in which a step of 1 reads well. */
const NATURAL: readonly [number, number] = [1, 100]

/**
 * Returns the step of x for which sentences give an effect. It is 1 if the standard deviation is between 1 and 100,
 * else the power of ten below it. For whole numbers it is at least 1.
 */
export function stepIn(
  { columns }: Pick<Design, 'columns'>,
  terms: readonly NamedTerm[],
  lead: Pick<NamedTerm, 'column' | 'power'> | null,
): number {
  const at = terms.findIndex(({ column, power }) => column === lead?.column && power === lead.power)
  const values = columns[at] ?? []
  const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const scaled = values.map((value) => value / largest)
  const mean = scaled.reduce((sum, value) => sum + value, 0) / values.length
  const square = scaled.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  const sd = Math.sqrt(square) * largest
  if (!(sd > 0 && Number.isFinite(sd))) return 1
  if (sd >= NATURAL[0] && sd < NATURAL[1]) return 1
  const step = Number(`1e${Math.floor(Math.log10(sd))}`)
  return step < 1 && values.every(Number.isInteger) ? 1 : step
}
