/** The dialect of ClickHouse. */
import { type Dialect, escapedText, exponential } from './dialect.ts'

export const CLICKHOUSE: Dialect = {
  // A backslash is an escape in names too.
  identifier: (name) => `\`${name.replace(/[\\`]/g, '\\$&')}\``,
  text: escapedText,
  // A literal without a point would be read as an integer.
  number: (value) => `toFloat64(${exponential(value)})`,
  step: (time, grain) =>
    ({
      hour: `toStartOfHour(${time})`,
      day: `toDate(${time})`,
      week: `toMonday(${time})`,
      month: `toStartOfMonth(${time})`,
      quarter: `toStartOfQuarter(${time})`,
      year: `toStartOfYear(${time})`,
    })[grain],
  double: (value) => `toFloat64(${value})`,
  finite: (value) => `ifNull(isFinite(${value}), false)`,
  whole: (value) => `toInt64(trunc(${value}))`,
  bytes: (value) => value,
  shown: (value) => `toString(${value})`,
  previous: (value, by) =>
    `lagInFrame(toNullable(${value})) over (order by ${by} rows between unbounded preceding and current row)`,
  digits: (value) => `toString(sum(${value}))`,
  broad: (value) => `toString(sum(toInt128(${value})))`,
  wide: (value) => `toInt128(${value})`,
  once: '',
  strict: true,
  word: (value) => `toString(${value})`,
  // An aggregate over no row is null only if its column is nullable.
  column: (value) => `toNullable(${value})`,
  start: (value, length) => `substringUTF8(${value}, 1, ${length})`,
  written: (value) => `toString(${value})`,
  integer: (value) => `toInt64(${value})`,
  over: (left, right) => `(${left} / ${right})`,
  floor: (value) => `floor(${value})`,
  power: (base, exponent) => `pow(${base}, ${exponent})`,
  sum: (value) => `sumKahan(${value})`,
  exact: (value, scale) => `toString(sum(toInt128(round((${value}) * ${exponential(scale)}))))`,
  quantile: (value, share) => `quantileExactInclusive(${share})(${value})`,
  same: (left, right) => `(${left} = ${right} or (${left} is null and ${right} is null))`,
  day: (text) => `toDate32('${text}')`,
  local: (value, zone) => `toTimeZone(${value}, ${escapedText(zone)})`,
  minutes: (value) => `(60 * toInt64(toHour(${value})) + toInt64(toMinute(${value})))`,
  micros: (value, of) =>
    ({
      date: `(86400000000 * toInt64(toDate32(${value})))`,
      moment: `toUnixTimestamp64Micro(toDateTime64(${value}, 6))`,
      clock: `(toUnixTimestamp64Micro(toDateTime64(${value}, 6)) + 1000000 * toInt64(timezoneOffset(${value})))`,
    })[of],
}
