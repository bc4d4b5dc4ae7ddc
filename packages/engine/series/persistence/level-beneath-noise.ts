/**
 * Tests a line beside a level that wanders slowly beneath noise: y(t) = line + level(t) + noise(t), where the level is
 * a random walk. The result is averaged over a grid of step sizes, each weighted by its restricted likelihood, as in
 * persistent-regression.ts. The recursions of Kalman (1960) whiten the values and the columns, from the first value on.
 */
import { studentQuantile, studentTwoSided } from '../../numeric/distributions.ts'
import { type PersistentFit, WALK_WITHIN } from './persistent-regression.ts'
import { dot } from './residuals.ts'

/**
 * The sizes of the level's steps, over that of the noise: from a level that hardly moves over the values to a walk
 * without noise.
 */
const LEAST = 2
const RATIO = 2
const MOST = 16
/** A share of the sum of squares of a column below this is rounding. */
const ROUNDING = 1e-12

interface Fit {
  likelihood: number
  estimate: number
  error: number
  df: number
}

/** Returns the line, or null if it cannot be told from `waves`. */
export function besideLevel(
  values: readonly number[],
  waves: readonly (readonly number[])[],
  line: readonly number[],
  plain: PersistentFit,
): PersistentFit | null {
  return averaged(fitsOf(values, waves, line), plain)
}

/** Returns the line if noise is clear above the walk, or null if the data allow a walk without noise. */
export function aboveWalk(
  values: readonly number[],
  waves: readonly (readonly number[])[],
  line: readonly number[],
  plain: PersistentFit,
): PersistentFit | null {
  const fits = fitsOf(values, waves, line)
  if (fits.length === 0 || mostOf(fits) - fits.at(-1)!.likelihood <= WALK_WITHIN) return null
  return averaged(fits, plain)
}

function fitsOf(
  values: readonly number[],
  waves: readonly (readonly number[])[],
  line: readonly number[],
): Fit[] {
  const columns = [...waves, line, values]
  const fits: Fit[] = []
  for (let size = LEAST / values.length; size < RATIO * MOST; size *= RATIO) {
    const fit = fitAt(columns, size * size)
    if (fit) fits.push(fit)
  }
  return fits
}

const mostOf = (fits: readonly Fit[]): number => Math.max(...fits.map(({ likelihood }) => likelihood))

function averaged(fits: readonly Fit[], plain: PersistentFit): PersistentFit | null {
  if (fits.length === 0) return null
  const most = mostOf(fits)
  const weights = fits.map(({ likelihood }) => Math.exp(likelihood - most))
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const mean = (of: (fit: Fit) => number): number =>
    fits.reduce((sum, fit, at) => sum + weights[at]! * of(fit), 0) / whole
  const estimate = mean((fit) => fit.estimate)
  const error = Math.sqrt(mean((fit) => fit.error ** 2 + (fit.estimate - estimate) ** 2))
  const { df } = fits[0]!
  const half = studentQuantile(0.975, df) * error
  const p = studentTwoSided(Math.abs(estimate) / error, df)
  return { ...plain, p, estimate, low: estimate - half, high: estimate + half }
}

/** Fits the last column with the others, beside a level. `step` is the variance of its steps over that of the noise. */
function fitAt(columns: readonly (readonly number[])[], step: number): Fit | null {
  const n = columns[0]!.length
  const df = n - columns.length
  if (df < 1) return null
  const { white, spreads } = whitened(columns, step)
  let logs = spreads
  let share = 0
  let size = 0
  for (const [at, column] of white.entries()) {
    const before = dot(column, column)
    for (const known of white.slice(0, at)) {
      share = dot(known, column)
      for (let t = 0; t < n - 1; t++) column[t] = column[t]! - share * known[t]!
    }
    if (at === white.length - 1) break
    const rest = dot(column, column)
    if (!(rest > ROUNDING * before)) return null
    logs += Math.log(rest)
    size = Math.sqrt(rest)
    for (let t = 0; t < n - 1; t++) column[t] = column[t]! / size
  }
  const left = white.at(-1)!
  const variance = dot(left, left) / df
  if (!(variance > 0)) return null
  const likelihood = -0.5 * (df * Math.log(variance) + logs)
  return { likelihood, estimate: share / size, error: Math.sqrt(variance) / size, df }
}

/** Returns columns whose rows are independent of each other, and the logarithms of the spreads that divide them. */
function whitened(
  columns: readonly (readonly number[])[],
  step: number,
): { white: Float64Array[]; spreads: number } {
  const n = columns[0]!.length
  const white = columns.map(() => new Float64Array(n - 1))
  const states = columns.map((column) => column[0]!)
  // The level begins anywhere, so only the first value shows its position.
  let variance = 1 + step
  let spreads = 0
  for (let t = 1; t < n; t++) {
    const spread = variance + 1
    const scale = 1 / Math.sqrt(spread)
    const gain = variance / spread
    for (const [at, column] of columns.entries()) {
      const error = column[t]! - states[at]!
      white[at]![t - 1] = error * scale
      states[at] = states[at]! + gain * error
    }
    spreads += Math.log(spread)
    variance = gain + step
  }
  return { white, spreads }
}
