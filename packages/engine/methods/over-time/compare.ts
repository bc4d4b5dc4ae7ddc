/**
 * compare: compares the latest complete period with the one before.
 *
 * Values are added up (or averaged) per period. Periods with different numbers of days, or days without rows, are
 * compared per day that has data. Two weeks are compared on the weekdays that both have. The earlier changes decide
 * whether the change is unusual (series/change.ts). At least 8 of them are needed. `relative` is the change as a share
 * of the value before (per day if periods differ). It is given if both values have one sign and the base is at least a
 * hundredth of the largest period. One row for each period and day is fetched (shared/time/periods.ts).
 */
import { isLevel } from '@assay/model/change'
import { weekdayOf } from '@assay/model/dates'
import type { Doubt, Grade } from '@assay/model/insight'
import { GRAINS, isCoarser } from '@assay/model/metric'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { exactMean, variance } from '../../numeric/exact.ts'
import { calendarSeasons } from '../../series/calendar-seasons.ts'
import { chanceOfLastChange, LEAST_ALIKE, LEAST_CHANGES } from '../../series/change.ts'
import { SERIES_OPTIONS } from '../../series/read.ts'
import { leftOut } from '../../verdicts/common-doubts.ts'
import { averageOf, type Measure, measureOf, opening } from '../../verdicts/measure.ts'
import { withArticle } from '../../verdicts/nouns.ts'
import { alone, periodInWords, within } from '../../verdicts/times.ts'
import { doubt, gradeOf, stopped, verdict } from '../../verdicts/verdict.ts'
import { amount, apartAsTold, changeOf, inPoints, shareOf } from '../../verdicts/words.ts'
import { numberSql, seriesColumns } from '../shared/columns.ts'
import { diagnosis as diagnosisField, number, pAdjusted, rowsWith, text } from '../shared/fields.ts'
import type { Method, MethodContext, Relation } from '../shared/method.ts'
import { count, figure, finite, probability, signed } from '../shared/sentence.ts'
import { diagnosisOfPeriods } from '../shared/time/diagnosed.ts'
import { type Bucket, completePeriods, Period, type Periods, yearBefore } from '../shared/time/periods.ts'

const Options = Type.Object(
  {
    ...SERIES_OPTIONS,
    period: Period,
    aggregate: Type.Enum(['auto', 'sum', 'mean'], {
      default: 'auto',
      description:
        'What a period is: the sum of its values, or their mean. auto: as the metric adds up; without one the sum, of percentages the mean.',
    }),
  },
  { additionalProperties: false },
)
type Asked = Static<typeof Options>
/** The options with their aggregate. For `ratio` the sums of numerator and denominator are divided. */
type Options = Omit<Asked, 'aggregate'> & { aggregate: 'sum' | 'mean' | 'ratio' }

const METHOD = 'complete periods; the change against earlier changes'
/** The most periods that `course` holds: two months of days, or five years of months. */
const MOST_IN_COURSE = 60

export const compare: Method = {
  name: 'compare',
  options: Options,
  columns: seriesColumns,
  prints: () => true,
  fields: {
    direction: text,
    current: number,
    previous: number,
    change: number,
    relative: number,
    current_per_day: number,
    previous_per_day: number,
    z: number,
    p: number,
    p_adjusted: pAdjusted,
    current_period: text,
    previous_period: text,
    against: rowsWith({ what: text, period: text, value: number, relative: number, says: text }),
    course: rowsWith({ period: text, value: number }),
    diagnosis: diagnosisField,
  },
  async run(table, options, context) {
    const given = withAggregate(options as Asked, table, context)
    const measure = measureOf(context.meanings, given.value)
    const value = numberSql(table, 'value', given.value)
    const weight = given.aggregate === 'ratio' ? numberSql(table, 'denominator', 'denominator') : undefined
    const aggregate = given.aggregate === 'sum' ? ('sum' as const) : ('mean' as const)
    const empty = given.missing === 'zero' && aggregate === 'sum'
    const asked = { ...given, aggregate, value, empty, ...(weight === undefined ? {} : { weight }) }
    const periods = await completePeriods(table, asked, context)
    const left = leftOut(periods.left, 'without a time or a number')
    const n = periods.complete.reduce((sum, bucket) => sum + bucket.n, 0)
    const diagnosis = diagnosisOfPeriods(given.missing, periods, context.time_zone)
    const coarse = tooCoarse(given, measure, context)
    const pair = coarse ?? pairOf(given, periods)
    if (typeof pair === 'string') {
      const told = stopped(`${count(n, 'row')}.`, doubt('too_few', pair), [
        ...(coarse === null ? periods.doubts : []),
        ...left,
      ])
      const last = periods.complete.at(-1)?.label ?? null
      return { ...told, n, method: METHOD, ...NOTHING, current_period: last, diagnosis }
    }
    const judged = judge(given, periods, pair)
    const told = verdict({
      headline: (grade) => headline(given, measure, pair, judged, grade),
      grade: judged.direction === 'none' ? 'unclear' : gradeOf(judged.p),
      evidence: evidence(measure, pair, judged),
      doubts: [...periods.doubts, ...doubtsOf(given, pair, judged), ...broken(given, periods), ...left],
    })
    const { current, previous } = pair
    const change = current.value - previous.value
    return {
      ...told,
      n,
      method: METHOD,
      direction: judged.direction,
      current: finite(current.value),
      previous: finite(previous.value),
      change: finite(change),
      relative: judged.relative,
      current_per_day: pair.per_day ? finite(pair.now) : null,
      previous_per_day: pair.per_day ? finite(pair.before) : null,
      z: judged.z,
      p: judged.p,
      current_period: current.label,
      previous_period: previous.label,
      against: againstOthers(given, measure, pair, periods, context),
      course: courseOf(periods),
      diagnosis,
    }
  },
}

const NOTHING = {
  direction: 'none',
  current: null,
  previous: null,
  change: null,
  relative: null,
  current_per_day: null,
  previous_per_day: null,
  z: null,
  p: null,
  current_period: null,
  previous_period: null,
  against: [],
  course: [],
}

/**
 * Chooses how values are combined. A metric decides for its values: a ratio by its parts, and values that cannot be
 * added by their mean. Percentages without a metric are combined by their mean, too.
 */
function withAggregate(asked: Asked, table: Relation, { metrics, meanings }: MethodContext): Options {
  if (asked.aggregate !== 'auto') return { ...asked, aggregate: asked.aggregate }
  const plain = inPoints(measureOf(meanings, asked.value)) ? 'mean' : 'sum'
  const adding = metrics.length === 1 && asked.value === 'value' ? metrics[0]!.info.adding : plain
  const has = (name: string): boolean => table.columns.some((column) => column.name === name)
  const ratio = adding === 'ratio' && has('denominator')
  return { ...asked, aggregate: adding === 'sum' ? 'sum' : ratio ? 'ratio' : 'mean' }
}

/** Compares the latest period with the same one a year before, and with the metric's target for such a period. */
function againstOthers(
  given: Options,
  measure: Measure,
  { current, per_day }: Pair,
  { complete }: Periods,
  { metrics }: MethodContext,
) {
  const row = (
    what: string,
    period: string | null,
    value: number,
    words: string,
    [now, then] = [current.value, value],
  ) => {
    const change = now - then
    const share = then > 0 && now >= 0 ? finite(change / then) : null
    const size = share === null || inPoints(measure) ? changeOf(change, measure, change) : shareOf(share)
    const way = change === 0 ? 'as much now' : `now ${size} ${change > 0 ? 'more' : 'less'}`
    const basis = now === current.value ? '' : eachOf(current)
    const end = what === 'target' ? reached(change, measure) : ''
    const says = `${words}: ${amount(then, measure, change)}${basis}; ${way}${end}.`
    return { what, period, value: finite(value), relative: share, says }
  }
  const earlier = yearBefore(complete, current, given.period)
  const alike = earlier && sameDays(given, current, earlier)
  const target = metrics.length === 1 && given.value === 'value' ? metrics[0]!.info.target : null
  return [
    ...(earlier
      ? [
          row(
            'year_before',
            earlier.label,
            earlier.value,
            `A year before, ${within(named(given, earlier))}`,
            alike && !per_day ? undefined : [perDay(given, current), perDay(given, earlier)],
          ),
        ]
      : []),
    ...(target && target.per === given.period
      ? [row('target', null, target.value, `The target for ${withArticle(target.per)}`)]
      : []),
  ]
}

/** Says whether a target is met, if the metric says which direction is good. */
function reached(change: number, { good }: Measure): string {
  if (good === 'none') return ''
  return change === 0 || change > 0 === (good === 'up') ? ', so it is met' : ', so it is missed'
}

/** Tells whether totals of two periods can be compared. */
function sameDays({ aggregate, missing }: Options, one: Bucket, other: Bucket): boolean {
  if (aggregate !== 'sum' || !one.days || !other.days) return true
  const whole = missing === 'zero' || missingIn(one) + missingIn(other) === 0
  return whole && one.days.due === other.days.due
}

/** Returns the last unbroken run of complete periods, the latest last. */
function courseOf(periods: Periods): { period: string; value: number | null }[] {
  return neighbours(periods)
    .slice(-MOST_IN_COURSE)
    .map(({ label, value }) => ({ period: label, value: finite(value) }))
}

interface Pair {
  current: Bucket
  previous: Bucket
  /** The compared values: totals, or values per day that has data. */
  now: number
  before: number
  per_day: boolean
  /** The number of weekdays that both weeks have, if days are missing; else null. */
  matched: number | null
  missing: { now: number; before: number }
}

/** Returns why a metric has no value for such a period: its own steps are longer, or do not fit into one. */
function tooCoarse(
  { period, value }: Options,
  { label }: Measure,
  { metrics }: MethodContext,
): string | null {
  const grain = metrics.length === 1 && value === 'value' ? metrics[0]!.info.time.grain : null
  const unit = GRAINS.find((one) => one === period)
  if (grain === null || unit === undefined || isCoarser(unit, grain)) return null
  return `There is a value of ${label} for each ${grain} and none for ${withArticle(unit)}: choose a whole ${grain}.`
}

/** Returns the periods to compare, or a sentence that says why there are none. */
function pairOf(given: Options, { complete, days, adjoin }: Periods): Pair | string {
  const current = complete.at(-1)
  const previous = complete.at(-2)
  if (!current || !previous || !adjoin(previous, current)) {
    const found =
      current && previous
        ? 'the latest one has no neighbour'
        : `there ${complete.length === 1 ? 'is 1' : 'are none'}`
    return `Two complete periods side by side are needed, and ${found}.`
  }
  const plain = {
    current,
    previous,
    now: current.value,
    before: previous.value,
    per_day: false,
    matched: null,
    missing: { now: missingIn(current), before: missingIn(previous) },
  }
  if (given.aggregate !== 'sum' || !current.days || !previous.days) return plain
  const gaps = given.missing === 'gap' && plain.missing.now + plain.missing.before > 0
  if (gaps && given.period === 'week') {
    const matched = matchedWeekdays(current, previous, days)
    if (matched.n === 0) return 'The two weeks have no weekday in common on which both have data.'
    return {
      ...plain,
      now: matched.now / matched.n,
      before: matched.before / matched.n,
      per_day: true,
      matched: matched.n,
    }
  }
  if (!gaps && current.days.due === previous.days.due) return plain
  return { ...plain, now: perDay(given, current), before: perDay(given, previous), per_day: true }
}

const missingIn = ({ days }: Bucket): number => (days ? days.due - days.seen : 0)

function perDay(given: Options, { value, days }: Bucket): number {
  if (given.aggregate !== 'sum' || !days) return value
  const due = given.missing === 'zero' ? days.due : days.seen
  return due === 0 ? 0 : value / due
}

function matchedWeekdays(current: Bucket, previous: Bucket, days: Periods['days']) {
  const before = new Map(days.map(({ day, value }) => [day, value]))
  const found = { now: 0, before: 0, n: 0 }
  for (let offset = 0; offset < 7; offset++) {
    const now = before.get(current.start + offset)
    const then = before.get(previous.start + offset)
    if (now === undefined || then === undefined) continue
    found.now += now
    found.before += then
    found.n += 1
  }
  return found
}

interface Judged {
  direction: 'increasing' | 'decreasing' | 'none'
  relative: number | null
  /** The change less the mean of the earlier ones, over their standard deviation. */
  z: number | null
  p: number | null
  /** The number of earlier changes. */
  history: number
}

function judge(given: Options, periods: Periods, pair: Pair): Judged {
  const run = neighbours(periods)
  const values = run.map((bucket) => perDay(given, bucket))
  values.splice(
    -2,
    2,
    pair.per_day ? pair.before : perDay(given, pair.previous),
    pair.per_day ? pair.now : perDay(given, pair.current),
  )
  const history = Math.max(0, values.length - 2)
  const positive = values.every((value) => value > 0)
  const p = chanceOfLastChange(
    positive && stepsAreRelative(values) ? values.map(Math.log) : values,
    seasonsIn(given.period, run),
  )
  const changes = values.slice(1).map((value, index) => value - values[index]!)
  const earlier = changes.slice(0, -1)
  const spread = earlier.length < LEAST_CHANGES ? 0 : Math.sqrt(variance(earlier))
  const change = pair.now - pair.before
  const relative = hasBase(periods.complete, pair) ? finite(change / Math.abs(pair.before)) : null
  const level = isLevel(pair.before, pair.now)
  return {
    direction: level ? 'none' : change > 0 ? 'increasing' : 'decreasing',
    relative,
    z: spread > 0 ? finite((changes.at(-1)! - exactMean(earlier)) / spread) : null,
    p,
    history,
  }
}

/** Returns the last unbroken run of periods. */
function neighbours({ complete, adjoin }: Periods): Bucket[] {
  let first = complete.length - 1
  while (first > 0 && adjoin(complete[first - 1]!, complete[first]!)) first -= 1
  return complete.slice(first)
}

/** Returns the doubt that a gap cuts off earlier periods from those that judge the change. */
function broken(given: Options, periods: Periods): Doubt[] {
  const { complete } = periods
  const run = neighbours(periods)
  const before = complete[complete.length - run.length - 1]
  if (!before) return []
  const [last, first] = [named(given, before), named(given, run[0]!)]
  return [
    doubt(
      'days_missing',
      `Between ${last} and ${first} there are no data; only the changes since then are looked at.`,
    ),
  ]
}

/**
 * Tells whether steps are judged on logarithms. `diagnosis.log_scale` describes the days within periods. There are too
 * few periods for its test, so a range of more than three times decides.
 */
function stepsAreRelative(values: readonly number[]): boolean {
  const half = Math.floor(values.length / 2)
  return half >= LEAST_CHANGES && Math.max(...values) > 3 * Math.min(...values)
}

function seasonsIn(period: Options['period'], run: readonly Bucket[]): number[] {
  const days = { day: 1, week: 7 }
  // Days on which no row is due are no steps.
  if (period === 'day' && run.some((bucket, index) => index > 0 && run[index - 1]!.end < bucket.start))
    return [new Set(run.map(({ start }) => weekdayOf(start))).size]
  if (period === 'month') return calendarSeasons({ unit: 'months', size: 1 })
  if (period === 'quarter') return calendarSeasons({ unit: 'months', size: 3 })
  return period === 'day' || period === 'week'
    ? calendarSeasons({ unit: 'days', size: days[period] }).map(Math.round)
    : []
}

/** Tells whether the change can be given as a share of the value before. */
function hasBase(complete: readonly Bucket[], { now, before, per_day }: Pair): boolean {
  const largest = per_day
    ? Math.max(Math.abs(now), Math.abs(before))
    : Math.max(...complete.map(({ value }) => Math.abs(value)))
  return before > 0 && now >= 0 && before > largest / 100
}

/** Names a period: "February 2024", "the week of 18 June 2001". */
function named(given: Options, bucket: Bucket): string {
  return typeof given.period === 'string' && bucket.days
    ? periodInWords(bucket.start, given.period)
    : bucket.label
}

/** Returns " a day" or " a week": the unit of time of a row of the data. */
const eachOf = ({ days }: Bucket): string => ` ${withArticle(days?.unit ?? 'day')}`

function headline(given: Options, measure: Measure, pair: Pair, judged: Judged, grade: Grade): string {
  const now = within(named(given, pair.current))
  const earlier = within(named(given, pair.previous))
  const change = pair.now - pair.before
  const basis = pair.per_day ? eachOf(pair.current) : ''
  const [value, before] = [pair.now, pair.before].map((one) => `${amount(one, measure, change)}${basis}`)
  const subject = opening(given.aggregate === 'mean' ? averageOf(measure) : measure.label)
  if (judged.direction === 'none')
    return `${subject} stayed level: ${value} ${now} and ${before === value ? 'as much' : before} ${earlier}.`
  const size =
    judged.relative === null
      ? `by ${changeOf(change, measure, change)}`
      : inPoints(measure)
        ? changeOf(change, measure, change)
        : shareOf(judged.relative)
  const way = change > 0 ? 'up' : 'down'
  const apart = apartAsTold([pair.now, pair.before], measure, change)
  const base = apart ? `${before} ${earlier}` : alone(named(given, pair.previous))
  if (grade === 'unclear') {
    const usual = judged.p === null ? '' : ' A swing this large is not unusual here.'
    return `${subject} came to ${value} ${now}, ${way} ${size} from ${base}.${usual}`
  }
  const verb = change > 0 ? 'rose' : 'fell'
  const sure = grade === 'firm' ? 'more than usual' : 'probably more than usual'
  return apart
    ? `${subject} ${verb} to ${value} ${now} from ${base}, ${way} ${size}: ${sure}.`
    : `${subject} ${verb} to ${value} ${now}, ${way} ${size} from ${base}: ${sure}.`
}

function evidence(measure: Measure, pair: Pair, { z, p, history }: Judged): string {
  const change = pair.now - pair.before
  const basis = pair.per_day ? `${eachOf(pair.current)} with data` : ''
  const values = `${measure.label}: ${figure(pair.now, change / 10)} against ${figure(pair.before, change / 10)}${basis}, change ${signed(change, change / 10)}`
  const judged =
    p === null
      ? ''
      : ` (${z === null ? '' : `z = ${signed(z)}, `}${probability(p)}, from ${count(history, 'earlier change')})`
  return `${values}${judged}.`
}

function doubtsOf(given: Options, pair: Pair, { relative, p, history }: Judged): Doubt[] {
  const doubts: Doubt[] = []
  const { current, previous, missing, matched } = pair
  const unit = current.days?.unit ?? 'day'
  const [now, before] = [named(given, current), named(given, previous)]
  if (missing.now + missing.before > 0) {
    const gone = [
      ...(missing.now > 0 ? [`${missing.now} of ${current.days!.due} ${unit}s of ${now}`] : []),
      ...(missing.before > 0 ? [`${missing.before} of ${previous.days!.due} ${unit}s of ${before}`] : []),
    ].join(' and ')
    const basis =
      given.aggregate !== 'sum'
        ? ''
        : given.missing === 'zero'
          ? ' They count as zero (missing: zero).'
          : matched === null
            ? ` The comparison is per ${unit} that has data; if no row means zero, write missing: zero.`
            : ` The comparison is over the ${count(matched, 'weekday')} that both weeks have; if no row means zero, write missing: zero.`
    doubts.push(
      doubt(
        'days_missing',
        `${opening(gone)} ${missing.now + missing.before === 1 ? 'has' : 'have'} no data.${basis}`,
      ),
    )
  }
  if (given.aggregate === 'sum' && current.days && previous.days && current.days.due !== previous.days.due) {
    const more = current.days.due - previous.days.due
    const longer = more > 0 ? now : before
    doubts.push(doubt('periods_unequal', `${opening(longer)} has ${count(Math.abs(more), unit)} more.`))
  }
  if (p === null) doubts.push(doubt('history_short', shortHistory(history)))
  if (relative === null && pair.before !== pair.now) {
    const reason =
      pair.before * pair.now < 0
        ? 'has the other sign'
        : pair.before < 0
          ? 'is below zero'
          : 'is too near zero'
    doubts.push(doubt('no_base', `No percentage is given, since the value before ${reason}.`))
  }
  return doubts
}

const shortHistory = (history: number): string =>
  history === 0
    ? 'There is no earlier change to judge this one by.'
    : history < LEAST_CHANGES
      ? `Only ${count(history, 'earlier change')}: too few to say whether this one is unusual (${LEAST_CHANGES} are needed).`
      : `All ${history} earlier changes were alike: too few to say whether another one is chance (${LEAST_ALIKE} are needed).`
