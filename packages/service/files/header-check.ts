/** Checks that a table in text begins with a row of names. It keeps only the first line that is not blank. */
import type { Check, CheckFault } from './check-fault.ts'

const HEADER_BYTES = 1_000_000
const QUOTE = 0x22
const NEWLINE = 0x0a
const DELIMITERS = [',', ';', '\t', '|']

/** The fields of one record; quotes as in RFC 4180. */
function fieldsOf(record: string, delimiter: string): string[] {
  const fields: string[] = []
  let field = ''
  let quoted = false
  for (let at = 0; at < record.length; at += 1) {
    const character = record[at]!
    if (character === '"') {
      if (quoted && record[at + 1] === '"') {
        field += '"'
        at += 1
      } else quoted = !quoted
    } else if (character === delimiter && !quoted) {
      fields.push(field)
      field = ''
    } else field += character
  }
  return [...fields, field]
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

  /** `delimiter` null: the delimiter that divides the row into the most fields. */
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

  /** Checks the kept line. A blank line is skipped. */
  #judge(): CheckFault | null {
    const record = Buffer.concat(this.#parts)
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .replace(/\r$/, '')
    this.#parts = []
    if (record.trim() === '') return null
    this.#done = true
    if (this.#quoted) return { message: 'has a quote in its first row that is not closed', line: this.#line }
    const delimiters = this.#delimiter === null ? DELIMITERS : [this.#delimiter]
    const rows = delimiters.map((delimiter) => fieldsOf(record, delimiter))
    const fields = rows.reduce((widest, row) => (row.length > widest.length ? row : widest))
    return fields.some(isName)
      ? null
      : {
          message: 'has no header: its first row must name the columns, and holds numbers only',
          line: this.#line,
        }
  }
}
