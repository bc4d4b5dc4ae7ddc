/**
 * Escapes text from data for Markdown: it is shown as it is, makes no element, loads nothing, makes no link and cannot
 * forge the placeholder of a chart. Line breaks become blanks; control and direction marks are removed.
 */

/** Removed: controls, zero-width marks, direction marks that could reorder a page, and U+2063, which marks placeholders. */
const REMOVED = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu
const BLANKS = /[\s\u0085\u2028\u2029]+/gu
const MARKS = /[\\`*[\]|~]/g
/** An underscore between letters or digits makes no emphasis, so it is kept in names such as flight_date. */
const EDGE_UNDERSCORE = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu

/** The text on one line, without blanks at the ends. */
export function plainLine(text: string): string {
  return text.replace(BLANKS, ' ').replace(REMOVED, '').replace(/ +/g, ' ').trim().toWellFormed()
}

/** One line of Markdown that shows the text. */
export function escapeMarkdown(text: string): string {
  const escaped = plainLine(text)
    .replace(MARKS, '\\$&')
    .replace(EDGE_UNDERSCORE, '\\_')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    // GitHub and others link bare addresses by themselves.
    .replace(/:(?=\/\/)/g, '\\:')
    .replace(/\b(www)\./gi, '$1\\.')
    .replace(/@/g, '\\@')
  return escapeLineStart(escaped)
}

/** Escapes the start of a heading, quote, list, rule or underline. */
function escapeLineStart(text: string): string {
  return text.replace(
    /^(?:([#>=])|([-+])(?=[\s\-+]|$)|(\d{1,9})([.)])(?=\s|$))/,
    (all, mark, dash, number, point) => (number === undefined ? `\\${mark ?? dash}` : `${number}\\${point}`),
  )
}

/** Text in a code fence cannot be escaped, so the fence is longer than any run of backticks in it. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n+$/, '').replaceAll('\u2063', '')}\n${fence}`
}

/** A code span; empty for empty text. */
export function codeSpan(text: string): string {
  const line = plainLine(text)
  if (line === '') return ''
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map((run) => run[0].length))
  const mark = '`'.repeat(longest + 1)
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${mark}${pad}${line}${pad}${mark}`
}
