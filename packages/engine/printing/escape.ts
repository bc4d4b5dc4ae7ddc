/**
 * Prepares text from data for output. `plainLine` is for outputs that show text as it is, `visible` for text of several
 * lines. `escapeMarkdown` is for Markdown: the text is shown as it is, makes no element, loads nothing, makes no link
 * and cannot forge the placeholder of a chart.
 */

/**
 * Characters that are removed: controls, those that XML may not hold, zero-width marks, marks that reorder a page,
 * and U+2063, which marks placeholders.
 */
const REMOVED =
  /[\p{Cc}\p{NChar}\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu
const BLANKS = /[\s\u0085\u2028\u2029]+/gu
const MARKS = /[\\`*[\]|~]/g
/**
 * An underscore at the edge of a word. One between letters or digits makes no emphasis, so it is kept in names such
 * as flight_date.
 */
const EDGE_UNDERSCORE = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu

/**
 * Characters that a terminal would obey, that are invisible or that reverse text, except line ends, tabs and the
 * joiners of scripts.
 */
const UNSEEN = /\r(?!\n)|(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{NChar}]/gu

/**
 * Returns the text on one line, without blanks at the ends. Line breaks become blanks; control and direction marks
 * are removed; halves of surrogate pairs become the sign for an unknown character.
 */
export function plainLine(text: string): string {
  // This comes first, because two surrogate halves around a removed mark would become a character.
  return text.toWellFormed().replace(BLANKS, ' ').replace(REMOVED, '').replace(/ +/g, ' ').trim()
}

/** Returns text of several lines in which each control or invisible character is written as its code, "<1b>". */
export function visible(text: string): string {
  const code = (mark: string): string => `<${mark.codePointAt(0)!.toString(16).padStart(2, '0')}>`
  return text.toWellFormed().replaceAll(UNSEEN, code)
}

/** Returns one line of Markdown that shows the text. */
export function escapeMarkdown(text: string): string {
  const escaped = plainLine(text)
    .replace(MARKS, '\\$&')
    .replace(EDGE_UNDERSCORE, '\\_')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    // GitHub and others turn bare addresses into links.
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

/** Returns visible text in a code fence. It cannot be escaped, so the fence is longer than any run of backticks in it. */
export function fenced(text: string, language: string): string {
  const fence = '`'.repeat(Math.max(2, longestRun(text)) + 1)
  // A regular expression would look at each run of line ends once for each of them.
  let end = text.length
  while (text[end - 1] === '\n') end -= 1
  return `${fence}${language}\n${visible(text.slice(0, end))}\n${fence}`
}

/** Returns a code span; "" for empty text. */
export function codeSpan(text: string): string {
  const line = plainLine(text)
  if (line === '') return ''
  const mark = '`'.repeat(longestRun(line) + 1)
  const pad = line.startsWith('`') || line.endsWith('`') ? ' ' : ''
  return `${mark}${pad}${line}${pad}${mark}`
}

/** Returns the length of the longest run of backticks. */
function longestRun(text: string): number {
  let longest = 0
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  return longest
}
