/**
 * Computes what the past leads one to expect of each leaf in the latest complete period (`compare_with: forecast`).
 *
 * The whole is forecast by its own diagnosis, per day of the calendar (weekdays by their weight). A segment is forecast
 * as its part of the whole, which is a series with a diagnosis of its own. So the season, trend and holidays that all
 * segments share are learnt from all, and a season or trend of one segment shows in its part. Segments with too few
 * values are joined with their neighbours, by the last column of `by` first, until the series is dense. Each keeps the
 * part of the joint series that it lately had. The errors of the forecasts are the noise. At most 40 series are
 * forecast. Earlier periods are forecast in the same way, within 120 forecasts and 30,000 values.
 */
import type { Doubt } from '@assay/model/insight'
import { exactSum } from '../../numeric/sum.ts'
import { opening } from '../../verdicts/measure.ts'
import { periodInWords } from '../../verdicts/times.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { numberSql } from '../shared/columns.ts'
import type { MethodContext, Relation } from '../shared/method.ts'
import { diagnosisOfPeriods } from '../shared/time/diagnosed.ts'
import { type Bucket, completePeriods } from '../shared/time/periods.ts'
import { calendarOf, withZeros } from './counted-days.ts'
import { type Earlier, loadRows, type Table } from './leaves.ts'
import type { Options } from './options.ts'
import { Pasts } from './pasts.ts'
import type { Sides } from './sides.ts'

export interface Expectation {
  table: Table
  sides: Sides
  history: Earlier[]
  /** The standard deviation of the forecast of the whole. */
  error: number
}

const MOST_ROWS = 400_000
const MOST_PERIODS = 1_100
const MOST_FITTED = 30_000
const MOST_FITS = 120
const MOST_HISTORY = 6
const LEAST = 6
/** A season is known from two whole cycles. */
const TWO_YEARS = 730

/** Returns the expectation, or a sentence if the past is too short. */
export async function expectationOf(
  table: Relation,
  options: Options,
  context: MethodContext,
): Promise<Expectation | string> {
  const value = numberSql(table, 'value', options.value ?? options.numerator!)
  const zero = options.missing === 'zero'
  const asked = { time: options.time!, period: options.period, value, aggregate: 'sum' as const, empty: zero }
  const found = await completePeriods(table, asked, context)
  const { complete, doubts, days } = found
  const buckets = complete.slice(-MOST_PERIODS)
  const target = buckets.at(-1)
  if (!target || buckets.length <= LEAST)
    return `a forecast needs at least ${LEAST} complete periods before the latest one`
  const calendar = calendarOf(table, options, context, buckets, zero ? withZeros(days) : days)
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
  doubts.push(...withoutYears(options, buckets))
  const named =
    typeof options.period === 'string' ? periodInWords(target.start, options.period) : target.label
  const missing = target.days ? target.days.due - target.days.seen : 0
  if (missing > 0)
    doubts.push(
      doubt(
        'days_missing',
        `${opening(`${missing} of ${target.days!.due} ${target.days!.unit}s of ${named}`)} ${missing === 1 ? 'has' : 'have'} no data. ${zero ? 'They count as zero (missing: zero).' : 'What is expected is for those that have; if no row means zero, write missing: zero.'}`,
      ),
    )
  const side = (label: string, words: string, where = 'true') => ({ where, label, named: words, days: 1 })
  const earlier = buckets.at(-2)!
  const ofBucket = ({ start, label, where }: typeof target) =>
    side(label, typeof options.period === 'string' ? periodInWords(start, options.period) : label, where)
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
      diagnosis: diagnosisOfPeriods(options.missing, found, context.time_zone),
      counted: { before: ofBucket(earlier), after: ofBucket(target) },
      unfinished: null,
    },
    history,
    error: now.error,
  }
}

/** Returns the doubt that the past is too short to show what comes with the time of the year. */
function withoutYears({ period }: Options, buckets: readonly Bucket[]): Doubt[] {
  const within = typeof period === 'string' && period !== 'year'
  if (!within || buckets.at(-1)!.start - buckets[0]!.start >= TWO_YEARS) return []
  return [
    doubt(
      'history_short',
      'The past holds less than two years, so a yearly season is not known, and what was expected has none.',
    ),
  ]
}
