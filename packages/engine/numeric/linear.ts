/** Solves small systems of linear equations, with the few unknowns of a test, by elimination with partial pivots. */

/** Returns x with `matrix` x = `right`, or null if the matrix has no inverse to working precision. */
export function solveLinear(
  matrix: readonly (readonly number[])[],
  right: readonly number[],
): number[] | null {
  const inverse = eliminate(matrix, [right])
  return inverse ? inverse.map((row) => row[0]!) : null
}

/** Returns the inverse, or null if there is none to working precision. */
export function inverseOf(matrix: readonly (readonly number[])[]): number[][] | null {
  return eliminate(
    matrix,
    matrix.map((_, i) => matrix.map((__, j) => (i === j ? 1 : 0))),
  )
}

/** Solves for each right side. The answer has a row for each unknown and a column for each side. */
function eliminate(
  matrix: readonly (readonly number[])[],
  sides: readonly (readonly number[])[],
): number[][] | null {
  const size = matrix.length
  const work = matrix.map((row, i) => [...row, ...sides.map((side) => side[i]!)])
  const scale = matrix.map((row) => row.reduce((most, value) => Math.max(most, Math.abs(value)), 0))
  for (let k = 0; k < size; k++) {
    let pivot = k
    for (let i = k + 1; i < size; i++) {
      if (Math.abs(work[i]![k]!) / scale[i]! > Math.abs(work[pivot]![k]!) / scale[pivot]!) pivot = i
    }
    if (!(Math.abs(work[pivot]![k]!) > 1e-13 * scale[pivot]!)) return null
    ;[work[k], work[pivot]] = [work[pivot]!, work[k]!]
    ;[scale[k], scale[pivot]] = [scale[pivot]!, scale[k]!]
    for (let i = 0; i < size; i++) {
      if (i === k) continue
      const factor = work[i]![k]! / work[k]![k]!
      if (factor === 0) continue
      for (let j = k; j < work[i]!.length; j++) work[i]![j]! -= factor * work[k]![j]!
    }
  }
  return work.map((row, i) => row.slice(size).map((value) => value / row[i]!))
}
