/**
 * Checks that bytes are JSON (RFC 8259) while they arrive. A state machine keeps its state and the nesting, never the
 * text. Several values may follow each other with white space between them, as DuckDB reads them. In NDJSON each
 * value is on one line.
 */
import type { Check, CheckFault } from './check-fault.ts'

/** The states between tokens, by what may follow. */
const EXPECT = { value: 0, after: 1, firstKey: 2, key: 3, colon: 4, firstItem: 5 } as const
type Expecting = (typeof EXPECT)[keyof typeof EXPECT]

/**
 * The token of the present bytes. `escape` within a string: 0 for none, 1 after a backslash, 2 to 5 while hex digits
 * follow.
 */
type Token =
  | { kind: 'string'; escape: number; key: boolean }
  | { kind: 'number'; text: string }
  | { kind: 'word'; left: string }

const DEPTH_MOST = 1000
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/
/** The most characters of a number. */
const NUMBER_BYTES = 1000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const NEWLINE = 0x0a

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === NEWLINE
const isNumberByte = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e ||
  byte === 0x65 ||
  byte === 0x45
const isHex = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)

function shown(byte: number): string {
  return byte >= 0x20 && byte < 0x7f
    ? JSON.stringify(String.fromCharCode(byte))
    : `byte 0x${byte.toString(16).padStart(2, '0')}`
}

const WANTED: Record<Expecting, string> = {
  [EXPECT.value]: 'a value is expected',
  [EXPECT.after]: '"," or the end of the object or list is expected',
  [EXPECT.firstKey]: 'a key in quotes or "}" is expected',
  [EXPECT.key]: 'a key in quotes is expected',
  [EXPECT.colon]: '":" is expected',
  [EXPECT.firstItem]: 'a value or "]" is expected',
}

export class JsonCheck implements Check {
  readonly #lines: boolean
  #expecting: Expecting = EXPECT.value
  #token: Token | null = null
  /** The open objects (true) and lists (false). */
  readonly #open: boolean[] = []
  #line = 1
  #lineStart = 0
  #offset = 0
  #values = 0
  /** The number of values on this line, for NDJSON. */
  #onLine = 0

  constructor(form: 'json' | 'ndjson') {
    this.#lines = form === 'ndjson'
  }

  push(bytes: Buffer): CheckFault | null {
    let at = 0
    while (at < bytes.length) {
      const token = this.#token
      const next =
        token === null
          ? this.#structure(bytes, at)
          : token.kind === 'string'
            ? this.#string(token, bytes, at)
            : token.kind === 'number'
              ? this.#number(token, bytes, at)
              : this.#word(token, bytes, at)
      if (typeof next !== 'number') return next
      at = next
    }
    this.#offset += bytes.length
    return null
  }

  end(): CheckFault | null {
    if (this.#token?.kind === 'number') {
      const fault = this.#endNumber(this.#token, 0)
      if (fault) return fault
    }
    if (this.#token !== null || this.#open.length > 0)
      return this.#fault('is cut off: it ends in the middle of a value', 0)
    return this.#values === 0 ? { message: 'is empty: it must hold at least one value' } : null
  }

  #fault(message: string, at: number): CheckFault {
    return { message, line: this.#line, column: this.#offset + at - this.#lineStart + 1 }
  }

  #unexpected(byte: number, at: number): CheckFault {
    if (byte === 0xef && this.#offset + at === 0)
      return { message: 'begins with a byte order mark, which JSON does not have: save it without one' }
    const wanted =
      this.#open.length === 0 && this.#expecting === EXPECT.after
        ? 'a value is expected'
        : WANTED[this.#expecting]
    return this.#fault(`is not JSON: ${wanted}, not ${shown(byte)}`, at)
  }

  /** Reads one byte between tokens. Returns the index of the next byte, or a fault. */
  #structure(bytes: Buffer, from: number): number | CheckFault {
    let at = from
    let byte = bytes[at]!
    while (isBlank(byte)) {
      if (byte === NEWLINE) {
        const fault = this.#newLine(at)
        if (fault) return fault
      }
      at += 1
      if (at === bytes.length) return at
      byte = bytes[at]!
    }
    const expecting = this.#expecting
    if (byte === QUOTE && expecting !== EXPECT.colon && expecting !== EXPECT.after) {
      const key = expecting === EXPECT.key || expecting === EXPECT.firstKey
      return this.#begin({ kind: 'string', escape: 0, key }, at, at + 1)
    }
    if (expecting === EXPECT.value || expecting === EXPECT.firstItem) return this.#value(byte, at)
    if (expecting === EXPECT.colon && byte === 0x3a) this.#expecting = EXPECT.value
    else if (expecting === EXPECT.firstKey && byte === 0x7d) this.#close()
    else if (expecting === EXPECT.after && byte === 0x2c && this.#open.length > 0)
      this.#expecting = this.#open.at(-1) ? EXPECT.key : EXPECT.value
    else if (
      expecting === EXPECT.after &&
      this.#open.length > 0 &&
      byte === (this.#open.at(-1) ? 0x7d : 0x5d)
    )
      this.#close()
    else return this.#unexpected(byte, at)
    return at + 1
  }

  #value(byte: number, at: number): number | CheckFault {
    if (byte === 0x7b || byte === 0x5b) {
      const fault = this.#begin(null, at, at + 1)
      if (typeof fault !== 'number') return fault
      if (this.#open.length === DEPTH_MOST)
        return this.#fault(`is nested deeper than ${DEPTH_MOST} levels`, at)
      this.#open.push(byte === 0x7b)
      this.#expecting = byte === 0x7b ? EXPECT.firstKey : EXPECT.firstItem
      return at + 1
    }
    if (byte === 0x5d && this.#expecting === EXPECT.firstItem) {
      this.#close()
      return at + 1
    }
    if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39))
      return this.#begin({ kind: 'number', text: '' }, at, at)
    const word = byte === 0x74 ? 'true' : byte === 0x66 ? 'false' : byte === 0x6e ? 'null' : null
    return word === null ? this.#unexpected(byte, at) : this.#begin({ kind: 'word', left: word }, at, at)
  }

  /** Begins a value. NDJSON may have one value a line. */
  #begin(token: Token | null, at: number, next: number): number | CheckFault {
    if (this.#open.length === 0) {
      this.#onLine += 1
      if (this.#lines && this.#onLine > 1)
        return this.#fault('is not NDJSON: each line may hold one value only', at)
    }
    this.#token = token
    return next
  }

  #newLine(at: number): CheckFault | null {
    if (this.#lines && this.#open.length > 0)
      return this.#fault('is not NDJSON: a value may not go over several lines', at)
    this.#line += 1
    this.#lineStart = this.#offset + at + 1
    this.#onLine = 0
    return null
  }

  #close(): void {
    this.#open.pop()
    this.#ended()
  }

  #ended(): void {
    this.#token = null
    if (this.#open.length === 0) this.#values += 1
    this.#expecting = this.#open.length === 0 ? EXPECT.value : EXPECT.after
  }

  #string(token: Extract<Token, { kind: 'string' }>, bytes: Buffer, from: number): number | CheckFault {
    let at = from
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at]!
      if (token.escape === 0) {
        if (byte === BACKSLASH) token.escape = 1
        else if (byte === QUOTE) {
          this.#ended()
          if (token.key) this.#expecting = EXPECT.colon
          return at + 1
        } else if (byte < 0x20)
          return this.#fault(`is not JSON: a text may not hold ${shown(byte)} as it is`, at)
      } else if (token.escape === 1) {
        if (byte === 0x75) token.escape = 5
        else if ('"\\/bfnrt'.includes(String.fromCharCode(byte))) token.escape = 0
        else return this.#fault(`is not JSON: a backslash may not stand before ${shown(byte)}`, at)
      } else {
        if (!isHex(byte))
          return this.#fault(`is not JSON: "\\u" needs four hex digits, not ${shown(byte)}`, at)
        token.escape = token.escape === 2 ? 0 : token.escape - 1
      }
    }
    return at
  }

  #number(token: Extract<Token, { kind: 'number' }>, bytes: Buffer, from: number): number | CheckFault {
    let at = from
    while (at < bytes.length && isNumberByte(bytes[at]!)) at += 1
    token.text += bytes.toString('latin1', from, at)
    if (token.text.length > NUMBER_BYTES)
      return this.#fault(`holds a number of more than ${NUMBER_BYTES} characters`, at)
    return at === bytes.length ? at : (this.#endNumber(token, at) ?? at)
  }

  #endNumber(token: Extract<Token, { kind: 'number' }>, at: number): CheckFault | null {
    if (!NUMBER.test(token.text))
      return this.#fault(
        `is not JSON: ${JSON.stringify(token.text.slice(0, 40))} is not a number`,
        at - token.text.length,
      )
    this.#ended()
    return null
  }

  #word(token: Extract<Token, { kind: 'word' }>, bytes: Buffer, from: number): number | CheckFault {
    let at = from
    for (; at < bytes.length && token.left !== ''; at += 1) {
      if (bytes[at] !== token.left.charCodeAt(0)) return this.#unexpected(bytes[at]!, at)
      token.left = token.left.slice(1)
    }
    if (token.left === '') this.#ended()
    return at
  }
}
