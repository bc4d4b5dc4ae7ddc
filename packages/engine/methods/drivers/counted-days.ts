/** Lists the periods of a forecast from the first to the last, with the number of days that each counts for. */
import { dayText, periodAfter, weekdayOf } from '@assay/model/dates'
import { exactSum } from '../../numeric/sum.ts'
import { isNumeric, timeColumn } from '../shared/columns.ts'
import { type MethodContext, quote, type Relation } from '../shared/method.ts'
import { type Bucket, localTime } from '../shared/time/periods.ts'
import type { Options } from './options.ts'

/** The number of periods over which a segment's recent part of its group is taken. */
const RECENT = { day: 28, week: 13, month: 12, quarter: 8, year: 4 }
/** The weeks from which the weights of weekdays are taken. */
const WEEKS = { least: 8, most: 26 }

export interface Calendar {
  /** SQL of the number of a row's period, from 0 on; -1 outside all periods. */
  side: string
  times: (string | number)[]
  positions: number[]
  kind: 'number' | 'date'
  /** Whether any row lies in the period. */
  seen: boolean[]
  /** The days with data of each period, each weekday counted by its weight; 1 if time is a number. */
  days: number[]
  recent: number
}

/** Returns all periods from the first to the last, including those without a row. */
export function calendarOf(
  table: Relation,
  options: Options,
  context: MethodContext,
  buckets: readonly Bucket[],
  daily: readonly { day: number; value: number }[],
): Calendar {
  const [first, last] = [buckets[0]!, buckets.at(-1)!]
  const { period } = options
  if (isNumeric(timeColumn(table, options.time!)) || typeof period === 'number') {
    const width = typeof period === 'number' ? period : 1
    const number = (bucket: Bucket): number => Math.round((bucket.start - first.start) / width)
    const name = `cast(${quote(options.time!)} as double)`
    const index = `cast(floor(${name} / ${width}) - ${Math.round(first.start / width)} as int)`
    return {
      ...laidOut(buckets, number, (at) => first.start + at * width),
      side: `case when isfinite(${name}) and ${index} between 0 and ${number(last)} then ${index} else -1 end`,
      kind: 'number',
      recent: 12,
      days: Array.from({ length: number(last) + 1 }, () => 1),
    }
  }
  const local = localTime(table, options.time!, context.time_zone)
  const index = `datediff('${period}', date '${dayText(first.start)}', cast(${local} as date))`
  const starts: number[] = []
  const numbers = new Map<number, number>()
  for (let start = first.start; start <= last.start; start = periodAfter(start, period)) {
    numbers.set(start, starts.length)
    starts.push(start)
  }
  const laid = laidOut(
    buckets,
    (bucket) => numbers.get(bucket.start)!,
    (at) => starts[at]!,
  )
  const weights = weekdayWeights(daily.filter(({ day }) => day < last.start))
  const days = starts.map(() => 0)
  for (const { day } of daily) {
    const at = starts.findLastIndex((start) => start <= day)
    if (at >= 0 && day < last.end) days[at]! += period === 'day' ? 1 : weights[weekdayOf(day)]!
  }
  return {
    ...laid,
    times: laid.positions.map(dayText),
    side: `case when ${local} >= date '${dayText(first.start)}' and ${local} < date '${dayText(last.end)}' then ${index} else -1 end`,
    kind: 'date',
    recent: RECENT[period],
    days,
  }
}

/** Returns the days, and the days without a row between them with the value 0, on weekdays that ever have a row. */
export function withZeros(
  daily: readonly { day: number; value: number }[],
): { day: number; value: number }[] {
  const open = new Set(daily.map(({ day }) => weekdayOf(day)))
  return daily.flatMap((one, at) => {
    const before = daily[at - 1]?.day ?? one.day - 1
    const gap = Array.from({ length: one.day - before - 1 }, (_, offset) => before + 1 + offset)
    return [...gap.filter((day) => open.has(weekdayOf(day))).map((day) => ({ day, value: 0 })), one]
  })
}

function laidOut(
  buckets: readonly Bucket[],
  number: (bucket: Bucket) => number,
  start: (at: number) => number,
): Pick<Calendar, 'times' | 'positions' | 'seen'> {
  const length = number(buckets.at(-1)!) + 1
  const seen = Array.from({ length }, () => false)
  for (const bucket of buckets) seen[number(bucket)] = true
  const positions = seen.map((_, at) => start(at))
  return { times: positions, positions, seen }
}

/**
 * Returns the mean of each weekday (0 is Sunday) over the mean of all days; 1 if there are too few weeks or a weekday's
 * mean is not above 0.
 */
function weekdayWeights(daily: readonly { day: number; value: number }[]): number[] {
  const recent = daily.slice(-7 * WEEKS.most)
  const by = Map.groupBy(recent, ({ day }) => weekdayOf(day))
  const even = Array.from({ length: 7 }, () => 1)
  if (recent.length < 7 * WEEKS.least || by.size < 7) return even
  const mean = (values: readonly { value: number }[]): number =>
    exactSum(values.map(({ value }) => value)) / values.length
  const weights = even.map((_, weekday) => mean(by.get(weekday)!) / mean(recent))
  return weights.every((weight) => weight > 0 && Number.isFinite(weight)) ? weights : even
}
