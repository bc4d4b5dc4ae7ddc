/** The dialect of SQLite. A column holds values of any type, so a text is never taken as a number. */
import { type Dialect, doubled, exponential, lagged, plainText } from './dialect.ts'
import { inParts } from './phrases.ts'

export const SQLITE: Dialect = {
  identifier: doubled,
  text: plainText,
  number: (value) => exponential(value).replace(/^(-?\d+)e/, '$1.0e'),
  step: (time, grain) =>
    ({
      hour: `strftime('%Y-%m-%d %H:00:00', ${time})`,
      day: `date(${time})`,
      week: `date(${time}, '-6 days', 'weekday 1')`,
      month: `date(${time}, 'start of month')`,
      quarter: `date(${time}, 'start of month', '-' || ((cast(strftime('%m', ${time}) as integer) - 1) % 3) || ' months')`,
      year: `date(${time}, 'start of year')`,
    })[grain],
  double: (value) => `case when typeof(${value}) in ('integer', 'real') then cast(${value} as real) end`,
  finite: (value) => `coalesce(abs(${value}) < 9e999, 0)`,
  whole: (value) => `cast(${value} as integer)`,
  bytes: (value) => `cast(${value} as blob)`,
  shown: (value) => `cast(${value} as text)`,
  previous: lagged,
  digits: (value) => `cast(sum(${value}) as text)`,
  broad: (value) => `(cast(sum(${value} >> 30) as text) || ' ' || cast(sum(${value} & 1073741823) as text))`,
  wide: (value) => value,
  once: 'limit -1',
  strict: false,
  // A concatenated value loses the collation of its column.
  word: (value) => `(cast(${value} as text) || '')`,
  column: (value) => value,
  start: (value, length) => `substr(${value}, 1, ${length})`,
  written: (value) => `cast(${value} as text)`,
  integer: (value) => `cast(${value} as integer)`,
  over: (left, right) => `(${left} / ${right})`,
  floor: (value) => `floor(${value})`,
  power: (base, exponent) => `pow(${base}, ${exponent})`,
  sum: (value) => `sum(${value})`,
  exact: (value, scale) => inParts(value, scale, SQLITE, (parts) => parts.join(" || ' ' || ")),
  quantile: null,
  same: (left, right) => `(${left} is ${right})`,
  day: (text) => `'${text}'`,
  local: () => null,
  minutes: (value) =>
    `(60 * cast(strftime('%H', ${value}) as integer) + cast(strftime('%M', ${value}) as integer))`,
  micros: (value) =>
    `(cast(strftime('%s', ${value}) as integer) * 1000000 + cast(round((strftime('%f', ${value}) - cast(strftime('%S', ${value}) as integer)) * 1000) as integer) * 1000)`,
}
