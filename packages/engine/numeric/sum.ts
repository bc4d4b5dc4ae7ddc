/**
 * Computes exact sums: the nearest double to the true sum of doubles, whatever their order. Source: J. R. Shewchuk,
 * Adaptive precision floating-point arithmetic (1997). The rounding of the partial sums follows Python's math.fsum.
 */

/**
 * Returns the correctly rounded sum; a zero sum is 0, never -0. It is infinite if a value is infinite or the running
 * sum overflows, and NaN if the values contain NaN or both infinities.
 */
export function exactSum(values: Iterable<number>): number {
  const partials: number[] = []
  let special = 0
  for (let value of values) {
    let kept = 0
    for (let other of partials) {
      if (Math.abs(value) < Math.abs(other)) [value, other] = [other, value]
      const high = value + other
      const low = other - (high - value)
      if (low !== 0) partials[kept++] = low
      value = high
    }
    partials.length = kept
    if (Number.isFinite(value)) partials.push(value)
    else {
      special += value
      partials.length = 0
    }
  }
  return special === 0 ? rounded(partials) + 0 : special
}

function rounded(partials: number[]): number {
  let index = partials.length - 1
  if (index < 0) return 0
  let high = partials[index]!
  let low = 0
  while (index > 0) {
    const before = high
    const next = partials[--index]!
    high = before + next
    low = next - (high - before)
    if (low !== 0) break
  }
  // A sum half-way between two doubles rounds by the sign of the next partial sum.
  if (index > 0 && low !== 0 && low < 0 === partials[index - 1]! < 0) {
    const doubled = low * 2
    const candidate = high + doubled
    if (candidate - high === doubled) return candidate
  }
  return high
}
