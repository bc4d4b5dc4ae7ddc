/** Reads the Markdown of an insight, which may hold hostile text: no HTML, and no address that a page could load or run. */
import MarkdownIt from 'markdown-it'

export const LINK = /^(https?:|mailto:|#)/i
export const PICTURE = /^data:image\/(png|gif|jpeg|webp);base64,[A-Za-z0-9+/=]+$/i

export type Parser = InstanceType<typeof MarkdownIt>
export type State = Parameters<Parameters<Parser['core']['ruler']['push']>[1]>[0]
export type Token = State['tokens'][number]

export function createParser(): Parser {
  const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false })
  markdown.validateLink = (address) => LINK.test(address.trim()) || PICTURE.test(address.trim())
  markdown.core.ruler.push('whole_percents', wholePercents)
  return markdown
}

/** Keeps a number and its "%" on one line. Cells keep their signs, because a reader searches for them. */
function wholePercents({ tokens }: State): void {
  let tables = 0
  for (const { type, nesting, children } of tokens) {
    if (type.startsWith('table_')) tables += nesting
    if (tables > 0) continue
    for (const child of children ?? [])
      if (child.type === 'text') child.content = child.content.replaceAll(/(?<=^|\d) %/g, '\u00a0%')
  }
}
