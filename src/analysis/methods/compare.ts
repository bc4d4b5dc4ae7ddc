/**
 * compare: the latest complete period against the one before.
 *
 * Values are added up (or averaged) per calendar period in the template's time zone. A period counts as complete when
 * no further observation is due in it: one step of the data (a day, a weekday, a month, ...) after the last row lies
 * beyond its end, and its end has passed. z is the change less the mean of the earlier changes between neighbouring
 * complete periods, over their standard deviation; it needs 8 of them. One row a period travels (at most 10,000), and
 * at most 400 days to learn the step.
 */
import Type, { type Static } from 'typebox'
import type { Column, Outcome } from '../../insight.ts'
import { exactMean, variance } from '../numeric/exact-sum.ts'
import { dayNumber, isWeekend, monthsAfter, periodAfter, periodLabel } from './calendar.ts'
import { isNumeric, isZoned, numberSql, timeColumn } from './columns.ts'
import { type Method, type MethodContext, MethodError, quote, type Relation } from './method.ts'
import { count, figure, finite, percent, signed } from './sentence.ts'

const Unit = Type.Enum(['day', 'week', 'month', 'quarter', 'year'])
const Options = Type.Object(
  {
    time: Type.String(),
    value: Type.String(),
    period: Type.Union([Unit, Type.Number({ exclusiveMinimum: 0 })], {
      default: 'month',
      description: 'A calendar unit; where time is a number, the width of a period.',
    }),
    aggregate: Type.Enum(['sum', 'mean'], {
      default: 'sum',
      description: 'What a period is: the sum of its values, or their mean.',
    }),
  },
  { additionalProperties: false },
)
type Given = Static<typeof Options>

const LEAST_CHANGES = 8

interface Bucket {
  /** Days since 1970-01-01, or the number. */
  start: number
  end: number
  label: string
  value: number
  n: number
}

export const compare: Method = {
  name: 'compare',
  options: Options,
  columns(options) {
    const { time, value } = options as Given
    return [
      { option: 'time', column: time, numeric: false },
      { option: 'value', column: value, numeric: true },
    ]
  },
  fields: ['current', 'previous', 'change', 'relative', 'z', 'current_period', 'previous_period'],
  async run(table, options, context) {
    const given = options as Given
    const column = timeColumn(table, given.time)
    const buckets = isNumeric(column)
      ? await numberBuckets(table, column, given)
      : await calendarBuckets(table, column, given, context)
    return outcomeOf(given, buckets)
  },
}

/** SQL of the rows kept: `t` and `v`. */
function keptSql(table: Relation, time: string, value: string, finite: string): string {
  const source = `select ${time} as t, ${numberSql(table, 'value', value)} as v from ${table.relation}`
  return `(select t, v from (${source}) where ${finite} and isfinite(v))`
}

function aggregateSql(given: Given): string {
  return given.aggregate === 'sum' ? 'fsum(v)' : 'favg(v)'
}

async function calendarBuckets(
  table: Relation,
  column: Column,
  given: Given,
  context: MethodContext,
): Promise<{ complete: Bucket[]; notes: string[] }> {
  const unit = given.period
  if (typeof unit === 'number') {
    throw new MethodError(
      'period: a number goes with a number column; use day, week, month, quarter or year.',
    )
  }
  const zone = context.time_zone.replaceAll("'", "''")
  const local = isZoned(column) ? `timezone('${zone}', ${quote(column.name)})` : quote(column.name)
  const kept = keptSql(table, local, given.value, 'isfinite(t)')
  const days = await table.query(
    `select distinct cast(t as date)::varchar as day from ${kept} order by day desc limit 400`,
  )
  if (days.length === 0) return { complete: [], notes: [] }
  const rows = await table.query(
    `select cast(date_trunc('${unit}', t) as date)::varchar as start, ${aggregateSql(given)} as value, count(*) as n,
       min(cast(t as date))::varchar as first_day
     from ${kept} group by start order by start desc limit 10000`,
  )
  const nextDue = nextDay(days.map((row) => dayNumber(row.day as string)).toReversed())
  const last = dayNumber(days[0]!.day as string)
  const today = dayNumber(context.now.slice(0, 10))
  const buckets = rows.toReversed().map((row): Bucket => {
    const start = dayNumber(row.start as string)
    return {
      start,
      end: periodAfter(start, unit),
      label: periodLabel(start, unit),
      value: row.value as number,
      n: row.n as number,
    }
  })
  const opening = dayNumber(rows.at(-1)!.first_day as string)
  const complete = buckets.filter((bucket, index) => {
    if (index === 0 && rows.length < 10_000 && nextDue(bucket.start - 1) < opening) return false
    return bucket.end <= today && (bucket.end <= last || nextDue(last) >= bucket.end)
  })
  return { complete, notes: dropped(buckets.length - complete.length) }
}

function dropped(periods: number): string[] {
  return periods === 0 ? [] : [`${count(periods, 'incomplete period')} left out of the comparison.`]
}

/** When the next row is due after a day, by the step that the days show. */
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

async function numberBuckets(
  table: Relation,
  column: Column,
  given: Given,
): Promise<{ complete: Bucket[]; notes: string[] }> {
  const width = typeof given.period === 'number' ? given.period : 1
  const kept = keptSql(table, `cast(${quote(column.name)} as double)`, given.value, 'isfinite(t)')
  const times = await table.query(`select distinct t from ${kept} order by t desc limit 400`)
  if (times.length === 0) return { complete: [], notes: [] }
  const rows = await table.query(
    `select floor(t / ${width}) * ${width} as start, ${aggregateSql(given)} as value, count(*) as n
     from ${kept} group by start order by start desc limit 10000`,
  )
  const positions = times.map((row) => row.t as number)
  const gaps = positions.slice(1).map((time, index) => positions[index]! - time)
  const step = gaps.length === 0 ? width : Math.min(...gaps)
  const buckets = rows.toReversed().map((row): Bucket => {
    const start = row.start as number
    const label = width === 1 ? String(start) : `${start} to ${start + width}`
    return { start, end: start + width, label, value: row.value as number, n: row.n as number }
  })
  const complete = buckets.filter((bucket) => bucket.end <= positions[0]! + step * 1.000001)
  return { complete, notes: dropped(buckets.length - complete.length) }
}

function outcomeOf(given: Given, { complete, notes }: { complete: Bucket[]; notes: string[] }): Outcome {
  const n = complete.reduce((sum, bucket) => sum + bucket.n, 0)
  const method = 'complete periods; z against earlier changes'
  const current = complete.at(-1)
  const previous = complete.at(-2)
  const nothing = { current: null, previous: null, change: null, relative: null, z: null }
  if (!current || !previous || previous.end !== current.start) {
    const found =
      current && previous
        ? 'the latest one has no neighbour'
        : `there ${complete.length === 1 ? 'is 1' : 'are none'}`
    const summary = `Not enough data to compare ${given.value}: two complete periods side by side are needed, and ${found}.`
    return {
      summary,
      n,
      method,
      notes,
      ...nothing,
      current_period: current?.label ?? null,
      previous_period: null,
    }
  }
  const changes = complete
    .slice(1)
    .flatMap((bucket, index) =>
      complete[index]!.end === bucket.start ? [bucket.value - complete[index]!.value] : [],
    )
  const history = changes.slice(0, -1)
  const change = current.value - previous.value
  const z = zOf(change, history)
  const fields = {
    current: finite(current.value),
    previous: finite(previous.value),
    change: finite(change),
    relative: previous.value === 0 ? null : finite(change / Math.abs(previous.value)),
    z,
    current_period: current.label,
    previous_period: previous.label,
  }
  return {
    summary: sentence(given, fields, history.length),
    n,
    method,
    notes: [...notes, ...notesOf(given, current, previous, history.length, z)],
    ...fields,
  }
}

function zOf(change: number, history: readonly number[]): number | null {
  if (history.length < LEAST_CHANGES) return null
  const spread = Math.sqrt(variance(history))
  return spread > 0 ? finite((change - exactMean(history)) / spread) : null
}

function sentence(
  given: Given,
  fields: {
    current: number | null
    previous: number | null
    change: number | null
    relative: number | null
    z: number | null
    current_period: string
    previous_period: string
  },
  history: number,
): string {
  const { current, previous, change, relative, z } = fields
  const what = given.aggregate === 'sum' ? `${given.value} came to` : `${given.value} averaged`
  const start = `${what} ${figure(current, change)} in ${fields.current_period}`
  if (change === 0) return `${start}, as much as in ${fields.previous_period}.`
  const share = relative === null ? '' : ` (${relative > 0 ? '+' : ''}${percent(relative)})`
  const moved = `${start}, against ${figure(previous, change)} in ${fields.previous_period}: a change of ${signed(change, change)}${share}.`
  if (z === null) return moved
  const usual = Math.abs(z) < 2 ? 'within' : 'outside'
  return `${moved} That is ${usual} the usual range of such changes (z = ${signed(z)}, from ${count(history, 'earlier change')}).`
}

function notesOf(
  given: Given,
  current: Bucket,
  previous: Bucket,
  history: number,
  z: number | null,
): string[] {
  const notes: string[] = []
  const before = previous.end - previous.start
  const after = current.end - current.start
  if (
    given.aggregate === 'sum' &&
    before !== after &&
    typeof given.period === 'string' &&
    previous.value !== 0
  ) {
    const perDay = current.value / after / (previous.value / before) - 1
    if (Number.isFinite(perDay)) {
      notes.push(`The periods have ${after} and ${before} days; per day the change is ${percent(perDay)}.`)
    }
  }
  if (z === null) {
    notes.push(
      history < LEAST_CHANGES
        ? `Only ${count(history, 'earlier change')}: too few to say whether this one is unusual (${LEAST_CHANGES} are needed).`
        : 'The earlier changes are all the same, so there is no scale to judge this one by.',
    )
  }
  return notes
}
