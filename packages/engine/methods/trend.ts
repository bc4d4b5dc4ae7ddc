/**
 * trend: whether a series rises or falls, and by how much a step.
 *
 * Mann-Kendall, with Hamed and Rao's variance where neighbours are correlated and by season where there are seasons
 * (numeric/mann-kendall.ts); slope by Theil and Sen with the interval that the same variance gives
 * (numeric/theil-sen.ts). `auto` takes the seasonal test where the series has seasons that the calendar knows (months,
 * weekdays, ...: a cycle in yearly data is none) or that `period` names, else Hamed-Rao where the lag-1 autocorrelation of
 * the detrended series is significant, else the original. The whole series is fetched (at most 50,000 times).
 */
import Type, { type Static } from 'typebox'
import { hamedRao, type MannKendall, mannKendall, seasonalMannKendall } from '../numeric/mann-kendall.ts'
import { autocorrelations, detectPeriod } from '../numeric/seasons.ts'
import { theilSen } from '../numeric/theil-sen.ts'
import { seriesColumns } from './shared/columns.ts'
import { calendarPeriods, type Grid, gridOf, stepName } from './shared/grid.ts'
import type { Method } from './shared/method.ts'
import { count, figure, finite, probability, signed, tooFew } from './shared/sentence.ts'
import { loadSeries, type Series } from './shared/series.ts'

const Options = Type.Object(
  {
    time: Type.String(),
    value: Type.String(),
    test: Type.Enum(['auto', 'original', 'hamed_rao', 'seasonal'], { default: 'auto' }),
    period: Type.Union([Type.Enum(['auto', 'none']), Type.Integer({ minimum: 2 })], {
      default: 'auto',
      description: 'How many steps a season lasts, for the seasonal test.',
    }),
  },
  { additionalProperties: false },
)
type Options = Static<typeof Options>
type Test = 'original' | 'hamed_rao' | 'seasonal'

const LEAST = 4
const NAMES: Record<Test, string> = {
  original: 'Mann-Kendall',
  hamed_rao: 'Mann-Kendall with the Hamed-Rao correction for autocorrelation',
  seasonal: 'seasonal Mann-Kendall',
}
const NOTHING = {
  direction: 'none',
  slope: null,
  low: null,
  high: null,
  s: null,
  var_s: null,
  z: null,
  p: null,
  tau: null,
}

export const trend: Method = {
  name: 'trend',
  options: Options,
  columns: seriesColumns,
  fields: [...Object.keys(NOTHING), 'per', 'period'],
  async run(table, options) {
    const given = options as Options
    const series = await loadSeries(table, given.time, given.value)
    const n = series.values.length
    if (n < LEAST) {
      const summary = tooFew('a trend of', given.value, n, LEAST)
      return { summary, n, method: NAMES.original, notes: series.notes, ...NOTHING, per: null, period: null }
    }
    const grid = gridOf(series)
    const period = periodOf(given, grid)
    const { test, seasons, x } = setting(given, series, grid, period)
    const sen = theilSen(x, series.values, 0, seasons ?? undefined)
    const found = tested(test, series.values, seasons, sen?.slope ?? 0)
    const slope = theilSen(x, series.values, found.var_s, seasons ?? undefined)
    const per = stepName(grid.step) ?? (series.kind === 'number' ? 'unit of time' : 'day')
    const fields = {
      direction: found.p < 0.05 && found.s !== 0 ? (found.s > 0 ? 'increasing' : 'decreasing') : 'none',
      slope: slope && finite(slope.slope * series.unit),
      low: slope && finite(slope.low * series.unit),
      high: slope && finite(slope.high * series.unit),
      ...found,
      per,
      period: test === 'seasonal' ? period : null,
    }
    return {
      summary: sentence(given.value, n, test, fields),
      n,
      method: `${NAMES[test]}; Theil-Sen slope`,
      notes: [
        ...series.notes,
        ...(grid.step.unit === 'order' && test === 'seasonal' ? grid.notes : []),
        ...notesOf(n, test, series),
      ],
      ...fields,
    }
  },
}

function periodOf(given: Options, grid: Grid): number | null {
  if (typeof given.period === 'number') return given.period
  return given.period === 'none' ? null : detectPeriod(grid.values, calendarPeriods(grid.step))
}

/** The test, the season of each row, and x: calendar steps if they are even, else the times themselves. */
function setting(
  given: Options,
  series: Series,
  grid: Grid,
  period: number | null,
): { test: Test; seasons: number[] | null; x: number[] } {
  const steps = [...grid.observed.keys()].filter((index) => grid.observed[index])
  const x = grid.step.unit === 'number' || grid.step.unit === 'order' ? series.positions : steps
  const seasonal = typeof given.period === 'number' || calendarPeriods(grid.step).length > 0
  const test = given.test === 'auto' ? automatic(series.values, seasonal ? period : null) : given.test
  if (test !== 'seasonal') return { test, seasons: null, x }
  return { test, seasons: steps.map((index) => index % (period ?? 1)), x }
}

function automatic(values: readonly number[], period: number | null): Test {
  if (period !== null && values.length >= 2 * period) return 'seasonal'
  const correlation = autocorrelations(values, 1)[1] ?? 0
  return values.length >= 10 && Math.abs(correlation) > 1.96 / Math.sqrt(values.length)
    ? 'hamed_rao'
    : 'original'
}

function tested(test: Test, values: readonly number[], seasons: number[] | null, slope: number): MannKendall {
  if (test === 'seasonal') return seasonalMannKendall(values, seasons!)
  return test === 'hamed_rao' ? hamedRao(values, slope) : mannKendall(values)
}

function sentence(
  value: string,
  n: number,
  test: Test,
  fields: {
    direction: string
    slope: number | null
    low: number | null
    high: number | null
    p: number
    per: string
    s: number
  },
): string {
  const { slope, low, high, per } = fields
  const half = low === null || high === null ? null : (high - low) / 2
  const interval = half === null ? '' : `95% interval ${figure(low, half)} to ${figure(high, half)}; `
  const proof = `(${interval}${NAMES[test]}, ${probability(fields.p)}, n = ${count(n, 'value')})`
  if (fields.direction === 'none') {
    return `No trend of ${value} is detectable: ${signed(slope, half)} per ${per} ${proof}.`
  }
  const verb = fields.direction === 'increasing' ? 'rises' : 'falls'
  return `${value} ${verb} by ${figure(slope === null ? null : Math.abs(slope), half)} per ${per} ${proof}.`
}

function notesOf(n: number, test: Test, series: Series): string[] {
  const notes: string[] = []
  if (n < 10) notes.push(`With ${count(n, 'value')} the normal approximation of the test is rough.`)
  const correlation = autocorrelations(series.values, 1)[1] ?? 0
  if (test !== 'hamed_rao' && n >= 10 && Math.abs(correlation) > 1.96 / Math.sqrt(n)) {
    const reason = test === 'seasonal' ? 'in part by the seasons' : 'beside the trend'
    notes.push(
      `Neighbouring values are correlated (${figure(correlation)} at lag 1), ${reason}; the p-value may be too small.`,
    )
  }
  return notes
}
