/**
 * Makes each printed number of a page a link to its row. The marks say where a number stands in the Markdown. The
 * number gets a frame of characters that no data can forge, and the frame becomes a link once the text is parsed.
 */
import { marksIn, rowAt } from '@assay/model/places'
import type { Mark, Origin } from '@assay/model/provenance'
import { escapeHtml } from '../html.ts'
import type { Parser, State, Token } from '../parser.ts'
import type { BehindPage } from './sheets.ts'

const FRAME = /(?:\u2063|%E2%81%A3)(n\d+|\/n)(?:\u2063|%E2%81%A3)/g
const CLOSE = '\u2063/n\u2063'
/** The most characters of a text that is one link. In a longer one the numbers lead to its place. */
const LONGEST_VALUE = 40
/** Numbers that do not stand within an entity or behind a backslash. */
const NUMBERS = /(?<![\w.,\-#&\\])[+\-−]?\d[\d,]*(?:\.\d+)?(?: ?%)?(?![\w-]|[.,]\d)/g

interface Env {
  behind?: BehindPage
  /** The targets of the frames, by their number. */
  links?: { anchor: string; says: string; apart: boolean }[]
}

export function placeLinks(markdown: Parser): void {
  markdown.core.ruler.before('inline', 'numbers', (state) => {
    const env = state.env as Env
    // The marks count characters of the stored text, and the parser replaces these characters.
    if (env.behind && !/[\r\0]/.test(state.src)) frameNumbers(state, env.behind, env)
  })
  markdown.core.ruler.after('inline', 'number_links', (state) => {
    const { links } = state.env as Env
    if (!links) return
    for (const token of state.tokens)
      if (token.type === 'inline') token.children = linked(token.children ?? [], links, state)
  })
}

/** The place of a token's text: its lines, or a part of a line. */
interface Lines {
  texts: string[]
  starts: number[]
}

function linesOf(src: string): Lines {
  const texts = src.split('\n')
  const starts: number[] = []
  let at = 0
  for (const text of texts) {
    starts.push(at)
    at += text.length + 1
  }
  return { texts, starts }
}

function frameNumbers(state: State, behind: BehindPage, env: Env): void {
  const lines = linesOf(state.src)
  const links: NonNullable<Env['links']> = []
  env.links = links
  const frame = (text: string, origin: Origin | undefined, apart: boolean): string => {
    const place = origin && behind.placeOf(origin)
    if (!place || !/\d/.test(text)) return text
    links.push({ ...place, apart })
    const around = (number: string): string => `\u2063n${links.length - 1}\u2063${number}${CLOSE}`
    return text.length > LONGEST_VALUE ? text.replaceAll(NUMBERS, around) : around(text)
  }
  /** Returns the text of a token, which begins at `start` in the source, with frames. */
  const framed = (text: string, start: number): string => {
    let done = ''
    let from = 0
    for (const mark of marksIn(behind.marks, { start, end: start + text.length })) {
      const [first, last] = [mark.start - start, mark.end - start]
      if (mark.table || first < from || last > text.length || startsList(text, first, last)) continue
      done += text.slice(from, first) + frame(text.slice(first, last), mark.from[0], false)
      from = last
    }
    return done + text.slice(from)
  }
  let table: TableWalk | null = null
  for (const token of state.tokens) {
    if (token.type === 'table_open') table = tableWalk(token, lines, behind.marks)
    else if (token.type === 'table_close') table = null
    else if (table) walkTable(table, token, lines, framed, frame)
    else if (token.type === 'inline' && token.map)
      token.content = framedLines(token.content, token.map[0], lines, framed)
  }
}

/** Tells whether a number starts a list item, as "12. " does. A frame before it would end the list. */
function startsList(text: string, first: number, last: number): boolean {
  return /^\s*$/.test(text.slice(0, first)) && /^[.)](\s|$)/.test(text.slice(last))
}

function framedLines(
  content: string,
  first: number,
  { texts, starts }: Lines,
  framed: (text: string, start: number) => string,
): string {
  const parts = content.split('\n').map((part, index) => {
    const line = first + index
    const at = texts[line]?.lastIndexOf(part) ?? -1
    return at < 0 || part === '' ? part : framed(part, starts[line]! + at)
  })
  return parts.join('\n')
}

/** The state of a walk through the tokens of a table. */
interface TableWalk {
  mark: Mark | undefined
  first: number
  /** The number of body rows before this one; -1 in the head. */
  row: number
  column: number
  cursor: number
}

function tableWalk({ map }: Token, { starts }: Lines, marks: readonly Mark[]): TableWalk | null {
  if (!map) return null
  const place = { start: starts[map[0]]!, end: starts[map[1]] ?? Number.POSITIVE_INFINITY }
  const mark = marksIn(marks, place).find(({ table }) => table)
  return { mark, first: map[0], row: -2, column: -1, cursor: 0 }
}

function walkTable(
  walk: TableWalk,
  token: Token,
  { texts, starts }: Lines,
  framed: (text: string, start: number) => string,
  frame: (text: string, origin: Origin | undefined, apart: boolean) => string,
): void {
  if (token.type === 'tr_open') {
    walk.row += 1
    walk.column = -1
    walk.cursor = 0
  }
  if (token.type !== 'inline' || token.content === '') {
    if (token.type === 'td_open') walk.column += 1
    return
  }
  if (walk.row < 0) return
  const shown = walk.mark?.table
  if (shown) {
    const row = rowAt(shown.rows, walk.row)
    const column = shown.columns[walk.column]?.name
    if (row !== undefined && column !== undefined)
      token.content = frame(token.content, { ...walk.mark!.from[0], row, column }, true)
    return
  }
  // The head and the line below it stand before the body.
  const line = walk.first + 2 + walk.row
  const at = texts[line]?.indexOf(token.content, walk.cursor) ?? -1
  if (at < 0) return
  walk.cursor = at + token.content.length
  token.content = framed(token.content, starts[line]! + at)
}

/** Turns a frame in plain text into a link. Elsewhere its characters are removed. */
function linked(tokens: readonly Token[], links: NonNullable<Env['links']>, state: State): Token[] {
  const html = (content: string): Token => Object.assign(new state.Token('html_inline', '', 0), { content })
  const out: Token[] = []
  let open: { token: Token; depth: number; link: string } | null = null
  let [depth, inLink] = [0, 0]
  const end = (): void => {
    if (open && open.depth === depth) {
      open.token.content = open.link
      out.push(html('</a>'))
    }
    open = null
  }
  for (const token of tokens) {
    depth += token.nesting
    if (token.type === 'link_open') [inLink, open] = [inLink + 1, null]
    if (token.type === 'link_close') inLink -= 1
    if (token.type !== 'text') {
      out.push(stripped(token))
      continue
    }
    const parts = token.content.split(FRAME)
    for (const [index, part] of parts.entries()) {
      if (index % 2 === 0) {
        if (part !== '') out.push(Object.assign(new state.Token('text', '', 0), { content: part }))
      } else if (part === '/n') end()
      else if (inLink === 0) {
        const place = html('')
        out.push(place)
        open = { token: place, depth, link: linkOpen(links[Number(part.slice(1))]) }
      }
    }
  }
  return out
}

/**
 * Returns the opening tag of a link. `apart`: a cell of a table, which the pointer reaches; by keyboard the section
 * below leads there.
 */
function linkOpen(link: NonNullable<Env['links']>[number] | undefined): string {
  if (!link) return '<a>'
  const index = link.apart ? ' tabindex="-1"' : ''
  return `<a class="number" href="#${escapeHtml(link.anchor)}" title="${escapeHtml(link.says)}"${index}>`
}

function stripped(token: Token): Token {
  token.content = token.content.replace(FRAME, '')
  for (const attribute of token.attrs ?? []) attribute[1] = String(attribute[1]).replace(FRAME, '')
  for (const child of token.children ?? []) stripped(child)
  return token
}
