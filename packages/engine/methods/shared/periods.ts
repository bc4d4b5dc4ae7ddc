/**
 * The periods of a relation that are complete: calendar periods in the template's zone, or steps of a number. A period is
 * complete when no further row is due in it: one step of the data (a day, a working day, a month, ...) after the last row
 * lies beyond its end, and that end has passed. One row for each period is fetched (at most 10,000), and at most 400 days to learn
 * the step.
 */

import { dayNumber, dayText, isWeekend, monthsAfter, periodAfter, periodLabel } from '@assay/model/dates'
import Type, { type Static } from 'typebox'
import { isNumeric, isZoned, timeColumn } from './columns.ts'
import { type MethodContext, MethodError, quote, type Relation } from './method.ts'
import { count } from './sentence.ts'

export const Period = Type.Union(
  [Type.Enum(['day', 'week', 'month', 'quarter', 'year']), Type.Number({ exclusiveMinimum: 0 })],
  { default: 'month', description: 'A calendar unit; where time is a number, the width of a period.' },
)
export type Period = Static<typeof Period>

const MOST = 10_000

export interface Bucket {
  /** Days since 1970-01-01, or the number. */
  start: number
  end: number
  label: string
  value: number
  n: number
  /** SQL that is true of the period's rows, over the relation's own columns. */
  where: string
  /** SQL that is true of the rows before the period. */
  earlier: string
}

export interface Asked {
  time: string
  period: Period
  /** SQL of the values; rows with a value that is not finite are ignored. */
  value: string
  aggregate: 'sum' | 'mean'
  /** Whether an empty period between two others is listed with the value 0. */
  empty?: boolean
}

/** The complete periods in order, with their values, and notes on rows that were left out. */
export async function completePeriods(
  table: Relation,
  asked: Asked,
  context: MethodContext,
): Promise<{ complete: Bucket[]; notes: string[] }> {
  const column = timeColumn(table, asked.time)
  const name = quote(column.name)
  if (isNumeric(column)) return numberPeriods(table, `cast(${name} as double)`, asked)
  if (typeof asked.period === 'number') {
    throw new MethodError(
      'period: a number goes with a number column; use day, week, month, quarter or year.',
    )
  }
  const zone = context.time_zone.replaceAll("'", "''")
  const local = isZoned(column) ? `timezone('${zone}', ${name})` : name
  return calendarPeriods(table, local, { ...asked, period: asked.period }, context)
}

/** The periods with rows, and the empty ones between them. */
function withEmpty(periods: readonly Bucket[], at: (start: number) => Bucket): Bucket[] {
  const filled: Bucket[] = []
  for (const bucket of periods) {
    let end = filled.at(-1)?.end ?? bucket.start
    const near = 1e-9 * (bucket.end - bucket.start)
    while (end < bucket.start - near && filled.length < MOST) {
      filled.push(at(end))
      end = filled.at(-1)!.end
    }
    filled.push(bucket)
  }
  return filled
}

function numberLabel(start: number, width: number): string {
  const plain = (value: number) => String(Number(value.toPrecision(15)))
  return width === 1 ? plain(start) : `${plain(start)} to ${plain(start + width)}`
}

function keptSql(table: Relation, time: string, value: string, limits = 'isfinite(t)'): string {
  return `(select t, v from (select ${time} as t, ${value} as v from ${table.relation}) where ${limits} and isfinite(v))`
}

async function calendarPeriods(
  table: Relation,
  local: string,
  asked: Asked & { period: Exclude<Period, number> },
  context: MethodContext,
) {
  const unit = asked.period
  // Years of four digits only: others have no common text form.
  const kept = keptSql(table, local, asked.value, "t >= date '0001-01-01' and t <= date '9999-12-31'")
  const days = await table.query(
    `select distinct cast(t as date)::varchar as day from ${kept} order by day desc limit 400`,
  )
  if (days.length === 0) return { complete: [], notes: [] }
  const rows = await table.query(
    `select cast(date_trunc('${unit}', t) as date)::varchar as start, ${aggregateSql(asked)} as value, count(*) as n,
       min(cast(t as date))::varchar as first_day
     from ${kept} group by start order by start desc limit ${MOST}`,
  )
  const nextDue = nextDay(days.map((row) => dayNumber(row.day as string)).toReversed())
  const last = dayNumber(days[0]!.day as string)
  const today = dayNumber(context.now.slice(0, 10))
  const opening = dayNumber(rows.at(-1)!.first_day as string)
  const at = (start: number, value = 0, n = 0): Bucket => {
    const end = periodAfter(start, unit)
    const from = `date '${dayText(start)}'`
    const where = `${local} >= ${from} and ${local} < date '${dayText(end)}'`
    return { start, end, label: periodLabel(start, unit), value, n, where, earlier: `${local} < ${from}` }
  }
  const buckets = rows
    .toReversed()
    .map((row) => at(dayNumber(row.start as string), row.value as number, row.n as number))
  const complete = buckets.filter((bucket, index) => {
    if (index === 0 && rows.length < MOST && nextDue(bucket.start - 1) < opening) return false
    return bucket.end <= today && (bucket.end <= last || nextDue(last) >= bucket.end)
  })
  const notes = dropped(buckets.length - complete.length)
  return { complete: asked.empty ? withEmpty(complete, at) : complete, notes }
}

async function numberPeriods(table: Relation, local: string, asked: Asked) {
  const width = typeof asked.period === 'number' ? asked.period : 1
  const kept = keptSql(table, local, asked.value)
  const times = await table.query(`select distinct t from ${kept} order by t desc limit 400`)
  if (times.length === 0) return { complete: [], notes: [] }
  const rows = await table.query(
    `select floor(t / ${width}) * ${width} as start, ${aggregateSql(asked)} as value, count(*) as n
     from ${kept} group by start order by start desc limit ${MOST}`,
  )
  const positions = times.map((row) => row.t as number)
  const gaps = positions.slice(1).map((time, index) => positions[index]! - time)
  const step = gaps.length === 0 ? width : Math.min(...gaps)
  const place = `floor(${local} / ${width}) * ${width}`
  const at = (start: number, value = 0, n = 0): Bucket => {
    const from = `${start.toExponential()}::double`
    return {
      start,
      end: start + width,
      label: numberLabel(start, width),
      value,
      n,
      where: `${place} = ${from}`,
      earlier: `${place} < ${from}`,
    }
  }
  const buckets = rows
    .toReversed()
    .map((row) => at(row.start as number, row.value as number, row.n as number))
  const complete = buckets.filter((bucket) => bucket.end <= positions[0]! + step * 1.000001)
  const notes = dropped(buckets.length - complete.length)
  return { complete: asked.empty ? withEmpty(complete, at) : complete, notes }
}

function aggregateSql(asked: Asked): string {
  return asked.aggregate === 'sum' ? 'fsum(v)' : 'favg(v)'
}

function dropped(periods: number): string[] {
  return periods === 0 ? [] : [`${count(periods, 'incomplete period')} left out of the comparison.`]
}

/** The day on which the next row is due, by the step of the days seen so far. */
function nextDay(days: readonly number[]): (day: number) => number {
  const gaps = days.slice(1).map((day, index) => day - days[index]!)
  const step = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 1
  if (step >= 28) {
    const months = Math.max(1, Math.round(step / 30.44))
    return (day) => monthsAfter(day, months)
  }
  if (step === 1 && days.length >= 10 && !days.some(isWeekend)) {
    return (day) => {
      let next = day + 1
      while (isWeekend(next)) next += 1
      return next
    }
  }
  return (day) => day + step
}
