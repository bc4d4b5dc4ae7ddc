/** The types of MySQL and MariaDB as the engine's. A type that is not here comes as text. */
import {
  BIGINT,
  BLOB,
  DATE,
  DECIMAL,
  DOUBLE,
  DuckDBBlobValue,
  type DuckDBType,
  type DuckDBValue,
  FLOAT,
  INTEGER,
  SMALLINT,
  TIME,
  TIMESTAMP,
  TIMESTAMPTZ,
  TINYINT,
  UBIGINT,
  UINTEGER,
  USMALLINT,
  UTINYINT,
  VARCHAR,
} from '@duckdb/node-api'
import type { RemoteColumn } from './kind.ts'
import { LooseNumeric } from './loose-values.ts'
import * as values from './text-values.ts'

/** A column as the server describes it. */
export interface Field {
  name: string
  columnType: number
  columnLength: number
  decimals: number
  flags: number
  characterSet: number
}

/** What the library gives: numbers where they are exact, else text or bytes. */
export type Raw = null | number | string | Uint8Array

export interface Column extends RemoteColumn {
  read(value: Exclude<Raw, null>): DuckDBValue
}

const UNSIGNED = 32
/** The character set of what is no text. */
const BINARY = 63
const JSON_TYPE = 245

const text = (value: Exclude<Raw, null>): string => {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8')
  throw new RangeError('a shape')
}
const number = (value: Exclude<Raw, null>): number => Number(text(value))
const big = (value: Exclude<Raw, null>): bigint => BigInt(text(value))
const bytes = (value: Exclude<Raw, null>): DuckDBBlobValue =>
  new DuckDBBlobValue(value instanceof Uint8Array ? value : Buffer.from(text(value)))
const bits = (value: Exclude<Raw, null>): bigint =>
  value instanceof Uint8Array ? BigInt(`0x${Buffer.from(value).toString('hex') || '0'}`) : big(value)

/** Of the clock: MySQL's times go from -838 to 838 hours, which are none. */
function time(value: Exclude<Raw, null>): DuckDBValue {
  const given = text(value)
  if (!/^([01]\d|2[0-3]):/.test(given)) throw new RangeError(given)
  return values.timeFromText(given)
}

type Mapped = readonly [signed: DuckDBType, unsigned: DuckDBType, read: Column['read']]

const BY_TYPE: Record<number, Mapped> = {
  1: [TINYINT, UTINYINT, number],
  2: [SMALLINT, USMALLINT, number],
  3: [INTEGER, UINTEGER, number],
  4: [FLOAT, FLOAT, number],
  5: [DOUBLE, DOUBLE, number],
  7: [TIMESTAMPTZ, TIMESTAMPTZ, (value) => values.timestampTzFromText(text(value))],
  8: [BIGINT, UBIGINT, big],
  9: [INTEGER, UINTEGER, number],
  10: [DATE, DATE, (value) => values.dateFromText(text(value))],
  11: [TIME, TIME, time],
  12: [TIMESTAMP, TIMESTAMP, (value) => values.timestampFromText(text(value))],
  13: [SMALLINT, USMALLINT, number],
  16: [UBIGINT, UBIGINT, bits],
}

const DECIMALS = new Set([0, 246])
/** Texts and bytes of any length, and sets and enums. */
const TEXTS = new Set([15, 247, 248, 249, 250, 251, 252, 253, 254])

export function mapField(field: Field): Column {
  const { name, columnType, flags, characterSet } = field
  if (DECIMALS.has(columnType)) return mapDecimal(field)
  if (columnType === JSON_TYPE) return { name, type: VARCHAR, declared: 'json', read: text }
  const mapped = BY_TYPE[columnType]
  if (mapped) return { name, type: mapped[flags & UNSIGNED ? 1 : 0], read: mapped[2] }
  if (TEXTS.has(columnType) && characterSet === BINARY) return { name, type: BLOB, read: bytes }
  return { name, type: VARCHAR, read: text }
}

function mapDecimal({ name, columnLength, decimals, flags }: Field): Column {
  const width = columnLength - (flags & UNSIGNED ? 0 : 1) - (decimals > 0 ? 1 : 0)
  if (width <= 38) {
    const read = values.decimalReader(width, decimals)
    return { name, type: DECIMAL(width, decimals), read: (value) => read(text(value)) }
  }
  const loose = new LooseNumeric()
  return { name, type: VARCHAR, read: (value) => loose.note(text(value)), settle: () => loose.settled() }
}
