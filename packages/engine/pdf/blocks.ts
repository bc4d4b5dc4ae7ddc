/**
 * Turns the blocks of Markdown into those of the printed document. Lists and quotes that are nested too deep are set
 * flat.
 */
import type { Token } from '../pages/parser.ts'
import { breakable, lineOf, type Run, runsOf } from './runs.ts'

export type Align = 'left' | 'right' | 'center'
export type Block =
  | { t: 'heading'; level: number; runs: Run[] }
  | { t: 'paragraph'; runs: Run[]; lead?: true; marks?: Mark[] }
  | { t: 'list'; start: number | null; items: Block[][] }
  | { t: 'quote'; blocks: Block[] }
  | { t: 'code'; text: string }
  | { t: 'table'; aligns: Align[]; head: Run[][]; rows: Run[][][] }
  | { t: 'rule' }
  | { t: 'chart'; id: string }

/** A grade beside a sentence: its word, its kind, and the number of its evidence in the last part. */
export interface Mark {
  word: string
  kind: string
  to: number
}

/** The deepest nesting. Typst bounds how deep layouts nest; four levels are far below that. */
const DEEPEST = 4
const CHART = /\u2063chart:([a-z0-9_-]+)\u2063/g

/** Returns the blocks. `marksOf`: returns the grades of the sentences in a paragraph. */
export function blocksOf(tokens: readonly Token[], marksOf: (inline: Token) => Mark[] = () => []): Block[] {
  return new Reader(tokens, marksOf).all()
}

class Reader {
  readonly #tokens: readonly Token[]
  readonly #marksOf: (inline: Token) => Mark[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[], marksOf: (inline: Token) => Mark[]) {
    this.#tokens = tokens
    this.#marksOf = marksOf
  }

  all(): Block[] {
    return this.#until(null)
  }

  /** Reads the blocks up to the closing token, and skips that token. */
  #until(close: string | null): Block[] {
    const blocks: Block[] = []
    for (let token = this.#tokens[this.#at]; token; token = this.#tokens[this.#at]) {
      this.#at += 1
      if (token.type === close) break
      blocks.push(...this.#block(token))
    }
    return blocks
  }

  #block(token: Token): Block[] {
    switch (token.type) {
      case 'heading_open':
        return [{ t: 'heading', level: Number(token.tag.slice(1)), runs: this.#inline() }]
      case 'paragraph_open':
        return this.#paragraph(token)
      case 'bullet_list_open':
        return this.#list(null)
      case 'ordered_list_open':
        return this.#list(Number(token.attrGet('start') ?? 1))
      case 'blockquote_open': {
        const blocks = this.#nested('blockquote_close')
        return this.#depth >= DEEPEST ? blocks : [{ t: 'quote', blocks }]
      }
      case 'fence':
      case 'code_block':
        return [{ t: 'code', text: codeOf(token.content) }]
      case 'table_open':
        return [this.#table()]
      case 'hr':
        return [{ t: 'rule' }]
      default:
        return []
    }
  }

  #nested(close: string): Block[] {
    this.#depth += 1
    const blocks = this.#until(close)
    this.#depth -= 1
    return blocks
  }

  /** Reads the runs of the following inline token, and skips its closing token. */
  #inline(): Run[] {
    const inline = this.#tokens[this.#at]
    this.#at += 2
    return runsOf(inline?.children ?? [])
  }

  #paragraph(open: Token): Block[] {
    const inline = this.#tokens[this.#at]!
    const runs = this.#inline()
    const charts = [...inline.content.matchAll(CHART)].map(([, id]): Block => ({ t: 'chart', id: id! }))
    const marks = this.#marksOf(inline)
    const lead = open.attrGet('class') === 'lead'
    const said: Block = {
      t: 'paragraph',
      runs,
      ...(lead ? { lead } : {}),
      ...(marks.length > 0 ? { marks } : {}),
    }
    return runs.some(({ s }) => s.trim() !== '') ? [said, ...charts] : charts
  }

  #list(start: number | null): Block[] {
    const items: Block[][] = []
    const close = start === null ? 'bullet_list_close' : 'ordered_list_close'
    for (let token = this.#tokens[this.#at]; token && token.type !== close; token = this.#tokens[this.#at]) {
      this.#at += 1
      items.push(this.#nested('list_item_close'))
    }
    this.#at += 1
    return this.#depth >= DEEPEST ? items.flat() : [{ t: 'list', start, items }]
  }

  #table(): Block {
    const rows: Run[][][] = []
    const aligns: Align[] = []
    for (let token = this.#tokens[this.#at]; token; token = this.#tokens[this.#at]) {
      this.#at += 1
      if (token.type === 'table_close') break
      if (token.type === 'tr_open') rows.push([])
      if (token.type !== 'th_open' && token.type !== 'td_open') continue
      if (token.type === 'th_open') aligns.push(alignOf(token))
      rows.at(-1)!.push(this.#inline())
    }
    const [head = [], ...body] = rows
    return { t: 'table', aligns, head, rows: body }
  }
}

function alignOf(token: Token): Align {
  const found = /text-align:(right|center)/.exec(String(token.attrGet('style') ?? ''))?.[1]
  return (found as Align | undefined) ?? 'left'
}

function codeOf(content: string): string {
  let end = content.length
  while (content[end - 1] === '\n') end -= 1
  const lines = content.slice(0, end).replaceAll('\t', '  ').split('\n')
  return lines.map((line) => breakable(lineOf(line))).join('\n')
}
