/** A table as CSV after RFC 4180, with its values as they are. */
import type { Cell, Table } from '@assay/model/insight'

/**
 * A spreadsheet would run a text that begins with =, +, - or @ as a formula, sometimes also in full width or after
 * invisible characters (OWASP, "CSV Injection"; ASVS 5.0, 1.2.10). It reads "sep=;" at the start of a file as an
 * instruction.
 */
const RUN = /^(?:[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|[\t\r\n\0]|\s*sep=)/iu

/** A text that would be run gets an apostrophe before it. Excel knows UTF-8 by the mark at the start. */
export function tableCsv({ columns, rows }: Table): string {
  const heads = columns.map(({ name }) => textOf(name)).join(',')
  const lines = rows.map((row) => row.map(cellOf).join(','))
  return `\ufeff${[heads, ...lines].join('\r\n')}\r\n`
}

function cellOf(cell: Cell): string {
  if (cell === null) return ''
  if (typeof cell === 'string') return textOf(cell)
  return typeof cell === 'object' ? quoted(JSON.stringify(cell)) : String(cell)
}

function textOf(text: string): string {
  // A decimal and a large integer are texts of digits.
  return quoted(RUN.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text)
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
