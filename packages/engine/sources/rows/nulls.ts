/** Keeps the nulls of packed columns. */
import type { DuckDBVector } from '@duckdb/node-api'

/** The rows of a packed column that are null. */
export class Nulls {
  readonly #flags: Uint8Array
  #some = false

  constructor(rows: number) {
    this.#flags = new Uint8Array(rows)
  }

  clear(): void {
    if (this.#some) this.#flags.fill(0)
    this.#some = false
  }

  add(row: number): void {
    this.#some = true
    this.#flags[row] = 1
  }

  /** Marks the nulls of `count` rows from `from` on in a vector. */
  write(vector: DuckDBVector, from: number, count: number): void {
    if (!this.#some) return
    for (let row = 0; row < count; row += 1) if (this.#flags[from + row] === 1) vector.setItem(row, null)
  }
}
