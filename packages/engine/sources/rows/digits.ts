/** Numbers that a database writes in digits, read where they lie: no text is made of those that are plain. */

import { daysFrom } from './text-values.ts'

const MINUS = 45
const POINT = 46
const ZERO = 48

/** All digits as one number, whatever point is among them. NaN for anything but digits and one point behind the first. */
function digitsFrom(bytes: Uint8Array, first: number, end: number): number {
  let sum = 0
  let pointed = false
  for (let at = first; at < end; at += 1) {
    const digit = bytes[at]! - ZERO
    if (digit >= 0 && digit <= 9) sum = 10 * sum + digit
    else if (bytes[at] === POINT && !pointed && at > first) pointed = true
    else return Number.NaN
  }
  return sum
}

function digitsBehind(bytes: Uint8Array, first: number, end: number): number {
  for (let at = end - 1; at >= first; at -= 1) if (bytes[at] === POINT) return end - at - 1
  return 0
}

/**
 * Of "-12.3" between two places the whole number of units of a scale: -1230 at 2. NaN for what is not plain: more digits
 * than a double holds, more behind the point than the scale has, anything but digits and a point between them.
 */
export function scaledFrom(bytes: Uint8Array, from: number, end: number, scale: number): number {
  const negative = bytes[from] === MINUS
  const first = negative ? from + 1 : from
  let sum = digitsFrom(bytes, first, end)
  const behind = digitsBehind(bytes, first, end)
  if (first === end || behind > scale) return Number.NaN
  for (let missing = scale - behind; missing > 0; missing -= 1) sum *= 10
  if (!(sum <= Number.MAX_SAFE_INTEGER)) return Number.NaN
  return negative ? -sum : sum
}

/** Powers of ten that a double holds. */
const POWERS = Array.from({ length: 23 }, (_, power) => 10 ** power)

/** Of "-0.125" between two places the double. NaN for what is not plain, also where it has an exponent or many digits. */
export function doubleFrom(bytes: Uint8Array, from: number, end: number): number {
  const negative = bytes[from] === MINUS
  const first = negative ? from + 1 : from
  const sum = digitsFrom(bytes, first, end)
  const behind = digitsBehind(bytes, first, end)
  if (first === end || behind >= POWERS.length || !(sum <= Number.MAX_SAFE_INTEGER)) return Number.NaN
  // Both are exact, so that the quotient is rounded once, as it is where the text is read.
  const size = sum / POWERS[behind]!
  return negative ? -size : size
}

/** Of "2024-01-31" the days since 1970. NaN for what is not plain. */
export function daysOfDate(bytes: Uint8Array, from: number, end: number): number {
  if (end - from !== 10 || bytes[from + 4] !== MINUS || bytes[from + 7] !== MINUS) return Number.NaN
  const year = 100 * two(bytes, from) + two(bytes, from + 2)
  return daysFrom(year, two(bytes, from + 5), two(bytes, from + 8))
}

const T = 84
const Z = 90
const COLON = 58

/**
 * Of "2024-01-31T10:00:00.123Z" the microseconds since 1970; what is less is cut off. NaN for what is not plain, also from the
 * year 2255 on, where numbers are not exact.
 */
export function microsOfMoment(bytes: Uint8Array, from: number, end: number): number {
  const days = daysOfDate(bytes, from, from + 10)
  const clock = from + 11
  const last = end - 1
  if (end - from < 20 || bytes[clock - 1] !== T || bytes[last] !== Z) return Number.NaN
  if (bytes[clock + 2] !== COLON || bytes[clock + 5] !== COLON) return Number.NaN
  const seconds = 3600 * two(bytes, clock) + 60 * two(bytes, clock + 3) + two(bytes, clock + 6)
  let micros = 0
  if (last !== clock + 8) {
    if (bytes[clock + 8] !== POINT) return Number.NaN
    let unit = 100_000
    for (let at = clock + 9; at < last; at += 1, unit /= 10) {
      const digit = bytes[at]! - ZERO
      if (!(digit >= 0 && digit <= 9)) return Number.NaN
      if (unit >= 1) micros += digit * unit
    }
  }
  const whole = (days * 86_400 + seconds) * 1_000_000 + micros
  return Number.isSafeInteger(whole) ? whole : Number.NaN
}

/** Two digits; NaN where they are none. */
function two(bytes: Uint8Array, at: number): number {
  const tens = bytes[at]! - ZERO
  const ones = bytes[at + 1]! - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? 10 * tens + ones : Number.NaN
}
