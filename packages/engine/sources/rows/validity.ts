/** Which rows of a packed column have a value: a bit each, as the engine holds them. */
import type { DuckDBVector } from '@duckdb/node-api'

/** Of the library's vectors, what their types leave out: null where every row has a value. */
interface Marked {
  validity: { data: BigUint64Array | null }
}

export class Validity {
  readonly #words: Int32Array
  #nulls = false

  constructor(rows: number) {
    this.#words = new Int32Array(2 * Math.ceil(rows / 64)).fill(-1)
  }

  clear(): void {
    if (this.#nulls) this.#words.fill(-1)
    this.#nulls = false
  }

  setNull(row: number): void {
    this.#nulls = true
    this.#words[row >>> 5]! &= ~(1 << (row & 31))
  }

  /** Where the rows from `from` on, a multiple of 64, are those of the vector. */
  write(vector: DuckDBVector, from: number): void {
    if (!this.#nulls) return
    // It makes its bits with its first null.
    vector.setItem(0, null)
    const { data } = (vector as unknown as Marked).validity
    const at = from / 32
    new Int32Array(data!.buffer, data!.byteOffset, 2 * data!.length).set(
      this.#words.subarray(at, at + 2 * data!.length),
    )
  }
}
