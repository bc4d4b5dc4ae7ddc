/** Reads numbers from the digits that a database sends, without making texts of them. */
const MINUS = 45
const POINT = 46
const ZERO = 48

/**
 * Reads a decimal number from its digits without making a text of it: "-12.3" at the scale 2 gives -1230. Returns NaN
 * for anything but digits and one point between them, for more digits than a double holds, and for more decimals than
 * the scale.
 */
export function scaledFrom(bytes: Uint8Array, from: number, end: number, scale: number): number {
  const negative = bytes[from] === MINUS
  const first = negative ? from + 1 : from
  let sum = 0
  let point = end
  for (let at = first; at < end; at += 1) {
    const digit = bytes[at]! - ZERO
    if (digit >= 0 && digit <= 9) sum = 10 * sum + digit
    else if (bytes[at] === POINT && point === end && at > first) point = at
    else return Number.NaN
  }
  const decimals = Math.max(0, end - point - 1)
  if (first === end || decimals > scale) return Number.NaN
  sum *= 10 ** (scale - decimals)
  if (!(sum <= Number.MAX_SAFE_INTEGER)) return Number.NaN
  return negative ? -sum : sum
}
