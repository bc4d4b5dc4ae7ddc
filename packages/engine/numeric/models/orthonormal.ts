/**
 * Computes orthonormal columns with the same span as those of a design, by Gram and Schmidt twice (Giraud, Langou and
 * Rozloznik, Computers and Mathematics with Applications 50, 2005: twice is enough), and the inverse of the triangle
 * between them.
 */

export interface Basis {
  /** The orthonormal columns, one for each of the design. */
  q: Float64Array[]
  /** The inverse of R in X = Q R, by row. */
  inverse: number[][]
}

/** Returns the basis, or null if a column depends on those before it to working precision. */
export function orthonormal(columns: readonly (readonly number[] | Float64Array)[]): Basis | null {
  const q: Float64Array[] = []
  const triangle: number[][] = []
  for (const column of columns) {
    const rest = Float64Array.from(column)
    const whole = Math.sqrt(dot(rest, rest))
    const coefficients = q.map(() => 0)
    for (let round = 0; round < 2; round++) {
      for (const [index, unit] of q.entries()) {
        const part = dot(unit, rest)
        coefficients[index]! += part
        for (let row = 0; row < rest.length; row++) rest[row]! -= part * unit[row]!
      }
    }
    const size = Math.sqrt(dot(rest, rest))
    if (!(size > 1e-11 * whole)) return null
    for (let row = 0; row < rest.length; row++) rest[row]! /= size
    q.push(rest)
    triangle.push([...coefficients, size])
  }
  return { q, inverse: inverted(triangle) }
}

/** Returns the inverse of an upper triangle that is given by columns. */
function inverted(triangle: readonly (readonly number[])[]): number[][] {
  const inverse = triangle.map(() => triangle.map(() => 0))
  for (let column = 0; column < triangle.length; column++) {
    for (let i = column; i >= 0; i--) {
      let sum = i === column ? 1 : 0
      for (let j = i + 1; j <= column; j++) sum -= triangle[j]![i]! * inverse[j]![column]!
      inverse[i]![column] = sum / triangle[i]![i]!
    }
  }
  return inverse
}

export function dot(a: Float64Array, b: Float64Array | readonly number[]): number {
  let sum = 0
  let rest = 0
  for (let row = 0; row < a.length; row++) {
    const term = a[row]! * b[row]! - rest
    const next = sum + term
    rest = next - sum - term
    sum = next
  }
  return sum
}

/** Returns the diagonal of R^-1 M R^-T for a symmetric M. */
export function sandwichDiagonal(
  inverse: readonly (readonly number[])[],
  middle: readonly (readonly number[])[],
): number[] {
  return inverse.map((row) => {
    let sum = 0
    for (const [i, left] of row.entries()) {
      for (const [j, right] of row.entries()) sum += left * middle[i]![j]! * right
    }
    return sum
  })
}

/** Returns the sums of products of a basis' columns, each row with its weight. */
export function weightedProducts(q: readonly Float64Array[], weights: Float64Array): number[][] {
  const products = q.map(() => q.map(() => 0))
  for (const [i, left] of q.entries()) {
    const weighted = left.map((value, row) => value * weights[row]!)
    for (let j = i; j < q.length; j++) {
      const value = dot(weighted, q[j]!)
      products[i]![j] = value
      products[j]![i] = value
    }
  }
  return products
}

/** Returns the leverage of each row: the diagonal of Q Q'. */
export function leverages(q: readonly Float64Array[]): Float64Array {
  const sums = new Float64Array(q[0]!.length)
  for (const column of q) {
    for (let row = 0; row < sums.length; row++) sums[row]! += column[row]! ** 2
  }
  return sums
}
