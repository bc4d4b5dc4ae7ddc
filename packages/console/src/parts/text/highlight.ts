/** Divides SQL into tokens, each with its class. */
import { PostgreSQL } from '@codemirror/lang-sql'
import { classHighlighter, highlightCode } from '@lezer/highlight'

export interface Piece {
  text: string
  style: string
  from: number
}

export function coloured(sql: string): Piece[] {
  const pieces: Piece[] = []
  let from = 0
  const put = (text: string, style: string): void => {
    pieces.push({ text, style, from })
    from += text.length
  }
  highlightCode(sql, PostgreSQL.language.parser.parse(sql), classHighlighter, put, () => put('\n', ''))
  return pieces
}
