/**
 * Fits logistic and Poisson regression by iteratively reweighted least squares (McCullagh and Nelder, Generalized
 * Linear Models, 1989), each step by orthonormal columns. If a combination of columns separates the outcomes, the
 * likelihood has no maximum, the steps do not shrink, and the fit reports it (Albert and Anderson, Biometrika 71,
 * 1984).
 */
import { exactSum } from '../sum.ts'
import { dot, leverages, orthonormal, sandwichDiagonal, weightedProducts } from './orthonormal.ts'

export type Family = 'logistic' | 'poisson'

export interface GlmFit {
  coefficients: number[]
  errors: number[]
  /**
   * Standard errors that do not assume the family's variance (HC3 on working residuals); null if a row alone decides a
   * coefficient.
   */
  robust: number[] | null
  deviance: number
  null_deviance: number
  /** Pearson's chi-square over its degrees of freedom. */
  dispersion: number
  fitted: number[]
}

export type GlmResult = { status: 'fitted'; fit: GlmFit } | { status: 'separated' | 'dependent' }

const ROUNDS = 30

interface FamilyOf {
  start(y: number): number
  mean(eta: number): number
  variance(mean: number): number
  deviance(y: number, mean: number): number
}

const FAMILIES: Record<Family, FamilyOf> = {
  logistic: {
    start: (y) => Math.log((y + 0.5) / (1.5 - y)),
    mean: (eta) => 1 / (1 + Math.exp(-eta)),
    variance: (mean) => mean * (1 - mean),
    deviance: (y, mean) => -2 * (y === 1 ? Math.log(mean) : Math.log1p(-mean)),
  },
  poisson: {
    start: (y) => Math.log(y + 0.1),
    mean: Math.exp,
    variance: (mean) => mean,
    deviance: (y, mean) => 2 * ((y === 0 ? 0 : y * Math.log(y / mean)) - (y - mean)),
  },
}

/** Fits y (0 or 1; counts) on the columns. The intercept, if there is one, is one of the columns. */
export function glm(
  family: Family,
  columns: readonly (readonly number[])[],
  y: readonly number[],
): GlmResult {
  const of = FAMILIES[family]
  let eta = y.map(of.start)
  let coefficients = columns.map(() => Number.NaN)
  for (let round = 0; round < ROUNDS; round++) {
    const step = weighted(of, columns, y, eta)
    if (!step) return { status: round < 3 ? 'dependent' : 'separated' }
    const settled = step.coefficients.every(
      (value, index) => Math.abs(value - coefficients[index]!) <= 1e-11 * step.errors[index]!,
    )
    coefficients = step.coefficients
    eta = y.map((_, row) => exactEta(columns, coefficients, row))
    if (settled) return { status: 'fitted', fit: finished(of, columns, y, eta, step) }
  }
  return { status: 'separated' }
}

function exactEta(
  columns: readonly (readonly number[])[],
  coefficients: readonly number[],
  row: number,
): number {
  let sum = 0
  for (const [index, column] of columns.entries()) sum += coefficients[index]! * column[row]!
  return sum
}

interface Step {
  coefficients: number[]
  errors: number[]
}

function weighted(
  of: FamilyOf,
  columns: readonly (readonly number[])[],
  y: readonly number[],
  eta: readonly number[],
): Step | null {
  const mean = eta.map(of.mean)
  const roots = Float64Array.from(mean, (value) => Math.sqrt(of.variance(value)))
  if (roots.some((root) => !Number.isFinite(root))) return null
  const basis = orthonormal(
    columns.map((column) => Float64Array.from(column, (value, row) => value * roots[row]!)),
  )
  if (!basis) return null
  // Computes root times (eta + (y - mean) / variance), without a division where the variance vanishes.
  const working = Float64Array.from(eta, (value, row) =>
    roots[row]! > 0 ? value * roots[row]! + (y[row]! - mean[row]!) / roots[row]! : 0,
  )
  const along = basis.q.map((column) => dot(column, working))
  return {
    coefficients: basis.inverse.map((row) => row.reduce((sum, value, j) => sum + value * along[j]!, 0)),
    errors: basis.inverse.map((row) => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0))),
  }
}

function finished(
  of: FamilyOf,
  columns: readonly (readonly number[])[],
  y: readonly number[],
  eta: readonly number[],
  step: Step,
): GlmFit {
  const fitted = eta.map(of.mean)
  const average = exactSum(y) / y.length
  const pearson = exactSum(y.map((value, row) => (value - fitted[row]!) ** 2 / of.variance(fitted[row]!)))
  return {
    ...step,
    robust: robustErrors(of, columns, y, fitted),
    deviance: exactSum(y.map((value, row) => of.deviance(value, fitted[row]!))),
    null_deviance: exactSum(y.map((value) => of.deviance(value, average))),
    dispersion: pearson / (y.length - columns.length),
    fitted,
  }
}

function robustErrors(
  of: FamilyOf,
  columns: readonly (readonly number[])[],
  y: readonly number[],
  fitted: readonly number[],
): number[] | null {
  const roots = Float64Array.from(fitted, (value) => Math.sqrt(of.variance(value)))
  const basis = orthonormal(
    columns.map((column) => Float64Array.from(column, (value, row) => value * roots[row]!)),
  )
  if (!basis) return null
  const pull = leverages(basis.q)
  if (pull.some((share) => share > 1 - 1e-10)) return null
  const weights = pull.map((share, row) => ((y[row]! - fitted[row]!) / roots[row]! / (1 - share)) ** 2)
  return sandwichDiagonal(basis.inverse, weightedProducts(basis.q, weights)).map(Math.sqrt)
}
