/** ClickHouse's types, as it writes them in JSON, as the engine's. A type that is not here comes as text, or as JSON. */
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DECIMAL,
  DOUBLE,
  type DuckDBType,
  type DuckDBValue,
  FLOAT,
  HUGEINT,
  INTEGER,
  LIST,
  listValue,
  SMALLINT,
  TIMESTAMPTZ,
  TINYINT,
  UBIGINT,
  UHUGEINT,
  UINTEGER,
  USMALLINT,
  UTINYINT,
  UUID,
  VARCHAR,
} from '@duckdb/node-api'
import type { RemoteColumn } from './kind.ts'
import { LooseNumeric } from './loose-values.ts'
import * as values from './text-values.ts'

/** What JSON gives; null is taken out before. */
export type Raw = string | number | boolean | object

export interface Column extends RemoteColumn {
  read(value: Raw): DuckDBValue
}

type Mapped = Omit<Column, 'name'>

const text = (value: Raw): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))
const number = (value: Raw): number => {
  const word = text(value)
  if (/nan$/i.test(word)) return Number.NaN
  if (/inf$/i.test(word)) return word.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return Number(word)
}
const big = (value: Raw): bigint => BigInt(text(value))
const map = (type: DuckDBType, read: Column['read']): Mapped => ({ type, read })

const SIMPLE: Record<string, Mapped> = {
  Bool: map(BOOLEAN, (value) => value === true || value === 'true'),
  Int8: map(TINYINT, number),
  Int16: map(SMALLINT, number),
  Int32: map(INTEGER, number),
  Int64: map(BIGINT, big),
  Int128: map(HUGEINT, big),
  UInt8: map(UTINYINT, number),
  UInt16: map(USMALLINT, number),
  UInt32: map(UINTEGER, number),
  UInt64: map(UBIGINT, big),
  UInt128: map(UHUGEINT, big),
  BFloat16: map(FLOAT, number),
  Float32: map(FLOAT, number),
  Float64: map(DOUBLE, number),
  UUID: map(UUID, (value) => values.uuidFromText(text(value))),
  Date: map(DATE, (value) => values.dateFromText(text(value))),
  Date32: map(DATE, (value) => values.dateFromText(text(value))),
}

/** "Nullable(Decimal(10, 2))" */
const WRAPPED = /^(?:Nullable\(|LowCardinality\(|SimpleAggregateFunction\(\w+, )(.*)\)$/s
const SHAPES =
  /^(?:Map|Tuple|Nested|JSON|Object|Variant|Dynamic|Point|Ring|LineString|MultiLineString|Polygon|MultiPolygon)\b/
const DECIMALS = /^Decimal(?:\d+)?\((?:(\d+), ?)?(\d+)\)$/

export function mapType(name: string, written: string): Column {
  return { name, ...mapped(written) }
}

function mapped(written: string): Mapped {
  const inner = WRAPPED.exec(written)?.[1]
  if (inner !== undefined) return mapped(inner)
  const simple = SIMPLE[written]
  if (simple) return simple
  if (/^DateTime(64)?(\(|$)/.test(written))
    return map(TIMESTAMPTZ, (value) => values.timestampTzFromText(text(value)))
  const decimal = DECIMALS.exec(written)
  if (decimal) return mapDecimal(Number(decimal[1] ?? 38), Number(decimal[2]))
  const item = /^Array\((.*)\)$/s.exec(written)?.[1]
  if (item !== undefined) return mapArray(mapped(item))
  if (SHAPES.test(written)) return { ...map(VARCHAR, (value) => JSON.stringify(value)), declared: 'json' }
  return map(VARCHAR, text)
}

function mapDecimal(width: number, scale: number): Mapped {
  if (width <= 38) {
    const read = values.decimalReader(width, scale)
    return map(DECIMAL(width, scale), (value) => read(text(value)))
  }
  const loose = new LooseNumeric()
  return { ...map(VARCHAR, (value) => loose.note(text(value))), settle: () => loose.settled() }
}

function mapArray({ type, read, settle }: Mapped): Mapped {
  // What is settled after its values cannot be within a list.
  const item = settle ? map(DOUBLE, number) : { type, read }
  return map(LIST(item.type), (value) => {
    if (!Array.isArray(value)) throw new RangeError(text(value))
    return listValue(value.map((one: Raw | null) => (one === null ? null : item.read(one))))
  })
}
