/** Binds variables as parameters. Each declared type has one DuckDB type, so that a query means the same for all values. */

import type { Reader } from '@assay/model/reader'
import type { Variable, VariableType } from '@assay/model/template'
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  DuckDBDateValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  type DuckDBValue,
  LIST,
  listValue,
  SQLNULL,
  STRUCT,
  structValue,
  TIMESTAMP,
  TIMESTAMPTZ,
  VARCHAR,
} from '@duckdb/node-api'
import type { Period } from '../values/period.ts'
import type { Bindings, Bound } from './duckdb.ts'

const DAY_MS = 86_400_000
const SPAN = { start: DATE, end: DATE, label: VARCHAR }
const PERIOD = STRUCT({ ...SPAN, previous: STRUCT(SPAN) })

function day(text: string): DuckDBDateValue {
  return new DuckDBDateValue(Math.round(Date.parse(`${text.slice(0, 10)}T00:00:00Z`) / DAY_MS))
}

/** Returns the microseconds since 1970 of "2024-01-31T10:00:00[.ffffff][Z]". */
function micros(text: string): bigint {
  const [whole, fraction = ''] = text.replace('Z', '').split('.')
  return BigInt(Date.parse(`${whole}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6))
}

function span(period: Pick<Period, 'start' | 'end' | 'label'>): Record<string, DuckDBValue> {
  return { start: day(period.start), end: day(period.end), label: period.label }
}

function periodValue(period: Period): DuckDBValue {
  return structValue({ ...span(period), previous: structValue(span(period.previous)) })
}

/** Returns an absent period, which has all its fields, with nulls. */
function noPeriod(): DuckDBValue {
  const none = { start: null, end: null, label: null }
  return structValue({ ...none, previous: structValue(none) })
}

function scalar(type: VariableType, value: unknown): Bound {
  switch (type) {
    case 'integer':
      return { type: BIGINT, value: BigInt(value as number | string) }
    case 'number':
      return { type: DOUBLE, value: value as number }
    case 'boolean':
      return { type: BOOLEAN, value: value as boolean }
    case 'date':
      return { type: DATE, value: day(value as string) }
    case 'timestamp': {
      const text = value as string
      return text.endsWith('Z')
        ? { type: TIMESTAMPTZ, value: new DuckDBTimestampTZValue(micros(text)) }
        : { type: TIMESTAMP, value: new DuckDBTimestampValue(micros(text)) }
    }
    case 'period':
      return { type: PERIOD, value: periodValue(value as Period) }
    case 'string':
    case 'column':
    case 'file':
    case 'list':
      return { type: VARCHAR, value: value as string }
  }
}

const TYPES: Partial<Record<VariableType, DuckDBType>> = {
  integer: BIGINT,
  number: DOUBLE,
  boolean: BOOLEAN,
  date: DATE,
  timestamp: TIMESTAMP,
  period: PERIOD,
}

/** Binds a value as convertVariables or resolvePeriod returns it; null if there is none. */
export function bindVariable(variable: Pick<Variable, 'type' | 'items'>, value: unknown): Bound {
  if (variable.type === 'list') {
    const item = variable.items ?? 'string'
    if (value === null) return { type: LIST(TYPES[item] ?? VARCHAR), value: null }
    const items = (value as unknown[]).map((one) => scalar(item, one))
    return {
      type: LIST(items[0]?.type ?? TYPES[item] ?? VARCHAR),
      value: listValue(items.map((one) => one.value)),
    }
  }
  if (value === null) {
    return { type: TYPES[variable.type] ?? VARCHAR, value: variable.type === 'period' ? noPeriod() : null }
  }
  return scalar(variable.type, value)
}

/** Binds a reader, whose attributes are the fields of a struct: `$reader.region`. */
export function bindReader(reader: Reader): Bound {
  const bound = Object.entries(reader).map(([name, value]): [string, Bound] => [
    name,
    Array.isArray(value) ? { type: LIST(VARCHAR), value: listValue(value) } : plain(value),
  ])
  return {
    type: STRUCT(Object.fromEntries(bound.map(([name, { type }]) => [name, type]))),
    value: structValue(Object.fromEntries(bound.map(([name, { value }]) => [name, value]))),
  }
}

/** Returns readers without values, each with attributes of other types. */
export function sampleReaders(attributes: readonly string[]): Bound[] {
  const nothing = structValue(Object.fromEntries(attributes.map((name) => [name, null])))
  return [VARCHAR, SQLNULL, LIST(VARCHAR), DOUBLE, BOOLEAN].map((type) => ({
    type: STRUCT(Object.fromEntries(attributes.map((name) => [name, type]))),
    value: nothing,
  }))
}

/** Binds the values of a method's own statements. */
export function bindPlain(values: Record<string, string | number | boolean | null>): Bindings {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, plain(value)]))
}

function plain(value: string | number | boolean | null): Bound {
  if (typeof value === 'boolean') return { type: BOOLEAN, value }
  if (typeof value !== 'number') return { type: VARCHAR, value }
  return Number.isSafeInteger(value) ? { type: BIGINT, value: BigInt(value) } : { type: DOUBLE, value }
}
