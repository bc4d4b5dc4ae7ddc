/**
 * Fits logistic and Poisson regression with intervals. Counts that vary more than Poisson's law widen the errors
 * (McCullagh and Nelder 1989).
 */
import type { Doubt } from '@assay/model/insight'
import { chiSquareUpper, normalTwoSided, normalUpperQuantile } from '../../numeric/distributions.ts'
import { powerColumn } from '../../numeric/least-squares.ts'
import { type Family, glm } from '../../numeric/models/glm.ts'
import { varianceInflation } from '../../numeric/models/model-checks.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { finite } from '../shared/sentence.ts'
import { NO_CHECKS } from './checks.ts'
import type { Design, NamedTerm } from './design.ts'
import { slopeOfFewDecides } from './influence-general.ts'
import { leadOf, type Modelled, type Row, raisedBy } from './modelled.ts'

export interface Asked {
  intercept: boolean
  family: 'gaussian' | Family
  errors: 'ordinary' | 'hc3'
  confidence: number
}

export function fitGeneral(
  { response: y, columns }: Design,
  terms: readonly NamedTerm[],
  { intercept, family, errors, confidence }: Asked,
): Modelled | 'dependent' | 'separated' {
  const slopes = terms.map((term, i) => powerColumn(columns[i]!, term.power).high)
  const sizes = slopes.map(
    (column) => column.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1,
  )
  const design = [
    ...(intercept ? [y.map(() => 1)] : []),
    ...slopes.map((column, i) => column.map((value) => value / sizes[i]!)),
  ]
  const result = glm(family as Family, design, y)
  if (result.status !== 'fitted') return result.status
  const { fit } = result
  const df = y.length - design.length
  const excess = family === 'poisson' && chiSquareUpper(fit.dispersion * df, df) < 0.01
  const widened = fit.errors.map((error) => error * (excess ? Math.sqrt(fit.dispersion) : 1))
  const used = errors === 'hc3' && fit.robust ? fit.robust : widened
  const names = [...(intercept ? ['(intercept)'] : []), ...terms.map((term) => term.name)]
  const scale = [...(intercept ? [1] : []), ...sizes]
  const rows = rowsOf(names, { estimates: fit.coefficients, errors: used, scale }, confidence)
  const ratio = (fit.null_deviance - fit.deviance) / (excess ? fit.dispersion : 1)
  const inflation = slopes.length > 1 ? varianceInflation(slopes) : []
  const doubts: Doubt[] = excess
    ? [
        doubt(
          'form_wrong',
          'The counts scatter more than chance alone makes them; the intervals are widened for that.',
        ),
      ]
    : []
  const lead = leadOf(
    rows,
    terms,
    rows.slice(intercept ? 1 : 0).map((row) => row.p),
  )
  return {
    fields: {
      coefficients: rows,
      r_squared: null,
      residual_sd: null,
      f: null,
      p: intercept ? finite(chiSquareUpper(Math.max(0, ratio), terms.length)) : null,
      df_model: terms.length,
      df_residual: df,
      ss_model: null,
      ss_residual: null,
      deviance: finite(fit.deviance),
      null_deviance: finite(fit.null_deviance),
      dispersion: finite(fit.dispersion),
    },
    checks: { ...NO_CHECKS, largest_vif: inflation.length === 0 ? null : finite(Math.max(...inflation)) },
    lead,
    doubts,
    alike: null,
    oneRow: (measures, factor) => {
      if (!lead) return []
      const place = terms.findIndex(({ name }) => name === lead.term) + (intercept ? 1 : 0)
      const fitted = { family: family as Family, design, y, fit, place, size: scale[place]! }
      return slopeOfFewDecides(raisedBy(lead, factor), fitted, measures)
    },
  }
}

function rowsOf(
  names: readonly string[],
  {
    estimates,
    errors,
    scale,
  }: { estimates: readonly number[]; errors: readonly number[]; scale: readonly number[] },
  confidence: number,
): Row[] {
  const reach = normalUpperQuantile((1 - confidence) / 2)
  return names.map((term, index): Row => {
    const estimate = estimates[index]! / scale[index]!
    const error = errors[index]! / scale[index]!
    const t = estimate / error
    return {
      term,
      estimate: finite(estimate),
      std_error: finite(error),
      t: finite(t),
      p: finite(normalTwoSided(t)),
      low: finite(estimate - reach * error),
      high: finite(estimate + reach * error),
      ratio: finite(Math.exp(estimate)),
    }
  })
}
