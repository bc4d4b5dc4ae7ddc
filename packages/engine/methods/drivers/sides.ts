/** Finds the two sides that drivers compares: two groups, two periods, or what was expected and what came. */
import { type DateUnit, isDay, weekdayOf } from '@assay/model/dates'
import type { Column, Doubt } from '@assay/model/insight'
import { measureOf, opening } from '../../verdicts/measure.ts'
import { dayInWords, periodInWords, timeInWords } from '../../verdicts/times.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { quoted } from '../../verdicts/words.ts'
import { columnOf, isNumeric, isZoned, numberSql, timeColumn } from '../shared/columns.ts'
import { type MethodContext, quote, type Relation } from '../shared/method.ts'
import { count } from '../shared/sentence.ts'
import { diagnosisOfPeriods } from '../shared/time/diagnosed.ts'
import { type Bucket, completePeriods, type Periods, yearBefore } from '../shared/time/periods.ts'
import { daysOfSides, unequalDays } from '../shared/time/split-days.ts'
import type { Options } from './options.ts'

export interface Side {
  /** SQL that is true of its rows. */
  where: string
  label: string
  /** The name in words: "February 2024", "group B". */
  named: string
  /** The number of days that its total is divided by; 1 if totals are compared. */
  days: number
}

export interface Sides {
  before: Side
  after: Side
  per_day: boolean
  /** The unit of time of a row, if it is not a day. */
  unit?: string
  doubts: Doubt[]
  /** Earlier pairs of the same distance, latest first. */
  history: { before: Side; after: Side }[]
  /** How `before` is expected: by a column, or by a forecast. Absent if `before` is data. */
  expected?: 'column' | 'forecast'
  /** If `before` is a forecast: the latest period and the one before it, whose days can be counted. */
  counted?: { before: Side; after: Side }
  /** What is usual around the expectation, in words. */
  usual?: string
  /** False if it has no parts to tell apart. */
  parted?: boolean
  /** For periods: the diagnosis of the daily sums of the value, or of the numerator. */
  diagnosis?: ReturnType<typeof diagnosisOfPeriods>
  /** The sentence that replaces the headline if nothing can be compared. */
  unfinished: string | null
}

/** The most earlier changes from which the noise of segments is estimated. */
const MOST_HISTORY = 12
const DATE_UNITS: readonly DateUnit[] = ['day', 'week', 'month', 'quarter', 'year']

/** Returns the sides, or a sentence if there are no two sides. */
export async function sidesOf(
  table: Relation,
  options: Options,
  context: MethodContext,
): Promise<Sides | string> {
  if (options.expected !== undefined) {
    const all = (label: string, named: string): Side => ({ where: 'true', label, named, days: 1 })
    const [before, after] = [all('expected', 'what was expected'), all('actual', 'what came')]
    return { before, after, per_day: false, doubts: [], history: [], expected: 'column', unfinished: null }
  }
  if (options.split) return groups(table, options, options.split, context)
  return periods(table, options, context)
}

async function groups(
  table: Relation,
  options: Options,
  split: NonNullable<Options['split']>,
  context: MethodContext,
): Promise<Sides> {
  const found = columnOf(table, 'split', split.column)
  const side = (value: string | number | boolean): Side => {
    const named = groupInWords(measureOf(context.meanings, split.column).label, String(value))
    return { where: isSide(found, value), label: named, named, days: 1 }
  }
  const { periods, columns } = await context.extent()
  const last = Math.max(...columns.map((one) => one.last + one.due))
  const cut = columns.length === 0 ? undefined : periods.find(({ start, end }) => start <= last && last < end)
  const until = Math.max(...columns.map((one) => one.last))
  const unfinished = cut
    ? `The sides cannot be compared yet: the period ends on ${dayInWords(cut.end - 1)}, and the data end on ${dayInWords(until)}.`
    : null
  const doubts = cut
    ? [doubt('period_partial', `The data end inside the period, on ${dayInWords(until)}.`)]
    : []
  const [before, after] = [side(split.before), side(split.after)]
  const seen = options.value === undefined ? null : await daysOfSides(table, found, [before, after], context)
  const { days = [1, 1], whole = null, cuts = [] } = seen ?? {}
  const unequal = days[0] !== days[1]
  const empty =
    Math.min(...days) === 0 ? 'The sides cannot be compared yet: one of them has no whole day.' : null
  const counted = (one: Side, nth: 0 | 1): Side => ({
    ...one,
    where: whole === null || empty !== null ? one.where : `${one.where} and ${whole}`,
    days: unequal ? Math.max(1, days[nth]) : 1,
  })
  const gone = empty === null ? ' It is left out.' : ''
  const told = cuts.map((says) => doubt('period_partial', `${says}.${gone}`))
  return {
    before: counted(before, 0),
    after: counted(after, 1),
    per_day: unequal,
    doubts: [...doubts, ...told, ...(unequal && empty === null ? [unequalDays([before, after], days)] : [])],
    history: [],
    unfinished: unfinished ?? empty,
  }
}

/** Returns SQL that compares a column with a value: numbers as numbers, other values by their text. */
function isSide(column: Column, value: string | number | boolean): string {
  const name = quote(column.name)
  if (isNumeric(column) && String(value).trim() !== '' && Number.isFinite(Number(value)))
    return `cast(${name} as double) = ${Number(value).toExponential()}::double`
  return `cast(${name} as varchar) = '${String(value).replaceAll("'", "''")}'`
}

const PHRASE = /^(?:all|last|next|that|the|these|this|those) /iu

/**
 * Says `arm "new"`, or "February 2010" for a month. "this period" stays as it is, and `"period 2"` stands without
 * another "period".
 */
function groupInWords(label: string, value: string): string {
  if (isDay(value))
    return timeInWords(value, (DATE_UNITS as readonly string[]).includes(label) ? (label as DateUnit) : null)
  if (!value.toLowerCase().includes(label.toLowerCase())) return `${label} ${quoted(value)}`
  return PHRASE.test(value) ? value.replaceAll(/\s+/gu, ' ') : quoted(value)
}

async function periods(table: Relation, options: Options, context: MethodContext): Promise<Sides | string> {
  const value = numberSql(table, 'value', options.value ?? options.numerator!)
  const zero = options.missing === 'zero'
  const asked = { time: options.time!, period: options.period, value, aggregate: 'sum' as const, empty: zero }
  const found = await completePeriods(table, asked, context)
  const { complete, doubts, days } = found
  const pairs = complete
    .map((after, index) => ({ after, before: partner(found, index, options) }))
    .filter((pair): pair is { after: Bucket; before: Bucket } => pair.before !== undefined)
    .toReversed()
  const latest = pairs[0]
  if (!latest || latest.after !== complete.at(-1))
    return options.compare_with === 'year_before'
      ? 'the latest complete period and the same one a year before are needed'
      : 'two complete periods side by side are needed'
  const weekdays = options.period === 'week' && !zero ? commonWeekdays(days, latest) : null
  const clock = timeColumn(table, options.time!)
  const local = isZoned(clock)
    ? `timezone('${context.time_zone.replaceAll("'", "''")}', ${quote(clock.name)})`
    : quote(clock.name)
  const within = weekdays && !isNumeric(clock) ? ` and dayofweek(${local}) in (${weekdays.join(', ')})` : ''
  const sideOf = (bucket: Bucket): Side => ({
    where: `(${bucket.where})${within}`,
    label: bucket.label,
    named:
      typeof options.period === 'string' && bucket.days
        ? periodInWords(bucket.start, options.period)
        : bucket.label,
    days:
      bucket.days && options.value !== undefined
        ? Math.max(1, within ? weekdays!.length : zero ? bucket.days.due : bucket.days.seen)
        : 1,
  })
  const [before, after] = [sideOf(latest.before), sideOf(latest.after)]
  const per_day =
    within !== '' || before.days !== after.days || latest.after.days?.due !== latest.before.days?.due
  const history = pairs
    .slice(1, 1 + MOST_HISTORY)
    .map((pair) => ({ before: sideOf(pair.before), after: sideOf(pair.after) }))
  return {
    before,
    after,
    per_day: per_day && options.value !== undefined,
    unit: latest.after.days?.unit ?? 'day',
    doubts: [
      ...doubts,
      ...doubtsOf(
        latest,
        before,
        after,
        basisOf(zero, within === '' ? null : weekdays!.length, latest.after.days?.unit ?? 'day'),
      ),
    ],
    history,
    diagnosis: diagnosisOfPeriods(options.missing, found, context.time_zone),
    unfinished: null,
  }
}

/** Returns the period that `after` is compared with. */
function partner({ complete, adjoin }: Periods, index: number, options: Options): Bucket | undefined {
  const after = complete[index]!
  if (options.compare_with === 'year_before') return yearBefore(complete, after, options.period)
  const before = complete[index - 1]
  return before && adjoin(before, after) ? before : undefined
}

/** Returns the weekdays (0 is Sunday) on which both weeks have data, or null if no weekday is missing. */
function commonWeekdays(
  days: readonly { day: number }[],
  { before, after }: { before: Bucket; after: Bucket },
): number[] | null {
  const missing = [before, after].some((bucket) => bucket.days && bucket.days.seen < bucket.days.due)
  if (!missing) return null
  const seen = new Set(days.map(({ day }) => day))
  return Array.from({ length: 7 }, (_, offset) => offset)
    .filter((offset) => seen.has(before.start + offset) && seen.has(after.start + offset))
    .map((offset) => weekdayOf(after.start + offset))
}

/** Says how days without a row are treated. `weekdays` is the number of weekdays that are compared, or null for all. */
function basisOf(zero: boolean, weekdays: number | null, unit: string): string {
  if (zero) return 'They count as zero (missing: zero).'
  const basis =
    weekdays === null
      ? `per ${unit} that has data`
      : `over the ${count(weekdays, 'weekday')} that both weeks have`
  return `The comparison is ${basis}; if no row means zero, write missing: zero.`
}

function doubtsOf(
  pair: { before: Bucket; after: Bucket },
  before: Side,
  after: Side,
  basis: string,
): Doubt[] {
  const doubts: Doubt[] = []
  const missing = [
    { bucket: pair.after, side: after },
    { bucket: pair.before, side: before },
  ].filter(({ bucket }) => bucket.days && bucket.days.seen < bucket.days.due)
  if (missing.length > 0) {
    const gone = missing
      .map(
        ({ bucket, side }) =>
          `${bucket.days!.due - bucket.days!.seen} of ${bucket.days!.due} ${bucket.days!.unit}s of ${side.named}`,
      )
      .join(' and ')
    doubts.push(
      doubt(
        'days_missing',
        `${opening(gone)} ${gone.startsWith('1 ') && missing.length === 1 ? 'has' : 'have'} no data. ${basis}`,
      ),
    )
  }
  const more = (pair.after.days?.due ?? 0) - (pair.before.days?.due ?? 0)
  if (more !== 0)
    doubts.push(
      doubt(
        'periods_unequal',
        `${opening((more > 0 ? after : before).named)} has ${count(Math.abs(more), pair.after.days?.unit ?? 'day')} more.`,
      ),
    )
  return doubts
}
