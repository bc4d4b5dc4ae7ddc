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
  const orthogonal: Float64Array[] = []
  const left = new Float64Array(values)
  const takeOut = (column: readonly number[]): void => {
    const rest = new Float64Array(column)
    for (const other of orthogonal) subtract(rest, other, dot(rest, other))
    const size = Math.sqrt(product(rest, rest))
    if (!(size > 1e-9 * Math.sqrt(values.length))) return
    for (let row = 0; row < rest.length; row++) rest[row] = rest[row]! / size
    orthogonal.push(rest)
    subtract(left, rest, product(left, rest))
  }
  for (const column of base) takeOut(column)
  const beside = left.slice()
  for (const column of more) takeOut(column)
  return { beside, left }
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
