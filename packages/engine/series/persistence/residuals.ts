/**
 * Computes ordinary least squares residuals over columns, by Gram-Schmidt. Columns that depend on earlier ones are left
 * out.
 */

/** Returns the residuals of the values from `base`, and from `base` and `more`. */
export function residualsOf(
  values: readonly number[],
  base: readonly (readonly number[])[],
  more: readonly (readonly number[])[] = [],
): { beside: Float64Array; left: Float64Array } {
  const left = new Float64Array(values)
  const orthogonal = orthogonalOf(base, values.length)
  for (const one of orthogonal) subtract(left, one, product(left, one))
  const beside = left.slice()
  for (const one of orthogonalOf(more, values.length, orthogonal)) subtract(left, one, product(left, one))
  return { beside, left }
}

/** Returns columns of length 1 at right angles to each other and to `known`, which explain the same. */
export function orthogonalOf(
  columns: readonly (readonly number[])[],
  n: number,
  known: readonly Float64Array[] = [],
): Float64Array[] {
  const found: Float64Array[] = []
  for (const column of columns) {
    const rest = new Float64Array(column)
    for (const other of known) subtract(rest, other, product(rest, other))
    for (const other of found) subtract(rest, other, product(rest, other))
    const size = Math.sqrt(product(rest, rest))
    if (!(size > 1e-9 * Math.sqrt(n))) continue
    for (let row = 0; row < rest.length; row++) rest[row] = rest[row]! / size
    found.push(rest)
  }
  return found
}

export function dot(left: ArrayLike<number>, right: ArrayLike<number>): number {
  let sum = 0
  for (let row = 0; row < left.length; row++) sum += left[row]! * right[row]!
  return sum
}

/** Does the same as `dot` for packed columns only. A series spends most of its time in this loop. */
function product(left: Float64Array, right: Float64Array): number {
  let sum = 0
  for (let row = 0; row < left.length; row++) sum += left[row]! * right[row]!
  return sum
}

function subtract(from: Float64Array, column: Float64Array, times: number): void {
  for (let row = 0; row < from.length; row++) from[row] = from[row]! - times * column[row]!
}
