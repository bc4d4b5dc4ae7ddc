/** Cuts what is too long for a page: shows the beginning, and says how much is left out and where to find it. */
import type MarkdownIt from 'markdown-it'
import { formatCount } from '../printing/format.ts'

/** The most rows of a table: a browser shows this many at once. */
const TABLE_ROWS_MOST = 500
/** The most characters of a page without the rows that its tables leave out. */
const CHARACTERS_MOST = 1_000_000

const ALL = 'All of it is in the Markdown and JSON forms of this insight.'

type Parser = InstanceType<typeof MarkdownIt>
type State = Parameters<Parameters<Parser['core']['ruler']['push']>[1]>[0]
type Token = State['tokens'][number]

/** Cuts before the text of blocks and cells is parsed, the most expensive step, so that the rest costs nothing. */
export function cutLongPages(markdown: Parser): void {
  markdown.core.ruler.after('block', 'long_pages', (state) => {
    state.tokens = cutText(cutTables(state.tokens, state.Token), state.Token)
  })
}

/** A table cannot hold another table. */
function cutTables(tokens: Token[], NewToken: State['Token']): Token[] {
  const kept: Token[] = []
  let [rows, inBody] = [0, false]
  for (const token of tokens) {
    if (token.type === 'tbody_open') [rows, inBody] = [0, true]
    else if (token.type === 'tbody_close') inBody = false
    else if (inBody && token.type === 'tr_open') rows += 1
    if (inBody && rows > TABLE_ROWS_MOST) continue
    kept.push(token)
    if (token.type !== 'table_close') continue
    const left = rows - TABLE_ROWS_MOST
    if (left > 0) {
      const shown = `The first ${formatCount(TABLE_ROWS_MOST)} of ${formatCount(rows)} rows are shown`
      kept.push(...paragraph(`${shown}, ${formatCount(left)} are left out. ${ALL}`, NewToken))
    }
    rows = 0
  }
  return kept
}

/** Cuts between blocks, so that every opened element is closed. */
function cutText(tokens: Token[], NewToken: State['Token']): Token[] {
  let characters = 0
  const end = tokens.findIndex(({ content, level, nesting }) => {
    characters += content.length
    return characters > CHARACTERS_MOST && level === 0 && nesting <= 0
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
