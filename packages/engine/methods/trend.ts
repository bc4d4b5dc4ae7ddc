/**
 * trend: whether a series rises or falls, and by how much a step.
 *
 * `auto`: a line beside the seasons that the series shows, with errors as persistent as a random walk
 * (series/persistent-regression.ts). Beside errors that are no random walk, the normal scores are tested
 * too, and the larger p holds.
 * A trend that a random walk would show as well is none. `original`, `hamed_rao` and `seasonal` are the Mann-Kendall tests
 * (numeric/mann-kendall.ts) with the slope of Theil and Sen (numeric/theil-sen.ts): they assume values that are
 * independent, or weakly correlated. The series travels (at most 50,000 times).
 */
import Type, { type Static } from 'typebox'
import { hamedRao, type MannKendall, mannKendall, seasonalMannKendall } from '../numeric/mann-kendall.ts'
import { autocorrelations } from '../numeric/seasons.ts'
import { theilSen } from '../numeric/theil-sen.ts'
import { type FoundSeason, seasonsOf } from '../series/calendar-seasons.ts'
import { normalScores } from '../series/level-shift.ts'
import { type PersistentFit, persistentRegression } from '../series/persistent-regression.ts'
import { lineColumn, seasonColumns } from '../series/seasons.ts'
import { seriesColumns } from './shared/columns.ts'
import { integer, number, pAdjusted, text } from './shared/fields.ts'
import { type Grid, gridOf, stepName } from './shared/grid.ts'
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
const ALPHA = 0.05
const NAMES: Record<Test, string> = {
  original: 'Mann-Kendall',
  hamed_rao: 'Mann-Kendall with the Hamed-Rao correction for autocorrelation',
  seasonal: 'seasonal Mann-Kendall',
}
const LINE = 'line with persistent errors'
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
  persistence: null,
}

interface Found {
  direction: string
  slope: number | null
  low: number | null
  high: number | null
  s: number | null
  var_s: number | null
  z: number | null
  p: number
  tau: number | null
  /** Of the errors beside the line: 0 independent, 1 a random walk; null where the test does not estimate it. */
  persistence: number | null
  period: number | null
}

export const trend: Method = {
  name: 'trend',
  options: Options,
  columns: seriesColumns,
  fields: {
    direction: text,
    slope: number,
    low: number,
    high: number,
    per: text,
    p: number,
    p_adjusted: pAdjusted,
    persistence: number,
    period: integer,
    tau: number,
    s: number,
    var_s: number,
    z: number,
  },
  async run(table, options) {
    const given = options as Options
    const series = await loadSeries(table, given.time, given.value)
    const n = series.values.length
    if (n < LEAST) {
      const summary = tooFew('a trend of', given.value, n, LEAST)
      return { summary, n, method: LINE, notes: series.notes, ...NOTHING, per: null, period: null }
    }
    const grid = gridOf(series)
    const { found, name, notes } =
      given.test === 'auto' ? byLine(given, series, grid) : byRanks(given, series, grid)
    const per = stepName(grid.step) ?? (series.kind === 'number' ? 'unit of time' : 'day')
    const fields = { ...found, per }
    return {
      summary: sentence(given.value, n, name, fields),
      n,
      method: given.test === 'auto' ? name : `${name}; Theil-Sen slope`,
      notes: [...series.notes, ...notes],
      ...fields,
    }
  },
}

/** The steps of the rows where the calendar makes them even, else the times themselves. */
function rowsOf(series: Series, grid: Grid): number[] {
  const steps = [...grid.observed.keys()].filter((index) => grid.observed[index])
  return grid.step.unit === 'number' || grid.step.unit === 'order' ? series.positions : steps
}

function byLine(given: Options, series: Series, grid: Grid): { found: Found; name: string; notes: string[] } {
  const rows = rowsOf(series, grid)
  const seasons = seasonsBeside(given, grid)
  const period = seasons[0]?.steps ?? null
  const judged = judgeLine(series.values, rows, seasons)
  const same = series.values.every((value) => value === series.values[0])
  const per = rows.at(-1)! - rows[0]! || 1
  const inUnit = (value: number): number | null => finite((value / per) * series.unit)
  const found: Found = judged
    ? {
        ...NOTHING,
        direction: judged.p < ALPHA ? (judged.estimate > 0 ? 'increasing' : 'decreasing') : 'none',
        slope: inUnit(judged.estimate),
        low: inUnit(judged.low),
        high: inUnit(judged.high),
        p: judged.p,
        persistence: judged.persistence,
        period,
      }
    : { ...NOTHING, slope: same ? 0 : null, p: 1, period }
  const notes = judged?.walk
    ? [
        'The values may wander without any aim (a random walk); a rise or fall is only told beyond what such a walk shows.',
      ]
    : []
  const beside = seasons.length > 0 ? ` beside ${seasons.length === 1 ? 'its season' : 'its seasons'}` : ''
  return { found, name: `${LINE}${beside}`, notes }
}

function seasonsBeside(given: Options, grid: Grid): FoundSeason[] {
  if (given.period === 'none') return []
  if (given.period === 'auto') return seasonsOf(grid)
  const steps = given.period
  return grid.values.length >= 2 * steps ? [{ period: steps, steps, p: 0, strength: 0 }] : []
}

/**
 * The line of the values over their rows; null where nothing varies. Beside errors that are no random walk the larger p of
 * the values and of their normal scores holds, and an interval of a line that is not told holds 0.
 */
export function judgeLine(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly { period: number }[],
): PersistentFit | null {
  if (values.every((value) => value === values[0])) return null
  const line = [lineColumn(rows)]
  const base = [values.map(() => 1), ...seasons.flatMap(({ period }) => seasonColumns(rows, period))]
  const plain = persistentRegression(values, base, line)
  if (!plain || plain.walk) return plain
  const scored = persistentRegression(normalScores(values), base, line)
  const p = Math.max(plain.p, scored?.p ?? 1)
  if (p < ALPHA) return { ...plain, p }
  return { ...plain, p, low: Math.min(plain.low, 0), high: Math.max(plain.high, 0) }
}

function byRanks(
  given: Options,
  series: Series,
  grid: Grid,
): { found: Found; name: string; notes: string[] } {
  const period = periodOf(given, grid)
  const { test, seasons, x } = setting(given, series, grid, period)
  const sen = theilSen(x, series.values, 0, seasons ?? undefined)
  const ranked = tested(test, series.values, seasons, sen?.slope ?? 0)
  const slope = theilSen(x, series.values, ranked.var_s, seasons ?? undefined)
  const found: Found = {
    ...NOTHING,
    direction: ranked.p < 0.05 && ranked.s !== 0 ? (ranked.s > 0 ? 'increasing' : 'decreasing') : 'none',
    slope: slope && finite(slope.slope * series.unit),
    low: slope && finite(slope.low * series.unit),
    high: slope && finite(slope.high * series.unit),
    ...ranked,
    period: test === 'seasonal' ? period : null,
  }
  const uneven = grid.step.unit === 'order' && test === 'seasonal' ? grid.notes : []
  return { found, name: NAMES[test], notes: [...uneven, ...notesOf(series.values.length, test, series)] }
}

function periodOf(given: Options, grid: Grid): number | null {
  if (typeof given.period === 'number') return given.period
  return given.period === 'none' ? null : (seasonsOf(grid)[0]?.steps ?? null)
}

/** The test, the season of each row, and the time of each row. */
function setting(
  given: Options,
  series: Series,
  grid: Grid,
  period: number | null,
): { test: Test; seasons: number[] | null; x: number[] } {
  const x = rowsOf(series, grid)
  const test = given.test as Test
  if (test !== 'seasonal') return { test, seasons: null, x }
  const steps = [...grid.observed.keys()].filter((index) => grid.observed[index])
  return { test, seasons: steps.map((index) => index % (period ?? 1)), x }
}

function tested(test: Test, values: readonly number[], seasons: number[] | null, slope: number): MannKendall {
  if (test === 'seasonal') return seasonalMannKendall(values, seasons!)
  return test === 'hamed_rao' ? hamedRao(values, slope) : mannKendall(values)
}

function sentence(
  value: string,
  n: number,
  name: string,
  fields: {
    direction: string
    slope: number | null
    low: number | null
    high: number | null
    p: number
    per: string
  },
): string {
  const { slope, low, high, per } = fields
  const half = low === null || high === null ? null : (high - low) / 2
  const interval = half === null ? '' : `95% interval ${figure(low, half)} to ${figure(high, half)}; `
  const proof = `(${interval}${name}, ${probability(fields.p)}, n = ${count(n, 'value')})`
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
