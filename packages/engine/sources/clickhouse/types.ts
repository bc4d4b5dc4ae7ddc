/** ClickHouse's types as the engine's, for values that come as JSON. */
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DECIMAL,
  DOUBLE,
  type DuckDBType,
  FLOAT,
  HUGEINT,
  INTEGER,
  LIST,
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
import type { RemoteColumn } from '../kind.ts'

const SIMPLE: Record<string, DuckDBType> = {
  Bool: BOOLEAN,
  Int8: TINYINT,
  Int16: SMALLINT,
  Int32: INTEGER,
  Int64: BIGINT,
  Int128: HUGEINT,
  UInt8: UTINYINT,
  UInt16: USMALLINT,
  UInt32: UINTEGER,
  UInt64: UBIGINT,
  UInt128: UHUGEINT,
  BFloat16: FLOAT,
  Float32: FLOAT,
  Float64: DOUBLE,
  UUID,
  Date: DATE,
  Date32: DATE,
}

/** "Nullable(Decimal(10, 2))" */
const WRAPPED = /^(?:Nullable\(|LowCardinality\(|SimpleAggregateFunction\(\w+, )(.*)\)$/s
const SHAPES =
  /^(?:Map|Tuple|Nested|JSON|Object|Variant|Dynamic|Point|Ring|LineString|MultiLineString|Polygon|MultiPolygon)\b/
const DECIMALS = /^Decimal(?:\d+)?\((?:(\d+), ?)?(\d+)\)$/
/** Digits of the engine's largest decimal. */
const DIGITS_MOST = 38

/** The column for a type as ClickHouse writes it. Types without an equivalent become JSON if they are nested, else text. */
export function columnOf(name: string, written: string): RemoteColumn {
  const type = typeOf(written)
  if (type === 'json') return { name, type: VARCHAR, declared: 'json' }
  if (type === 'wide decimal') return { name, type: VARCHAR, numeric: true }
  return { name, type }
}

function typeOf(written: string): DuckDBType | 'json' | 'wide decimal' {
  const inner = WRAPPED.exec(written)?.[1]
  if (inner !== undefined) return typeOf(inner)
  const simple = SIMPLE[written]
  if (simple) return simple
  if (/^DateTime(64)?(\(|$)/.test(written)) return TIMESTAMPTZ
  const decimal = DECIMALS.exec(written)
  if (decimal) {
    const width = Number(decimal[1] ?? DIGITS_MOST)
    return width <= DIGITS_MOST ? DECIMAL(width, Number(decimal[2])) : 'wide decimal'
  }
  const item = /^Array\((.*)\)$/s.exec(written)?.[1]
  if (item !== undefined) return listOf(typeOf(item))
  return SHAPES.test(written) ? 'json' : VARCHAR
}

function listOf(item: ReturnType<typeof typeOf>): DuckDBType {
  return LIST(item === 'wide decimal' ? DOUBLE : item === 'json' ? VARCHAR : item)
}
