/**
 * Writes Markdown as the text of a chat (Slack's "mrkdwn"): bold, emphasis, code, links and lists. Tables, charts,
 * fences, headings without text and the lineage are left to the page. The text cannot mention a person or a channel:
 * "<", ">" and "&" are escaped, and "@" has no meaning.
 */
import MarkdownIt from 'markdown-it'
import { LINEAGE_HEADING } from '../printing/lineage-section.ts'
import { shortened } from './mail-page.ts'

const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false })
type Token = ReturnType<(typeof markdown)['parse']>[number]

export function escapeChat(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function inlineText(tokens: readonly Token[]): string {
  let [text, linked] = ['', false]
  for (const token of tokens) {
    if (token.type === 'text') text += escapeChat(token.content)
    else if (token.type === 'code_inline') text += `\`${escapeChat(token.content).replaceAll('`', "'")}\``
    else if (token.type === 'strong_open' || token.type === 'strong_close') text += '*'
    else if (token.type === 'em_open' || token.type === 'em_close') text += '_'
    else if (token.type === 'softbreak' || token.type === 'hardbreak') text += '\n'
    else if (token.type === 'link_open') {
      const address = String(token.attrGet('href') ?? '')
      linked = /^https?:/i.test(address)
      if (linked) text += `<${escapeChat(address).replaceAll('|', '%7C')}|`
    } else if (token.type === 'link_close' && linked) text += '>'
    else if (token.type === 'image') text += escapeChat(token.content)
  }
  return text
}

/** Tells whether a text such as "5 of 30 rows." stands right below a table. */
function isOfTable(tokens: readonly Token[], index: number): boolean {
  const marks = tokens[index]!.children?.map(({ type }) => type) ?? []
  return (
    tokens[index - 2]?.type === 'table_close' &&
    marks[0] === 'em_open' &&
    marks.indexOf('em_close') === marks.length - 1
  )
}

const CHART_LINE = /^\u2063chart:[a-z0-9_-]+\u2063$/m

/** The characters at which a message is cut. Hostile Markdown of this length is parsed in milliseconds. */
const SOURCE_MOST = 12_000
/** The most lines that are looked at. Prose below a longer table is left to the page. */
const LINES_MOST = 200_000

/** Returns the part that is parsed. Table rows below the first are left out, because a chat does not show them. */
function beginning(source: string): string {
  let kept = ''
  let rows = 0
  let start = 0
  for (let line = 0; line < LINES_MOST && start < source.length && kept.length < SOURCE_MOST + 2; line += 1) {
    const found = source.indexOf('\n', start)
    const end = found < 0 ? source.length : found + 1
    rows = source.startsWith('|', start) ? rows + 1 : 0
    // One line may be as long as the whole text.
    if (rows < 4) kept += source.slice(start, Math.min(end, start + SOURCE_MOST + 2)).replace(CHART_LINE, '')
    start = end
  }
  return shortened(kept, SOURCE_MOST).markdown || kept.slice(0, SOURCE_MOST)
}

/** Returns the first blocks of prose, within `most` characters, without the first heading, which the message itself has. */
export function chatText(source: string, most: number): string {
  const tokens = markdown.parse(beginning(source), {})
  const blocks: string[] = []
  let [length, within, item, heading] = [0, 0, '', '']
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'table_open') within += 1
    else if (token.type === 'table_close') within -= 1
    else if (token.type === 'list_item_open') item = `${'  '.repeat(Math.max(0, token.level / 2 - 0.5))}• `
    else if (token.type === 'inline' && within === 0) {
      const before = tokens[index - 1]!
      if (token.content === LINEAGE_HEADING && before.tag === 'h2') break
      if ((before.type === 'heading_open' && before.tag === 'h1') || isOfTable(tokens, index)) continue
      const text = inlineText(token.children ?? [])
      if (text.trim() === '') continue
      if (before.type === 'heading_open') {
        heading = `*${text.replaceAll('*', '')}*\n\n`
        continue
      }
      const block = `${heading}${item}${text}`
      item = ''
      heading = ''
      if (length + block.length > most) break
      blocks.push(block)
      length += block.length + 2
    }
  }
  return blocks.reduce((all, block) => {
    if (all === '') return block
    const listed = /^ *•/.test(block) && /(^|\n) *•[^\n]*$/.test(all)
    return `${all}${listed ? '\n' : '\n\n'}${block}`
  }, '')
}
