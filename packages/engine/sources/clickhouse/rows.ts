/**
 * Rows as lines of JSON, as they come in pieces: plain values are packed from the bytes where they lie, since most of the work
 * was to make objects of them. JSON says for certain what is no row: a fault that the server finds among the rows, which
 * in a binary form would be taken for values.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { misfit } from '../rows/misfit.ts'
import { type Column, noText, type Raw } from './types.ts'

const LINE_END = 10
const QUOTE = 34
const COMMA = 44
const ESCAPE = 92
const OPEN = 91
const CLOSE = 93
const BRACE = 123
const BRACE_END = 125
const SPACE = 32
const NULL = 0x6e75_6c6c

/** The lines that are not empty. `bytes`, from `from` to `end`, is the last that was found. */
export class Lines {
  readonly #pieces: AsyncIterator<Buffer>
  #next = 0
  #over = false
  bytes: Buffer = Buffer.alloc(0)
  from = 0
  end = 0

  constructor(body: AsyncIterable<Buffer>) {
    this.#pieces = body[Symbol.asyncIterator]()
  }

  /** Finds the next among what is here. */
  step(): boolean {
    while (this.#next < this.bytes.length) {
      const found = this.bytes.indexOf(LINE_END, this.#next)
      if (found < 0 && !this.#over) return false
      this.from = this.#next
      this.end = found < 0 ? this.bytes.length : found
      this.#next = this.end + 1
      if (this.end > this.from) return true
    }
    return false
  }

  /** Waits for more. False: there is none. A line that comes in many pieces is put together once. */
  async more(): Promise<boolean> {
    if (this.#over) return false
    const held = [this.bytes.subarray(this.#next)]
    for (let whole = false; !whole; ) {
      const { value, done } = await this.#pieces.next()
      if (done) this.#over = true
      else held.push(value)
      whole = this.#over || value.includes(LINE_END)
    }
    this.bytes = held[0]!.length === 0 && held.length === 2 ? held[1]! : Buffer.concat(held)
    this.#next = 0
    return true
  }

  /** The next as text, waited for; null: there is none. */
  async text(): Promise<string | null> {
    while (!this.step()) if (!(await this.more())) return null
    return this.bytes.toString('utf8', this.from, this.end)
  }
}

/** The rows of a turn, in the columns. */
export class Rows {
  readonly #columns: readonly Column[]
  rows = 0
  bytes = 0

  constructor(columns: readonly Column[]) {
    this.#columns = columns
  }

  clear(): void {
    for (const { data } of this.#columns) data.clear()
    this.rows = 0
    this.bytes = 0
  }

  /** A line. False: it is no row. Throws SourceError. */
  take(bytes: Buffer, from: number, end: number): boolean {
    if (!this.#takePlain(bytes, from, end) && !this.#takeAny(bytes, from, end)) return false
    this.rows += 1
    this.bytes += end - from
    return true
  }

  /** As the server writes rows. */
  #takePlain(bytes: Buffer, from: number, end: number): boolean {
    const columns = this.#columns
    let at = from
    for (let index = 0; index < columns.length; index += 1) {
      if (bytes[at] !== (index === 0 ? OPEN : COMMA)) return false
      at += 1
      if (bytes[at] === SPACE) at += 1
      at = this.#takeValue(columns[index]!, bytes, at, end)
      if (at < 0) return false
    }
    return bytes[at] === CLOSE && at + 1 === end
  }

  /** Where the value ends that begins at `at`; -1: it is no JSON. */
  #takeValue(column: Column, bytes: Buffer, at: number, end: number): number {
    const { put, quoted } = column
    const first = bytes[at]!
    if (first === QUOTE && quoted && put) {
      let close = at + 1
      while (close < end && bytes[close] !== QUOTE && bytes[close] !== ESCAPE) close += 1
      if (bytes[close] === QUOTE && put(this.rows, bytes, at + 1, close)) return close + 1
    } else if (first !== QUOTE && !quoted && put) {
      let close = at
      while (close < end && bytes[close] !== COMMA && bytes[close] !== CLOSE) close += 1
      if (put(this.rows, bytes, at, close)) return close
    }
    return this.#takeJson(column, bytes, at, end)
  }

  #takeJson(column: Column, bytes: Buffer, at: number, end: number): number {
    if (end - at > 4 && bytes.readInt32BE(at) === NULL) {
      column.data.setNull(this.rows)
      return at + 4
    }
    const close = endOfValue(bytes, at, end)
    const value = parsed(bytes, at, close)
    if (value === undefined) return -1
    this.#put(column, value)
    return close
  }

  /** Any array; what is missing in it is null. */
  #takeAny(bytes: Buffer, from: number, end: number): boolean {
    const row = parsed(bytes, from, end)
    if (!Array.isArray(row)) return false
    for (const [index, column] of this.#columns.entries())
      this.#put(column, (row as (Raw | null)[])[index] ?? null)
    return true
  }

  #put(column: Column, value: Raw | null): void {
    try {
      column.data.set(this.rows, value === null ? null : column.read(value))
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
      throw misfit(column, JSON.stringify(value))
    }
  }
}

/** Undefined: it is no JSON. */
function parsed(bytes: Buffer, from: number, end: number): Raw | null | undefined {
  if (!isUtf8(bytes.subarray(from, end))) throw noText()
  try {
    return JSON.parse(bytes.toString('utf8', from, end)) as Raw | null
  } catch {
    return undefined
  }
}

/** Behind the JSON value that begins at `at`: where a comma or a bracket stands that is not within it. */
function endOfValue(bytes: Buffer, at: number, end: number): number {
  let depth = 0
  for (let close = at; close < end; close += 1) {
    const byte = bytes[close]
    if (byte === QUOTE) {
      close += 1
      while (close < end && bytes[close] !== QUOTE) close += bytes[close] === ESCAPE ? 2 : 1
    } else if (byte === OPEN || byte === BRACE) depth += 1
    else if (depth > 0 && (byte === CLOSE || byte === BRACE_END)) depth -= 1
    else if (depth === 0 && (byte === COMMA || byte === CLOSE)) return close
  }
  return end
}
