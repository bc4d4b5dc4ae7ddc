/**
 * CSV after RFC 4180, for exports and for "Save as CSV". The page of an insight runs the same text
 * (`packages/engine/pages/answer.generated.ts`), so this file imports nothing.
 */

/**
 * A spreadsheet would run a text that begins with =, +, - or @ as a formula, sometimes also in full width or after
 * invisible characters (OWASP, "CSV Injection"; ASVS 5.0, 1.2.10). It reads "sep=;" at the start of a file as an
 * instruction.
 */
const FORMULA = /^(?:[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|[\t\r\n\0]|\s*sep=)/iu
/** Numbers as they are printed or stored stay numbers: "-5.2%", "+1,204". */
const NUMBER = /^[+-]?\d[\d.,]*\s?%?$/

/** Returns one text as a field. A text that a spreadsheet would run gets an apostrophe before it. */
export function csvField(text: string): string {
  return csvQuoted(FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text)
}

/** Returns one text as a field, as it is. */
export function csvQuoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Returns the lines of a file. Excel knows UTF-8 by the mark at its start. */
export function csvOf(fields: readonly (readonly string[])[]): string {
  return `\ufeff${fields.map((row) => `${row.join(',')}\r\n`).join('')}`
}
