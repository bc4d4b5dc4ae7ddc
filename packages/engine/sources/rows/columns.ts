/**
 * The columns of a batch. A packed column holds its values in the engine's own layout, so that no value becomes a JavaScript
 * object (measured: docs/decisions/0040-packed-columns.md). Numbers are little-endian, as on every machine the engine runs on.
 */
import type { DuckDBAppender, DuckDBDataChunk, DuckDBValue, DuckDBVector } from '@duckdb/node-api'
import { Nulls } from './nulls.ts'
import { PackedText } from './packed-text.ts'

const WORD = 0x1_0000_0000
/** The values of a batch. Their text entries take 16 MB. */
const VALUES_MOST = 1_048_576

/** Returns the rows of a batch: at most `most`, fewer for very many columns. */
export function roomFor(columns: number, most: number): number {
  return Math.max(1, Math.min(most, Math.floor(VALUES_MOST / Math.max(1, columns))))
}

/** Returns the bytes of the integer that stores a decimal of so many digits. */
export function decimalBytes(digits: number): number {
  return digits <= 4 ? 2 : digits <= 9 ? 4 : digits <= 18 ? 8 : 16
}

/** The private parts of the library's vectors: their memory, which `flush` copies to the engine. */
interface Memory {
  items?: ArrayBufferView
  dataView?: DataView
}

export class PackedColumn {
  /** The bytes per value. */
  readonly width: number
  readonly bytes: Uint8Array
  /** A view of the same bytes. */
  readonly halves: Int16Array
  readonly words: Int32Array
  readonly bigs: BigInt64Array
  readonly floats: Float32Array
  readonly doubles: Float64Array
  readonly #nulls: Nulls

  constructor(width: number, rows: number) {
    this.width = width
    const buffer = new ArrayBuffer(Math.ceil((width * rows) / 8) * 8)
    this.bytes = new Uint8Array(buffer)
    this.halves = new Int16Array(buffer)
    this.words = new Int32Array(buffer)
    this.bigs = new BigInt64Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
    this.#nulls = new Nulls(rows)
  }

  clear(): void {
    this.#nulls.clear()
  }

  setNull(row: number): void {
    this.#nulls.add(row)
  }

  /** Sets a 64-bit integer from its two halves. */
  setParts(row: number, high: number, low: number): void {
    this.words[2 * row] = low
    this.words[2 * row + 1] = high
  }

  /** Sets an integer; a `number` must be exact. */
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

  write(vector: DuckDBVector, from: number, count: number): void {
    const { width } = this
    const { items, dataView } = vector as unknown as Memory
    const memory = items ?? dataView
    if (memory?.byteLength !== width * count)
      throw new Error(`No vector of ${count} values of ${width} bytes.`)
    new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength).set(
      this.bytes.subarray(from * width, (from + count) * width),
    )
    this.#nulls.write(vector, from, count)
  }
}

/** A column of values as the engine's library takes them, for types that are not packed. */
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

/** The rows of a chunk of the engine. */
const CHUNK_ROWS = 2048

/** Appends rows; `chunk` has the types of the columns and is overwritten. */
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
