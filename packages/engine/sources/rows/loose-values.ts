/**
 * Finds the types of columns that are known only after their values: numerics without precision, and SQLite's columns.
 * They are written as text, or as doubles if those are exact. The final type is the narrowest that holds every value
 * exactly.
 */
import { BIGINT, DECIMAL, DOUBLE, type DuckDBType, VARCHAR } from '@duckdb/node-api'
import { numberFromText } from './text-values.ts'

const DIGITS_MOST = 38
/** The number of integer digits from which on a number can exceed a double. */
const DOUBLE_DIGITS = 309
/** The end of the numbers that a double holds exactly. It represents every 15-digit decimal uniquely. */
const EXACT_BELOW = 1e15
/** The number below which JavaScript writes an exponent. */
const SMALLEST = 1e-6
const POWERS = Array.from({ length: 21 }, (_, power) => 10 ** power)

/** Finds the type of numerics: DECIMAL(38, s) with the most decimals that occur, else DOUBLE. */
export class LooseNumeric {
  #scale = 0
  #whole = 0
  #exact = true
  #largest = 0

  note(text: string): string {
    const point = text.indexOf('.')
    const end = point < 0 ? text.length : point
    const sign = text.charCodeAt(0) === 45 ? 1 : 0
    // NaN and Infinity begin with a letter.
    if (text.charCodeAt(sign) > 57) this.#exact = false
    if (end - sign > this.#whole) this.#whole = end - sign
    if (end - sign >= DOUBLE_DIGITS) numberFromText(text)
    if (point >= 0 && text.length - point - 1 > this.#scale) this.#scale = text.length - point - 1
    return text
  }

  /**
   * Notes a double by its shortest text. Returns false, and notes nothing, if the values could not be converted exactly from
   * doubles to DECIMAL(38, s): each value times 10^s must stay below 10^15.
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

/** Finds the type of values of several storage classes: integers, reals or text. */
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
