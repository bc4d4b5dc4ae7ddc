/** The dialect of MySQL and MariaDB. Doubles there are neither infinite nor NaN. */
import { backticked, type Dialect, escapedText, exponential, lagged } from './dialect.ts'
import { inParts } from './phrases.ts'

const UTC = /^(?:etc\/)?(?:utc|gmt)$/i

export const MYSQL: Dialect = {
  identifier: backticked,
  text: escapedText,
  number: (value) => (value < 0 ? `(${exponential(value)})` : exponential(value)),
  step: (time, grain) =>
    ({
      hour: `cast(date_format(${time}, '%Y-%m-%d %H:00:00') as datetime)`,
      day: `date(${time})`,
      week: `date(date_sub(${time}, interval weekday(${time}) day))`,
      month: `cast(date_format(${time}, '%Y-%m-01') as date)`,
      quarter: `cast(concat(year(${time}), '-', lpad(3 * quarter(${time}) - 2, 2, '0'), '-01') as date)`,
      year: `cast(concat(year(${time}), '-01-01') as date)`,
    })[grain],
  double: (value) => `(${value} + 0e0)`,
  finite: (value) => `(${value} is not null)`,
  whole: (value) => `cast(truncate(${value}, 0) as signed)`,
  bytes: (value) => `cast(${value} as binary)`,
  shown: (value) => `cast(${value} as char)`,
  previous: lagged,
  digits: (value) => `cast(sum(${value}) as char)`,
  broad: (value) => `cast(sum(${value}) as char)`,
  wide: (value) => value,
  once: '',
  strict: true,
  word: (value) => `cast(cast(${value} as char) as binary)`,
  column: (value) => value,
  start: (value, length) => `cast(left(convert(${value} using utf8mb4), ${length}) as binary)`,
  written: (value) => `cast(cast(${value} as char) as binary)`,
  integer: (value) => `cast(${value} as signed)`,
  over: (left, right) => `(${left} / ${right})`,
  floor: (value) => `floor(${value})`,
  power: (base, exponent) => `power(${base}, ${exponent})`,
  sum: (value) => `sum(${value})`,
  exact: (value, scale) => inParts(value, scale, MYSQL, (parts) => `concat(${parts.join(", ' ', ")})`),
  quantile: null,
  same: (left, right) => `(${left} <=> ${right})`,
  day: (text) => `date '${text}'`,
  // The session reads moments in UTC; the server may know no other zone.
  local: (value, zone) => (UTC.test(zone) ? value : null),
  minutes: (value) => `(60 * hour(${value}) + minute(${value}))`,
  micros: (value) => `timestampdiff(microsecond, timestamp '1970-01-01 00:00:00', ${value})`,
}
