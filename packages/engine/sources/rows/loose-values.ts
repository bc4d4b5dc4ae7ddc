/**
 * Columns whose type the database does not know before their values: numerics without precision, SQLite's columns.
 * They are written as text, or as numbers that lose nothing; when all is read, their type is the narrowest that holds every
 * value as it is.
 */
import { BIGINT, DECIMAL, DOUBLE, type DuckDBType, VARCHAR } from '@duckdb/node-api'
import { numberFromText } from './text-values.ts'

const DIGITS_MOST = 38
/** Before the point: with as many a number may be too large for a double. */
const DOUBLE_DIGITS = 309
/** Doubles keep every number of 15 digits apart from all others of so many. */
const EXACT_BELOW = 1e15
/** Below it JavaScript writes an exponent, and so did the text. */
const SMALLEST = 1e-6
const POWERS = Array.from({ length: 21 }, (_, power) => 10 ** power)

/** Numerics without precision: DECIMAL(38, s) with the most digits after the point that occur, else DOUBLE. */
export class LooseNumeric {
  #scale = 0
  #whole = 0
  #exact = true
  #largest = 0

  note(text: string): string {
    const point = text.indexOf('.')
    const end = point < 0 ? text.length : point
    const sign = text.charCodeAt(0) === 45 ? 1 : 0
    // A letter begins NaN and Infinity.
    if (text.charCodeAt(sign) > 57) this.#exact = false
    if (end - sign > this.#whole) this.#whole = end - sign
    if (end - sign >= DOUBLE_DIGITS) numberFromText(text)
    if (point >= 0 && text.length - point - 1 > this.#scale) this.#scale = text.length - point - 1
    return text
  }

  /**
   * A double by its shortest text. False where, with those before it, not every one of them times 10^s is below 10^15, where
   * doubles are exact enough to be made a DECIMAL(38, s) of.
   */
  noteDouble(value: number): boolean {
    const size = Math.abs(value)
    if (size < SMALLEST && size > 0) return false
    const largest = size > this.#largest ? size : this.#largest
    for (let scale = this.#scale; scale < POWERS.length; scale += 1) {
      const power = POWERS[scale]!
      if (!(largest * power < EXACT_BELOW)) return false
      if (Math.round(size * power) / power !== size) continue
      this.#scale = scale
      this.#largest = largest
      return true
    }
    return false
  }

  settled(): DuckDBType {
    if (!this.#exact || this.#whole + this.#scale > DIGITS_MOST) return DOUBLE
    return DECIMAL(DIGITS_MOST, this.#scale)
  }
}

/** Values of several storage classes: integers, reals or text; one of them alone keeps its type. */
export class LooseValues {
  #integers = 0
  #reals = 0
  #texts = 0

  note(value: bigint | number | string): string {
    if (typeof value === 'bigint') this.#integers += 1
    else if (typeof value === 'number') this.#reals += 1
    else this.#texts += 1
    return String(value)
  }

  settled(): DuckDBType {
    if (this.#texts > 0) return VARCHAR
    if (this.#reals > 0) return DOUBLE
    return this.#integers > 0 ? BIGINT : VARCHAR
  }
}
