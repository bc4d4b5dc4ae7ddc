/**
 * Makes text that came from data safe inside Markdown: it reads as itself, becomes no element, loads nothing, opens no link
 * and cannot forge a chart's placeholder. Line breaks become blanks, control and direction marks are removed.
 */

/** Removed: controls, zero-width and direction marks that could reorder a page, and U+2063, which marks charts. */
const REMOVED = /[\p{Cc}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu
const BLANKS = /[\s\u0085\u2028\u2029]+/gu
const MARKS = /[\\`*[\]|~]/g
/** An underscore between letters or digits makes no emphasis, so names such as flight_date stay readable. */
const EDGE_UNDERSCORE = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu

/** The text with its line breaks and blanks as they will read: one line, no blanks at the ends. */
export function plainLine(text: string): string {
  return text.replace(BLANKS, ' ').replace(REMOVED, '').replace(/ +/g, ' ').trim().toWellFormed()
}

/** One line of Markdown that reads as the text. */
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

/** What would begin a heading, quote, list, rule or underline at the start of a line. */
function escapeLineStart(text: string): string {
  return text.replace(
    /^(?:([#>=])|([-+])(?=[\s\-+]|$)|(\d{1,9})([.)])(?=\s|$))/,
    (all, mark, dash, number, point) => (number === undefined ? `\\${mark ?? dash}` : `${number}\\${point}`),
  )
}

/** Text inside a code fence or span cannot be escaped: a fence that is longer than any run in the text holds it. */
export function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((run) => run[0].length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}${language}\n${text.replace(/\n+$/, '').replaceAll('\u2063', '')}\n${fence}`
}

/** A code span; empty text gives nothing. */
export function codeSpan(text: string): string {
  const line = plainLine(text)
  if (line === '') return ''
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map((run) => run[0].length))
  const mark = '`'.repeat(longest + 1)
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${mark}${pad}${line}${pad}${mark}`
}
