/** Divides text into records and values as RFC 4180 does, for any separator and quote. It sees the beginning of a file only. */

export interface Marks {
  separator: string
  /** The quote; empty if values are not quoted. */
  quote: string
  /** The character before a quote within a quoted value: the quote itself, or a backslash. */
  escape: string
}

export interface TextRecord {
  values: string[]
  /** True for each value that was quoted. */
  quoted: boolean[]
  /** The offset in the text at which each value begins. */
  starts: number[]
  /** The line, from 1. */
  line: number
}

export interface Records {
  records: TextRecord[]
  /** True if the text has no more records. */
  all: boolean
  /** True if a quote was not closed, or text follows a closing quote. */
  broken: boolean
  /**
   * The number of records before the first broken one, and where its first broken value begins; null if none is broken.
   */
  sound: number | null
  brokenAt: number | null
}

const RECORDS_MOST = 1_000
/** The most values that are kept in memory of a wide table. */
const VALUES_MOST = 1_200_000

/**
 * Divides a text. `whole`: whether the text is the whole file; otherwise its last record is left out, since it may be
 * cut.
 */
export function recordsOf(text: string, marks: Marks, whole: boolean, most = RECORDS_MOST): Records {
  const reader = new RecordReader(text, marks)
  const records: TextRecord[] = []
  let sound: number | null = null
  let values = 0
  while (!reader.ended && records.length < most && values < VALUES_MOST) {
    const record = reader.next()
    records.push(record)
    values += record.values.length
    if (reader.broken) sound ??= records.length - 1
  }
  if (reader.ended && !whole && !reader.closed) records.pop()
  return {
    records,
    all: reader.ended,
    broken: reader.broken && (whole || !reader.open),
    sound,
    brokenAt: reader.brokenAt,
  }
}

class RecordReader {
  readonly #text: string
  readonly #marks: Marks
  #at = 0
  #line = 1
  broken = false
  /** The offset at which the first broken value begins. */
  brokenAt: number | null = null
  /** True if the text ended within a quoted value. */
  open = false
  /** True if the last record ended with a line break. */
  closed = false

  constructor(text: string, marks: Marks) {
    this.#text = text
    this.#marks = marks
  }

  get ended(): boolean {
    return this.#at >= this.#text.length
  }

  next(): TextRecord {
    const record: TextRecord = { values: [], quoted: [], starts: [], line: this.#line }
    this.closed = false
    for (;;) {
      const { quote } = this.#marks
      const isQuoted = quote !== '' && this.#text[this.#at] === quote
      record.starts.push(this.#at)
      record.values.push(isQuoted ? this.#quotedValue() : this.#plainValue())
      if (this.broken) this.brokenAt ??= record.starts.at(-1)!
      record.quoted.push(isQuoted)
      const { separator } = this.#marks
      if (this.#text.startsWith(separator, this.#at)) {
        this.#at += separator.length
        if (!this.ended) continue
        record.starts.push(this.#at)
        record.values.push('')
        record.quoted.push(false)
        return record
      }
      this.#lineBreak()
      return record
    }
  }

  #lineBreak(): void {
    if (this.ended) return
    this.closed = true
    this.#line += 1
    this.#at += this.#text.startsWith('\r\n', this.#at) ? 2 : 1
  }

  #plainValue(): string {
    const from = this.#at
    const text = this.#text
    const { separator } = this.#marks
    const first = separator[0]
    for (; this.#at < text.length; this.#at += 1) {
      const character = text[this.#at]
      if (character === '\n' || character === '\r') break
      if (character === first && text.startsWith(separator, this.#at)) break
    }
    return text.slice(from, this.#at)
  }

  #quotedValue(): string {
    const { quote, escape, separator } = this.#marks
    const text = this.#text
    let value = ''
    for (this.#at += 1; this.#at < text.length; this.#at += 1) {
      const character = text[this.#at]!
      if (character === escape && escape !== quote && this.#at + 1 < text.length) {
        this.#at += 1
        value += text[this.#at]
      } else if (character === quote) {
        if (escape !== quote || text[this.#at + 1] !== quote) {
          this.#at += 1
          const after = text[this.#at]
          const ends = after === undefined || after === '\n' || after === '\r'
          if (!ends && !text.startsWith(separator, this.#at)) {
            this.broken = true
            value += this.#plainValue()
          }
          return value
        }
        this.#at += 1
        value += quote
      } else {
        if (character === '\n') this.#line += 1
        value += character
      }
    }
    this.broken = true
    this.open = true
    return value
  }
}

/**
 * Returns the column at which a broken row goes wrong, from 1: the value after the last that is expected, the quote
 * that is not closed, or the end of a row that is too short.
 */
export function faultAt(row: string, marks: Marks, width: number): number {
  const { records, brokenAt } = recordsOf(row, marks, true, 1)
  return (brokenAt ?? records[0]?.starts[width] ?? row.length) + 1
}

export const isBlank = ({ values }: TextRecord): boolean => values.length === 1 && values[0]!.trim() === ''
