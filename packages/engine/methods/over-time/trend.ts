/**
 * trend: tells whether a series rises or falls, and by how much a step.
 *
 * `auto` fits a line beside the seasons that the series shows, with errors as persistent as a random walk
 * (series/persistence/persistent-regression.ts). If the errors are no random walk, the normal scores are tested too,
 * and the larger p holds. A trend that a random walk would also show does not count. `original`, `hamed_rao` and
 * `seasonal` are the Mann-Kendall tests (numeric/mann-kendall.ts) with the slope of Theil and Sen
 * (numeric/theil-sen.ts). They assume values that are independent, or weakly correlated. The series is fetched (at most
 * 50,000 times).
 */
import type { Doubt, Grade } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { hamedRao, type MannKendall, mannKendall, seasonalMannKendall } from '../../numeric/mann-kendall.ts'
import { theilSen } from '../../numeric/theil-sen.ts'
import type { FoundSeason } from '../../series/calendar-seasons.ts'
import { type Grid, stepName } from '../../series/grid.ts'
import { judgeLine } from '../../series/line.ts'
import type { Series } from '../../series/load.ts'
import { persistentFits } from '../../series/persistence/persistent-fits.ts'
import { type ReadSeries, readSeries, SERIES_OPTIONS } from '../../series/read.ts'
import { lineColumn, seasonColumns } from '../../series/seasons.ts'
import { inWords, spanOf } from '../../series/spans.ts'
import { allAlike, seasonTooLong, tooFew } from '../../verdicts/common-doubts.ts'
import { measureOf, opening } from '../../verdicts/measure.ts'
import { withArticle } from '../../verdicts/nouns.ts'
import { doubt, gradeOf, LIKELY, stopped, verdict } from '../../verdicts/verdict.ts'
import { against, both, CERTAINTY, changeOf } from '../../verdicts/words.ts'
import { seriesColumns } from '../shared/columns.ts'
import { diagnosis, integer, number, pAdjusted, text } from '../shared/fields.ts'
import type { Method } from '../shared/method.ts'
import { count, finite, probability, signed } from '../shared/sentence.ts'

const Options = Type.Object(
  {
    ...SERIES_OPTIONS,
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
/** The persistence from which sentences call a series wandering: half of a shock is left after three steps. */
const WANDERS = 0.8
/** The number of values that count as near an end. */
const NEAR_END = 3
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
  /**
   * The persistence of the errors beside the line: 0 independent, 1 a random walk; null if the test does not estimate
   * it.
   */
  persistence: number | null
  period: number | null
}

export const trend: Method = {
  name: 'trend',
  options: Options,
  columns: seriesColumns,
  prints: () => true,
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
    diagnosis,
  },
  async run(table, options, context) {
    const given = options as Options
    const read = await readSeries(table, given, context)
    const { series, grid, diagnosis } = read
    const n = series.values.length
    const per =
      stepName(grid.step) ??
      (series.kind === 'number' ? numberStep(read, measureOf(context.meanings, given.time).label) : 'day')
    const stop = stopOf(given, read)
    if (stop) {
      const told = stopped(`${count(n, 'value')}.`, stop, read.doubts)
      const slope = stop.code === 'constant' ? 0 : null
      return { ...told, n, method: LINE, ...NOTHING, slope, per, period: null, diagnosis }
    }
    const { found, name } = given.test === 'auto' ? byLine(given, read) : byRanks(given, read)
    const fields = { ...found, per }
    const told = verdict({
      unfound: { direction: 'none' },
      headline: (grade) => headline(read, fields, grade),
      grade: found.direction === 'none' ? 'unclear' : gradeOf(found.p),
      evidence: evidence(read.measure.label, n, name, fields),
      doubts: [...byTimes(read.doubts), ...(given.test === 'auto' ? uneven(read, found) : [])],
    })
    return {
      ...told,
      n,
      method: given.test === 'auto' ? name : `${name}; Theil-Sen slope`,
      ...fields,
      diagnosis,
    }
  },
}

/**
 * Names the unit of a slope over numbers. Whole numbers from 1000 to 2999 are years. Other numbers give a slope for
 * each 1, which need not be a step.
 */
function numberStep({ series, grid }: ReadSeries, time: string): string {
  const years = series.positions.every(
    (position) => Number.isInteger(position) && position >= 1000 && position < 3000,
  )
  if (years) return 'year'
  return grid.step.unit === 'number' && grid.step.size === 1 ? 'step' : `unit of ${time}`
}

/** Returns the doubt that forbids any claim, or null. */
function stopOf({ period }: Options, { series, grid, measure }: ReadSeries): Doubt | null {
  const n = series.values.length
  if (n < LEAST) return tooFew(n, measure.label, 'a trend needs', LEAST)
  if (series.values.every((value) => value === series.values[0])) return allAlike(measure.label)
  const steps = grid.values.length
  if (typeof period === 'number' && steps < 2 * period)
    return seasonTooLong(steps, measure.label, period, 2 * period)
  return null
}

/** Drops doubts about gaps. The line is drawn over the times themselves, however far they lie apart. */
const byTimes = (doubts: readonly Doubt[]): Doubt[] =>
  doubts.map((one) =>
    one.code === 'times_uneven'
      ? doubt(
          'times_uneven',
          'The times are not evenly spaced; the line is drawn over the times as they are.',
        )
      : one,
  )

/** Returns the doubt that a trend bends, with its change in either half of the rows. */
function uneven({ series, grid, rows, seasons, changes, bends, measure }: ReadSeries, found: Found): Doubt[] {
  if (bends.length === 0 || changes.length > 0 || found.direction === 'none') return []
  const line = [series.values.map(() => 1), lineColumn(rows), ...bends]
  const waves = seasons.flatMap(({ period }) => seasonColumns(rows, period))
  const fits = persistentFits(series.values, [...line, ...waves])
  if (fits.length === 0) return []
  const { coefficients } = fits.reduce((best, fit) => (fit.weight > best.weight ? fit : best))
  const at = (row: number): number =>
    series.unit * line.reduce((sum, column, place) => sum + coefficients[place]! * column[row]!, 0)
  const middle = rows.length >> 1
  const [early, late] = [at(middle) - at(0), at(rows.length - 1) - at(middle)]
  const size = (change: number): string =>
    `by about ${changeOf(change, measure, Math.max(Math.abs(early), Math.abs(late)) / 10)}`
  const verb = (change: number): string => (change > 0 ? 'rose' : 'fell')
  const then = early * late > 0 ? '' : `${verb(late)} `
  const until = inWords(series.times[middle]!, grid)
  return [
    doubt(
      'form_wrong',
      `The ${found.direction === 'increasing' ? 'rise' : 'fall'} was not even: until ${until} ${measure.label} ${verb(early)} ${size(early)}, and since then ${then}${size(late)}.`,
    ),
  ]
}

/** Returns the steps of the rows if the calendar makes them even, else the times themselves. */
function rowsOf(series: Series, grid: Grid): number[] {
  const steps = [...grid.observed.keys()].filter((index) => grid.observed[index])
  return grid.step.unit === 'number' || grid.step.unit === 'order' ? series.positions : steps
}

interface Judged {
  found: Found
  name: string
}

function byLine(given: Options, { series, grid, seasons: known }: ReadSeries): Judged {
  const rows = rowsOf(series, grid)
  const seasons = seasonsBeside(given, known)
  const period = seasons[0]?.steps ?? null
  const judged = judgeLine(series.values, rows, seasons)
  const per = rows.at(-1)! - rows[0]! || 1
  const inUnit = (value: number): number | null => finite((value / per) * series.unit)
  const found: Found = judged
    ? {
        ...NOTHING,
        direction: judged.p <= LIKELY ? (judged.estimate > 0 ? 'increasing' : 'decreasing') : 'none',
        slope: inUnit(judged.estimate),
        low: inUnit(judged.low),
        high: inUnit(judged.high),
        p: judged.p,
        persistence: judged.persistence,
        period,
      }
    : { ...NOTHING, p: 1, period }
  const beside = seasons.length > 0 ? ` beside ${seasons.length === 1 ? 'its season' : 'its seasons'}` : ''
  return { found, name: `${LINE}${beside}` }
}

function seasonsBeside(given: Options, known: FoundSeason[]): FoundSeason[] {
  if (given.period === 'none') return []
  if (given.period === 'auto') return known
  const steps = given.period
  return [{ period: steps, steps, p: 0, strength: 0 }]
}

function byRanks(given: Options, { series, grid, seasons: known }: ReadSeries): Judged {
  const period =
    typeof given.period === 'number'
      ? given.period
      : given.period === 'none'
        ? null
        : (known[0]?.steps ?? null)
  const { test, seasons, x } = setting(given, series, grid, period)
  const sen = theilSen(x, series.values, 0, seasons ?? undefined)
  const ranked = tested(test, series.values, seasons, sen?.slope ?? 0)
  const slope = theilSen(x, series.values, ranked.var_s, seasons ?? undefined)
  const found: Found = {
    ...NOTHING,
    direction: ranked.p <= LIKELY && ranked.s !== 0 ? (ranked.s > 0 ? 'increasing' : 'decreasing') : 'none',
    slope: slope && finite(slope.slope * series.unit),
    low: slope && finite(slope.low * series.unit),
    high: slope && finite(slope.high * series.unit),
    ...ranked,
    period: test === 'seasonal' ? period : null,
  }
  return { found, name: NAMES[test] }
}

/** Returns the test, the season of each row, and the time of each row. */
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

/** Says "Revenue clearly rises, by about 12 EUR a month." */
function headline(read: ReadSeries, found: Found & { per: string }, grade: Grade): string {
  const { measure, grid, series } = read
  const name = opening(measure.label)
  const span = spanOf(series, grid)
  if (grade === 'unclear')
    return wandering(read, found) ?? `No clear rise or fall in ${measure.label} ${span}.`
  const verb = found.direction === 'increasing' ? 'rose' : 'fell'
  const half = found.low === null || found.high === null ? null : (found.high - found.low) / 2
  const rate = `about ${changeOf(found.slope ?? 0, measure, half)} ${withArticle(found.per)}`
  return `${name} ${CERTAINTY[grade]} ${verb} ${span}, by ${rate}.`
}

/**
 * Tells whether the values near both ends differ as the first and the last do. A single outlier at an end shows no
 * direction.
 */
function endsAlike({ values }: Series): boolean {
  const near = (part: readonly number[]): number => part.toSorted((a, b) => a - b)[part.length >> 1]!
  const way = values.at(-1)! - values[0]!
  return (near(values.slice(-NEAR_END)) - near(values.slice(0, NEAR_END))) / way >= 0.5
}

/**
 * Says where a wandering series began and ended. It may go far without a trend, and a reader would take "no rise or
 * fall" for "no change". Returns null if the series does not wander or ends where it began.
 */
function wandering({ measure, grid, series }: ReadSeries, { persistence, period }: Found): string | null {
  if ((persistence ?? 0) < WANDERS || period !== null) return null
  const ends = [series.values[0]! * series.unit, series.values.at(-1)! * series.unit] as const
  if (against(ends, measure).same || !endsAlike(series)) return null
  const moved = `${measure.label} moved from ${both(ends, measure)}`
  return `${opening(spanOf(series, grid))} ${moved}, without a steady rise or fall.`
}

function evidence(value: string, n: number, name: string, found: Found & { per: string }): string {
  const half = found.low === null || found.high === null ? null : (found.high - found.low) / 2
  const interval =
    half === null ? '' : `95 % interval ${signed(found.low, half)} to ${signed(found.high, half)}; `
  return `Slope of ${value}: ${signed(found.slope, half)} ${withArticle(found.per)} (${interval}${name}, ${probability(found.p)}, n = ${count(n, 'value')}).`
}
