/**
 * The values of templates beside those of JSON: exact and rounded numbers, and Markdown; and the error of a value
 * that cannot be used.
 */
import type { Cell } from '@assay/model/insight'

/** A value that a filter, a tag or a format cannot use. `remedy` says what to write instead. */
export class ValueError extends Error {
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

/** A decimal, or an integer beyond 2^53. It prints its digits and is compared by them. */
export class Exact {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
  toJSON(): string {
    return this.#text
  }
}

/**
 * A double that prints all its digits, because a filter rounded it or a variable gave it. Everywhere else it is its
 * number.
 */
export class Rounded {
  readonly #number: number

  constructor(number: number) {
    this.#number = number
  }
  valueOf(): number {
    return this.#number
  }
  toString(): string {
    return String(this.#number)
  }
  toJSON(): number {
    return this.#number
  }
}

/** Text that is Markdown already: it is printed without escaping. Everywhere else it is text. */
export class Markdown {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }
  toString(): string {
    return this.#text
  }
}

export type Row = Record<string, unknown>

export function isPlainObject(value: unknown): value is Row {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !(value instanceof Exact || value instanceof Markdown || value instanceof Rounded)
}

/** Returns the value in the form of JSON. Exact numbers and Markdown become text. */
export function toCell(value: unknown): Cell {
  if (value instanceof Exact || value instanceof Markdown) return value.toString()
  if (value instanceof Rounded) return value.valueOf()
  if (Array.isArray(value)) return value.map(toCell)
  if (isPlainObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, toCell(item)]))
  }
  return typeof value === 'bigint' ? value.toString() : ((value ?? null) as Cell)
}
