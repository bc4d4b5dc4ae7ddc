/**
 * Reads the rows of a scan: one value for each combination of values and time, and the series of the whole, which is
 * their sum.
 */
import type { Series } from '../../series/load.ts'
import { loadSeries } from '../../series/load.ts'
import { type ReadSeries, readSeries } from '../../series/read.ts'
import { unitOf } from '../drivers/counts.ts'
import { leafRows } from '../drivers/leaf-rows.ts'
import { leavesOf } from '../drivers/leaves.ts'
import { type Options as Drivers, measured } from '../drivers/options.ts'
import { cellSql, columnOf, isNumeric, numberSql, timeColumn } from '../shared/columns.ts'
import { type MethodContext, MethodError, quote, type Relation } from '../shared/method.ts'
import { localTime } from '../shared/time/periods.ts'
import { lackingOf } from './lacking.ts'
import type { Measured, Measures } from './measures.ts'
import type { Scanned } from './scanned.ts'

/** The most combinations of values and times that are fetched. */
const MOST_ROWS = 400_000

export async function loadScan(given: Relation, options: Measures, context: MethodContext): Promise<Scanned> {
  const ratio = options.value === undefined
  const wholeOf = (table: Relation): Promise<ReadSeries> => readWhole(table, options, context)
  const asGiven = await wholeOf(given)
  const uneven = asGiven.grid.step.unit === 'order' && timeColumn(given, options.time).type === 'timestamp'
  const table = uneven ? byDay(given, options, context) : given
  const kept = addedUp(table, options)
  const whole = uneven ? await wholeOf(table) : asGiven
  const all = await loadSeries(
    addedUp(table, { ...options, by: [] }),
    options.time,
    options.value ?? options.numerator!,
    context.time_zone,
  )
  const side = `dense_rank() over (order by ${quote(timeColumn(table, options.time).name)}) - 1`
  const { by, value, numerator, denominator } = options
  const measures: Partial<Drivers> = ratio
    ? { numerator: numerator!, denominator: denominator! }
    : { value: value! }
  const asked = { ...measures, by } as Drivers
  const rows = await leafRows(kept, asked, side, null, MOST_ROWS)
  if (!rows)
    throw new MethodError(
      `by: there are more than ${MOST_ROWS} combinations of ${by.join(', ')} and ${options.time}. Name fewer columns, or put rare values together in the SQL block.`,
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
    lacking: left === 0 || ratio ? [] : await lackingOf(table, options, { names: rows.names, whole }),
    event: unitOf(ratio ? [rows.sums.top, rows.sums.bottom] : [rows.sums.top]),
    ratio,
  }
}

/**
 * Reads the series of the whole: the sums of each time. A ratio has no value at a time whose denominators add up to 0.
 */
export async function readWhole(
  table: Relation,
  options: Measured,
  context: MethodContext,
): Promise<ReadSeries> {
  const sums = addedUp(table, { ...options, by: [] })
  const { value, numerator, denominator } = options
  if (value !== undefined) return readSeries(sums, { ...options, value }, context)
  const [time, top, bottom] = sums.columns.map(({ name }) => quote(name))
  const rate = sums.columns[0]!.name.toLowerCase() === 'ratio' ? 'rate' : 'ratio'
  const rates = {
    ...sums,
    relation: `(select ${time}, ${top} / ${bottom} as ${quote(rate)} from ${sums.relation} where ${bottom} > 0)`,
    columns: [sums.columns[0]!, { name: rate, type: 'number' as const, database_type: 'DOUBLE' }],
  }
  const read = await readSeries(rates, { ...options, value: rate }, context)
  const parts = [numerator!, denominator!].map((one) =>
    loadSeries(sums, options.time, one, context.time_zone),
  )
  const [tops, bottoms] = (await Promise.all(parts)).map(({ positions, values, unit }) => ({
    positions,
    values: Float64Array.from(values, (one) => one * unit),
  }))
  const at = new Map(bottoms!.positions.map((position, index) => [position, bottoms!.values[index]!]))
  const denominators = read.series.positions.map((position) => at.get(position)!)
  const sizes = { denominators, event: unitOf([tops!.values, bottoms!.values]) }
  return { ...read, measure: measured({ numerator, denominator }, context), sizes }
}

/** Replaces times of the day by their day, on the clocks of the zone. */
function byDay(table: Relation, { time }: Measures, { time_zone }: MethodContext): Relation {
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

/** Returns the step of the grid for each time of the data, in order. */
function stepsOf({ positions }: Series, { grid }: ReadSeries): number[] {
  const at = new Map(grid.positions.map((position, step) => [position, step]))
  return positions.map((position) => at.get(position) ?? -1)
}

const numbersOf = ({ value, numerator, denominator }: Measures): { option: string; name: string }[] =>
  Object.entries({ value, numerator, denominator }).flatMap(([option, name]) =>
    name === undefined ? [] : [{ option, name }],
  )

function finite(table: Relation, options: Measures): string {
  const column = timeColumn(table, options.time)
  const time = isNumeric(column) ? `cast(${quote(column.name)} as double)` : quote(column.name)
  const known = numbersOf(options).map(({ option, name }) => `isfinite(${numberSql(table, option, name)})`)
  return `(select * from ${table.relation} where isfinite(${time}) and ${known.join(' and ')})`
}

/** Returns the relation with one row for each time and combination of `by`. */
function addedUp(table: Relation, options: Measures): Relation {
  const time = timeColumn(table, options.time)
  const by = options.by.map((name) => columnOf(table, 'by', name))
  const groups = by.map((column) => `${cellSql(column)} as ${quote(column.name)}`)
  const sums = numbersOf(options).map(({ option, name }) => ({
    name: columnOf(table, option, name).name,
    sql: `fsum(${numberSql(table, option, name)})`,
  }))
  const selected = [quote(time.name), ...groups, ...sums.map(({ name, sql }) => `${sql} as ${quote(name)}`)]
  return {
    ...table,
    relation: `(select ${selected.join(', ')} from ${finite(table, options)} group by all)`,
    columns: [
      time,
      ...by.map((column) =>
        ['date', 'timestamp', 'other'].includes(column.type)
          ? { ...column, type: 'text' as const, database_type: 'VARCHAR' }
          : column,
      ),
      ...sums.map(({ name }) => ({ name, type: 'number' as const, database_type: 'DOUBLE' })),
    ],
  }
}
