/** Cuts tables and texts that are too long for a page, and says how much is left out and where to find it. */
import { formatCount } from '../printing/format.ts'
import type { Parser, State, Token } from './parser.ts'

export interface Longest {
  /** The most rows of a table. */
  rows: number
  /** The most characters, not counting the rows that tables leave out. */
  characters: number
}

/** The lengths that a browser shows at once. */
const LONGEST_PAGE: Longest = { rows: 500, characters: 1_000_000 }

const ALL = 'All of it is in the Markdown and JSON forms of this insight.'

/** Cuts before the text of blocks and cells is parsed, which is the most expensive step, so that the rest costs nothing. */
export function cutLongPages(markdown: Parser, most = LONGEST_PAGE): void {
  markdown.core.ruler.after('block', 'long_pages', (state) => {
    state.tokens = cutText(cutTables(state.tokens, state.Token, most), state.Token, most)
  })
}

/** Cuts tables. A table cannot hold another table. */
function cutTables(tokens: Token[], NewToken: State['Token'], most: Longest): Token[] {
  const kept: Token[] = []
  let [rows, inBody] = [0, false]
  for (const token of tokens) {
    if (token.type === 'tbody_open') [rows, inBody] = [0, true]
    else if (token.type === 'tbody_close') inBody = false
    else if (inBody && token.type === 'tr_open') rows += 1
    if (inBody && rows > most.rows) continue
    kept.push(token)
    if (token.type !== 'table_close') continue
    const left = rows - most.rows
    if (left > 0) {
      const shown = `The first ${formatCount(most.rows)} of ${formatCount(rows)} rows are shown`
      kept.push(...paragraph(`${shown}, ${formatCount(left)} are left out. ${ALL}`, NewToken))
    }
    rows = 0
  }
  return kept
}

/** Cuts text between blocks, so that every opened element is closed. */
function cutText(tokens: Token[], NewToken: State['Token'], most: Longest): Token[] {
  let characters = 0
  const end = tokens.findIndex(({ content, level, nesting }) => {
    characters += content.length
    return characters > most.characters && level === 0 && nesting <= 0
  })
  if (end < 0 || end === tokens.length - 1) return tokens
  return [...tokens.slice(0, end + 1), ...paragraph(`The rest is left out here. ${ALL}`, NewToken)]
}

function paragraph(text: string, NewToken: State['Token']): Token[] {
  const said = new NewToken('inline', '', 0)
  said.content = text
  said.children = []
  const [open, close] = [new NewToken('paragraph_open', 'p', 1), new NewToken('paragraph_close', 'p', -1)]
  open.block = close.block = true
  return [open, said, close]
}
