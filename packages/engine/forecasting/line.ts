/**
 * Forecasts by regression with persistent errors (series/persistence/persistent-fits.ts): a constant, perhaps a line,
 * seasons as harmonics of any period, changes of level and known days. Each persistence from -0.9 to a random walk,
 * with and without the line, gives a Student distribution of each step ahead that allows for the uncertainty of all
 * coefficients; they are averaged by their restricted likelihood, the line at the cost of AIC at each persistence. So
 * the intervals from eight values are as wide as eight values justify, and neither the line nor the random walk is
 * taken as known.
 */
import { type PersistentCoefficients, persistentFits } from '../series/persistence/persistent-fits.ts'
import { aheadOfMixture } from './mixture.ts'
import type { Ahead } from './prediction.ts'

interface Part {
  weight: number
  fit: PersistentCoefficients
  line: boolean
}

export interface LineFit {
  parts: Part[]
  /** The columns at the values: the constant, the design, then the line. */
  columns: readonly (readonly number[])[]
}

const NEGLIGIBLE = 1e-3
/**
 * Returns the log likelihood that a line must gain as the last of `parameters` parameters: AICc (Hurvich and Tsai,
 * Biometrika 76, 1989).
 */
function costOfLine(parameters: number, n: number): number {
  const corrected = (k: number): number => (n * k) / Math.max(1, n - k - 1)
  return corrected(parameters) - corrected(parameters - 1)
}
/**
 * The prior weight of a random walk, relative to that of persistent-regression.ts. It is high because intervals of an
 * unrecognised walk are too narrow.
 */
const WALK = 15

/**
 * Fits the regression with and without `line`, and always with the design. Returns null if there are too few values.
 */
export function fitLine(
  values: readonly number[],
  line: readonly number[] | null,
  design: readonly (readonly number[])[],
  constant: readonly number[] = values.map(() => 1),
): LineFit | null {
  const columns = [constant, ...design]
  const plain = persistentFits(values, columns)
  if (plain.length > 0) plain.at(-1)!.weight *= WALK
  if (plain.length === 0) return null
  const parts: Part[] = plain.map((fit) => ({ weight: Math.log(fit.weight), fit, line: false }))
  if (line) {
    const at = new Map(plain.map((fit) => [fit.a, fit]))
    for (const fit of persistentFits(values, [...columns, line])) {
      const without = at.get(fit.a)
      if (!without) continue
      const gain = Math.log((without.variance * without.df) / (fit.variance * fit.df))
      const weight =
        Math.log(without.weight) + 0.5 * without.df * gain - costOfLine(columns.length + 3, values.length)
      parts.push({ weight, fit, line: true })
    }
  }
  return { parts: shared(parts), columns: [...columns, ...(line ? [line] : [])] }
}

/** Returns weights from their logarithms, without parts that hardly count. */
function shared(parts: readonly Part[]): Part[] {
  const most = Math.max(...parts.map(({ weight }) => weight))
  const kept = parts
    .map((part) => ({ ...part, weight: Math.exp(part.weight - most) }))
    .filter(({ weight }) => weight > NEGLIGIBLE)
  const whole = kept.reduce((sum, { weight }) => sum + weight, 0)
  return kept.map((part) => ({ ...part, weight: part.weight / whole }))
}

/** Returns the mean coefficient of each column of the fit. */
export function coefficientsOf({ parts, columns }: LineFit): number[] {
  return columns.map((_, place) =>
    parts.reduce((sum, { weight, fit }) => sum + weight * (fit.coefficients[place] ?? 0), 0),
  )
}

/**
 * Forecasts the steps ahead of the last value. `coming` are the columns of the fit (constant, design, line) at those
 * steps.
 */
export function aheadOfLine(
  values: readonly number[],
  { parts, columns }: LineFit,
  coming: readonly (readonly number[])[],
): Ahead[] {
  const horizon = coming[0]!.length
  const last = values.length - 1
  const steps = Array.from({ length: horizon }, (_, step) => {
    const middles: number[] = []
    const scales: number[] = []
    for (const { fit } of parts) {
      const { middle, scale } = stepOf(fit, values[last]!, columns, coming, step)
      middles.push(middle)
      scales.push(scale)
    }
    return { middles, scales }
  })
  const weights = parts.map(({ weight }) => weight)
  const dfs = parts.map(({ fit }) => fit.df)
  return aheadOfMixture(steps, weights, dfs)
}

function stepOf(
  fit: PersistentCoefficients,
  lastValue: number,
  columns: readonly (readonly number[])[],
  coming: readonly (readonly number[])[],
  step: number,
): { middle: number; scale: number } {
  const { a, coefficients, factor, width, variance } = fit
  const size = width - 1
  const power = a === 0 ? 0 : Math.sign(a) ** (step + 1) * Math.abs(a) ** (step + 1)
  const wander = Math.abs(a) < 1 ? (1 - power * power) / (1 - a * a) : step + 1
  const solved = new Float64Array(size)
  let middle = power * lastValue
  let unsure = 0
  for (let place = 0; place < size; place++) {
    const column = columns[place]!
    const gap = coming[place]![step]! - power * column[column.length - 1]!
    middle += gap * coefficients[place]!
    let sum = gap
    for (let other = 0; other < place; other++) sum -= factor[place * width + other]! * solved[other]!
    solved[place] = sum / factor[place * width + place]!
    unsure += solved[place]! ** 2
  }
  return { middle, scale: Math.sqrt(variance * (wander + unsure)) }
}
