/**
 * regression: ordinary least squares of a number on others and on their powers.
 *
 * Householder QR with exact residuals (numeric/least-squares.ts), not normal equations; sums of squares from exact sums;
 * t and F from upper tails of their own. Without an intercept R-squared is taken about 0, as in R's lm. The columns of
 * at most 200,000 complete rows are fetched.
 */

import type { Outcome } from '@assay/model/insight'
import Type, { type Static } from 'typebox'
import { fUpper, studentTwoSided, studentUpperQuantile } from '../numeric/distributions.ts'
import { exactMean, squaredDeviations } from '../numeric/exact.ts'
import { type Fit, leastSquares, powerColumn } from '../numeric/least-squares.ts'
import { exactSum } from '../numeric/sum.ts'
import { numberSql } from './shared/columns.ts'
import { integer, number, pAdjusted, rowsWith, text } from './shared/fields.ts'
import { type Method, MethodError, type Relation } from './shared/method.ts'
import { count, enumeration, figure, finite, percent, probability } from './shared/sentence.ts'

const Term = Type.Union([
  Type.String(),
  Type.Object(
    { column: Type.String(), power: Type.Integer({ minimum: 1, maximum: 12, default: 1 }) },
    { additionalProperties: false },
  ),
])
const Options = Type.Object(
  {
    y: Type.String(),
    x: Type.Array(Term, { minItems: 1, maxItems: 50 }),
    intercept: Type.Boolean({ default: true }),
  },
  { additionalProperties: false },
)

const MAX_ROWS = 200_000
const METHOD = 'ordinary least squares by QR'
const NOTHING = {
  coefficients: [],
  r_squared: null,
  residual_sd: null,
  f: null,
  p: null,
  df_model: null,
  df_residual: null,
  ss_model: null,
  ss_residual: null,
}

interface NamedTerm {
  name: string
  column: string
  power: number
}

interface Coefficient {
  term: string
  estimate: number | null
  std_error: number | null
  t: number | null
  p: number | null
}

export const regression: Method = {
  name: 'regression',
  options: Options,
  columns(options) {
    const { y, x } = options as Static<typeof Options>
    return [
      { option: 'y', column: y, numeric: true },
      ...x.map((term) => ({ option: 'x', column: namedTerm(term).column, numeric: true })),
    ]
  },
  fields: {
    coefficients: rowsWith({ term: text, estimate: number, std_error: number, t: number, p: number }),
    r_squared: number,
    residual_sd: number,
    f: number,
    p: number,
    p_adjusted: pAdjusted,
    df_model: integer,
    df_residual: integer,
    ss_model: number,
    ss_residual: number,
  },
  async run(table, options) {
    const { y, x, intercept } = options as Static<typeof Options>
    const terms = x.map(namedTerm)
    const { columns, response, left } = await rows(table, y, terms)
    const n = response.length
    const notes = left > 0 ? [`${count(left, 'row')} without a finite number in every column left out.`] : []
    const nothing = (why: string): Outcome => ({
      summary: `Not enough data for a regression of ${y}: ${why}.`,
      n,
      method: METHOD,
      notes,
      ...NOTHING,
    })
    const width = terms.length + (intercept ? 1 : 0)
    if (n <= width) return nothing(`${count(n, 'complete row')} for ${count(width, 'coefficient')}`)
    const unit = response.map(() => 1)
    const design = [
      ...(intercept ? [{ high: unit }] : []),
      ...terms.map((term, i) => powerColumn(columns[i]!, term.power)),
    ]
    const fit = leastSquares(design, response)
    if (!fit || !fit.coefficients.every(Number.isFinite) || !fit.residuals.every(Number.isFinite)) {
      return nothing(
        'the columns of x are constant, depend on each other, or lie beyond the range of doubles',
      )
    }
    const names = [...(intercept ? ['(intercept)'] : []), ...terms.map((term) => term.name)]
    const fields = fieldsOf(names, fit, response, intercept)
    return {
      summary: sentence(y, n, fields),
      n,
      method: METHOD,
      notes: [...notes, ...notesOf(n, width, fields)],
      ...fields,
    }
  },
}

function namedTerm(term: Static<typeof Term>): NamedTerm {
  if (typeof term === 'string') return { name: term, column: term, power: 1 }
  const power = term.power ?? 1
  return { name: power === 1 ? term.column : `${term.column}^${power}`, column: term.column, power }
}

async function rows(table: Relation, y: string, terms: readonly NamedTerm[]) {
  const selected = [numberSql(table, 'y', y), ...terms.map((term) => numberSql(table, 'x', term.column))]
  const names = selected.map((_, index) => `c${index}`)
  const source = `(select ${selected.map((sql, index) => `${sql} as c${index}`).join(', ')} from ${table.relation})`
  const kept = names.map((name) => `coalesce(isfinite(${name}), false)`).join(' and ')
  const [counted] = await table.query(
    `select count(*) as total, count(*) filter (${kept}) as n from ${source}`,
  )
  const n = counted!.n as number
  if (n > MAX_ROWS) {
    throw new MethodError(
      `regression reads at most ${MAX_ROWS.toLocaleString('en-US')} rows, and there are ${n.toLocaleString('en-US')}: group or filter them in the SQL block.`,
    )
  }
  const found = await table.query(`select ${names.join(', ')} from ${source} where ${kept}`)
  const columns = names.map((name) => found.map((row) => row[name] as number))
  return { response: columns[0]!, columns: columns.slice(1), left: (counted!.total as number) - n }
}

function fieldsOf(names: readonly string[], fit: Fit, y: readonly number[], intercept: boolean) {
  const dfResidual = y.length - names.length
  const dfModel = names.length - (intercept ? 1 : 0)
  const ssResidual = exactSum(fit.residuals.map((residual) => residual * residual))
  const ssTotal = intercept ? squaredDeviations(y) : exactSum(y.map((value) => value * value))
  const mean = intercept ? exactMean(y) : 0
  const ssModel = exactSum(y.map((value, row) => (value - fit.residuals[row]! - mean) ** 2))
  const residualVariance = ssResidual / dfResidual
  // The residuals of a perfect fit are rounding errors, so no ratio to them is computed.
  const perfect = ssResidual <= 1e-28 * ssTotal
  const f = perfect ? Number.NaN : ssModel / dfModel / residualVariance
  const coefficients = names.map((term, index): Coefficient => {
    const estimate = fit.coefficients[index]!
    const error = Math.sqrt(fit.inverseDiagonal[index]! * residualVariance)
    const t = perfect ? Number.NaN : estimate / error
    return {
      term,
      estimate: finite(estimate),
      std_error: finite(error),
      t: finite(t),
      p: finite(Number.isFinite(t) ? studentTwoSided(t, dfResidual) : Number.NaN),
    }
  })
  return {
    coefficients,
    r_squared: ssTotal > 0 ? finite(1 - ssResidual / ssTotal) : null,
    residual_sd: finite(Math.sqrt(residualVariance)),
    f: finite(f),
    p: Number.isFinite(f) ? finite(fUpper(f, dfModel, dfResidual)) : null,
    df_model: dfModel,
    df_residual: dfResidual,
    ss_model: finite(ssModel),
    ss_residual: finite(ssResidual),
  }
}

function sentence(y: string, n: number, fields: ReturnType<typeof fieldsOf>): string {
  const slopes = fields.coefficients.filter((coefficient) => coefficient.term !== '(intercept)')
  const quantile = studentUpperQuantile(0.025, fields.df_residual)
  const explained =
    fields.r_squared === null
      ? `${y} does not vary, so there is nothing to explain`
      : `The fit explains ${percent(fields.r_squared)} of the variation of ${y}`
  const overall =
    fields.f === null
      ? ''
      : `, F(${fields.df_model}, ${fields.df_residual}) = ${figure(fields.f)}, ${probability(fields.p)}`
  const told = slopes.slice(0, 3).map(({ term, estimate, std_error }) => {
    const half = std_error === null ? null : quantile * std_error
    const interval = half
      ? ` (95% interval ${figure(estimate! - half, half)} to ${figure(estimate! + half, half)})`
      : ''
    return `${figure(estimate, half)}${interval} per unit of ${term}`
  })
  const more = slopes.length > 3 ? `, and ${count(slopes.length - 3, 'further term')}` : ''
  return `${explained} (n = ${count(n, 'row')}${overall}): ${enumeration(told)}${more}.`
}

function notesOf(n: number, width: number, fields: ReturnType<typeof fieldsOf>): string[] {
  const notes: string[] = []
  if (n < 10 * width)
    notes.push(`Only ${count(n, 'row')} for ${count(width, 'coefficient')}: the estimates are fragile.`)
  if (fields.f === null)
    notes.push('The fit is perfect, or y does not vary: no residual is left to judge it by.')
  return notes
}
