/** The rows of a scan: one value for each combination of values and time, and the series of the whole that they add up to. */
import type { Cell } from '@assay/model/insight'
import type { Series, Time } from '../../series/load.ts'
import { loadSeries } from '../../series/load.ts'
import { type ReadSeries, readSeries, type SeriesOptions } from '../../series/read.ts'
import { type LeafRows, leafRows } from '../drivers/leaf-rows.ts'
import { leavesOf } from '../drivers/leaves.ts'
import type { Options as Drivers } from '../drivers/options.ts'
import { cellSql, columnOf, isNumeric, numberSql, timeColumn } from '../shared/columns.ts'
import { type MethodContext, MethodError, quote, type Relation } from '../shared/method.ts'
import { localTime } from '../shared/time/periods.ts'

export interface Scanned {
  /** The whole: the values of all rows of a time, added up. */
  whole: ReadSeries
  rows: LeafRows
  /** The leaf of each row, and the step of the whole's grid; -1 where the step is left out. */
  leaf: Int32Array
  step: Int32Array
  /** By attribute, for each leaf. */
  codes: Int32Array[]
  n: number
  /** Rows without a time or a finite value. */
  left: number
  /** Combinations with rows without a finite value at a time, and what share of their rows these are; code -1 of a value that no other row has. */
  lacking: { step: number; codes: number[]; share: number }[]
}

/** Combinations of values and times that travel. */
const MOST_ROWS = 400_000

export async function loadScan(
  given: Relation,
  options: SeriesOptions & { by: string[] },
  context: MethodContext,
): Promise<Scanned> {
  const asGiven = await readSeries(addedUp(given, { ...options, by: [] }), options, context)
  const uneven = asGiven.grid.step.unit === 'order' && timeColumn(given, options.time).type === 'timestamp'
  const table = uneven ? byDay(given, options, context) : given
  const kept = addedUp(table, options)
  const whole = uneven ? await readSeries(addedUp(table, { ...options, by: [] }), options, context) : asGiven
  const all = await loadSeries(
    addedUp(table, { ...options, by: [] }),
    options.time,
    options.value,
    context.time_zone,
  )
  const side = `dense_rank() over (order by ${quote(timeColumn(table, options.time).name)}) - 1`
  const asked = { by: options.by, value: options.value } as Drivers
  const rows = await leafRows(kept, asked, side, null, MOST_ROWS)
  if (!rows)
    throw new MethodError(
      `by: there are more than ${MOST_ROWS} combinations of ${options.by.join(', ')} and ${options.time}. Name fewer columns, or put rare values together in the SQL block.`,
    )
  const { places, codes } = leavesOf(rows)
  const steps = stepsOf(all, whole)
  const [count] = await table.query(
    `select (select count(*) from ${finite(table, options)}) as n, count(*) as whole from ${table.relation}`,
  )
  const n = count!.n as number
  const left = (count!.whole as number) - n
  return {
    whole,
    rows,
    leaf: places,
    step: Int32Array.from(rows.side, (rank) => steps[rank]!),
    codes,
    n,
    left,
    lacking: left === 0 ? [] : await lackingOf(table, options, { names: rows.names, whole }),
  }
}

/** Cells that hold rows without a number: what they would add is unknown. */
async function lackingOf(
  table: Relation,
  options: SeriesOptions & { by: string[] },
  { names, whole }: { names: readonly Cell[][]; whole: ReadSeries },
): Promise<Scanned['lacking']> {
  const column = timeColumn(table, options.time)
  const by = options.by.map((name, index) => `${cellSql(columnOf(table, 'by', name))} as d${index}`)
  const value = numberSql(table, 'value', options.value)
  const source = `(select ${cellSql(column)} as t, ${by.join(', ')}, coalesce(isfinite(${value}), false) as known from ${table.relation})`
  const found = await table.query(
    `select * exclude (known), avg(1 - known::int)::double as share from ${source} where t is not null group by all having share > 0`,
  )
  const stepAt = new Map(whole.grid.times.map((time, step) => [time, step]))
  const codeOf = names.map((list) => new Map(list.map((name, code) => [JSON.stringify(name), code])))
  return found.flatMap((row) => {
    const step = stepAt.get(row.t as Time)
    if (step === undefined) return []
    const codes = options.by.map((_, index) => codeOf[index]!.get(JSON.stringify(row[`d${index}`])) ?? -1)
    return [{ step, codes, share: row.share as number }]
  })
}

/** Events at any time of the day: their day, on the clocks of the zone. */
function byDay(table: Relation, { time }: SeriesOptions, { time_zone }: MethodContext): Relation {
  const { name } = timeColumn(table, time)
  const day = `cast(${localTime(table, time, time_zone)} as date) as ${quote(name)}`
  return {
    ...table,
    relation: `(select * replace (${day}) from ${table.relation})`,
    columns: table.columns.map((column) =>
      column.name === name ? { ...column, type: 'date' as const, database_type: 'DATE' } : column,
    ),
  }
}

/** The step of the grid for each time of the data, in order. */
function stepsOf({ positions }: Series, { grid }: ReadSeries): number[] {
  const at = new Map(grid.positions.map((position, step) => [position, step]))
  return positions.map((position) => at.get(position) ?? -1)
}

function finite(table: Relation, { time, value }: SeriesOptions): string {
  const column = timeColumn(table, time)
  const name = isNumeric(column) ? `cast(${quote(column.name)} as double)` : quote(column.name)
  return `(select * from ${table.relation} where isfinite(${name}) and isfinite(${numberSql(table, 'value', value)}))`
}

/** One row for each time and combination of `by`. */
function addedUp(table: Relation, options: SeriesOptions & { by: string[] }): Relation {
  const time = timeColumn(table, options.time)
  const by = options.by.map((name) => columnOf(table, 'by', name))
  const value = columnOf(table, 'value', options.value)
  const groups = by.map((column) => `${cellSql(column)} as ${quote(column.name)}`)
  const names = [quote(time.name), ...groups]
  const sum = `fsum(${numberSql(table, 'value', options.value)}) as ${quote(value.name)}`
  return {
    ...table,
    relation: `(select ${names.join(', ')}, ${sum} from ${finite(table, options)} group by all)`,
    columns: [
      time,
      ...by.map((column) =>
        ['date', 'timestamp', 'other'].includes(column.type)
          ? { ...column, type: 'text' as const, database_type: 'VARCHAR' }
          : column,
      ),
      { name: value.name, type: 'number', database_type: 'DOUBLE' },
    ],
  }
}
