/**
 * Packs texts or bytes in the engine's layout of 16 bytes per value. The first four bytes are the length. Up to 12
 * bytes of text follow inline; of longer texts the first four bytes and the address follow. The long texts of a chunk
 * lie in one block, which is handed to the engine as a single value: one native call per chunk instead of one per
 * text. The reason and the measured gain: docs/decisions/0040-packed-columns.md.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { DuckDBBlobValue, DuckDBBlobVector, DuckDBHugeIntVector, type DuckDBVector } from '@duckdb/node-api'
import { Nulls } from './nulls.ts'

const INLINE = 12
/** The length in bytes up to which a loop copies faster than a call. */
const SHORT = 40
/** The length above which the bytes are counted before they are written. */
const LONG = 10_000
const HEAP_FIRST = 65_536
/** The bytes above which a heap is released after its batch. */
const HEAP_MOST = 8_388_608
const WORD = 0x1_0000_0000

/** The private parts of the library's vectors that are used here. */
interface Raw {
  vector: Parameters<typeof DuckDBHugeIntVector.fromRawVector>[0]
  dataView: DataView
}

export class PackedText {
  /** Four words per row: the length, then the bytes, or for long texts the first four bytes and the offset in the heap. */
  readonly #entries: Int32Array
  readonly #short: Uint8Array
  readonly #nulls: Nulls
  #heap = Buffer.allocUnsafeSlow(HEAP_FIRST)
  #held = 0

  constructor(rows: number) {
    this.#entries = new Int32Array(4 * rows)
    this.#short = new Uint8Array(this.#entries.buffer)
    this.#nulls = new Nulls(rows)
  }

  clear(): void {
    this.#nulls.clear()
    this.#held = 0
    if (this.#heap.length > HEAP_MOST) this.#heap = Buffer.allocUnsafeSlow(HEAP_FIRST)
  }

  setNull(row: number): void {
    this.#entries.fill(0, 4 * row, 4 * row + 4)
    this.#nulls.add(row)
  }

  /** Sets a text. Lone surrogates become U+FFFD. */
  setText(row: number, text: string): void {
    const { length } = text
    if (length <= SHORT) {
      const start = this.#begin(row, length)
      const into = this.#bytesFor(length)
      let seen = 0
      for (let index = 0; index < length; index += 1) {
        const code = text.charCodeAt(index)
        seen |= code
        into[start + index] = code
      }
      if (seen < 0x80) return this.#enter(row, length)
    }
    this.#reserve(length > LONG ? Buffer.byteLength(text) : 3 * length)
    const size = this.#heap.write(text, this.#held)
    this.setBytes(row, this.#heap, this.#held, size)
  }

  setBytes(row: number, from: Uint8Array, at: number, length: number): void {
    const start = this.#begin(row, length)
    const into = this.#bytesFor(length)
    if (length <= SHORT)
      for (let index = 0; index < length; index += 1) into[start + index] = from[at + index]!
    else into.set(from.subarray(at, at + length), start)
    this.#enter(row, length)
  }

  /** Sets UTF-8 bytes. Returns false, and sets nothing, if they are not UTF-8. */
  setUtf8(row: number, from: Uint8Array, at: number, length: number): boolean {
    const start = this.#begin(row, length)
    const into = this.#bytesFor(length)
    let seen = 0
    if (length <= SHORT) {
      for (let index = 0; index < length; index += 1) {
        const byte = from[at + index]!
        seen |= byte
        into[start + index] = byte
      }
    } else {
      seen = 0x80
      into.set(from.subarray(at, at + length), start)
    }
    if (seen >= 0x80 && !isUtf8(into.subarray(start, start + length))) return false
    this.#enter(row, length)
    return true
  }

  /** Sets UTF-8 bytes; invalid ones become U+FFFD. */
  setDecoded(row: number, from: Buffer, at: number, length: number): void {
    if (!this.setUtf8(row, from, at, length)) this.setText(row, from.toString('utf8', at, at + length))
  }

  /** Returns the offset of a row's bytes, in the heap or in the entries. */
  #begin(row: number, length: number): number {
    if (length > INLINE) {
      this.#reserve(length)
      return this.#held
    }
    const entries = this.#entries
    entries[4 * row + 1] = 0
    entries[4 * row + 2] = 0
    entries[4 * row + 3] = 0
    return 16 * row + 4
  }

  #bytesFor(length: number): Uint8Array {
    return length > INLINE ? this.#heap : this.#short
  }

  #enter(row: number, length: number): void {
    const entries = this.#entries
    entries[4 * row] = length
    if (length <= INLINE) return
    entries[4 * row + 1] = this.#heap.readInt32LE(this.#held)
    entries[4 * row + 2] = this.#held
    this.#held += length
  }

  #reserve(more: number): void {
    if (this.#held + more <= this.#heap.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#heap.length, this.#held + more))
    this.#heap.copy(larger, 0, 0, this.#held)
    this.#heap = larger
  }

  /** Writes `count` rows from `from` on into a vector of texts or bytes. */
  write(vector: DuckDBVector, from: number, count: number): void {
    const { vector: raw } = vector as unknown as Raw
    const [begin, end] = this.#stretch(from, count)
    const bytes = this.#heap.subarray(begin, end)
    const taken = bytes.length > 0 ? takeOver(raw, bytes) : null
    const memory = DuckDBHugeIntVector.fromRawVector(raw, count)
    const { dataView } = memory as unknown as Raw
    const words = new Int32Array(dataView.buffer, dataView.byteOffset, 4 * count)
    words.set(this.#entries.subarray(4 * from, 4 * (from + count)))
    if (taken !== null)
      for (let at = 0; at < words.length; at += 4) {
        if (words[at]! <= INLINE) continue
        const low = taken.low + words[at + 2]! - begin
        words[at + 2] = low
        words[at + 3] = low < WORD ? taken.high : taken.high + 1
      }
    memory.flush()
    this.#nulls.write(vector, from, count)
  }

  /** Returns the part of the heap that holds the long texts of these rows. */
  #stretch(from: number, count: number): [begin: number, end: number] {
    const entries = this.#entries
    let first = from
    let last = from + count - 1
    while (first <= last && entries[4 * first]! <= INLINE) first += 1
    while (last >= first && entries[4 * last]! <= INLINE) last -= 1
    if (first > last) return [0, 0]
    return [entries[4 * first + 2]!, entries[4 * last + 2]! + entries[4 * last]!]
  }
}

/** Lets the engine copy the bytes as one value, which lives as long as the vector, and returns the copy's address. */
function takeOver(raw: Raw['vector'], bytes: Uint8Array): { low: number; high: number } {
  const whole = DuckDBBlobVector.fromRawVector(raw, 1)
  whole.setItem(0, new DuckDBBlobValue(bytes))
  whole.flush()
  const { dataView } = DuckDBHugeIntVector.fromRawVector(raw, 1) as unknown as Raw
  return { low: dataView.getUint32(8, true), high: dataView.getUint32(12, true) }
}
