/** Words faults of a table in text. DuckDB's own messages quote whole lines and name the file of the machine. */

const LINE_SHOWN = 80

const shown = (line: string): string =>
  JSON.stringify(line.length > LINE_SHOWN ? `${line.slice(0, LINE_SHOWN)}…` : line)

const KNOWN =
  /CSV Error on Line: (\d+(?:, column \d+)?)\nOriginal Line:([^]*?)\n((?:Expected Number|Value with|Error when|Invalid unicode|Maximum line)[^\n]*)(?:\n|$)/
const ANY = /CSV Error on Line: (\d+(?:, column \d+)?)\nOriginal Line:([^]*?)\n([^\n]+)(?:\n|$)/

const INVALID = /state machine reached an invalid state/

/** Tells whether the cause may be lines that end in several ways. */
export const mayBeEnds = (message: string): boolean =>
  INVALID.test(message) || message.includes('unterminated quote')

/** Returns the sentence; null if the message is not about a line of a text. */
export function csvFault(message: string): string | null {
  const place = KNOWN.exec(message) ?? ANY.exec(message)
  if (!place) {
    return INVALID.test(message)
      ? 'a quote is not closed, or its lines do not all end in the same way.'
      : null
  }
  const line = place[1]!
  const text = place[2]!.trim()
  const width = /Expected Number of Columns: (\d+) Found: (\d+)/.exec(message)
  if (width) {
    const [, expected, found] = width
    const much =
      Number(found) > Number(expected)
        ? `more than ${expected} ${expected === '1' ? 'value' : 'values'}`
        : `${found} ${found === '1' ? 'value' : 'values'} where ${expected} are expected`
    const slashed = /\\[,;\t|]/.test(text)
      ? ' A backslash before a separator means nothing here: put such a value between quotes.'
      : ''
    return `line ${line} has ${much}: ${shown(text)}.${slashed} Correct it, or write "bad_rows: skip" in the source to leave such rows out and count them.`
  }
  if (message.includes('unterminated quote'))
    return `line ${line}: a quote is not closed: ${shown(text)}. Correct it, write the "quote" of the source, or "bad_rows: skip" to leave such rows out and count them.`
  if (/not utf-8 encoded/i.test(message))
    return `line ${line} is not UTF-8: write its "encoding" in the source, such as windows-1252.`
  const value =
    /Error when converting column "([^]*?)"\. Could not convert string "([^]*?)" to '([^']+)'/.exec(message)
  if (value)
    return `line ${line}, column ${JSON.stringify(value[1])}: ${shown(value[2]!)} is not of the type ${value[3]}. Declare the column's type below "columns", or what stands for a missing value with "missing".`
  return `line ${line}: ${place[3]!}`
}

/** Returns the row of a message about its number of values or its quotes, or null for any other message. */
export function brokenRow(message: string): string | null {
  const row = KNOWN.exec(message) ?? ANY.exec(message)
  return row && /Expected Number of Columns|unterminated quote/.test(message) ? row[2]!.trim() : null
}

export const isNotUtf8 = (message: string): boolean => /not utf-8 encoded|Invalid unicode/i.test(message)
