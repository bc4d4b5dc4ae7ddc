/**
 * Reads values that databases write as text, without rounding. Dates are ISO ("2024-01-31", also with " BC", "infinity");
 * times have up to six decimals. Throws RangeError for values that the engine cannot hold.
 */
import {
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBIntervalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeTZValue,
  DuckDBTimeValue,
  DuckDBUUIDValue,
  type DuckDBValue,
} from '@duckdb/node-api'

export type FromText = (text: string) => DuckDBValue

const DAY_MS = 86_400_000
const DAY_MICROS = 86_400_000_000n

export function decimalReader(width: number, scale: number): (text: string) => DuckDBDecimalValue {
  const most = 10n ** BigInt(width)
  return (text) => {
    const point = text.indexOf('.')
    const fraction = point < 0 ? '' : text.slice(point + 1)
    const kept = fraction.length > scale ? fraction.replace(/0+$/, '') : fraction
    const whole = point < 0 ? text : text.slice(0, point)
    if (kept.length > scale || !/^[+-]?\d*$/.test(whole)) throw new RangeError(text)
    const value = BigInt(whole + kept.padEnd(scale, '0'))
    if (value >= most || value <= -most) throw new RangeError(text)
    return new DuckDBDecimalValue(value, width, scale)
  }
}

/** Returns the number of two digits at an index, else NaN. */
function two(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48
  const ones = text.charCodeAt(at + 1) - 48
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

/** Returns the days since 1970 of "YYYY-MM-DD", with years of more digits, and " BC" at the end. */
function daysOf(text: string): number {
  let year: number
  let at: number
  if (text.charCodeAt(4) === 45) {
    year = two(text, 0) * 100 + two(text, 2)
    at = 5
  } else {
    at = text.indexOf('-', 1) + 1
    year = Number(text.slice(0, at - 1))
  }
  if (text.endsWith(' BC')) year = 1 - year
  const days = daysFrom(year, two(text, at), two(text, at + 3))
  if (!Number.isInteger(days)) throw new RangeError(text)
  return days
}

const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/**
 * Returns the days since 1970 in the proleptic Gregorian calendar; NaN for a day that does not exist. It works for any
 * year, unlike Date, which ends in 275760. The algorithm is Howard Hinnant's days_from_civil.
 */
export function daysFrom(year: number, month: number, day: number): number {
  const length = LENGTHS[month - 1]! + (month === 2 && leaps(year) ? 1 : 0)
  if (!(day >= 1 && day <= length)) return Number.NaN
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const ofEra = y - era * 400
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468
}

function leaps(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}

/** The engine's infinite dates. */
const DAYS_MOST = 0x7fff_ffff

/** Returns the days since 1970 of a date. */
export function daysFromText(text: string): number {
  if (text === 'infinity') return DAYS_MOST
  if (text === '-infinity') return -DAYS_MOST
  const days = daysOf(text)
  if (days >= DAYS_MOST || days <= -DAYS_MOST) throw new RangeError(text)
  return days
}

export function dateFromText(text: string): DuckDBDateValue {
  return new DuckDBDateValue(daysFromText(text))
}

/** Returns the microseconds of "HH:MM:SS[.ffffff]" from an index on. */
function microsOfDay(text: string, at: number): number {
  const seconds = two(text, at) * 3600 + two(text, at + 3) * 60 + two(text, at + 6)
  if (text.charCodeAt(at + 8) !== 46) return seconds * 1_000_000
  let micros = 0
  let unit = 100_000
  for (let index = at + 9; unit >= 1; index += 1, unit /= 10) {
    const digit = text.charCodeAt(index) - 48
    if (!(digit >= 0 && digit <= 9)) break
    micros += digit * unit
  }
  return seconds * 1_000_000 + micros
}

/**
 * Returns the seconds east of Greenwich of "+02", "-03:30", "+00:19:32" or "Z" at the end of a time; 0 without one.
 */
function offsetOf(text: string, from: number): number {
  const plus = text.indexOf('+', from)
  const at = plus < 0 ? text.indexOf('-', from) : plus
  if (at < 0) return 0
  const seconds =
    two(text, at + 1) * 3600 +
    (text.charCodeAt(at + 3) === 58 ? two(text, at + 4) * 60 : 0) +
    (text.charCodeAt(at + 6) === 58 ? two(text, at + 7) : 0)
  return plus < 0 ? -seconds : seconds
}

/** The engine's infinite timestamps. */
const MICROS_MOST = 2n ** 63n - 1n

/** Returns the microseconds since 1970 of a time with or without a zone, as a number if that is exact. */
export function microsFromText(text: string, zoned: boolean): number | bigint {
  if (text === 'infinity') return MICROS_MOST
  if (text === '-infinity') return -MICROS_MOST
  const space = text.charCodeAt(10) === 32 || text.charCodeAt(10) === 84 ? 10 : text.search(/[ T]/)
  const end = text.endsWith(' BC') ? ' BC' : ''
  const days = daysOf(text.slice(0, space) + end)
  const micros = microsOfDay(text, space + 1)
  const shift = zoned ? offsetOf(text, space + 9) * 1_000_000 : 0
  const whole = days * DAY_MS * 1000 + micros - shift
  if (Number.isSafeInteger(whole)) return whole
  const large = BigInt(days) * DAY_MICROS + BigInt(micros - shift)
  if (large >= MICROS_MOST || large <= -MICROS_MOST) throw new RangeError(text)
  return large
}

export function timestampFromText(text: string): DuckDBTimestampValue {
  return new DuckDBTimestampValue(BigInt(microsFromText(text, false)))
}

export function timestampTzFromText(text: string): DuckDBTimestampTZValue {
  return new DuckDBTimestampTZValue(BigInt(microsFromText(text, true)))
}

export function timeFromText(text: string): DuckDBTimeValue {
  return new DuckDBTimeValue(BigInt(microsOfDay(text, 0)))
}

export function timeTzFromText(text: string): DuckDBTimeTZValue {
  return DuckDBTimeTZValue.fromMicrosAndOffset(BigInt(microsOfDay(text, 0)), offsetOf(text, 8))
}

const INTERVAL =
  /^P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)W)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d+))?S)?)?$/

/** Reads an interval of ISO 8601 with a sign at each part, as PostgreSQL writes it: "P1Y2M-3DT4H5M-6.789S". */
export function intervalFromText(text: string): DuckDBIntervalValue {
  const match = INTERVAL.exec(text)
  if (!match) throw new RangeError(text)
  const [years, months, weeks, days, hours, minutes] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  const fraction = BigInt((match[8] ?? '0') + (match[9] ?? '').padEnd(6, '0').slice(0, 6))
  const micros = BigInt(hours * 3600 + minutes * 60) * 1_000_000n + (match[7] === '-' ? -fraction : fraction)
  return new DuckDBIntervalValue(years * 12 + months, weeks * 7 + days, micros)
}

export function uuidFromText(text: string): DuckDBUUIDValue {
  return DuckDBUUIDValue.fromUint128(BigInt(`0x${text.replaceAll('-', '')}`))
}

/** Reads bytes such as "\x0123". */
export function bytesFromHex(text: string): DuckDBBlobValue {
  return new DuckDBBlobValue(Buffer.from(text.slice(2), 'hex'))
}

export function bigintFromText(text: string): bigint {
  return BigInt(text)
}

/** Reads a number, also "Infinity", "-Infinity" and "NaN". Throws RangeError for digits beyond the largest double. */
export function numberFromText(text: string): number {
  const value = Number(text)
  if (Math.abs(value) === Number.POSITIVE_INFINITY && /\d/.test(text)) throw new RangeError(text)
  return value
}
