/**
 * Packs PostgreSQL's binary values in the engine's layout. PostgreSQL's numbers are big-endian; its dates and times count
 * from 2000.
 */
import { decimalBytes, type PackedColumn } from '../rows/columns.ts'

/** Writes a value into a row. Throws RangeError, with the value as text, if DuckDB cannot hold it. */
export type Put = (from: Buffer, at: number, length: number, to: PackedColumn, row: number) => void

export interface Packing {
  /** The bytes of a value in the engine. */
  width: number
  put: Put
}

const DAYS_TO_2000 = 10_957
const WORD = 0x1_0000_0000
/** The microseconds from 1970 to 2000, in two halves. */
const MICROS_TO_2000 = {
  high: Math.floor(946_684_800_000_000 / WORD),
  low: 946_684_800_000_000 % WORD,
}
const INT32_MOST = 0x7fff_ffff
const INT32_LEAST = -0x8000_0000

export const BOOLEAN_BYTE: Packing = {
  width: 1,
  put: (from, at, _, to, row) => {
    to.bytes[row] = from[at]!
  },
}

export const INT16: Packing = {
  width: 2,
  put: (from, at, _, to, row) => {
    to.halves[row] = from.readInt16BE(at)
  },
}

export const INT32: Packing = {
  width: 4,
  put: (from, at, _, to, row) => {
    to.words[row] = from.readInt32BE(at)
  },
}

export const INT64: Packing = {
  width: 8,
  put: (from, at, _, to, row) => to.setParts(row, from.readInt32BE(at), from.readInt32BE(at + 4)),
}

export const FLOAT32: Packing = {
  width: 4,
  put: (from, at, _, to, row) => {
    to.floats[row] = from.readFloatBE(at)
  },
}

export const FLOAT64: Packing = {
  width: 8,
  put: (from, at, _, to, row) => {
    to.doubles[row] = from.readDoubleBE(at)
  },
}

/** Packs days. PostgreSQL's infinities are the ends of the range; the engine's are symmetric around zero. */
export const DAYS: Packing = {
  width: 4,
  put: (from, at, _, to, row) => {
    const days = from.readInt32BE(at)
    to.words[row] = days === INT32_MOST ? days : days === INT32_LEAST ? -INT32_MOST : days + DAYS_TO_2000
  },
}

export const MOMENT: Packing = {
  width: 8,
  put: (from, at, _, to, row) => {
    const high = from.readInt32BE(at)
    const low = from.readUInt32BE(at + 4)
    if (high === INT32_MOST && low === WORD - 1) return to.setParts(row, high, low)
    if (high === INT32_LEAST && low === 0) return to.setParts(row, high, 1)
    const sum = low + MICROS_TO_2000.low
    const over = sum >= WORD ? 1 : 0
    const upper = high + MICROS_TO_2000.high + over
    if (upper > INT32_MOST) throw new RangeError('a time after the year 294246')
    to.setParts(row, upper, sum - over * WORD)
  },
}

/**
 * Packs a UUID. The engine stores it as a 128-bit number with its first bit flipped, so that it sorts as a signed one.
 */
export const UUID_BYTES: Packing = {
  width: 16,
  put: (from, at, _, { bytes }, row) => {
    for (let index = 0; index < 16; index += 1) bytes[16 * row + 15 - index] = from[at + index]!
    bytes[16 * row + 15]! ^= 0x80
  },
}

const POSITIVE = 0
const NEGATIVE = 0x4000
/** The number of digits that a number holds exactly. */
const EXACT_DIGITS = 15

/**
 * Packs a numeric(width, scale). PostgreSQL sends groups of four digits, the first weighing 10000^weight, and a sign; the
 * engine stores an integer of 2 to 16 bytes, in units of the last decimal.
 */
export function decimalPacking(width: number, scale: number): Packing {
  const powers = Array.from({ length: 64 }, (_, power) => 10 ** power)
  const read = width <= EXACT_DIGITS ? small : large
  function small(from: Buffer, at: number, groups: number, weight: number): number {
    let sum = 0
    for (let group = 0; group < groups; group += 1) {
      const digits = from.readUInt16BE(at + 8 + 2 * group)
      const power = 4 * (weight - group) + scale
      sum += power >= 0 ? digits * powers[power]! : digits / powers[-power]!
    }
    return sum
  }
  function large(from: Buffer, at: number, groups: number, weight: number): bigint {
    let sum = 0n
    for (let group = 0; group < groups; group += 1) {
      const digits = BigInt(from.readUInt16BE(at + 8 + 2 * group))
      const power = 4 * (weight - group) + scale
      sum += power >= 0 ? digits * 10n ** BigInt(power) : digits / 10n ** BigInt(-power)
    }
    return sum
  }
  return {
    width: decimalBytes(width),
    put: (from, at, _, to, row) => {
      const sign = from.readUInt16BE(at + 4)
      if (sign !== POSITIVE && sign !== NEGATIVE) throw new RangeError(sign === 0xc000 ? 'NaN' : 'Infinity')
      const value = read(from, at, from.readInt16BE(at), from.readInt16BE(at + 2))
      to.setWhole(row, sign === NEGATIVE ? -value : value)
    },
  }
}
