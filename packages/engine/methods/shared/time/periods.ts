/**
 * The periods of a relation: calendar periods in the template's zone, or steps of a number. A period is complete if its
 * end has passed and no further row is due in it: the last day with rows plus the usual distance between such days
 * (due.ts) lies beyond its end. One row for each period is fetched (at most 10,000), and one for each day (at most
 * 50,000).
 */

import { type DateUnit, dayInZone, dayNumber, dayText, periodAfter, periodLabel } from '@assay/model/dates'
import type { Doubt } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import type { Step } from '../../../series/grid.ts'
import { firstCut, lastCut } from '../../../series/partial.ts'
import { opening } from '../../../verdicts/measure.ts'
import { dayInWords, periodInWords } from '../../../verdicts/times.ts'
import { doubt } from '../../../verdicts/verdict.ts'
import { isNumeric, isZoned, timeColumn } from '../columns.ts'
import { type MethodContext, MethodError, quote, type Relation } from '../method.ts'
import { count } from '../sentence.ts'
import { clock, clockSql, cutDays, type DayRows } from './cut-days.ts'
import { type Due, dueDays } from './due.ts'

export const Period = Type.Union(
  [Type.Enum(['day', 'week', 'month', 'quarter', 'year']), Type.Number({ exclusiveMinimum: 0 })],
  { default: 'month', description: 'A calendar unit; where time is a number, the width of a period.' },
)
export type Period = Static<typeof Period>

const MOST = 10_000
const MOST_DAYS = 50_000

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
  /**
   * How many days (or steps of the data, `unit`) are due in the period, and how many of them have rows; null if time is
   * a number.
   */
  days: { due: number; seen: number; unit: string } | null
}

export interface Periods {
  /** The periods in order, without those that are cut off unless `partial` keeps them. */
  complete: Bucket[]
  /** `period_partial` for each period that is cut off, `days_missing` for days without rows in the rest. */
  doubts: Doubt[]
  /** The days with rows, in order, in days since 1970-01-01; empty if time is a number. */
  days: { day: number; value: number }[]
  /** Tells whether nothing is due between the end of one period and the start of another. */
  adjoin(before: Bucket, after: Bucket): boolean
  /** The number of rows without a time or a finite value. */
  left: number
}

const meet = (before: Bucket, after: Bucket): boolean =>
  Math.abs(before.end - after.start) <= 1e-9 * (after.end - after.start)

export interface Asked {
  time: string
  period: Period
  /** SQL of the values; rows with a value that is not finite are ignored. */
  value: string
  aggregate: 'sum' | 'mean'
  /** SQL of weights. Periods are then weighted means, for example a ratio weighted by its denominator. */
  weight?: string
  /** Whether an empty period between two others is listed with the value 0. */
  empty?: boolean
  /** Whether periods that are cut off are kept. */
  partial?: 'leave_out' | 'keep'
}

export async function completePeriods(
  table: Relation,
  asked: Asked,
  context: MethodContext,
): Promise<Periods> {
  const column = timeColumn(table, asked.time)
  const numeric = isNumeric(column)
  const local = numeric
    ? `cast(${quote(column.name)} as double)`
    : localTime(table, asked.time, context.time_zone)
  const kept = keptSql(table, local, asked, numeric ? 'isfinite(t)' : FOUR_DIGITS)
  const [rows] = await table.query(
    `select (select count(*) from ${table.relation}) - (select count(*) from ${kept}) as n`,
  )
  const left = rows!.n as number
  if (numeric) return { ...(await numberPeriods(table, local, kept, asked)), left }
  const { period } = asked
  if (typeof period === 'number') {
    throw new MethodError(
      'period: a number goes with a number column; use day, week, month, quarter or year.',
    )
  }
  return { ...(await calendarPeriods(table, local, kept, { ...asked, period }, context)), left }
}

/** Only years of four digits are kept, because others have no common text form. */
const FOUR_DIGITS = "t >= date '0001-01-01' and t <= date '9999-12-31'"

/** Returns the same period a year before: the same dates, or for weeks the same weekdays 52 weeks before. */
export function yearBefore(periods: readonly Bucket[], of: Bucket, period: Period): Bucket | undefined {
  if (typeof period === 'number' || !of.days) return undefined
  if (period === 'week') return periods.find((bucket) => bucket.start === of.start - 364)
  const text = dayText(of.start)
  const year = String(Number(text.slice(0, 4)) - 1).padStart(4, '0')
  return periods.find((bucket) => dayText(bucket.start) === `${year}${text.slice(4)}`)
}

/** Returns SQL of the times as the clocks of the zone show them. */
export function localTime(table: Relation, time: string, zone: string): string {
  const column = timeColumn(table, time)
  const name = quote(column.name)
  return isZoned(column) ? `timezone('${zone.replaceAll("'", "''")}', ${name})` : name
}

/** Returns the periods with rows, and the empty ones between them. */
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

/**
 * Names a period of numbers. Whole numbers end before the next period begins: "2010 to 2019". Others meet it: "0.5 to
 * 1".
 */
function numberLabel(start: number, width: number, whole: boolean): string {
  const plain = (value: number) => String(Number(value.toPrecision(15)))
  const ends = whole && Number.isInteger(start) && Number.isInteger(width)
  return width === 1 ? plain(start) : `${plain(start)} to ${plain(start + width - (ends ? 1 : 0))}`
}

function keptSql(table: Relation, time: string, { value, weight }: Asked, limits: string): string {
  const weighted = weight === undefined ? '' : ' and isfinite(w) and w > 0'
  return `(select t, v, w from (select ${time} as t, ${value} as v, ${weight ?? '1'} as w from ${table.relation}) where ${limits} and isfinite(v)${weighted})`
}

async function calendarPeriods(
  table: Relation,
  local: string,
  kept: string,
  asked: Asked & { period: Exclude<Period, number> },
  context: MethodContext,
): Promise<Omit<Periods, 'left'>> {
  const unit = asked.period
  const daily = await table.query(
    `select cast(t as date)::varchar as day, ${aggregateSql(asked)} as value, count(*) as n,
       ${clockSql('min')} as first, ${clockSql('max')} as last from ${kept} group by 1 order by 1 desc limit ${MOST_DAYS}`,
  )
  if (daily.length === 0) return { complete: [], doubts: [], days: [], adjoin: meet }
  const days = daily
    .toReversed()
    .map((row) => ({ day: dayNumber(row.day as string), value: row.value as number }))
  const open = await openEnds(daily.toReversed() as unknown as DayRows[], days, unit, context)
  const due = dueDays(days.slice(open.first ? 1 : 0, open.last ? -1 : undefined).map(({ day }) => day))
  const rows = await table.query(
    `select cast(date_trunc('${unit}', t) as date)::varchar as start, ${aggregateSql(asked)} as value, count(*) as n
     from ${kept} group by start order by start desc limit ${MOST}`,
  )
  const at = (start: number, value = 0, n = 0): Bucket => {
    const end = periodAfter(start, unit)
    const from = `date '${dayText(start)}'`
    const where = `${local} >= ${from} and ${local} < date '${dayText(end)}'`
    const label = periodLabel(start, unit)
    return {
      start,
      end,
      label,
      value,
      n,
      where,
      earlier: `${local} < ${from}`,
      days: { ...due.within(start, end), unit: due.unit },
    }
  }
  const buckets = rows
    .toReversed()
    .map((row) => at(dayNumber(row.start as string), row.value as number, row.n as number))
  const today = dayNumber(dayInZone(context.now, context.time_zone))
  const cuts = cutsOf(
    buckets,
    due,
    today,
    unit === 'day' ? (daily.toReversed() as unknown as DayRows[]) : null,
    open.until,
  )
  // If there is one row for each period, at its start, only the data behind the rows show when they end.
  const summed = daily.every(({ last }) => last === 0) && buckets.every(({ days }) => days!.seen <= 1)
  if (summed && buckets.length > 1) cuts.push(...(await cutsBehind(buckets, cuts, unit, context)))
  const keeps = asked.partial === 'keep'
  const doubts = cutsInWords(cuts, unit, keeps)
  const cut = new Set(cuts.map(({ bucket }) => bucket))
  const complete = keeps ? buckets : buckets.filter((bucket) => !cut.has(bucket))
  return {
    complete: asked.empty ? withEmpty(complete, at) : complete,
    doubts,
    days,
    adjoin: (before, after) => due.adjoin(before.end, after.start),
  }
}

/** Whether the first and the last row are of steps that are cut off, and the time at which the data then end. */
interface OpenEnds {
  first: boolean
  last: boolean
  until: string | null
}

/**
 * Tells whether the first or the last row is of a step that is cut off. If rows are the sums of steps shorter than the
 * period, their times show no hour, and only the data behind them tell: six flights after midnight are no day.
 */
async function openEnds(
  rows: readonly DayRows[],
  days: readonly { day: number }[],
  unit: DateUnit,
  context: MethodContext,
): Promise<OpenEnds> {
  const [from, to] = [days[0]!.day, days.at(-1)!.day]
  const found = cutDays(rows)
  const at = (minutes: string): string => `${dayInWords(to)}, ${minutes}`
  const own = { ...found, until: found.last ? at(clock(rows.at(-1)!.last)) : null }
  const summed = rows.length > 1 && rows.every(({ last }) => last === 0)
  const step = UNITS.find((one) => one === dueDays(days.map(({ day }) => day)).unit)
  if (!summed || step === undefined || UNITS.indexOf(step) >= UNITS.indexOf(unit)) return own
  const cut = await lastCut(STEPS[step], to, from, context)
  return {
    first: own.first || (await firstCut(STEPS[step], from, to, context)) !== null,
    last: cut?.by === 'data',
    until: cut?.by !== 'data' ? null : step === 'day' ? at(cut.at!) : (cut.at ?? dayInWords(cut.until - 1)),
  }
}

/** Describes each period that is cut off, and puts several periods that have not ended into one sentence. */
function cutsInWords(cuts: readonly Cut[], unit: DateUnit, keeps: boolean): Doubt[] {
  const says = (named: string): Doubt => doubt('period_partial', named)
  const coming = cuts.filter((cut) => cut.says === NOT_OVER)
  const alone = coming.length > 1 ? cuts.filter((cut) => cut.says !== NOT_OVER) : cuts
  const told = alone.map(({ bucket, says: why }) =>
    says(
      `${opening(periodInWords(bucket.start, unit))} ${why}. It is ${keeps ? 'counted as it is' : 'left out'}.`,
    ),
  )
  if (coming.length < 2) return told
  const [first, last] = [coming[0]!, coming.at(-1)!].map(({ bucket }) => periodInWords(bucket.start, unit))
  const many = `${count(coming.length, unit)} from ${first} to ${last} are not over yet.`
  return [...told, says(`${many} They are ${keeps ? 'counted as they are' : 'left out'}.`)]
}

interface Cut {
  bucket: Bucket
  says: string
}

const NOT_OVER = 'is not over yet'

/** Returns the periods that are cut off at either end, with the reason. */
function cutsOf(
  buckets: readonly Bucket[],
  due: Due,
  today: number,
  hours: DayRows[] | null,
  until: string | null,
): Cut[] {
  const cuts = new Map<Bucket, string>()
  const first = buckets[0]
  if (first && buckets.length < MOST && due.before(due.first) >= first.start)
    cuts.set(first, `has data from ${hours ? clock(hours[0]!.first) : dayInWords(due.first)} on`)
  for (const bucket of buckets) {
    if (bucket.end > today) cuts.set(bucket, NOT_OVER)
    else if (bucket.end > due.last && due.after(due.last) < bucket.end)
      cuts.set(
        bucket,
        `has data only until ${hours ? clock(hours.at(-1)!.last) : (until ?? dayInWords(due.last))}`,
      )
  }
  return [...cuts].map(([bucket, says]) => ({ bucket, says }))
}

const STEPS: Record<DateUnit, Step> = {
  day: { unit: 'days', size: 1 },
  week: { unit: 'days', size: 7 },
  month: { unit: 'months', size: 1 },
  quarter: { unit: 'months', size: 3 },
  year: { unit: 'months', size: 12 },
}

const UNITS = Object.keys(STEPS) as DateUnit[]

/** Adds to the known cut-off periods those that are cut off at either end of the data behind the rows. */
async function cutsBehind(
  buckets: readonly Bucket[],
  known: readonly Cut[],
  unit: DateUnit,
  context: MethodContext,
): Promise<Cut[]> {
  const [first, last] = [buckets[0]!, buckets.at(-1)!]
  const whole = (bucket: Bucket): boolean => known.every((cut) => cut.bucket !== bucket)
  const cuts: Cut[] = []
  const begun = whole(first) ? await firstCut(STEPS[unit], first.start, last.start, context) : null
  if (begun !== null)
    cuts.push({
      bucket: first,
      says: `has data from ${typeof begun === 'string' ? begun : dayInWords(begun)} on`,
    })
  const ended = whole(last) ? await lastCut(STEPS[unit], last.start, first.start, context) : null
  if (ended)
    cuts.push({ bucket: last, says: `has data only until ${ended.at ?? dayInWords(ended.until - 1)}` })
  return cuts
}

async function numberPeriods(
  table: Relation,
  local: string,
  kept: string,
  asked: Asked,
): Promise<Omit<Periods, 'left'>> {
  const width = typeof asked.period === 'number' ? asked.period : 1
  const times = await table.query(`select distinct t from ${kept} order by t desc limit 400`)
  if (times.length === 0) return { complete: [], doubts: [], days: [], adjoin: meet }
  const rows = await table.query(
    `select floor(t / ${width}) * ${width} as start, ${aggregateSql(asked)} as value, count(*) as n
     from ${kept} group by start order by start desc limit ${MOST}`,
  )
  const positions = times.map((row) => row.t as number)
  const whole = positions.every(Number.isInteger)
  const gaps = positions.slice(1).map((time, index) => positions[index]! - time)
  const step = gaps.length === 0 ? width : Math.min(...gaps)
  const place = `floor(${local} / ${width}) * ${width}`
  const at = (start: number, value = 0, n = 0): Bucket => {
    const from = `${start.toExponential()}::double`
    return {
      start,
      end: start + width,
      label: numberLabel(start, width, whole),
      value,
      n,
      where: `${place} = ${from}`,
      earlier: `${place} < ${from}`,
      days: null,
    }
  }
  const buckets = rows
    .toReversed()
    .map((row) => at(row.start as number, row.value as number, row.n as number))
  const complete = buckets.filter((bucket) => bucket.end <= positions[0]! + step * 1.000001)
  const keeps = asked.partial === 'keep'
  const doubts = buckets
    .filter((bucket) => !complete.includes(bucket))
    .map(({ label }) =>
      doubt(
        'period_partial',
        `The data end inside ${label}. It is ${keeps ? 'counted as it is' : 'left out'}.`,
      ),
    )
  const listed = keeps ? buckets : complete
  return { complete: asked.empty ? withEmpty(listed, at) : listed, doubts, days: [], adjoin: meet }
}

function aggregateSql(asked: Asked): string {
  if (asked.weight !== undefined) return 'fsum(v * w) / fsum(w)'
  return asked.aggregate === 'sum' ? 'fsum(v)' : 'favg(v)'
}
