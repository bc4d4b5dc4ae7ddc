/**
 * Tells whether one row decides a slope of a logistic or Poisson regression. The rows that pull the slope most to
 * either side are left out, and the model is fitted again. The pull is the product of a row's distance from the mean of
 * its column and its residual.
 */
import type { Doubt } from '@assay/model/insight'
import { normalTwoSided } from '../../numeric/distributions.ts'
import { type Family, type GlmFit, glm } from '../../numeric/models/glm.ts'
import type { Measure } from '../../verdicts/measure.ts'
import { oneRowDecides, type Without } from '../relations/one-row.ts'
import type { Coefficient } from './modelled.ts'

/** The most rows that are checked. Among more rows each one moves a slope too little. */
const MOST = 5000
const TRIED = 2

interface Fitted {
  family: Family
  design: readonly (readonly number[])[]
  y: readonly number[]
  fit: GlmFit
  /** The place of the slope in the design, and the divisor of its column. */
  place: number
  size: number
}

export function slopeOfFewDecides(
  { estimate, std_error: error, p, p_holm, factor }: Coefficient,
  { family, design, y, fit, place, size }: Fitted,
  measures: readonly [Measure, Measure],
): Doubt[] {
  if (y.length > MOST || estimate === null || error === null || p === null || p_holm === null) return []
  const column = design[place]!
  const mean = column.reduce((sum, value) => sum + value, 0) / y.length
  const pull = (row: number): number => (column[row]! - mean) * (y[row]! - fit.fitted[row]!)
  const order = [...y.keys()].toSorted((a, b) => pull(a) - pull(b))
  const wider = error / (fit.errors[place]! / size)
  const tried = [...new Set([...order.slice(0, TRIED), ...order.slice(-TRIED)])]
  const rows = tried.flatMap((row): Without[] => {
    const less = (values: readonly number[]): number[] => values.toSpliced(row, 1)
    const result = glm(family, design.map(less), less(y))
    if (result.status !== 'fitted') return []
    const slope = result.fit.coefficients[place]! / size
    const own = (wider * result.fit.errors[place]!) / size
    const chance = own > 0 ? Math.min(1, normalTwoSided(slope / own) * factor) : 1
    return [{ x: column[row]! * size, y: y[row]!, estimate: slope, p: chance }]
  })
  return oneRowDecides({ estimate, p: p_holm, error }, rows, measures)
}
