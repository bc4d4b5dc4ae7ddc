/** Defines what a fitted model of any family gives. */
import type { Doubt } from '@assay/model/insight'
import type { Measure } from '../../verdicts/measure.ts'
import { factorOf, holm } from '../shared/multiplicity.ts'
import type { Checks } from './checks.ts'
import type { Design, NamedTerm } from './design.ts'

export interface Row {
  term: string
  estimate: number | null
  std_error: number | null
  /** t, or z if the family is not gaussian. */
  t: number | null
  p: number | null
  low: number | null
  high: number | null
  /** e to the power of the estimate, if the family is not gaussian. */
  ratio: number | null
}

/** The slope that leads the headline, with p over all slopes after Holm. */
export interface Coefficient extends Row {
  column: string
  power: number
  /** The p that decides, before Holm's correction. For a series it is not that of independent rows. */
  chance: number
  p_holm: number | null
  /** The factor by which corrections for several tests multiply p. */
  factor: number
}

export interface Modelled {
  fields: {
    coefficients: Row[]
    r_squared: number | null
    residual_sd: number | null
    f: number | null
    p: number | null
    df_model: number | null
    df_residual: number | null
    ss_model: number | null
    ss_residual: number | null
    deviance: number | null
    null_deviance: number | null
    dispersion: number | null
  }
  checks: Checks
  lead: Coefficient | null
  doubts: Doubt[]
  /** The series for whose alike neighbours the grade allows; null if rows count as independent. */
  alike: Design['series']
  /** The standard deviations of the columns of the terms, if their rows were not fetched. */
  spreads?: readonly number[]
  /**
   * Returns the doubt that one row decides the leading slope. It takes the measures of its column and of y, and the
   * factor by which corrections multiply p.
   */
  oneRow?: (measures: readonly [Measure, Measure], factor: number) => Doubt[]
}

/** Returns the slope with the least p. `chances` has the p that decides for each term, null if unknown. */
export function leadOf(
  rows: readonly Row[],
  terms: readonly NamedTerm[],
  chances: readonly (number | null)[],
): Coefficient | null {
  const known = chances.flatMap((p, index) => (p === null ? [] : [{ p, index }]))
  if (known.length === 0) return null
  const adjusted = holm(known.map(({ p }) => p))
  const least = adjusted.indexOf(Math.min(...adjusted))
  const { index, p: chance } = known[least]!
  const slopes = rows.filter((row) => row.term !== '(intercept)')
  const { column, power } = terms[index]!
  const p_holm = adjusted[least]!
  return { ...slopes[index]!, column, power, chance, p_holm, factor: factorOf(chance, p_holm, known.length) }
}

/** Returns the slope after a correction for further tests. */
export const raisedBy = (lead: Coefficient, factor: number): Coefficient => ({
  ...lead,
  p_holm: lead.p_holm === null ? null : Math.min(1, lead.p_holm * factor),
  factor: lead.factor * factor,
})
