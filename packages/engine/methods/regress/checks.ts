/**
 * Checks the assumptions of a linear fit, as fields and as sentences for readers: form, spread, collinearity,
 * neighbours.
 */
import type { Doubt } from '@assay/model/insight'
import { breuschPagan, lagOne, reset, varianceInflation } from '../../numeric/models/model-checks.ts'
import { type Basis } from '../../numeric/models/orthonormal.ts'
import { verbFor } from '../../verdicts/nouns.ts'
import { doubt } from '../../verdicts/verdict.ts'
import { alikeFrom } from '../relations/series-order.ts'
import { finite } from '../shared/sentence.ts'
import type { Design } from './design.ts'

export interface Checks {
  reset_p: number | null
  breusch_pagan_p: number | null
  residual_autocorrelation: number | null
  largest_vif: number | null
}

export const NO_CHECKS: Checks = {
  reset_p: null,
  breusch_pagan_p: null,
  residual_autocorrelation: null,
  largest_vif: null,
}

/**
 * Checks a fit. `slopes` are the columns of the design without the intercept. `residuals` stand in the order of the
 * series.
 */
export function checksOf(
  basis: Basis | null,
  slopes: readonly (readonly number[])[],
  fitted: readonly number[],
  residuals: readonly number[],
  series: Design['series'],
): Checks {
  const inflation = slopes.length > 1 ? varianceInflation(slopes) : []
  return {
    reset_p: basis ? (reset(basis, fitted, residuals)?.p ?? null) : null,
    breusch_pagan_p: basis ? (breuschPagan(basis, residuals)?.p ?? null) : null,
    residual_autocorrelation: autocorrelationOf(residuals, series),
    largest_vif: inflation.length === 0 ? null : finite(Math.max(...inflation)),
  }
}

/**
 * Returns the autocorrelation of the residuals. In the order of the data only a strong one counts, because that order
 * need not be a time.
 */
function autocorrelationOf(residuals: readonly number[], series: Design['series']): number | null {
  if (series === null) return null
  const found = finite(lagOne(residuals))
  return series === 'rows' && !((found ?? 0) > alikeFrom(residuals.length, false)) ? null : found
}

const ALIKE: Record<NonNullable<Design['series']>, string> = {
  dated:
    'The rows are a series whose neighbours are alike; lines through such a series arise by chance, and the certainty allows for that.',
  even: 'The rows follow each other in even steps, as in a series, and neighbours are alike; lines through a series arise by chance, and the certainty allows for that.',
  rows: 'Neighbouring rows are alike in the order of the data, as in a series; lines through a series arise by chance, and the certainty allows for that. If the rows have dates, add them.',
}

export function checkDoubts(
  checks: Checks,
  alike: Design['series'],
  label: string,
  powers: boolean,
): Doubt[] {
  const found: Doubt[] = []
  if (alike !== null) found.push(doubt('series_autocorrelated', ALIKE[alike]))
  if (checks.reset_p !== null && checks.reset_p < 0.01)
    found.push(
      doubt(
        'form_wrong',
        `${label} ${verbFor(label, 'does', 'do')} not follow a straight line; a power of a column or a logarithm may fit.`,
      ),
    )
  else if (checks.breusch_pagan_p !== null && checks.breusch_pagan_p < 0.01)
    found.push(
      doubt(
        'form_wrong',
        `${label} ${verbFor(label, 'scatters', 'scatter')} more in some places than in others; errors: hc3 allows for that.`,
      ),
    )
  // Powers of one column always go together, so their collinearity says nothing.
  if (!powers && checks.largest_vif !== null && checks.largest_vif > 10)
    found.push(
      doubt(
        'collinear',
        'Some columns of x almost repeat each other, so what each of them does cannot be told apart.',
      ),
    )
  return found
}

/** Tells whether neighbouring residuals are alike, beyond 2.58 standard errors. */
export function isAlike({ residual_autocorrelation: r }: Checks, n: number): boolean {
  return r !== null && r > alikeFrom(n, true)
}
