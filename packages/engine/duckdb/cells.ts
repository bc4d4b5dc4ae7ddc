/**
 * Converts DuckDB's values to `Cell`s (model/insight.ts) without rounding: integers beyond 2^53 and decimals become text, a
 * FLOAT becomes the shortest double that rounds to the same 32-bit value.
 */

import type { Cell, Column, ColumnType } from '@assay/model/insight'
import {
  DuckDBArrayType,
  DuckDBArrayValue,
  DuckDBDateValue,
  DuckDBListType,
  DuckDBListValue,
  DuckDBMapType,
  DuckDBMapValue,
  DuckDBStructType,
  DuckDBStructValue,
  type DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  DuckDBUnionType,
  DuckDBUnionValue,
  type DuckDBValue,
  DuckDBVariantValue,
} from '@duckdb/node-api'

const COLUMN_TYPE: Partial<Record<DuckDBTypeId, ColumnType>> = {
  [DuckDBTypeId.BOOLEAN]: 'boolean',
  [DuckDBTypeId.TINYINT]: 'integer',
  [DuckDBTypeId.SMALLINT]: 'integer',
  [DuckDBTypeId.INTEGER]: 'integer',
  [DuckDBTypeId.BIGINT]: 'integer',
  [DuckDBTypeId.HUGEINT]: 'integer',
  [DuckDBTypeId.UTINYINT]: 'integer',
  [DuckDBTypeId.USMALLINT]: 'integer',
  [DuckDBTypeId.UINTEGER]: 'integer',
  [DuckDBTypeId.UBIGINT]: 'integer',
  [DuckDBTypeId.UHUGEINT]: 'integer',
  [DuckDBTypeId.BIGNUM]: 'integer',
  [DuckDBTypeId.FLOAT]: 'number',
  [DuckDBTypeId.DOUBLE]: 'number',
  [DuckDBTypeId.DECIMAL]: 'decimal',
  [DuckDBTypeId.VARCHAR]: 'text',
  [DuckDBTypeId.ENUM]: 'text',
  [DuckDBTypeId.UUID]: 'text',
  [DuckDBTypeId.DATE]: 'date',
  [DuckDBTypeId.TIMESTAMP]: 'timestamp',
  [DuckDBTypeId.TIMESTAMP_S]: 'timestamp',
  [DuckDBTypeId.TIMESTAMP_MS]: 'timestamp',
  [DuckDBTypeId.TIMESTAMP_NS]: 'timestamp',
  [DuckDBTypeId.TIMESTAMP_TZ]: 'timestamp',
  [DuckDBTypeId.TIME]: 'time',
  [DuckDBTypeId.TIME_TZ]: 'time',
  [DuckDBTypeId.TIME_NS]: 'time',
  [DuckDBTypeId.INTERVAL]: 'interval',
  [DuckDBTypeId.LIST]: 'list',
  [DuckDBTypeId.ARRAY]: 'list',
  [DuckDBTypeId.STRUCT]: 'struct',
  [DuckDBTypeId.MAP]: 'struct',
}

export function columnOf(name: string, type: DuckDBType): Column {
  return { name, type: COLUMN_TYPE[type.typeId] ?? 'other', database_type: type.alias ?? type.toString() }
}

/** The form of NaN and infinities: words (insight.ts), or numbers for methods. */
export type Floats = 'words' | 'raw'
type Convert = (value: DuckDBValue) => Cell

function integer(value: DuckDBValue): Cell {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : String(value)
}

/** Returns the shortest double that rounds to the same 32-bit value: 0.1, not 0.10000000149011612. */
export function shortest(value: number): number {
  for (let digits = 6; digits < 10; digits += 1) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return short
  }
  return value
}

function word(value: number): Cell {
  return Number.isFinite(value) ? value : String(value)
}

/** Writes "2024-01-31 10:00:00" as "2024-01-31T10:00:00"; "infinity" stays. */
function timestamp(text: string, zone: '' | 'Z'): string {
  const space = text.lastIndexOf(' ')
  return space < 0 ? text : `${text.slice(0, space)}T${text.slice(space + 1)}${zone}`
}

function date(value: DuckDBDateValue): string {
  if (value.days === DuckDBDateValue.PosInf.days) return 'infinity'
  return value.days === DuckDBDateValue.NegInf.days ? '-infinity' : value.toString()
}

function fromVariant(value: DuckDBValue, floats: Floats): Cell {
  if (!(value instanceof DuckDBVariantValue)) return fallback(value)
  if (value.value === null) return null
  return value.type ? converter(value.type, floats)(value.value) : fallback(value.value)
}

function fallback(value: DuckDBValue): Cell {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return word(value)
  return typeof value === 'bigint' ? integer(value) : String(value)
}

function nested(type: DuckDBType, floats: Floats): Convert | undefined {
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) {
    const item = nullable(converter(type.valueType, floats))
    return (value) =>
      value instanceof DuckDBListValue || value instanceof DuckDBArrayValue ? value.items.map(item) : null
  }
  if (type instanceof DuckDBStructType) {
    const fields = type.entryTypes.map((entry) => nullable(converter(entry, floats)))
    const { entryNames } = type
    return (value) =>
      value instanceof DuckDBStructValue
        ? Object.fromEntries(
            entryNames.map((name, index) => [name, fields[index]!(own(value.entries, name))]),
          )
        : null
  }
  if (type instanceof DuckDBMapType) {
    const key = nullable(converter(type.keyType, floats))
    const item = nullable(converter(type.valueType, floats))
    return (value) =>
      value instanceof DuckDBMapValue
        ? Object.fromEntries(value.entries.map((entry) => [keyText(key(entry.key)), item(entry.value)]))
        : null
  }
  if (type instanceof DuckDBUnionType) {
    return (value) => {
      if (!(value instanceof DuckDBUnionValue)) return null
      const member = type.memberTypes[type.memberIndexForTag(value.tag)]
      return member ? nullable(converter(member, floats))(value.value) : fallback(value.value)
    }
  }
  return undefined
}

/** Returns a field of a struct. The library's object has no field `__proto__`; such a field reads as null. */
function own(entries: Readonly<Record<string, DuckDBValue>>, name: string): DuckDBValue {
  return Object.hasOwn(entries, name) ? entries[name]! : null
}

function keyText(key: Cell): string {
  return typeof key === 'string' ? key : JSON.stringify(key)
}

function nullable(convert: Convert): Convert {
  return (value) => (value === null || value === undefined ? null : convert(value))
}

/** Returns the conversion of non-null values of a type. */
function converter(type: DuckDBType, floats: Floats): Convert {
  switch (type.typeId) {
    case DuckDBTypeId.BOOLEAN:
      return (value) => value as boolean
    case DuckDBTypeId.FLOAT:
      return (value) => {
        const number = shortest(value as number)
        return floats === 'raw' ? number : word(number)
      }
    case DuckDBTypeId.DOUBLE:
      return (value) => (floats === 'raw' ? (value as number) : word(value as number))
    case DuckDBTypeId.TIMESTAMP:
    case DuckDBTypeId.TIMESTAMP_S:
    case DuckDBTypeId.TIMESTAMP_MS:
    case DuckDBTypeId.TIMESTAMP_NS:
      return (value) => timestamp(String(value), '')
    case DuckDBTypeId.TIMESTAMP_TZ:
      return (value) =>
        timestamp(new DuckDBTimestampValue((value as DuckDBTimestampTZValue).micros).toString(), 'Z')
    case DuckDBTypeId.DATE:
      return (value) => date(value as DuckDBDateValue)
    case DuckDBTypeId.VARIANT:
      return (value) => fromVariant(value, floats)
    default:
      if (COLUMN_TYPE[type.typeId] === 'integer') return integer
      return nested(type, floats) ?? ((value) => String(value))
  }
}

/** Returns the conversion of a column's values, including null. */
export function cellConverter(type: DuckDBType, floats: Floats = 'words'): (value: DuckDBValue) => Cell {
  return nullable(converter(type, floats))
}
