/**
 * Solves least squares from the products of columns (the normal equations), with columns scaled to one length, so that
 * the matrix holds correlations. It takes Cholesky's factors.
 */

/** The least share of its variance that a column may keep beside the others. */
const LEAST_OWN = 1e-9

export interface Normal {
  /** Solves for one right side. */
  solve(right: readonly number[]): number[]
  inverse: number[][]
}

/** Returns the solver of a symmetric matrix with ones on its diagonal; null if a column depends on others. */
export function normalOf(matrix: readonly (readonly number[])[]): Normal | null {
  const width = matrix.length
  const lower = matrix.map((): number[] => Array.from({ length: width }, () => 0))
  for (let column = 0; column < width; column++) {
    for (let row = column; row < width; row++) {
      let rest = matrix[row]![column]!
      for (let k = 0; k < column; k++) rest -= lower[row]![k]! * lower[column]![k]!
      if (row > column) lower[row]![column] = rest / lower[column]![column]!
      else if (rest > LEAST_OWN) lower[row]![column] = Math.sqrt(rest)
      else return null
    }
  }
  const solve = (right: readonly number[]): number[] => {
    const found = [...right]
    for (let row = 0; row < width; row++) {
      for (let k = 0; k < row; k++) found[row]! -= lower[row]![k]! * found[k]!
      found[row]! /= lower[row]![row]!
    }
    for (let row = width - 1; row >= 0; row--) {
      for (let k = row + 1; k < width; k++) found[row]! -= lower[k]![row]! * found[k]!
      found[row]! /= lower[row]![row]!
    }
    return found
  }
  return { solve, inverse: matrix.map((_, at) => solve(matrix.map((__, row) => (row === at ? 1 : 0)))) }
}

export const product = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, index) => sum + value * b[index]!, 0)
