/** Checks that a table in text begins with a row of names. It keeps only the first line that is not blank. */
import type { Check, CheckFault } from './check-fault.ts'

const HEADER_BYTES = 1_000_000
/** The most blank lines at the beginning of a table. Each is looked at while every other request waits. */
const BLANK_MOST = 1_000
/** The most fields in which a name is looked for. */
const FIELDS_MOST = 10_000
const QUOTE = 0x22
const NEWLINE = 0x0a
const DELIMITERS = [',', ';', '\t', '|']

/**
 * Counts each ASCII character outside of quotes. It makes one pass, because the record may have a million characters.
 */
function countsIn(record: string): Uint32Array {
  const counts = new Uint32Array(128)
  let quoted = false
  for (let at = 0; at < record.length; at += 1) {
    const code = record.charCodeAt(at)
    if (code === QUOTE) quoted = !quoted
    else if (!quoted && code < 128) counts[code]! += 1
  }
  return counts
}

/** Yields the first fields of one record, without their quotes. */
function* fieldsOf(record: string, delimiter: string): Generator<string> {
  const code = delimiter.charCodeAt(0)
  let quoted = false
  let from = 0
  let fields = 0
  for (let at = 0; at < record.length && fields < FIELDS_MOST; at += 1) {
    const one = record.charCodeAt(at)
    if (one === QUOTE) quoted = !quoted
    else if (one === code && !quoted) {
      yield record.slice(from, at).replaceAll('"', '')
      from = at + 1
      fields += 1
    }
  }
  if (fields < FIELDS_MOST) yield record.slice(from).replaceAll('"', '')
}

const isName = (field: string): boolean =>
  field.trim() !== '' && Number.isNaN(Number(field.replace(',', '.')))

export class HeaderCheck implements Check {
  readonly #delimiter: string | null
  #parts: Buffer[] = []
  #length = 0
  #quoted = false
  #line = 1
  #done = false

  /** A `delimiter` of null means the delimiter that divides the row into the most fields. */
  constructor(delimiter: string | null) {
    this.#delimiter = delimiter
  }

  push(bytes: Buffer): CheckFault | null {
    let from = 0
    while (!this.#done && from < bytes.length) {
      const end = this.#endOfRecord(bytes, from)
      const part = bytes.subarray(from, end < 0 ? undefined : end)
      this.#length += part.length + 1
      if (this.#length > HEADER_BYTES)
        return {
          message: `has a first row of more than ${HEADER_BYTES} bytes, with the blank lines before it: is a quote not closed?`,
          line: this.#line,
        }
      this.#parts.push(Buffer.from(part))
      if (end < 0) return null
      const fault = this.#judge()
      if (fault) return fault
      from = end + 1
      this.#line += 1
      if (!this.#done && this.#line > BLANK_MOST)
        return { message: `begins with ${BLANK_MOST} blank lines: leave them out`, line: this.#line }
    }
    return null
  }

  end(): CheckFault | null {
    if (this.#done) return null
    return (
      this.#judge() ??
      (this.#done ? null : { message: 'is empty: its first row must name the columns', line: 1 })
    )
  }

  #endOfRecord(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at]!
      if (byte === QUOTE) this.#quoted = !this.#quoted
      else if (byte === NEWLINE && !this.#quoted) return at
    }
    return -1
  }

  /** Checks the kept line. It skips a blank line. */
  #judge(): CheckFault | null {
    const record = Buffer.concat(this.#parts)
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .replace(/\r$/, '')
    this.#parts = []
    if (record.trim() === '') return null
    this.#done = true
    if (this.#quoted) return { message: 'has a quote in its first row that is not closed', line: this.#line }
    const counts = countsIn(record)
    const countOf = (delimiter: string): number => counts[delimiter.charCodeAt(0)]!
    const delimiter =
      this.#delimiter ?? DELIMITERS.reduce((most, one) => (countOf(one) > countOf(most) ? one : most))
    return fieldsOf(record, delimiter).some(isName)
      ? null
      : {
          message:
            'has no header: its first row must name the columns, and holds numbers only. Name them, or write "header: false" if it holds values, "header: true" if these are names',
          write: ['header: false', 'header: true'],
          line: this.#line,
        }
  }
}
