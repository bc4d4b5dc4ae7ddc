/**
 * Computes slopes without each row in turn (Belsley, Kuh and Welsch, Regression Diagnostics, 1980), and tells whether
 * one row decides.
 */
import type { Doubt } from '@assay/model/insight'
import { studentTwoSided, studentUpperQuantile } from '../../numeric/distributions.ts'
import { type Basis, leverages } from '../../numeric/models/orthonormal.ts'
import type { Measure } from '../../verdicts/measure.ts'
import { oneRowDecides, type Without } from '../relations/one-row.ts'
import type { Coefficient } from './modelled.ts'

/** The limit of 1 - leverage at which a row alone determines a slope. There is no slope without such a row. */
const ALONE = 1e-10

interface Fitted {
  basis: Basis
  residuals: readonly number[]
  df: number
  /** The place of the slope in the design, the divisor of its column in the basis, and the column. */
  place: number
  unit: number
  x: readonly number[]
  y: readonly number[]
}

export function slopeDecides(
  lead: Coefficient,
  fitted: Fitted,
  measures: readonly [Measure, Measure],
): Doubt[] {
  const { estimate, std_error, chance, p_holm, factor } = lead
  if (estimate === null || std_error === null || p_holm === null || fitted.df < 2) return []
  if (!(std_error > 0) || chance >= 1) return []
  const error = std_error * widened(lead, fitted.df)
  const rows = slopesWithout(estimate, error, fitted)
  if (rows.length === 0) return []
  const least = rows.reduce((a, b) => (b.estimate < a.estimate ? b : a))
  const most = rows.reduce((a, b) => (b.estimate > a.estimate ? b : a))
  const unsure = rows.reduce((a, b) => (b.p > a.p ? b : a))
  const candidates = [least, most, unsure].map((row) => ({ ...row, p: Math.min(1, row.p * factor) }))
  return oneRowDecides({ estimate, p: p_holm, error }, candidates, measures)
}

/** Returns the factor by which a series widens the error, so that the slope has the p that decides. */
function widened({ p, chance, estimate, std_error }: Coefficient, df: number): number {
  if (p === null || chance <= p) return 1
  return Math.abs(estimate! / std_error!) / studentUpperQuantile(chance / 2, df)
}

/** Returns the slopes without each row. Errors are those of least squares, widened in proportion to `error`. */
function slopesWithout(
  estimate: number,
  error: number,
  { basis, residuals, df, place, unit, x, y }: Fitted,
): Without[] {
  const { q, inverse } = basis
  const pulls = leverages(q)
  const squares = residuals.reduce((sum, value) => sum + value * value, 0)
  const variance = inverse[place]!.reduce((sum, value) => sum + value * value, 0)
  const wider = error / (Math.sqrt((squares / df) * variance) / unit)
  return residuals.flatMap((residual, row): Without[] => {
    const at = { x: x[row]!, y: y[row]! }
    const free = 1 - pulls[row]!
    const reach = inverse[place]!.reduce((sum, value, column) => sum + value * q[column]![row]!, 0)
    if (free < ALONE) return reach * reach > ALONE * variance ? [{ ...at, estimate: 0, p: 1 }] : []
    const without = estimate - (reach * residual) / free / unit
    const spread = Math.max(0, squares - (residual * residual) / free) / (df - 1)
    const own = (wider * Math.sqrt(spread * (variance + (reach * reach) / free))) / unit
    return [{ ...at, estimate: without, p: own > 0 ? studentTwoSided(without / own, df - 1) : 0 }]
  })
}
