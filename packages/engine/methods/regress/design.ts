/**
 * Reads the rows of a regression as columns. At most 200,000 complete rows are fetched, in the order of a date column
 * if each row has its own date. Of more rows the ranges of the columns are asked for.
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

/** The range of a column over the complete rows, and a number near its mean. */
export interface ColumnRange {
  low: number
  high: number
  mean: number
}

export interface ManyRows {
  table: Relation
  /** SQL of the complete rows, a subquery with the columns c0 (y), c1, ... */
  from: string
  n: number
  /** The ranges of y and of the column of each term. */
  ranges: readonly ColumnRange[]
}

/** The complete rows that are too many to be fetched. */
export interface ManyDesign extends ManyRows {
  left: number
  /** Whether each column holds whole numbers only; y is the first. */
  wholes: readonly boolean[]
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
  family: string,
): Promise<Design | ManyDesign> {
  const selected = [
    family === 'logistic' ? flagSql(table, y) : numberSql(table, 'y', y),
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
  const left = (counted!.total as number) - n
  if (n > MAX_ROWS) {
    if (family !== 'gaussian' || order.dated)
      throw new MethodError(
        `regression reads at most ${MAX_ROWS.toLocaleString('en-US')} rows ${family === 'gaussian' ? 'that are a series' : `for family: ${family}`}, and there are ${n.toLocaleString('en-US')}: group or filter them in the SQL block.`,
      )
    const from = `(select ${names.join(', ')} from ${source} where ${kept})`
    return { table, from, n, left, ...(await rangesOf(table, from, names)) }
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
  return { response: columns[0]!, columns: columns.slice(1), left, series }
}

/** Returns the ranges of columns of finite values, and whether these are whole. */
async function rangesOf(
  table: Relation,
  from: string,
  names: readonly string[],
): Promise<Pick<ManyDesign, 'ranges' | 'wholes'>> {
  const list = names.flatMap((name, at) => [
    `min(${name}) as low${at}`,
    `max(${name}) as high${at}`,
    `favg(${name}) as mean${at}`,
    `bool_and(${name} = floor(${name})) as whole${at}`,
  ])
  const [row] = await table.query(`select ${list.join(', ')} from ${from}`)
  const ranges = names.map((_, at) => {
    const [low, high, mean] = [row![`low${at}`], row![`high${at}`], row![`mean${at}`]] as [
      number,
      number,
      number,
    ]
    return { low, high, mean: Number.isFinite(mean) ? mean : low / 2 + high / 2 }
  })
  return { ranges, wholes: names.map((_, at) => row![`whole${at}`] as boolean) }
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
  return stepOf(Math.sqrt(square) * largest, () => values.every(Number.isInteger))
}

/** Returns the step for a standard deviation. `isWhole` tells whether all values are whole. */
export function stepOf(sd: number, isWhole: () => boolean): number {
  if (!(sd > 0 && Number.isFinite(sd))) return 1
  if (sd >= NATURAL[0] && sd < NATURAL[1]) return 1
  const step = Number(`1e${Math.floor(Math.log10(sd))}`)
  return step < 1 && isWhole() ? 1 : step
}
