/**
 * Solves linear least squares by Householder QR (Golub 1965), refined as Bjorck (BIT 7, 1967) does: residuals of the
 * augmented system in exact arithmetic, corrections by the same factors. Columns are first scaled by powers of two. A
 * column may carry a low part, so that a power of a double is known to twice its precision.
 */

import { twoProduct } from './exact.ts'
import { exactSum } from './sum.ts'

export interface DesignColumn {
  high: number[]
  /** The low part of each value, beyond its double. */
  low?: number[]
}

export interface Fit {
  coefficients: number[]
  residuals: number[]
  /** The diagonal of (X'X)^-1. Multiplied by the residual variance it gives the variances of the coefficients. */
  inverseDiagonal: number[]
}

/** Returns the values to the power `power`, in twice a double's precision. */
export function powerColumn(values: readonly number[], power: number): DesignColumn {
  const high = values.slice()
  const low = values.map(() => 0)
  for (let step = 1; step < power; step++) {
    for (const [index, value] of values.entries()) {
      const [product, rest] = twoProduct(high[index]!, value)
      const carried = rest + low[index]! * value
      high[index] = product + carried
      low[index] = carried - (high[index] - product)
    }
  }
  return power === 1 ? { high } : { high, low }
}

/** Returns the coefficients of y on the columns, or null if the columns depend on each other to working precision. */
export function leastSquares(columns: readonly DesignColumn[], y: readonly number[]): Fit | null {
  const scales = columns.map(({ high }) => {
    const largest = high.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    return largest === 0 ? 1 : 2 ** -Math.floor(Math.log2(largest))
  })
  const scaled = columns.map(({ high, low }, column) => ({
    high: high.map((value) => value * scales[column]!),
    ...(low ? { low: low.map((value) => value * scales[column]!) } : {}),
  }))
  const factors = householder(scaled)
  if (!factors) return null
  const { solution, residuals } = refined(
    scaled,
    factors,
    y,
    scaled.map(() => 0),
  )
  return {
    coefficients: solution.map((value, column) => value * scales[column]!),
    residuals,
    inverseDiagonal: inverseDiagonal(scaled, factors).map((value, column) => value * scales[column]! ** 2),
  }
}

/** Solves r + X b = y, X' r = g by the factors, and refines until nothing changes (at most 6 rounds). */
function refined(
  columns: readonly DesignColumn[],
  factors: Factors,
  y: readonly number[],
  g: readonly number[],
) {
  let solution = columns.map(() => 0)
  let residuals = y.map(() => 0)
  for (let round = 0; round < 6; round++) {
    const correction = solve(factors, systemResidual(columns, y, g, solution, residuals))
    const settled = correction.solution.every(
      (change, index) => Math.abs(change) <= 1e-17 * Math.abs(solution[index]!),
    )
    solution = solution.map((value, index) => value + correction.solution[index]!)
    residuals = residuals.map((value, index) => value + correction.residuals[index]!)
    if (settled) break
  }
  return { solution, residuals }
}

interface Factors {
  /** The Householder vectors, one for each column, zero above their own row. */
  vectors: number[][]
  /** Twice the inverse squared length of each vector. */
  betas: number[]
  /** The upper triangle, by column. */
  triangle: number[][]
}

function householder(columns: readonly DesignColumn[]): Factors | null {
  const work = columns.map(({ high }) => high.slice())
  const vectors: number[][] = []
  const betas: number[] = []
  for (const [k, column] of work.entries()) {
    const tail = column.slice(k)
    const whole = norm(columns[k]!.high)
    const size = norm(tail)
    if (tail.length === 0 || size <= 1e-15 * whole) return null
    const alpha = tail[0]! > 0 ? -size : size
    const vector = column.map((value, row) => (row < k ? 0 : row === k ? value - alpha : value))
    const beta = 2 / exactSum(vector.map((value) => value * value))
    for (let j = k; j < work.length; j++) reflect(work[j]!, vector, beta, k)
    vectors.push(vector)
    betas.push(beta)
  }
  return { vectors, betas, triangle: work.map((column, k) => column.slice(0, k + 1)) }
}

function norm(values: readonly number[]): number {
  return Math.sqrt(exactSum(values.map((value) => value * value)))
}

function reflect(target: number[], vector: readonly number[], beta: number, from: number): void {
  let dot = 0
  for (let row = from; row < target.length; row++) dot += vector[row]! * target[row]!
  const factor = beta * dot
  for (let row = from; row < target.length; row++) target[row]! -= factor * vector[row]!
}

/** Returns y - r - X b and g - X' r, the residuals of the augmented system, each rounded once. */
function systemResidual(
  columns: readonly DesignColumn[],
  y: readonly number[],
  target: readonly number[],
  solution: readonly number[],
  residuals: readonly number[],
): { f: number[]; g: number[] } {
  const f = y.map((value, row) => {
    const terms = [value, -residuals[row]!]
    for (const [column, { high, low }] of columns.entries()) {
      const [product, rest] = twoProduct(high[row]!, -solution[column]!)
      terms.push(product, rest)
      if (low) terms.push(-low[row]! * solution[column]!)
    }
    return exactSum(terms)
  })
  const g = columns.map(({ high, low }, column) => {
    const terms = [target[column]!]
    for (const [row, residual] of residuals.entries()) {
      const [product, rest] = twoProduct(high[row]!, -residual)
      terms.push(product, rest)
      if (low) terms.push(-low[row]! * residual)
    }
    return exactSum(terms)
  })
  return { f, g }
}

function solve({ vectors, betas, triangle }: Factors, { f, g }: { f: number[]; g: number[] }) {
  const width = triangle.length
  const h: number[] = []
  for (let i = 0; i < width; i++) {
    let sum = g[i]!
    for (let j = 0; j < i; j++) sum -= triangle[i]![j]! * h[j]!
    h.push(sum / triangle[i]![i]!)
  }
  const d = f.slice()
  for (let k = 0; k < width; k++) reflect(d, vectors[k]!, betas[k]!, k)
  const solution = triangle.map(() => 0)
  for (let i = width - 1; i >= 0; i--) {
    let sum = d[i]! - h[i]!
    for (let j = i + 1; j < width; j++) sum -= triangle[j]![i]! * solution[j]!
    solution[i] = sum / triangle[i]![i]!
  }
  const residuals = d.map((value, row) => (row < width ? h[row]! : value))
  for (let k = width - 1; k >= 0; k--) reflect(residuals, vectors[k]!, betas[k]!, k)
  return { solution, residuals }
}

/**
 * Returns the row sums of squares of R^-1. They are refined, which costs a solution for each column, if that is cheap
 * or if the columns are nearly dependent.
 */
function inverseDiagonal(columns: readonly DesignColumn[], factors: Factors): number[] {
  const { triangle } = factors
  const pivots = triangle.map((column) => Math.abs(column.at(-1)!))
  const cheap = columns[0]!.high.length * columns.length ** 2 < 200_000
  if (cheap || Math.max(...pivots) > 1000 * Math.min(...pivots)) {
    const zeros = columns[0]!.high.map(() => 0)
    return columns.map((_, column) => {
      const unit = columns.map((_, other) => (other === column ? -1 : 0))
      return refined(columns, factors, zeros, unit).solution[column]!
    })
  }
  const sums = triangle.map(() => 0)
  for (let column = 0; column < triangle.length; column++) {
    const inverse = triangle.map(() => 0)
    for (let i = column; i >= 0; i--) {
      let sum = i === column ? 1 : 0
      for (let j = i + 1; j <= column; j++) sum -= triangle[j]![i]! * inverse[j]!
      inverse[i] = sum / triangle[i]![i]!
      sums[i]! += inverse[i]! ** 2
    }
  }
  return sums
}
