/**
 * Divides a text into plain text, outputs `{{ }}` and tags `{% %}` in one pass, and applies Liquid's white space control:
 * a `-` beside the braces removes the white space on that side, and a control tag that stands alone on its line removes
 * the whole line.
 */
import { OffsetFault } from './fault.ts'

export interface Token {
  kind: 'text' | 'output' | 'tag'
  /** The name of a tag, `#` for an inline comment, else "". */
  name: string
  /** The offsets of the whole token with its braces. */
  begin: number
  end: number
  /** The start of the content: of a text, of an output, or of what follows the name of a tag. */
  from: number
  to: number
}

/** The tags that print nothing themselves. */
const CONTROL = new Set(
  'if elsif else endif unless endunless case when endcase for endfor assign capture endcapture comment endcomment #'.split(
    ' ',
  ),
)
const TAG_NAME = /#|[\p{L}\p{N}_-]+/uy
const RAW_END = /\{%-?\s*endraw\s*-?%\}/g

const NEWLINE = 10
const BACKSLASH = 92
const MINUS = 45

export function isBlank(code: number): boolean {
  if (code < 128) return code === 32 || (code >= 9 && code <= 13)
  return code >= 160 && /\s/.test(String.fromCharCode(code))
}

/** Divides the text. Throws OffsetFault if an output, a tag or `raw` is not closed. */
export function readTokens(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const begin = nextBraces(text, at)
    if (begin > at) tokens.push(plain(at, begin))
    if (begin === text.length) break
    const token = text[begin + 1] === '%' ? readTag(text, begin) : readOutput(text, begin)
    tokens.push(token)
    at = token.name === 'raw' ? readRaw(text, token, tokens) : token.end
  }
  for (const [index, token] of tokens.entries()) if (token.kind !== 'text') trimBeside(text, tokens, index)
  return tokens
}

const plain = (begin: number, end: number): Token => {
  return { kind: 'text', name: '', begin, end, from: begin, to: end }
}

function nextBraces(text: string, from: number): number {
  for (let at = text.indexOf('{', from); at >= 0; at = text.indexOf('{', at + 1)) {
    if (text[at + 1] === '{' || text[at + 1] === '%') return at
  }
  return text.length
}

function unclosed(text: string, begin: number, what: string): never {
  const start = text.slice(begin, begin + 30).split('\n')[0]!
  throw new OffsetFault(`${what} ${JSON.stringify(start)} is not closed.`, begin, 'Close every {{ and {%.')
}

function readTag(text: string, begin: number): Token {
  const close = text.indexOf('%}', begin + 2)
  if (close < 0) unclosed(text, begin, 'The tag')
  const token = delimited('tag', text, begin, close)
  while (token.from < token.to && isBlank(text.charCodeAt(token.from))) token.from++
  TAG_NAME.lastIndex = token.from
  token.name = (TAG_NAME.exec(text)?.[0] ?? '').slice(0, token.to - token.from)
  token.from += token.name.length
  return token
}

/** Reads an output. Braces inside quotes do not close it. */
function readOutput(text: string, begin: number): Token {
  for (let at = begin + 2; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"' || sign === "'") at = closingQuote(text, at)
    else if (sign === '}' && text[at + 1] === '}') return delimited('output', text, begin, at)
  }
  return unclosed(text, begin, 'The output')
}

/** Returns the offset of the quote that closes the one at `open`, or the end of the text if there is none. */
export function closingQuote(text: string, open: number, end = text.length): number {
  const mark = text.charCodeAt(open)
  let at = open + 1
  while (at < end && text.charCodeAt(at) !== mark) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return Math.min(at, end)
}

function delimited(kind: 'output' | 'tag', text: string, begin: number, close: number): Token {
  const from = begin + 2 + (text.charCodeAt(begin + 2) === MINUS && close > begin + 2 ? 1 : 0)
  const to = close - (text.charCodeAt(close - 1) === MINUS && close - 1 >= from ? 1 : 0)
  return { kind, name: '', begin, end: close + 2, from, to }
}

/** Reads everything up to `endraw` as text. Returns the offset after it. */
function readRaw(text: string, opening: Token, tokens: Token[]): number {
  RAW_END.lastIndex = opening.end
  const found = RAW_END.exec(text)
  if (!found) unclosed(text, opening.begin, 'The tag')
  const end = found.index + found[0].length
  tokens.push(plain(opening.end, found.index))
  tokens.push({ kind: 'tag', name: 'endraw', begin: found.index, end, from: end, to: end })
  return end
}

function trimBeside(text: string, tokens: Token[], index: number): void {
  const { kind, name, begin, end } = tokens[index]!
  const [before, after] = [tokens[index - 1], tokens[index + 1]]
  if (before?.kind === 'text' && name !== 'endraw' && text.charCodeAt(begin + 2) === MINUS) {
    while (before.to > before.from && isBlank(text.charCodeAt(before.to - 1))) before.to--
  }
  if (after?.kind === 'text' && name !== 'raw' && text.charCodeAt(end - 3) === MINUS) {
    while (after.from < after.to && isBlank(text.charCodeAt(after.from))) after.from++
  }
  if (kind === 'tag' && CONTROL.has(name)) trimLine(text, tokens[index]!, before, after)
}

/** Trims the blanks beside a tag. It looks at these alone, because a line may hold thousands of tags. */
function trimLine(text: string, { begin, end }: Token, before?: Token, after?: Token): void {
  const inLine = (at: number): boolean => text.charCodeAt(at) !== NEWLINE && isBlank(text.charCodeAt(at))
  let start = begin
  while (start > 0 && inLine(start - 1)) start--
  if (start > 0 && text.charCodeAt(start - 1) !== NEWLINE) return
  let stop = end
  while (stop < text.length && inLine(stop)) stop++
  if (stop < text.length && text.charCodeAt(stop) !== NEWLINE) return
  if (before?.kind === 'text') before.to = Math.min(before.to, Math.max(start, before.from))
  if (after?.kind === 'text') after.from = Math.max(after.from, Math.min(stop + 1, after.to))
}
