/**
 * Loads a time series from a relation, in order of time: one value a time, at most 50,000 of them. Rows without a time
 * or a finite value are left out and counted. If a time occurs more than once, its values are averaged, with a note.
 */
import type { Column, Doubt } from '@assay/model/insight'
import { cellSql, columnOf, isNumeric, isZoned, numberSql, timeColumn } from '../methods/shared/columns.ts'
import { quote, type Relation } from '../methods/shared/method.ts'
import { count } from '../methods/shared/sentence.ts'
import { leftOut } from '../verdicts/common-doubts.ts'
import { doubt } from '../verdicts/verdict.ts'
import { readPoints } from './points.ts'
import { medianOf } from './spikes/tails.ts'

const DAY_SECONDS = 86_400
/** One hour in microseconds. */
const HOUR = 3_600_000_000

export type Time = string | number

export interface Offset {
  from: number
  ahead: number
}

export interface Series {
  times: Time[]
  /** The position of each time: days since 1970-01-01, or the number itself. */
  positions: number[]
  /** The kind of the time column, for labels of times that are not in the data. */
  kind: 'number' | 'date' | 'timestamp' | 'zoned'
  /** For moments: the zone whose clocks sentences use. */
  time_zone?: string
  /**
   * The changes of the zone's clocks within the series: how many days the clocks are ahead of the positions, from which
   * position on. For hours and shorter steps, a time that the clocks show twice is one time, with the mean of both
   * values.
   */
  offsets?: Offset[]
  /** The values over `unit`, a power of two above them all: no square of them overflows. */
  values: number[]
  unit: number
  doubts: Doubt[]
}

/**
 * Loads the series. If the moments of a column with a zone are midnights in `time_zone`, the series has local dates, so
 * that days, weeks and months follow the local calendar. Data from clocks that were not moved for summer time miss the
 * midnight by an hour.
 */
export async function loadSeries(
  table: Relation,
  time: string,
  value: string,
  time_zone = 'UTC',
): Promise<Series> {
  const column = timeColumn(table, time)
  const name = quote(column.name)
  const number = isNumeric(column)
  const local = isZoned(column) ? await localDates(table, name, time_zone) : null
  const zoned = !number && !local && isZoned(column)
  const position = local
    ? `epoch_us(${local}) / 86400000000.0::double`
    : number
      ? `cast(${name} as double)`
      : `epoch_us(${name}) / 86400000000.0::double`
  const present = number ? `isfinite(cast(${name} as double))` : `isfinite(${name})`
  const zone = time_zone.replaceAll("'", "''")
  const { n, left, unit, rows } = await readPoints(table, {
    name,
    label: number
      ? `cast(${name} as double)`
      : local
        ? `cast(cast(${local} as date) as varchar)`
        : cellSql(column),
    position: `case when ${present} then ${position} end`,
    wall: zoned ? `epoch_us(timezone('${zone}', ${name})) / 86400000000.0::double` : 'null::double',
    value: numberSql(table, 'value', value),
    dates: column.type === 'date' ? column.name : null,
    exact: isExact(columnOf(table, 'value', value)),
  })
  const distinct = rows.length
  const doubts = leftOut(left, 'without a time or a number')
  if (n > distinct) {
    const shared = n - distinct
    doubts.push(
      doubt(
        'times_shared',
        `${count(shared, 'row')} ${shared === 1 ? 'shares its' : 'share their'} time with another; their mean is taken.`,
      ),
    )
  }
  const plain: Series = {
    times: rows.map(({ time }) => time),
    positions: rows.map(({ pos }) => pos),
    kind: number ? 'number' : local || column.type === 'date' ? 'date' : zoned ? 'zoned' : 'timestamp',
    ...(zoned ? { time_zone } : {}),
    values: rows.map((row) => row.value),
    unit,
    doubts,
  }
  return zoned
    ? byTheClock(
        plain,
        rows.map(({ wall }) => wall),
      )
    : plain
}

/** Tells whether all values of a column are finite. */
const isExact = ({ type }: Column): boolean => type === 'integer' || type === 'decimal'

/** The least step, in days, that does not show the hour. */
export const HOURLY = 0.5

/** Adds to the series what the clocks of the zone show, if these change over it. */
function byTheClock(series: Series, walls: readonly number[]): Series {
  const { positions, times, values } = series
  const gaps = positions.slice(1).map((position, row) => position - positions[row]!)
  const ahead = walls.map((wall, row) => Math.round((wall - positions[row]!) * DAY_SECONDS) / DAY_SECONDS)
  const offsets = positions.flatMap((from, row) =>
    row === 0 || ahead[row] !== ahead[row - 1] ? [{ from, ahead: ahead[row]! }] : [],
  )
  if (offsets.length < 2) return series
  if (medianOf(gaps) >= HOURLY) return { ...series, offsets }
  const shown = [...Map.groupBy(walls.keys(), (row) => Math.round(walls[row]! * DAY_SECONDS)).values()]
  return {
    ...series,
    times: shown.map(([first]) => times[first!]!),
    positions: shown.map(([first]) => positions[first!]!),
    values: shown.map((same) => same.reduce((sum, row) => sum + values[row]! / same.length, 0)),
    offsets,
  }
}

/**
 * Returns SQL of the column's local midnights, or null if it has other times. Up to half of them may lie an hour beside
 * midnight, as from clocks that were not moved for summer time, if no two fall on the same day.
 */
async function localDates(table: Relation, name: string, time_zone: string): Promise<string | null> {
  const local = `timezone('${time_zone.replaceAll("'", "''")}', ${name})`
  const nearest = `date_trunc('day', ${local} + interval 12 hour)`
  const [row] = await table.query(
    `select count(*) as n, count(*) filter (away = 0) as exact, coalesce(max(away), 0) as most,
       count(distinct moment) as moments, count(distinct day) as days
     from (select ${name} as moment, ${nearest} as day, abs(epoch_us(${local}) - epoch_us(${nearest})) as away
       from ${table.relation} where isfinite(${name}))`,
  )
  const { n, exact, most, moments, days } = row as Record<'n' | 'exact' | 'most' | 'moments' | 'days', number>
  if (exact === n) return local
  return most <= HOUR && 2 * exact >= n && moments === days ? nearest : null
}
