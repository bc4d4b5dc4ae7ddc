/** Reads the known days of a forecast: a column says on which past and coming days something happens. */
import type { Column } from '../../../forecasting/design.ts'
import type { Grid } from '../../../series/grid.ts'
import { loadSeries } from '../../../series/load.ts'
import { columnOf, isNumeric } from '../columns.ts'
import { MethodError, quote, type Relation } from '../method.ts'

export interface EventDays {
  name: string
  /** The number of steps of the past and of the horizon that have the event. */
  days: number
  coming: number
  /** Its size at each step; 0 without it. */
  column: Column
}

const MOST_NAMES = 20

/**
 * Reads the events. A column of numbers or of true and false is one regressor; each distinct text is one. Events that
 * never happened in the past are left out, because their effect is not known.
 */
export async function loadEvents(
  table: Relation,
  time: string,
  events: string,
  time_zone: string,
  grid: Grid,
  horizon: number,
): Promise<EventDays[]> {
  const column = columnOf(table, 'events', events)
  const rowAt = new Map(grid.times.map((at, row) => [String(at), row]))
  const steps = grid.times.length
  for (let ahead = 1; ahead <= horizon; ahead++)
    rowAt.set(String(grid.after(ahead)), steps + grid.rowAfter(ahead) - 1)
  const read = async (name: string, expression: string): Promise<EventDays> => {
    const derived = {
      ...table,
      relation: `(select *, cast(${expression} as double) as "event of day" from ${table.relation})`,
      columns: [...table.columns, { name: 'event of day', type: 'number', database_type: 'DOUBLE' } as const],
    }
    const { times, values, unit } = await loadSeries(derived, time, 'event of day', time_zone)
    const sizes = new Map<number, number>()
    for (const [at, value] of values.entries()) {
      const row = rowAt.get(String(times[at]))
      if (row !== undefined && value !== 0) sizes.set(row, value * unit)
    }
    const rows = [...sizes.keys()]
    const days = rows.filter((row) => row < steps).length
    return { name, days, coming: rows.length - days, column: (row) => sizes.get(row) ?? 0 }
  }
  const found: EventDays[] = []
  if (isNumeric(column) || column.type === 'boolean') found.push(await read(events, quote(column.name)))
  else {
    const names = await table.query(
      `select distinct cast(${quote(column.name)} as varchar) as name from ${table.relation} where ${quote(column.name)} is not null order by name limit ${MOST_NAMES + 1}`,
    )
    if (names.length > MOST_NAMES)
      throw new MethodError(
        `events: column "${events}" has over ${MOST_NAMES} different names. Write fewer, or 1 and 0.`,
      )
    for (const name of names.map((row) => row.name as string)) {
      const text = `'${name.replaceAll("'", "''")}'`
      found.push(
        await read(name, `case when cast(${quote(column.name)} as varchar) = ${text} then 1 else 0 end`),
      )
    }
  }
  return found.filter(({ days }) => days > 0)
}
