/** The engine of Assay itself. */
import { type Dialect, doubled, exponential, lagged, plainText } from './dialect.ts'

/** `time` of a step is a timestamp of the metric's zone. */
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
  once: '',
}
