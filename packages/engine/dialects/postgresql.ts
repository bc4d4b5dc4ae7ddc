/** The dialect of PostgreSQL. It raises an error if an operation on doubles overflows or underflows. */
import { type Dialect, doubled, exponential, lagged, plainText } from './dialect.ts'
import { inParts } from './phrases.ts'

export const POSTGRESQL: Dialect = {
  identifier: doubled,
  text: plainText,
  number: (value) => `'${exponential(value)}'::double precision`,
  // The session has the metric's zone, so a timestamp with a zone is cut in it and one without is taken as it stands.
  step: (time, grain) =>
    grain === 'hour'
      ? `cast(date_trunc('hour', ${time}) as timestamp)`
      : `cast(date_trunc('${grain}', ${time}) as date)`,
  double: (value) => `cast(${value} as double precision)`,
  finite: (value) =>
    `coalesce(${value} > '-Infinity'::double precision and ${value} < 'Infinity'::double precision, false)`,
  whole: (value) => `cast(trunc(${value}) as bigint)`,
  bytes: (value) => `(cast(${value} as text) collate "C")`,
  // A cast would remove the trailing blanks of a char(n).
  shown: (value) => `case when ${value} is not null then concat(${value}) end`,
  previous: lagged,
  digits: (value) => `cast(sum(${value}) as text)`,
  broad: (value) => `cast(sum(${value}) as text)`,
  wide: (value) => value,
  once: 'offset 0',
  strict: true,
  word: (value) => `((case when ${value} is not null then concat(${value}) end) collate "C")`,
  column: (value) => value,
  start: (value, length) => `left(${value}, ${length})`,
  written: (value) => `cast(${value} as text)`,
  integer: (value) => `cast(${value} as bigint)`,
  // PostgreSQL raises an error for a division by zero.
  over: (left, right) => `(${left} / nullif(${right}, 0))`,
  floor: (value) => `floor(${value})`,
  power: (base, exponent) => `power(${base}, ${exponent})`,
  sum: (value) => `sum(${value})`,
  exact: (value, scale) => inParts(value, scale, POSTGRESQL, (parts) => `concat(${parts.join(", ' ', ")})`),
  quantile: (value, share) => `percentile_cont(${share}) within group (order by ${value})`,
  same: (left, right) => `(${left} is not distinct from ${right})`,
  day: (text) => `date '${text}'`,
  local: (value, zone) => `(${value} at time zone ${plainText(zone)})`,
  minutes: (value) => `cast(60 * extract(hour from ${value}) + extract(minute from ${value}) as bigint)`,
  micros: (value) => `cast(extract(epoch from ${value}) * 1000000 as bigint)`,
}
