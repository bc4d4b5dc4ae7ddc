/**
 * ClickHouse's types, as it writes them in JSON, as the engine's. Plain values are read from the bytes where they lie; the
 * others, and what is unusual of the plain ones, as JSON. A type that is not here comes as text, or as JSON.
 */
import type { Buffer } from 'node:buffer'
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
import type { RemoteColumn } from '../kind.ts'
import { type BatchColumn, decimalBytes, PackedColumn, ValueColumn } from '../rows/columns.ts'
import { daysOfDate, doubleFrom, microsOfMoment, scaledFrom } from '../rows/digits.ts'
import { LooseNumeric } from '../rows/loose-values.ts'
import { PackedText } from '../rows/packed-text.ts'
import * as values from '../rows/text-values.ts'
import { SourceError } from '../source.ts'

/** What JSON gives; null is taken out before. */
export type Raw = string | number | boolean | object

/** Puts what lies between two places into a row. False: it is not plain, and nothing was put. */
type Put = (row: number, bytes: Buffer, from: number, end: number) => boolean

/** Where the values of a column go, and how plain ones get there. */
interface Packing {
  data: BatchColumn
  /** Null: none is plain. */
  put: Put | null
  /** Plain ones stand in quotes, which are not given. */
  quoted: boolean
}

export interface Column extends RemoteColumn, Packing {
  /** Of any JSON. Throws RangeError and SyntaxError for what has no place. */
  read(value: Raw): DuckDBValue
}

type Pack = (rows: number) => Packing
type Mapped = Omit<Column, 'name' | keyof Packing> & { pack: Pack }

const text = (value: Raw): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))
const number = (value: Raw): number => {
  if (typeof value === 'number') return value
  const word = text(value)
  if (/nan$/i.test(word)) return Number.NaN
  if (/inf$/i.test(word)) return word.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return Number(word)
}
const big = (value: Raw): bigint => BigInt(text(value))

/** A whole number of so many bytes, and of so many digits behind the point. */
const whole =
  (width: number, quoted: boolean, scale = 0, most = Number.POSITIVE_INFINITY): Pack =>
  (rows) => {
    const data = new PackedColumn(width, rows)
    const put: Put = (row, bytes, from, end) => {
      const found = scaledFrom(bytes, from, end, scale)
      if (!(Math.abs(found) < most)) return false
      data.setWhole(row, found)
      return true
    }
    return { data, quoted, put }
  }

const double: Pack = (rows) => {
  const data = new PackedColumn(8, rows, true)
  const put: Put = (row, bytes, from, end) => {
    const found = doubleFrom(bytes, from, end)
    data.doubles[row] = found
    return !Number.isNaN(found)
  }
  return { data, quoted: false, put }
}

const float: Pack = (rows) => {
  const data = new PackedColumn(4, rows, true)
  const put: Put = (row, bytes, from, end) => {
    const found = doubleFrom(bytes, from, end)
    data.floats[row] = found
    return !Number.isNaN(found)
  }
  return { data, quoted: false, put }
}

const truth: Pack = (rows) => {
  const data = new PackedColumn(1, rows)
  const put: Put = (row, bytes, from, end) => {
    const word = bytes.toString('latin1', from, end)
    data.bytes[row] = Number(word === 'true')
    return word === 'true' || word === 'false'
  }
  return { data, quoted: false, put }
}

const date: Pack = (rows) => {
  const data = new PackedColumn(4, rows)
  const put: Put = (row, bytes, from, end) => {
    const found = daysOfDate(bytes, from, end)
    data.words[row] = found
    return !Number.isNaN(found)
  }
  return { data, quoted: true, put }
}

const moment: Pack = (rows) => {
  const data = new PackedColumn(8, rows)
  const put: Put = (row, bytes, from, end) => {
    const found = microsOfMoment(bytes, from, end)
    data.setWhole(row, found)
    return !Number.isNaN(found)
  }
  return { data, quoted: true, put }
}

const characters: Pack = (rows) => {
  const data = new PackedText(rows)
  const put: Put = (row, bytes, from, end) => {
    if (!data.setUtf8(row, bytes, from, end - from)) throw noText()
    return true
  }
  return { data, quoted: true, put }
}

/** None is plain. */
const packed =
  (width: number): Pack =>
  (rows) => ({ data: new PackedColumn(width, rows), quoted: true, put: null })

const unpacked: Pack = () => ({ data: new ValueColumn(), quoted: true, put: null })

/** A String holds any bytes there; what is no text would come as something else. */
export function noText(): SourceError {
  return new SourceError(
    'The query gives bytes that are no UTF-8: give them as hex(...) or base64Encode(...).',
  )
}

const map = (type: DuckDBType, read: Column['read'], pack: Pack): Mapped => ({ type, read, pack })
const day = (value: Raw): DuckDBValue => values.dateFromText(text(value))

const SIMPLE: Record<string, Mapped> = {
  Bool: map(BOOLEAN, (value) => value === true || value === 'true', truth),
  Int8: map(TINYINT, number, whole(1, false)),
  Int16: map(SMALLINT, number, whole(2, false)),
  Int32: map(INTEGER, number, whole(4, false)),
  Int64: map(BIGINT, big, whole(8, true)),
  Int128: map(HUGEINT, big, packed(16)),
  UInt8: map(UTINYINT, number, whole(1, false)),
  UInt16: map(USMALLINT, number, whole(2, false)),
  UInt32: map(UINTEGER, number, whole(4, false)),
  UInt64: map(UBIGINT, big, whole(8, true)),
  UInt128: map(UHUGEINT, big, packed(16)),
  BFloat16: map(FLOAT, number, float),
  Float32: map(FLOAT, number, float),
  Float64: map(DOUBLE, number, double),
  UUID: map(UUID, (value) => values.uuidFromText(text(value)), packed(16)),
  Date: map(DATE, day, date),
  Date32: map(DATE, day, date),
}

/** "Nullable(Decimal(10, 2))" */
const WRAPPED = /^(?:Nullable\(|LowCardinality\(|SimpleAggregateFunction\(\w+, )(.*)\)$/s
const SHAPES =
  /^(?:Map|Tuple|Nested|JSON|Object|Variant|Dynamic|Point|Ring|LineString|MultiLineString|Polygon|MultiPolygon)\b/
const DECIMALS = /^Decimal(?:\d+)?\((?:(\d+), ?)?(\d+)\)$/

/** For at most so many rows at once. */
export function mapType(name: string, written: string, rows: number): Column {
  const { pack, ...column } = mapped(written)
  return { name, ...column, ...pack(rows) }
}

function mapped(written: string): Mapped {
  const inner = WRAPPED.exec(written)?.[1]
  if (inner !== undefined) return mapped(inner)
  const simple = SIMPLE[written]
  if (simple) return simple
  if (/^DateTime(64)?(\(|$)/.test(written))
    return map(TIMESTAMPTZ, (value) => values.timestampTzFromText(text(value)), moment)
  const decimal = DECIMALS.exec(written)
  if (decimal) return mapDecimal(Number(decimal[1] ?? 38), Number(decimal[2]))
  const item = /^Array\((.*)\)$/s.exec(written)?.[1]
  if (item !== undefined) return mapArray(mapped(item))
  if (SHAPES.test(written))
    return { ...map(VARCHAR, (value) => JSON.stringify(value), unpacked), declared: 'json' }
  return map(VARCHAR, text, characters)
}

function mapDecimal(width: number, scale: number): Mapped {
  if (width <= 38) {
    const read = values.decimalReader(width, scale)
    const pack = whole(decimalBytes(width), true, scale, 10 ** width)
    return map(DECIMAL(width, scale), (value) => read(text(value)), pack)
  }
  const loose = new LooseNumeric()
  return { ...map(VARCHAR, (value) => loose.note(text(value)), unpacked), settle: () => loose.settled() }
}

function mapArray({ type, read, settle }: Mapped): Mapped {
  // What is settled after its values cannot be within a list.
  const item = settle ? map(DOUBLE, number, double) : { type, read }
  const list = (value: Raw): DuckDBValue => {
    if (!Array.isArray(value)) throw new RangeError(text(value))
    return listValue(value.map((one: Raw | null) => (one === null ? null : item.read(one))))
  }
  return map(LIST(item.type), list, unpacked)
}
