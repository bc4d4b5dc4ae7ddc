/** The dialect of Assay's own engine. */
import { type Dialect, doubled, exponential, lagged, plainText } from './dialect.ts'

/** The dialect. Its `step` takes a timestamp on the clock of the metric's zone. */
export const DUCKDB: Dialect = {
  identifier: doubled,
  text: plainText,
  number: (value) => `${exponential(value)}::double`,
  step: (time, grain) =>
    grain === 'hour' ? `date_trunc('hour', ${time})` : `cast(date_trunc('${grain}', ${time}) as date)`,
  double: (value) => `cast(${value} as double)`,
  finite: (value) => `coalesce(isfinite(${value}), false)`,
  whole: (value) => `cast(trunc(${value}) as bigint)`,
  bytes: (value) => value,
  shown: (value) => `cast(${value} as varchar)`,
  previous: lagged,
  digits: (value) => `cast(sum(${value}) as varchar)`,
  broad: (value) => `cast(sum(${value}) as varchar)`,
  wide: (value) => value,
  once: '',
  strict: true,
  word: (value) => `cast(${value} as varchar)`,
  column: (value) => value,
  start: (value, length) => `left(${value}, ${length})`,
  written: (value) => `cast(${value} as varchar)`,
  integer: (value) => `cast(${value} as bigint)`,
  over: (left, right) => `(${left} / ${right})`,
  floor: (value) => `floor(${value})`,
  power: (base, exponent) => `power(${base}, ${exponent})`,
  sum: (value) => `fsum(${value})`,
  exact: (value, scale) =>
    `cast(sum(cast((${value}) * ${exponential(scale)}::double as hugeint)) as varchar)`,
  quantile: null,
  same: (left, right) => `(${left} is not distinct from ${right})`,
  day: (text) => `date '${text}'`,
  local: (value, zone) => `timezone(${plainText(zone)}, ${value})`,
  minutes: (value) => `(60 * hour(${value}) + minute(${value}))`,
  micros: (value) => `epoch_us(${value})`,
}
