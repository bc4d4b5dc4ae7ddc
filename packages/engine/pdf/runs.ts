/** Turns the inline parts of Markdown into runs of letters of one kind, all on one level. */
import { LINK, type Token } from '../pages/parser.ts'

/** A run. `b`: bold, `i`: italic, `c`: code, `x`: struck out, `u`: the address that it leads to, `br`: a new line. */
export interface Run {
  s: string
  b?: true
  i?: true
  c?: true
  x?: true
  u?: string
  br?: true
}

type Style = Omit<Run, 's'>

/** The most characters of an address. Typst refuses longer ones. */
const ADDRESS_MOST = 2000
const PLACEHOLDER = /\u2063chart:[a-z0-9_-]+\u2063/g
/** Controls for which no font has a letter, and which a serializer might refuse. */
const CONTROL = /[\p{Cc}\u{e0000}-\u{e007f}]/gu

/** Lets a word that is wider than a cell break after any twelve letters. U+200B marks the place. */
export function breakable(text: string): string {
  return text.replace(/\S{25,}/gu, (word) => word.replace(/\S{12}(?=\S)/gu, '$&\u200b'))
}

/** Returns one line of text. Controls become blanks, and halves of surrogate pairs the sign for an unknown character. */
export function lineOf(text: string): string {
  return text.replace(CONTROL, ' ').toWellFormed()
}

/** Returns the runs of an inline token. Placeholders of charts are left out. */
export function runsOf(children: readonly Token[]): Run[] {
  const runs: Run[] = []
  const open = { b: 0, i: 0, x: 0 }
  const links: string[] = []
  const add = (text: string, more: Style = {}): void => {
    const s = breakable(lineOf(text.replace(PLACEHOLDER, '')))
    if (s === '') return
    const link = links.findLast((address) => address !== '')
    runs.push({
      s,
      ...(open.b > 0 ? { b: true } : {}),
      ...(open.i > 0 ? { i: true } : {}),
      ...(open.x > 0 ? { x: true } : {}),
      ...(link === undefined ? {} : { u: link }),
      ...more,
    })
  }
  const nest = (kind: keyof typeof open, token: Token): void => {
    open[kind] += token.nesting
  }
  for (const token of children) {
    if (token.type === 'text') add(token.content)
    else if (token.type === 'code_inline') add(token.content, { c: true })
    else if (token.type === 'softbreak') add(' ')
    else if (token.type === 'hardbreak') runs.push({ s: '', br: true })
    else if (token.type === 'image') add(pictureText(token))
    else if (token.type === 'link_open') links.push(addressOf(token))
    else if (token.type === 'link_close') links.pop()
    else if (token.type.startsWith('strong_')) nest('b', token)
    else if (token.type.startsWith('em_')) nest('i', token)
    else if (token.type.startsWith('s_')) nest('x', token)
  }
  return runs
}

/** Returns the address of a link that leads out of the document. Places within it have other names here. */
function addressOf(token: Token): string {
  const address = lineOf(String(token.attrGet('href') ?? '')).trim()
  return LINK.test(address) && !address.startsWith('#') && address.length <= ADDRESS_MOST ? address : ''
}

/** Returns the name of a picture. Pictures of other hosts are never loaded. */
function pictureText(token: Token): string {
  const address = String(token.attrGet('src') ?? '')
  const alt = token.content === '' ? 'Picture' : token.content
  return /^data:/i.test(address) ? `[${alt}]` : `${alt} (${address})`
}
