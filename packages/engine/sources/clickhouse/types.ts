/** Maps ClickHouse's types to the engine's, and says how each is selected. */
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
import { CLICKHOUSE } from '../../dialects/clickhouse.ts'
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

/** Matches a type around another one, such as "Nullable(Decimal(10, 2))". */
const WRAPPED = /^(?:Nullable\(|LowCardinality\(|SimpleAggregateFunction\(\w+, )(.*)\)$/s
const SHAPES =
  /^(?:Map|Tuple|Nested|JSON|Object|Variant|Dynamic|Point|Ring|LineString|MultiLineString|Polygon|MultiPolygon)\b/
const DECIMALS = /^Decimal(?:\d+)?\((?:(\d+), ?)?(\d+)\)$/
/** The most digits of the engine's decimals. */
const DIGITS_MOST = 38

/** A column, with the SQL that makes a Parquet file hold its values without loss. */
export interface Asked extends RemoteColumn {
  sql: string
}

interface Form {
  type: DuckDBType | 'json' | 'wide decimal'
  /** Returns SQL of ClickHouse for a value, in a type that each of its versions writes to Parquet in the same way. */
  ask: (value: string) => string
}

const asIs = (value: string): string => value
const asText = (value: string): string => `CAST(${value} AS Nullable(String))`
const asJson = (value: string): string => `if(isNull(${value}), NULL, toJSONString(${value}))`

/** Types that Parquet does not have, or that some versions write as numbers. */
const ASKED: Record<string, (value: string) => string> = {
  Int128: asText,
  UInt128: asText,
  UUID: asText,
  BFloat16: (value) => `toFloat32(${value})`,
  Date: (value) => `toDate32(${value})`,
}

/**
 * Returns the column for a type as ClickHouse writes it. Types without an equivalent become JSON if they are nested,
 * else text.
 */
export function columnOf(name: string, written: string): Asked {
  const { type, ask } = formOf(written, 0)
  const sql = ask(CLICKHOUSE.identifier(name))
  if (type === 'json') return { name, sql, type: VARCHAR, declared: 'json' }
  if (type === 'wide decimal') return { name, sql, type: VARCHAR, numeric: true }
  return { name, sql, type }
}

/** Returns the form of a type. `depth`: the number of arrays around it. */
function formOf(written: string, depth: number): Form {
  const inner = WRAPPED.exec(written)?.[1]
  if (inner !== undefined) return formOf(inner, depth)
  const simple = SIMPLE[written]
  if (simple) return { type: simple, ask: ASKED[written] ?? asIs }
  if (/^DateTime(64)?(\(|$)/.test(written))
    return { type: TIMESTAMPTZ, ask: (value) => `toDateTime64(${value}, 6)` }
  const decimal = DECIMALS.exec(written)
  if (decimal) {
    const width = Number(decimal[1] ?? DIGITS_MOST)
    if (width > DIGITS_MOST) return { type: 'wide decimal', ask: asText }
    return { type: DECIMAL(width, Number(decimal[2])), ask: asIs }
  }
  const item = /^Array\((.*)\)$/s.exec(written)?.[1]
  if (item !== undefined) return listOf(formOf(item, depth + 1), depth)
  if (SHAPES.test(written)) return { type: 'json', ask: asJson }
  return { type: VARCHAR, ask: written === 'String' ? asIs : asText }
}

function listOf({ type, ask }: Form, depth: number): Form {
  const one = `x${depth}`
  const asked = ask(one)
  return {
    type: LIST(type === 'wide decimal' ? DOUBLE : type === 'json' ? VARCHAR : type),
    ask: (value) => (asked === one ? value : `arrayMap(${one} -> ${asked}, ${value})`),
  }
}
