/**
 * A time series out of a relation, in order of time: one value a time, at most 50,000 of them. Rows without a time or
 * a finite value are left out and counted; where a time occurs more than once its values are averaged, with a note.
 */
import { cellSql, isNumeric, isZoned, numberSql, timeColumn } from './columns.ts'
import { MethodError, quote, type Relation } from './method.ts'
import { count } from './sentence.ts'
import { powerAbove } from './sums.ts'

export const MAX_POINTS = 50_000

export type Time = string | number

export interface Series {
  times: Time[]
  /** Where each time lies: days since 1970-01-01, or the number itself. */
  positions: number[]
  /** What the time column is, for labels of times that are not in the data. */
  kind: 'number' | 'date' | 'timestamp' | 'zoned'
  /** The values over `unit`, a power of two above them all: no square of them overflows. */
  values: number[]
  unit: number
  notes: string[]
}

export async function loadSeries(table: Relation, time: string, value: string): Promise<Series> {
  const column = timeColumn(table, time)
  const name = quote(column.name)
  const number = isNumeric(column)
  const position = number ? `cast(${name} as double)` : `epoch_us(${name}) / 86400000000.0::double`
  const present = number ? `isfinite(cast(${name} as double))` : `isfinite(${name})`
  const source =
    `(select ${number ? `cast(${name} as double)` : cellSql(column)} as label, case when ${present} then ${position} end as pos, ` +
    `${numberSql(table, 'value', value)} as v from ${table.relation})`
  const keep = 'pos is not null and isfinite(v)'
  const [range] = await table.query(
    `select count(*) as total, count(*) filter (${keep}) as n, count(distinct pos) filter (${keep}) as times,
       max(abs(v)) filter (${keep}) as largest from ${source}`,
  )
  const n = range!.n as number
  const distinct = range!.times as number
  if (distinct > MAX_POINTS) {
    throw new MethodError(
      `time: ${distinct} different times, and a series may have ${MAX_POINTS}. Group by day, week or month in the SQL block.`,
    )
  }
  const left = (range!.total as number) - n
  const unit = powerAbove((range!.largest as number | null) ?? 0)
  const rows = await table.query(
    `select any_value(label) as time, pos, favg(v / ${unit.toExponential()}::double) as value from ${source} where ${keep} group by pos order by pos`,
  )
  const notes: string[] = []
  if (left > 0) notes.push(`${count(left, 'row')} without a time or a finite value left out.`)
  if (n > distinct)
    notes.push(`${count(n - distinct, 'row')} share a time with another; their mean was taken.`)
  return {
    times: rows.map((row) => row.time as Time),
    positions: rows.map((row) => row.pos as number),
    kind: number ? 'number' : column.type === 'date' ? 'date' : isZoned(column) ? 'zoned' : 'timestamp',
    values: rows.map((row) => row.value as number),
    unit,
    notes,
  }
}
