/**
 * What the past leads to expect of each leaf in the latest complete period (`compare_with: forecast`).
 *
 * The whole is forecast by its own diagnosis, per day of the calendar (weekdays by their weight). A segment is forecast as its
 * part of the whole, a series with a diagnosis of its own: what all share (season, trend, holidays) is learnt from all, and a
 * season or trend of its own shows in its part. Segments with too few values are put together with their neighbours, the last column of
 * `by` first, until the series is dense; each keeps the part of it that it lately had. The errors of the forecasts are the noise.
 * At most 60 series are forecast; earlier periods are forecast the same way as far as 60,000 values allow.
 */
import { dayText, periodAfter, weekdayOf } from '@assay/model/dates'
import { exactSum } from '../../numeric/sum.ts'
import { opening } from '../../verdicts/measure.ts'
import { periodInWords } from '../../verdicts/times.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { isNumeric, numberSql, timeColumn } from '../shared/columns.ts'
import { type MethodContext, quote, type Relation } from '../shared/method.ts'
import { type Bucket, completePeriods, localTime } from '../shared/time/periods.ts'
import { type Earlier, loadRows, type Table } from './leaves.ts'
import type { Options } from './options.ts'
import { Pasts } from './pasts.ts'
import type { Sides } from './sides.ts'

export interface Expectation {
  table: Table
  sides: Sides
  history: Earlier[]
  /** The standard deviation of what may come of the whole. */
  error: number
}

const MOST_ROWS = 400_000
const MOST_PERIODS = 1_100
const MOST_FITTED = 60_000
const MOST_FITS = 240
const MOST_HISTORY = 6
const LEAST = 6
/** A segment's recent part of its neighbours is that of so many periods. */
const RECENT = { day: 28, week: 13, month: 12, quarter: 8, year: 4 }
/** Weeks that show how weekdays differ. */
const WEEKS = { least: 8, most: 26 }

/** A sentence where the past is too short. */
export async function expectationOf(
  table: Relation,
  options: Options,
  context: MethodContext,
): Promise<Expectation | string> {
  const value = numberSql(table, 'value', options.value ?? options.numerator!)
  const asked = { time: options.time!, period: options.period, value, aggregate: 'sum' as const }
  const { complete, doubts, days } = await completePeriods(table, asked, context)
  const buckets = complete.slice(-MOST_PERIODS)
  const target = buckets.at(-1)
  if (!target || buckets.length <= LEAST)
    return `a forecast needs at least ${LEAST} complete periods before the latest one`
  const calendar = calendarOf(table, options, context, buckets, days)
  const { rows, kept } = await loadRows(table, options, calendar.side, MOST_ROWS)
  const past = new Pasts(rows, options, calendar)
  const last = calendar.positions.length - 1
  const now = past.expectAt(last)
  if (!now) return 'the periods before the latest one have too few values for a forecast'
  const history: Earlier[] = []
  const fits = past.series + 1
  const most = Math.min(MOST_HISTORY, MOST_FITS / fits - 1, MOST_FITTED / (fits * last) - 1, last - 2 * LEAST)
  for (let back = 1; back <= most; back++) {
    const earlier = past.expectAt(last - back)
    if (earlier) history.push({ ...earlier, days: [1, 1] })
  }
  const named =
    typeof options.period === 'string' ? periodInWords(target.start, options.period) : target.label
  const missing = target.days ? target.days.due - target.days.seen : 0
  if (missing > 0)
    doubts.push(
      doubt(
        'days_missing',
        `${opening(`${missing} of ${target.days!.due} days of ${named}`)} have no data. What is expected is for the days that have.`,
      ),
    )
  const side = (label: string, words: string) => ({ where: 'true', label, named: words, days: 1 })
  return {
    table: {
      codes: past.codes,
      names: rows.names,
      rare: rows.rare,
      kept,
      n: exactSum([...rows.sums.rows]),
      ...now,
    },
    sides: {
      before: side('forecast', 'what the past led to expect'),
      after: side(target.label, named),
      per_day: false,
      doubts,
      history: [],
      expected: 'forecast',
      unfinished: null,
    },
    history,
    error: now.error,
  }
}

export interface Calendar {
  /** SQL of the number of a row's period, from 0 on; -1 outside of all. */
  side: string
  times: (string | number)[]
  positions: number[]
  kind: 'number' | 'date'
  /** Whether any row lies in the period. */
  seen: boolean[]
  /** The days with data, weekdays by their weight; 1 where time is a number. */
  days: number[]
  recent: number
}

/** All periods from the first to the last, also those without a row. */
function calendarOf(
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

/** The mean of each weekday (0 is Sunday) over that of all days; 1 where too few weeks tell, or a weekday is not above 0. */
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
