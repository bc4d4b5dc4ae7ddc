/** Computes the levels before and after each change of level, and the noise about the levels. */
import { exactMean, squaredDeviations } from '../../numeric/exact.ts'
import { exactSum } from '../../numeric/sum.ts'
import type { LevelChange } from '../level-changes.ts'
import { persistentFits } from '../persistence/persistent-fits.ts'
import { type Curve, polynomials } from './steps-or-curve.ts'

export interface LevelSizes {
  /** The levels at each change, in their order. */
  sizes: { before: number; after: number }[]
  /** The standard deviation of the values about their levels. */
  noise: number
}

/**
 * Returns the means of the parts. If a curve stands beside the changes, it returns the curve just before and just after
 * each of them.
 */
export function levelSizes(
  values: readonly number[],
  rows: readonly number[],
  changes: readonly LevelChange[],
): LevelSizes {
  const places = changes.map(({ index }) => index)
  const curved = changes[0] && besideCurve(values, rows, places, changes[0].curve)
  if (curved) return curved
  const bounds = [0, ...places, values.length]
  const parts = bounds.slice(1).map((end, index) => values.slice(bounds[index], end))
  const means = parts.map(exactMean)
  const squares = exactSum(parts.map(squaredDeviations))
  return {
    sizes: places.map((_, nth) => ({ before: means[nth]!, after: means[nth + 1]! })),
    noise: Math.sqrt(squares / Math.max(1, values.length - places.length - 1)),
  }
}

function besideCurve(
  values: readonly number[],
  rows: readonly number[],
  places: readonly number[],
  { degree, log }: Curve,
): LevelSizes | null {
  // A value may lie below zero after its seasons are removed, although no original value does.
  if (degree === 0 || (log && values.some((value) => !(value > 0)))) return null
  const steps = places.map((place) => rows.map((_, row) => (row < place ? 0 : 1)))
  const columns = [...polynomials(rows, degree), ...steps]
  const fits = persistentFits(log ? values.map(Math.log) : values, columns)
  if (fits.length === 0) return null
  const { coefficients } = fits.reduce((best, fit) => (fit.weight > best.weight ? fit : best))
  const fitted = values.map((_, row) => {
    const fit = columns.reduce((sum, column, at) => sum + coefficients[at]! * column[row]!, 0)
    return log ? Math.exp(fit) : fit
  })
  const squares = fitted.reduce((sum, fit, row) => sum + (values[row]! - fit) ** 2, 0)
  return {
    sizes: places.map((place) => ({ before: fitted[place - 1]!, after: fitted[place]! })),
    noise: Math.sqrt(squares / Math.max(1, values.length - columns.length)),
  }
}
