/**
 * Makes the single diagnosis of a series, by which all methods over time choose their model. Residuals are those of
 * ordinary least squares from a line, the seasons and the levels found. Whether neighbours are alike is judged after
 * stretches and bends of the line are removed, too.
 */
import { type FoundSeason, seasonsOf } from './calendar-seasons.ts'
import { type Grid, stepName } from './grid.ts'
import { type LevelChange, type Levels, levelsOf } from './level-changes.ts'
import { bendsOf } from './levels/bends.ts'
import { polynomials } from './levels/steps-or-curve.ts'
import type { Series, Time } from './load.ts'
import { dot, residualsOf } from './persistence/residuals.ts'
import { lineColumn, seasonColumns } from './seasons.ts'
import { stepsAt } from './spikes/short-levels.ts'
import { columnOf } from './spikes/stretches.ts'

export interface Diagnosis {
  /** The name of the step: "day", "month", "2 hours"; null if time is a number or follows no step. */
  step: string | null
  time_zone: string
  first: Time | null
  /** The last time that is counted. */
  last: Time | null
  /** Whether the data end in an unfinished period. */
  partial_last: boolean
  /** The number of steps without a row, and how they are treated. */
  gaps: { n: number; treated: 'missing' | 'zero' }
  /**
   * The seasons with periods in steps, shortest first. `strength` is the share of the variance around the line, 0 to 1.
   */
  seasons: { period: number; strength: number }[]
  /** The lag-1 autocorrelation of the residuals from trend, seasons and levels; null below 8 values, or if no residuals are left. */
  autocorrelation: number | null
  /** Whether the autocorrelation is beyond 2.58 standard errors. */
  autocorrelated: boolean
  /** Whether the logarithms of the values are nearer to normal noise. */
  log_scale: boolean
  /** Whether the residuals have an excess kurtosis above 3. */
  heavy_tails: boolean
  /** Whether the values are whole numbers from 0 on, of at most 50 on average. */
  counts: boolean
  /** Whether over half of the values are zero, or over half of the steps have no row. */
  sparse: boolean
  level_shifts: { index: number; time: Time }[]
}

const LEAST = 8
const LEAST_FOR_TAILS = 20
const HEAVY = 3
const MOST_COUNT = 50
/** Squares of residuals below this share of those of the values are rounding. */
const ROUNDING = 1e-24
/** The standard errors from which neighbours are clearly alike. */
const CLEARLY_ALIKE = 2.58
/** The least gain in log likelihood for which logarithms are preferred. */
const CLEARLY_BETTER = 2

export interface Diagnosed {
  diagnosis: Diagnosis
  seasons: FoundSeason[]
  changes: LevelChange[]
  /** The columns that bend the line of the series. There are none if the line is straight. */
  bends: number[][]
  /** Whether a single value makes the tails heavy. */
  one_far: boolean
}

export function diagnose(
  series: Series,
  grid: Grid,
  rows: readonly number[],
  known: Pick<Diagnosis, 'time_zone' | 'partial_last' | 'gaps'>,
): Diagnosed {
  const { values, unit } = series
  const n = values.length
  const varies = values.some((value) => value !== values[0])
  const enough = n >= LEAST && varies
  const seasons = enough ? seasonsOf(grid.step, values, rows) : []
  const zeros = values.filter((value) => value === 0).length
  const levels = enough ? levelsOf(values, rows, seasons) : { changes: [], stretches: [] }
  const { changes } = levels
  const parts = explained(values, rows, seasons, levels)
  const exact = isRounding(parts.plain, values)
  const alike = enough && !exact ? neighbours(parts.noise, rows) : null
  const areAlike = (one: number | null): boolean => one !== null && one > CLEARLY_ALIKE / Math.sqrt(n)
  const tried = areAlike(alike) ? bendsOf(values, rows, [...parts.columns, ...parts.stretches]) : []
  const beyond = tried.length === 0 ? parts : besideBends(values, parts, tried)
  // Bends that leave neighbours alike are those of a wandering series.
  const bent = tried.length > 0 && !areAlike(neighbours(beyond.noise, rows))
  const [bends, { noise, left }] = bent ? [tried, beyond] : [[], parts]
  const autocorrelation = bent ? neighbours(noise, rows) : alike
  const heavy_tails = varies && n >= LEAST_FOR_TAILS && excessKurtosis(left) > HEAVY
  return {
    seasons,
    changes,
    bends,
    one_far: heavy_tails && excessKurtosis(withoutFarthest(left)) <= HEAVY,
    diagnosis: {
      step: stepName(grid.step),
      ...known,
      first: series.times[0] ?? null,
      last: series.times.at(-1) ?? null,
      seasons: seasons.map(({ period, strength }) => ({ period, strength })),
      autocorrelation,
      autocorrelated: autocorrelation !== null && Math.abs(autocorrelation) > CLEARLY_ALIKE / Math.sqrt(n),
      log_scale: enough && prefersLog(values, parts),
      heavy_tails,
      counts: areCounts(values, unit),
      sparse: n > 0 && (2 * zeros > n || 2 * known.gaps.n > grid.times.length),
      level_shifts: changes.map(({ index }) => ({ index, time: series.times[index]! })),
    },
  }
}

/** What explains a series, and what is left of it. */
interface Explained {
  /** The line (or the curve beside levels), the seasons and the levels. */
  columns: (readonly number[])[]
  stretches: (readonly number[])[]
  /** The residuals from the line and the seasons, from all columns, and from all columns and stretches. */
  plain: Float64Array
  left: Float64Array
  noise: Float64Array
}

/** Removes line, seasons, levels and stretches. Otherwise neighbours would look alike because they share a level. */
function explained(
  values: readonly number[],
  rows: readonly number[],
  seasons: readonly FoundSeason[],
  { changes, stretches }: Levels,
): Explained {
  const n = values.length
  const waves = seasons.flatMap(({ period }) => seasonColumns(rows, period))
  const line = [values.map(() => 1), ...(n > 1 ? [lineColumn(rows)] : [])]
  const plain = residualsOf(values, line, waves).left
  const straight = { columns: [...line, ...waves], stretches: [], plain, left: plain, noise: plain }
  if (changes.length + stretches.length === 0) return straight
  const curve = polynomials(rows, Math.max(1, changes[0]?.curve.degree ?? 0))
  const steps = stepsAt(
    n,
    changes.map(({ index }) => index),
  )
  const columns = [...curve, ...waves, ...steps]
  const beside = stretches.map((stretch) => columnOf(n, stretch))
  const { beside: left, left: noise } = residualsOf(values, columns, beside)
  return isRounding(noise, values) ? straight : { columns, stretches: beside, plain, left, noise }
}

/** Removes the bends of the line, too. */
function besideBends(
  values: readonly number[],
  { columns, stretches }: Explained,
  bends: readonly number[][],
): Pick<Explained, 'left' | 'noise'> {
  const { beside, left } = residualsOf(values, [...columns, ...bends], stretches)
  return { left: beside, noise: left }
}

const isRounding = (residuals: ArrayLike<number>, values: readonly number[]): boolean =>
  dot(residuals, residuals) <= ROUNDING * dot(values, values)

/** Returns the correlation of residuals over pairs one step apart. */
function neighbours(residuals: ArrayLike<number>, rows: readonly number[]): number | null {
  const whole = dot(residuals, residuals)
  if (!(whole > 0)) return null
  let sum = 0
  for (let row = 1; row < rows.length; row++)
    if ((rows[row] ?? 0) - (rows[row - 1] ?? 0) === 1) sum += residuals[row]! * residuals[row - 1]!
  return sum / whole
}

/** Compares normal likelihoods of the values and of their logarithms (with the Jacobian of the logarithm). */
function prefersLog(values: readonly number[], { columns, left }: Explained): boolean {
  if (values.some((value) => !(value > 0))) return false
  const logs = values.map((value) => Math.log(value))
  const logLeft = residualsOf(logs, columns).left
  const plain = dot(left, left)
  const logged = dot(logLeft, logLeft)
  if (!(plain > 0) || !(logged > 0)) return false
  const n = values.length
  const jacobian = logs.reduce((sum, log) => sum + log, 0)
  return -0.5 * n * Math.log(logged) - jacobian > -0.5 * n * Math.log(plain) + CLEARLY_BETTER
}

/** Returns the excess kurtosis of residuals, whose mean is 0. */
function excessKurtosis(residuals: ArrayLike<number>): number {
  const n = residuals.length
  const second = dot(residuals, residuals) / n
  if (!(second > 0)) return 0
  let fourth = 0
  for (let row = 0; row < n; row++) fourth += residuals[row]! ** 4
  return fourth / n / second ** 2 - 3
}

/** Returns the residuals without the largest one, less their mean. */
function withoutFarthest(residuals: Float64Array): Float64Array {
  const most = residuals.reduce((size, value) => Math.max(size, Math.abs(value)), 0)
  const farthest = residuals.findIndex((value) => Math.abs(value) === most)
  const rest = residuals.filter((_, row) => row !== farthest)
  const mean = rest.reduce((sum, value) => sum + value, 0) / rest.length
  return rest.map((value) => value - mean)
}

function areCounts(values: readonly number[], unit: number): boolean {
  if (values.length === 0) return false
  const whole = values.every((value) => value >= 0 && Number.isInteger(value * unit))
  return whole && (values.reduce((sum, value) => sum + value, 0) / values.length) * unit <= MOST_COUNT
}
