/**
 * Computes the regression of persistent-regression.ts at each persistence: its coefficients, their factor and its
 * weight.
 */
import { centreBeside, centred } from './centre.ts'
import { factorAt, momentsOf, persistences } from './persistent-regression.ts'

export interface PersistentCoefficients {
  a: number
  /** The posterior weight. All weights add up to 1. */
  weight: number
  coefficients: Float64Array
  /**
   * The lower Cholesky factor of the columns' products after quasi-differencing, row by row, with `width` numbers a
   * row.
   */
  factor: Float64Array
  width: number
  /** The variance of the innovations. */
  variance: number
  df: number
  /** The log of the restricted likelihood, and of the plain one at its greatest. */
  restricted: number
  likelihood: number
}

/** Returns the fits. Returns none if the columns depend on each other or leave no degree of freedom. */
export function persistentFits(
  y: ArrayLike<number>,
  columns: readonly ArrayLike<number>[],
  fine = false,
): PersistentCoefficients[] {
  const n = y.length
  const size = columns.length
  const width = size + 1
  const df = n - size
  if (df < 1) return []
  const centre = centreBeside(y, columns[0])
  const moments = momentsOf([...columns, centred(y, centre)])
  const fits: PersistentCoefficients[] = []
  for (const { a, weight } of persistences(n, fine)) {
    const factor = factorAt(moments, a)
    if (!factor) continue
    const rest = factor[width * width - 1]! ** 2
    let logs = 0
    for (let column = 0; column < size; column++) logs += 2 * Math.log(factor[column * width + column]!)
    const coefficients = coefficientsOf(factor, size)
    if (centre !== 0) coefficients[0] = coefficients[0]! + centre / columns[0]![0]!
    fits.push({
      a,
      weight,
      coefficients,
      factor,
      width,
      variance: rest / df,
      df,
      restricted: -0.5 * (df * Math.log(rest / df) + logs - Math.log(1 - a * a)),
      likelihood: -0.5 * (n * Math.log(rest / n) - Math.log(1 - a * a)),
    })
  }
  const most = Math.max(...fits.map(({ restricted }) => restricted))
  let whole = 0
  for (const fit of fits) whole += fit.weight *= Math.exp(fit.restricted - most)
  for (const fit of fits) fit.weight /= whole
  return fits
}

function coefficientsOf(factor: Float64Array, size: number): Float64Array {
  const width = size + 1
  const found = new Float64Array(size)
  for (let row = size - 1; row >= 0; row--) {
    let sum = factor[size * width + row]!
    for (let other = row + 1; other < size; other++) sum -= factor[other * width + row]! * found[other]!
    found[row] = sum / factor[row * width + row]!
  }
  return found
}
