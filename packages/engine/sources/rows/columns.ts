/**
 * The columns of a batch: values one by one, or packed as the engine holds them, so that no value becomes an object on its
 * way (packed-text.ts: texts and bytes). A packed value has its place for each row; numbers stand in the byte order of the
 * machine, which is little-endian on every machine that the engine runs on.
 */
import {
  type DuckDBAppender,
  type DuckDBDataChunk,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  DuckDBUUIDValue,
  type DuckDBValue,
  type DuckDBVector,
} from '@duckdb/node-api'
import { PackedText } from './packed-text.ts'
import { Validity } from './validity.ts'

const WORD = 0x1_0000_0000
/** 16 MB of texts, of whatever number of columns. */
const VALUES_MOST = 1_048_576

/** For how many rows there is room at once: at most `most`, fewer where they have very many columns. */
export function roomFor(columns: number, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(VALUES_MOST / Math.max(1, columns))))
}

/** Bytes of the whole number as which the engine holds a decimal of so many digits. */
export function decimalBytes(digits: number): number {
  return digits <= 4 ? 2 : digits <= 9 ? 4 : digits <= 18 ? 8 : 16
}

/** Of the library's vectors, what their types leave out: their memory, which is copied to the engine when they are flushed. */
interface Memory {
  items?: ArrayBufferView
  dataView?: DataView
}

export class PackedColumn {
  /** Bytes of a value. */
  readonly width: number
  readonly bytes: Uint8Array
  /** The same bytes as whole numbers of 16, 32 and 64 bits, and as floats and doubles. */
  readonly halves: Int16Array
  readonly words: Int32Array
  readonly bigs: BigInt64Array
  readonly floats: Float32Array
  readonly doubles: Float64Array
  readonly validity: Validity
  readonly #floating: boolean

  constructor(width: number, rows: number, floating = false) {
    this.width = width
    this.#floating = floating
    const buffer = new ArrayBuffer(Math.ceil((width * rows) / 8) * 8)
    this.bytes = new Uint8Array(buffer)
    this.halves = new Int16Array(buffer)
    this.words = new Int32Array(buffer)
    this.bigs = new BigInt64Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
    this.validity = new Validity(rows)
  }

  clear(): void {
    this.validity.clear()
  }

  setNull(row: number): void {
    this.validity.setNull(row)
  }

  /** A whole number in two parts of 32 bits. */
  setParts(row: number, high: number, low: number): void {
    this.words[2 * row] = low
    this.words[2 * row + 1] = high
  }

  /** A whole number; as a `number` it must be exact. */
  setWhole(row: number, value: number | bigint): void {
    const { width } = this
    if (width === 8) {
      if (typeof value === 'bigint') this.bigs[row] = value
      else this.setParts(row, Math.floor(value / WORD), value >>> 0)
    } else if (width === 4) this.words[row] = Number(value)
    else if (width === 2) this.halves[row] = Number(value)
    else if (width === 1) this.bytes[row] = Number(value)
    else
      for (let word = 0, left = BigInt(value); word < width / 4; word += 1, left >>= 32n)
        this.words[(row * width) / 4 + word] = Number(BigInt.asIntN(32, left))
  }

  /** A value of the column's type, as the engine's library has it. */
  set(row: number, value: DuckDBValue): void {
    if (value === null) this.setNull(row)
    else if (typeof value === 'number' && this.#floating) {
      if (this.width === 4) this.floats[row] = value
      else this.doubles[row] = value
    } else if (typeof value === 'number' || typeof value === 'bigint') this.setWhole(row, value)
    else if (typeof value === 'boolean') this.bytes[row] = Number(value)
    else this.setWhole(row, wholeOf(value))
  }

  write(vector: DuckDBVector, from: number, count: number): void {
    const { width } = this
    const { items, dataView } = vector as unknown as Memory
    const memory = items ?? dataView
    if (memory?.byteLength !== width * count)
      throw new Error(`No vector of ${count} values of ${width} bytes.`)
    new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength).set(
      this.bytes.subarray(from * width, (from + count) * width),
    )
    this.validity.write(vector, from)
  }
}

/** The whole number as which the engine holds a value. */
function wholeOf(value: DuckDBValue): number | bigint {
  if (value instanceof DuckDBDateValue) return value.days
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) return value.micros
  if (value instanceof DuckDBTimeValue) return value.micros
  if (value instanceof DuckDBDecimalValue) return value.value
  if (value instanceof DuckDBUUIDValue) return value.hugeint
  throw new TypeError('A value that is no number cannot be packed.')
}

/** Values one by one, for types that are not packed. */
export class ValueColumn {
  #values: DuckDBValue[] = []

  clear(): void {
    this.#values = []
  }

  setNull(row: number): void {
    this.#values[row] = null
  }

  set(row: number, value: DuckDBValue): void {
    this.#values[row] = value
  }

  write(vector: DuckDBVector, from: number, count: number): void {
    for (let row = 0; row < count; row += 1) vector.setItem(row, this.#values[from + row] ?? null)
  }
}

export type BatchColumn = PackedColumn | PackedText | ValueColumn

/** The most rows that a chunk of the engine holds; a multiple of 64. */
const CHUNK_ROWS = 2048

/** Appends rows by a chunk of their columns' types, whatever is in it. */
export function appendRows(
  appender: DuckDBAppender,
  chunk: DuckDBDataChunk,
  rows: number,
  columns: readonly BatchColumn[],
): void {
  for (let from = 0; from < rows; from += CHUNK_ROWS) {
    const count = Math.min(CHUNK_ROWS, rows - from)
    chunk.reset()
    chunk.rowCount = count
    for (const [index, column] of columns.entries()) {
      const vector = chunk.getColumnVector(index)
      column.write(vector, from, count)
      vector.flush()
    }
    appender.appendDataChunk(chunk)
  }
}
