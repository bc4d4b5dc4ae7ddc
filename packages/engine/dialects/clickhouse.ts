/** ClickHouse. */
import { type Dialect, escapedText, exponential } from './dialect.ts'

export const CLICKHOUSE: Dialect = {
  // A backslash is an escape in names, too.
  identifier: (name) => `\`${name.replace(/[\\`]/g, '\\$&')}\``,
  text: escapedText,
  // Without a point or a fraction it would be read as a whole number where it is one.
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
  once: '',
}
