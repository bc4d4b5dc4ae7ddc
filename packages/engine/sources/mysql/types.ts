/** Maps MySQL's and MariaDB's types to the engine's, and packs their binary values. Other types become text. */
import { Buffer } from 'node:buffer'
import {
  BIGINT,
  BLOB,
  DATE,
  DECIMAL,
  DOUBLE,
  type DuckDBType,
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
import type { RemoteColumn } from '../kind.ts'
import { decimalBytes, PackedColumn } from '../rows/columns.ts'
import { scaledFrom } from '../rows/digits.ts'
import { LooseNumeric } from '../rows/loose-values.ts'
import { PackedText } from '../rows/packed-text.ts'
import { daysFrom, decimalReader } from '../rows/text-values.ts'

/** A column as the server describes it. */
export interface Field {
  name: string
  columnType: number
  columnLength: number
  decimals: number
  flags: number
  characterSet: number
  /** The encoding of its texts. */
  encoding: string
}

/** The part of the library's packet that is used here: a row, read up to `offset`. */
export interface Packet {
  readonly buffer: Buffer
  offset: number
  readonly end: number
  readLengthCodedNumber(): number
  readLengthCodedString(encoding: string): string
  readDateTimeString(decimals: number, separator: null, type: number): string
  readTimeString(): string
}

export interface Column extends RemoteColumn {
  data: PackedColumn | PackedText
  /** Writes the packet's next value into a row. Throws RangeError, with the value as text, if the type cannot hold it. */
  put(packet: Packet, row: number): void
}

type Made = Omit<Column, 'name'>

const UNSIGNED = 32
/** The character set of binary data. */
const BINARY = 63
const JSON_TYPE = 245
const SHAPES = new Set([242, 255])
const DECIMALS = new Set([0, 246])
/** The codes of texts and bytes of any length, and of sets and enums. */
const TEXTS = new Set([15, 247, 248, 249, 250, 251, 252, 253, 254])
const DAY_MICROS = 86_400_000_000

const MOMENT = 7
const LOCAL_TIME = 12

/**
 * Returns the column of a field. `rows` is the capacity of a batch. `zoned` means that moments arrive as times of
 * another zone than UTC.
 */
export function mapField(field: Field, rows: number, zoned = false): Column {
  const local = zoned && field.columnType === MOMENT
  return { name: field.name, ...mapped(local ? { ...field, columnType: LOCAL_TIME } : field, rows) }
}

function mapped(field: Field, rows: number): Made {
  const { columnType, flags, characterSet, encoding } = field
  if (DECIMALS.has(columnType)) return decimals(field, rows)
  if (columnType === JSON_TYPE) return { ...texts(rows, 'utf8'), declared: 'json' }
  const plain = PLAIN[columnType]
  if (plain) return plain(rows, (flags & UNSIGNED) !== 0, field)
  if (SHAPES.has(columnType)) return shapes(rows)
  return TEXTS.has(columnType) && characterSet === BINARY ? blobs(rows) : texts(rows, encoding)
}

type Make = (rows: number, unsigned: boolean, field: Field) => Made

/** Makes a column of integers or floats, whose bytes are the same in both layouts. */
function bytes(width: 1 | 2 | 4 | 8, signed: DuckDBType, unsigned = signed): Make {
  return (rows, isUnsigned) => {
    const data = new PackedColumn(width, rows)
    return {
      type: isUnsigned ? unsigned : signed,
      data,
      put(packet, row) {
        const { buffer, offset } = packet
        packet.offset = offset + width
        if (width >= 4) data.words[(width * row) / 4] = wordAt(buffer, offset)
        if (width === 8) data.words[2 * row + 1] = wordAt(buffer, offset + 4)
        if (width === 2) data.halves[row] = buffer[offset]! | (buffer[offset + 1]! << 8)
        if (width === 1) data.bytes[row] = buffer[offset]!
      },
    }
  }
}

function wordAt(from: Buffer, at: number): number {
  return from[at]! | (from[at + 1]! << 8) | (from[at + 2]! << 16) | (from[at + 3]! << 24)
}

const PLAIN: Record<number, Make> = {
  1: bytes(1, TINYINT, UTINYINT),
  2: bytes(2, SMALLINT, USMALLINT),
  3: bytes(4, INTEGER, UINTEGER),
  4: bytes(4, FLOAT),
  5: bytes(8, DOUBLE),
  7: (rows, _, field) => moments(TIMESTAMPTZ, rows, field),
  8: bytes(8, BIGINT, UBIGINT),
  9: bytes(4, INTEGER, UINTEGER),
  10: dates,
  11: times,
  12: (rows, _, field) => moments(TIMESTAMP, rows, field),
  13: bytes(2, SMALLINT, USMALLINT),
  16: bits,
}

/** Returns the days since 1970 of the date at `at`; NaN for a day that does not exist, such as 0000-00-00. */
function daysAt(from: Buffer, at: number): number {
  return daysFrom(from[at]! | (from[at + 1]! << 8), from[at + 2]!, from[at + 3]!)
}

function dates(rows: number, _: boolean, { decimals: digits, columnType }: Field): Made {
  const data = new PackedColumn(4, rows)
  const put = (packet: Packet, row: number): void => {
    const { buffer, offset } = packet
    const length = buffer[offset]!
    const days = length === 0 ? Number.NaN : daysAt(buffer, offset + 1)
    if (Number.isNaN(days)) throw new RangeError(packet.readDateTimeString(digits, null, columnType))
    data.words[row] = days
    packet.offset = offset + 1 + length
  }
  return { type: DATE, data, put }
}

/**
 * Reads hours, minutes and seconds of one byte each, then four optional bytes of microseconds. Returns microseconds.
 */
function microsAt(from: Buffer, at: number, end: number): number {
  const seconds = from[at]! * 3600 + from[at + 1]! * 60 + from[at + 2]!
  return seconds * 1_000_000 + (end >= at + 7 ? from.readUInt32LE(at + 3) : 0)
}

function moments(type: DuckDBType, rows: number, { decimals: digits, columnType }: Field): Made {
  const data = new PackedColumn(8, rows)
  const put = (packet: Packet, row: number): void => {
    const { buffer, offset } = packet
    const end = offset + 1 + buffer[offset]!
    const days = end === offset + 1 ? Number.NaN : daysAt(buffer, offset + 1)
    if (Number.isNaN(days)) throw new RangeError(packet.readDateTimeString(digits, null, columnType))
    const micros = end >= offset + 8 ? microsAt(buffer, offset + 5, end) : 0
    const whole = days * DAY_MICROS + micros
    // A double holds these microseconds exactly up to the year 2255.
    data.setWhole(
      row,
      Number.isSafeInteger(whole) ? whole : BigInt(days) * BigInt(DAY_MICROS) + BigInt(micros),
    )
    packet.offset = end
  }
  return { type, data, put }
}

/** Makes a column of times of day. A negative TIME or one beyond 24 h is rejected. */
function times(rows: number): Made {
  const data = new PackedColumn(8, rows)
  const put = (packet: Packet, row: number): void => {
    const { buffer, offset } = packet
    const end = offset + 1 + buffer[offset]!
    if (end === offset + 1) data.setWhole(row, 0)
    else {
      const [negative, days, hours] = [buffer[offset + 1], wordAt(buffer, offset + 2), buffer[offset + 6]!]
      if (negative !== 0 || days !== 0 || hours > 23) throw new RangeError(packet.readTimeString())
      data.setWhole(row, microsAt(buffer, offset + 6, end))
    }
    packet.offset = end
  }
  return { type: TIME, data, put }
}

/** Makes a column of bits, which are big-endian and of variable length. */
function bits(rows: number): Made {
  const data = new PackedColumn(8, rows)
  const put = (packet: Packet, row: number): void => {
    const length = packet.readLengthCodedNumber()
    let sum = 0n
    for (const end = packet.offset + length; packet.offset < end; packet.offset += 1)
      sum = (sum << 8n) | BigInt(packet.buffer[packet.offset]!)
    data.bigs[row] = sum
  }
  return { type: UBIGINT, data, put }
}

function texts(rows: number, encoding: string): Made {
  const data = new PackedText(rows)
  const put = (packet: Packet, row: number): void => {
    if (encoding !== 'utf8') return data.setText(row, packet.readLengthCodedString(encoding))
    const length = packet.readLengthCodedNumber()
    data.setDecoded(row, packet.buffer, packet.offset, length)
    packet.offset += length
  }
  return { type: VARCHAR, data, put }
}

function blobs(rows: number): Made {
  const data = new PackedText(rows)
  const put = (packet: Packet, row: number): void => {
    const length = packet.readLengthCodedNumber()
    data.setBytes(row, packet.buffer, packet.offset, length)
    packet.offset += length
  }
  return { type: BLOB, data, put }
}

/** Makes a column of geometries or vectors, which are rejected unless they are empty. */
function shapes(rows: number): Made {
  const data = new PackedText(rows)
  const put = (packet: Packet, row: number): void => {
    if (packet.readLengthCodedNumber() > 0) throw new RangeError('a shape')
    data.setNull(row)
  }
  return { type: VARCHAR, data, put }
}

function decimals({ columnLength, decimals: scale, flags }: Field, rows: number): Made {
  const width = columnLength - (flags & UNSIGNED ? 0 : 1) - (scale > 0 ? 1 : 0)
  if (width > 38) return looseDecimals(rows)
  const data = new PackedColumn(decimalBytes(width), rows)
  const read = decimalReader(width, scale)
  const most = 10 ** width
  const put = (packet: Packet, row: number): void => {
    const length = packet.readLengthCodedNumber()
    const { buffer, offset } = packet
    const whole = scaledFrom(buffer, offset, offset + length, scale)
    if (Math.abs(whole) < most) data.setWhole(row, whole)
    else data.setWhole(row, read(buffer.toString('latin1', offset, offset + length)).value)
    packet.offset = offset + length
  }
  return { type: DECIMAL(width, scale), data, put }
}

function looseDecimals(rows: number): Made {
  const loose = new LooseNumeric()
  const data = new PackedText(rows)
  const put = (packet: Packet, row: number): void =>
    data.setText(row, loose.note(packet.readLengthCodedString('ascii')))
  return { type: VARCHAR, data, put, settle: () => loose.settled() }
}
