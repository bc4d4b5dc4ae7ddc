/**
 * The columns of a batch: values one by one, or packed as the engine holds them, so that no value becomes an object on its
 * way. A packed value has its place for each row; numbers stand in the byte order of the machine, which is little-endian
 * on every machine that the engine runs on.
 */
import { type DuckDBDataChunk, type DuckDBValue, DuckDBVector } from '@duckdb/node-api'

export class PackedColumn {
  /** Bytes of a value. */
  readonly width: number
  readonly bytes: Uint8Array
  /** The same bytes as numbers of 16 and 32 bits and doubles. */
  readonly halves: Int16Array
  readonly words: Int32Array
  readonly floats: Float32Array
  readonly doubles: Float64Array
  /** The rows without a value, rising. */
  readonly nulls: number[] = []

  constructor(width: number, rows: number) {
    this.width = width
    const buffer = new ArrayBuffer(Math.ceil((width * rows) / 8) * 8)
    this.bytes = new Uint8Array(buffer)
    this.halves = new Int16Array(buffer)
    this.words = new Int32Array(buffer)
    this.floats = new Float32Array(buffer)
    this.doubles = new Float64Array(buffer)
  }
}

export type BatchColumn = readonly DuckDBValue[] | PackedColumn

/** Of the library's vectors, what their types leave out: their memory, which is copied to the engine when they are flushed. */
interface Memory {
  items?: ArrayBufferView
  dataView?: DataView
}

/** Writes rows of a column into a column of a chunk of `count` rows. */
export function writeColumn(
  chunk: DuckDBDataChunk,
  index: number,
  column: BatchColumn,
  from: number,
  count: number,
): void {
  const vector = chunk.getColumnVector(index)
  if (column instanceof PackedColumn) {
    writePacked(vector, column, from, count)
  } else {
    for (let row = 0; row < count; row += 1) vector.setItem(row, column[from + row] ?? null)
  }
  vector.flush()
}

function writePacked(
  vector: DuckDBVector,
  { bytes, width, nulls }: PackedColumn,
  from: number,
  count: number,
): void {
  const { items, dataView } = vector as unknown as Memory
  const memory = items ?? dataView
  if (memory?.byteLength !== width * count) throw new Error(`No vector of ${count} values of ${width} bytes.`)
  new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength).set(
    bytes.subarray(from * width, (from + count) * width),
  )
  for (const row of nulls) if (row >= from && row < from + count) vector.setItem(row - from, null)
}
