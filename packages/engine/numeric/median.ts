/** Computes the median, and holds that of a known distribution. */

/** The median of the square of a normal value, which is chi-square with one degree of freedom (qchisq(0.5, 1) in R). */
export const SQUARED_NORMAL_MEDIAN = 0.4549364231195724

/** Returns the middle value, or NaN for no values. It moves values in place. */
export function median(values: Float64Array): number {
  const n = values.length
  if (n === 0) return Number.NaN
  const half = n >> 1
  const upper = nth(values, half)
  if (n % 2 === 1) return upper
  let lower = -Infinity
  for (let at = 0; at < half; at++) if (values[at]! > lower) lower = values[at]!
  return (lower + upper) / 2
}

/**
 * Returns the value that sorting would put at `place`. The values before it are no larger. It works in place, in linear
 * time (Hoare's selection).
 */
export function nth(values: Float64Array, place: number): number {
  let [low, high] = [0, values.length - 1]
  while (low < high) {
    const pivot = middleOf(values[low]!, values[(low + high) >> 1]!, values[high]!)
    let [i, j] = [low, high]
    while (i <= j) {
      while (values[i]! < pivot) i += 1
      while (values[j]! > pivot) j -= 1
      if (i > j) break
      const held = values[i]!
      values[i++] = values[j]!
      values[j--] = held
    }
    if (place <= j) high = j
    else if (place >= i) low = i
    else break
  }
  return values[place]!
}

const middleOf = (a: number, b: number, c: number): number =>
  Math.max(Math.min(a, b), Math.min(Math.max(a, b), c))
