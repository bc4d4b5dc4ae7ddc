/** Fits ordinary least squares with intervals, by ordinary errors or HC3. */
import { fUpper, studentTwoSided, studentUpperQuantile } from '../../numeric/distributions.ts'
import { exactMean, squaredDeviations } from '../../numeric/exact.ts'
import { type DesignColumn, leastSquares, powerColumn } from '../../numeric/least-squares.ts'
import { hc3Errors } from '../../numeric/models/model-checks.ts'
import { orthonormal } from '../../numeric/models/orthonormal.ts'
import { exactSum } from '../../numeric/sum.ts'
import { gradeOf } from '../../verdicts/verdict.ts'
import { finite } from '../shared/sentence.ts'
import { powerAbove } from '../shared/sums.ts'
import { checksOf, isAlike } from './checks.ts'
import type { Design, NamedTerm } from './design.ts'
import { slopeDecides } from './influence.ts'
import { leadOf, type Modelled, type Row, raisedBy } from './modelled.ts'
import { chancesOf } from './series-chances.ts'

export interface Asked {
  intercept: boolean
  errors: 'ordinary' | 'hc3'
  confidence: number
}

/**
 * Returns the fit, or a sentence that says why there is none. y is divided by a power of two, so that no square
 * overflows or vanishes.
 */
export function fitGaussian(
  design: Design,
  terms: readonly NamedTerm[],
  asked: Asked,
): Modelled | 'dependent' {
  const unit = powerAbove(sizeOf(design.response))
  const response = design.response.map((value) => value / unit)
  const model = fitOf({ ...design, response }, design.response, terms, asked)
  return model === 'dependent' ? model : inUnits(model, unit)
}

export function inUnits(model: Modelled, unit: number): Modelled {
  const times = (value: number | null): number | null => value && finite(value * unit)
  const row = <R extends Row>(one: R): R => ({
    ...one,
    estimate: times(one.estimate),
    std_error: times(one.std_error),
    low: times(one.low),
    high: times(one.high),
  })
  const { fields, lead } = model
  const squares = (value: number | null): number | null => times(times(value))
  return {
    ...model,
    lead: lead && row(lead),
    fields: {
      ...fields,
      coefficients: fields.coefficients.map(row),
      residual_sd: times(fields.residual_sd),
      ss_model: squares(fields.ss_model),
      ss_residual: squares(fields.ss_residual),
    },
  }
}

/** Computes the fit. `told` is y as the rows have it. */
function fitOf(
  { response: y, columns, series }: Design,
  told: readonly number[],
  terms: readonly NamedTerm[],
  { intercept, errors, confidence }: Asked,
): Modelled | 'dependent' {
  const slopes = terms.map((term, i) => powerColumn(columns[i]!, term.power))
  const design: DesignColumn[] = [...(intercept ? [{ high: y.map(() => 1) }] : []), ...slopes]
  const fit = leastSquares(design, y)
  if (!fit || !fit.coefficients.every(Number.isFinite) || !fit.residuals.every(Number.isFinite))
    return 'dependent'
  const names = [...(intercept ? ['(intercept)'] : []), ...terms.map((term) => term.name)]
  const sums = sumsOf(y, fit.residuals, names.length, intercept)
  const basis = orthonormal(scaled(design))
  const robust = errors === 'hc3' && basis ? rescaled(hc3Errors(basis, fit.residuals), design) : null
  const ordinary = fit.inverseDiagonal.map((one) => Math.sqrt((one * sums.ss_residual) / sums.df_residual))
  const rows = rowsOf(
    names,
    { estimates: fit.coefficients, errors: robust ?? ordinary },
    { ...sums, confidence },
  )
  const fitted = y.map((value, row) => value - fit.residuals[row]!)
  const high = slopes.map((column) => column.high)
  const checks = checksOf(
    intercept && !sums.perfect ? basis : null,
    high,
    fitted,
    fit.residuals,
    sums.perfect ? null : series,
  )
  const own = rows.slice(intercept ? 1 : 0).map((row) => (sums.perfect ? 0 : row.p))
  const isSeries = series !== null && isAlike(checks, y.length)
  // Rows with dates are certainly a series, and a short series seldom shows how alike its neighbours are.
  const allowed = basis !== null && !sums.perfect && (isSeries || series === 'dated')
  const estimates = slopes.map(
    ({ high: column }, index) => fit.coefficients.at(index - slopes.length)! * sizeOf(column),
  )
  const { residuals } = fit
  const even = high.map((column) => column.map((value) => value / sizeOf(column)))
  const chances = allowed
    ? chancesOf({ y, slopes: even, estimates, residuals, basis, df: sums.df_residual }, own, series)
    : own
  const grades = [own, chances].map((ps) => gradeOf(leadOf(rows, terms, ps)?.p_holm ?? null))
  const lead = leadOf(rows, terms, chances)
  const { perfect: _, ...fields } = sums
  const none = { deviance: null, null_deviance: null, dispersion: null }
  return {
    fields: { coefficients: rows, ...fields, ss_residual: finite(sums.ss_residual), ...none },
    checks,
    lead,
    doubts: [],
    alike: isSeries || grades[0] !== grades[1] ? series : null,
    oneRow: (measures, factor) => {
      if (!lead || !basis || sums.perfect) return []
      const index = terms.findIndex(({ name }) => name === lead.term)
      const place = index + (intercept ? 1 : 0)
      const own = { place, unit: sizeOf(design[place]!.high), x: columns[index]! }
      return slopeDecides(
        raisedBy(lead, factor),
        { basis, residuals, df: sums.df_residual, y: told, ...own },
        measures,
      )
    },
  }
}

function sumsOf(y: readonly number[], residuals: readonly number[], width: number, intercept: boolean) {
  const dfResidual = y.length - width
  const dfModel = width - (intercept ? 1 : 0)
  const ssResidual = exactSum(residuals.map((residual) => residual * residual))
  const ssTotal = intercept ? squaredDeviations(y) : exactSum(y.map((value) => value * value))
  const mean = intercept ? exactMean(y) : 0
  const ssModel = exactSum(y.map((value, row) => (value - residuals[row]! - mean) ** 2))
  // The residuals of a perfect fit are rounding errors, so no ratio to them is computed.
  const perfect = ssResidual <= 1e-28 * ssTotal
  const f = perfect ? Number.NaN : ssModel / dfModel / (ssResidual / dfResidual)
  return {
    r_squared: ssTotal > 0 ? finite(1 - ssResidual / ssTotal) : null,
    residual_sd: finite(Math.sqrt(ssResidual / dfResidual)),
    f: finite(f),
    p: Number.isFinite(f) ? finite(fUpper(f, dfModel, dfResidual)) : null,
    df_model: dfModel,
    df_residual: dfResidual,
    ss_model: finite(ssModel),
    ss_residual: ssResidual,
    perfect,
  }
}

/** Returns the columns divided by their largest size, so that no square overflows. */
function scaled(design: readonly DesignColumn[]): number[][] {
  return design.map(({ high }) => high.map((value) => value / sizeOf(high)))
}

const sizeOf = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1

function rescaled(errors: number[] | null, design: readonly DesignColumn[]): number[] | null {
  return errors && errors.map((error, index) => error / sizeOf(design[index]!.high))
}

export function rowsOf(
  names: readonly string[],
  { estimates, errors }: { estimates: readonly number[]; errors: readonly number[] },
  { df_residual: df, perfect, confidence }: { df_residual: number; perfect: boolean; confidence: number },
): Row[] {
  const reach = studentUpperQuantile((1 - confidence) / 2, df)
  return names.map((term, index): Row => {
    const [estimate, error] = [estimates[index]!, errors[index]!]
    const t = perfect ? Number.NaN : estimate / error
    return {
      term,
      estimate: finite(estimate),
      std_error: finite(error),
      t: finite(t),
      p: finite(Number.isFinite(t) ? studentTwoSided(t, df) : Number.NaN),
      low: finite(estimate - reach * error),
      high: finite(estimate + reach * error),
      ratio: null,
    }
  })
}
