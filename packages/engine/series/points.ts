/**
 * Reads the points of a series: the mean value of each time. A database is asked once: it groups by the column of times
 * itself, and writes the times of the groups, not of the rows. The engine is asked for the range of the values first, so
 * that no sum of them overflows.
 */
import type { Cell } from '@assay/model/insight'
import { NotAsked } from '../dialects/scope.ts'
import { MethodError, type Relation } from '../methods/shared/method.ts'
import { powerAbove } from '../methods/shared/sums.ts'

export const MAX_POINTS = 50_000

/** SQL of the column of times, and of what is computed from it; and of the value. */
export interface PointsSql {
  name: string
  label: string
  position: string
  wall: string
  value: string
  /** The name of the column of times if it holds dates; null if not. */
  dates: string | null
  /** Whether the value is a whole number or a decimal, which is always finite. */
  exact: boolean
}

export interface Points {
  /** The number of rows with a time and a finite value, and of those without. */
  n: number
  left: number
  unit: number
  /** The points in order of time. The values are over the unit. */
  rows: { time: string | number; pos: number; wall: number; value: number }[]
}

export async function readPoints(table: Relation, sql: PointsSql): Promise<Points> {
  return (table.unordered === true ? await askedOnce(table, sql) : null) ?? askedTwice(table, sql)
}

function tooMany(times: number): MethodError {
  return new MethodError(
    `time: ${times} different times, and a series may have ${MAX_POINTS}. Group by day, week or month in the SQL block.`,
  )
}

async function askedTwice(table: Relation, { label, position, wall, value }: PointsSql): Promise<Points> {
  const source = `(select ${label} as label, ${position} as pos, ${wall} as wall, ${value} as v from ${table.relation})`
  const keep = 'pos is not null and isfinite(v)'
  const [range] = await table.query(
    `select count(*) as total, count(*) filter (${keep}) as n, count(distinct pos) filter (${keep}) as times,
       max(abs(v)) filter (${keep}) as largest from ${source}`,
  )
  const [n, times] = [range!.n as number, range!.times as number]
  if (times > MAX_POINTS) throw tooMany(times)
  const unit = powerAbove((range!.largest as number | null) ?? 0)
  const rows = await table.query(
    `select any_value(label) as time, pos, any_value(wall) as wall, favg(v / ${unit.toExponential()}::double) as value from ${source} where ${keep} group by pos order by pos`,
  )
  return { n, left: (range!.total as number) - n, unit, rows: rows as unknown as Points['rows'] }
}

/** Resolves to null if there are too many times, or if a sum overflows, which some databases refuse. */
async function askedOnce(
  table: Relation,
  { name, label, position, wall, value, dates, exact }: PointsSql,
): Promise<Points | null> {
  const kept = exact && table.strict === true ? '' : 'filter (isfinite(v))'
  const found = await table
    .query(
      `with r as (select ${name}, ${value} as v from ${table.relation}),
       g as (select ${name}, count(*) as total, count(v) ${kept} as n, favg(v) ${kept} as mean, max(abs(v)) ${kept} as largest
         from r group by ${name})
       select ${label} as time, ${position} as pos, ${wall} as wall, total, n, mean, largest from g order by pos limit ${MAX_POINTS + 2}`,
    )
    .catch((error: unknown) => {
      if (error instanceof NotAsked) return null
      throw error
    })
  if (!found || found.length > MAX_POINTS) return null
  if (dates !== null)
    table.noteDays?.(
      dates,
      found.flatMap((row) => (row.pos === null ? [] : [[row.time as string, row.total as number]])),
    )
  const timed = found.filter((row) => row.pos !== null && (row.n as number) > 0)
  if (!timed.every((row) => Number.isFinite(row.mean))) return null
  const sum = (of: readonly Record<string, Cell>[], field: 'n' | 'total'): number =>
    of.reduce((all, row) => all + (row[field] as number), 0)
  const unit = powerAbove(timed.reduce((most, row) => Math.max(most, row.largest as number), 0))
  // Times beyond a microsecond are one point here.
  const rows = [...Map.groupBy(timed, (row) => row.pos as number)].map(([pos, same]) => ({
    time: same[0]!.time as string | number,
    pos,
    wall: same[0]!.wall as number,
    value:
      same.reduce((all, row) => all + ((row.mean as number) / unit) * (row.n as number), 0) / sum(same, 'n'),
  }))
  const n = sum(timed, 'n')
  return { n, left: sum(found, 'total') - n, unit, rows }
}
