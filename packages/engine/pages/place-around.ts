/** Sets blockers, tiles and evidence at their places in the text, before its blocks are rendered. */
import type { Proof, Reading } from '@assay/model/reading'
import { escapeMarkdown } from '../printing/escape.ts'
import { LINEAGE_HEADING } from '../printing/lineage-section.ts'
import { blockersHtml, gradeMark, proofHtml, tilesHtml } from './around.ts'
import type { Parser, State, Token } from './parser.ts'

/** The surroundings that the parser gets with a text. `folds`: false for a mail, whose clients fold nothing. */
export interface Around {
  reading: Reading | null
  folds: boolean
  /** The anchors of the rows that the page shows. */
  rows?: ReadonlySet<string>
}

export function placeAround(markdown: Parser): void {
  markdown.core.ruler.after('block', 'around', (state) => {
    const { reading, folds, rows } = (state.env as { around: Around }).around
    if (!reading) return
    const html = (content: string): Token => Object.assign(new state.Token('html_block', '', 0), { content })
    const tokens = folds ? withProofs(state, reading, html, rows) : state.tokens
    const { above, below, lead } = placesIn(tokens)
    if (lead) lead.attrSet('class', 'lead')
    const grade = folds || reading.grade === null || !lead ? '' : `<p>${gradeMark(reading.grade)}</p>\n`
    const [first, second] = [blockersHtml(reading), `${grade}${tilesHtml(reading, { drawn: folds })}`]
    state.tokens = [
      ...tokens.slice(0, above),
      ...(first === '' ? [] : [html(first)]),
      ...tokens.slice(above, below),
      ...(second === '' ? [] : [html(second)]),
      ...tokens.slice(below),
    ]
  })
}

/** Sets each proof once, behind the paragraph that prints its sentence. */
function withProofs(
  { tokens, src }: State,
  { proofs }: Reading,
  html: (content: string) => Token,
  rows: ReadonlySet<string> = new Set(),
): Token[] {
  const left = new Map(proofs.map((proof) => [escapeMarkdown(proof.says), proof]))
  const linked = src.includes(`## ${LINEAGE_HEADING}`)
  const sourceAnchor = (of: string): string | null =>
    rows.has(`rows-${of}`) ? `rows-${of}` : linked ? `computed-${of}` : null
  const placed: Token[] = []
  let waiting: Token[] = []
  for (const [index, token] of tokens.entries()) {
    placed.push(token)
    for (const proof of proofsIn(token, tokens[index - 1], left))
      waiting.push(html(proofHtml(proof, sourceAnchor(proof.of))))
    if (token.type === 'paragraph_close' && waiting.length > 0) {
      placed.push(...waiting)
      waiting = []
    }
  }
  return placed
}

/**
 * Returns the proofs of the sentences that a paragraph prints, and removes them from `left`, which holds proofs by
 * their sentence in Markdown.
 */
export function proofsIn(token: Token, before: Token | undefined, left: Map<string, Proof>): Proof[] {
  if (token.type !== 'inline' || before?.type !== 'paragraph_open') return []
  const found: Proof[] = []
  for (const [says, proof] of left) {
    if (!token.content.includes(says)) continue
    left.delete(says)
    found.push(proof)
  }
  return found
}

/**
 * Returns the places below the title and below the headline. The headline is the paragraph after the title, with its
 * evidence.
 */
export function placesIn(tokens: readonly Token[]): { above: number; below: number; lead: Token | null } {
  const above = tokens[0]?.type === 'heading_open' && tokens[0].tag === 'h1' ? 3 : 0
  let at = above
  // This quote lists the failed tests of a metric.
  if (tokens[at]?.type === 'blockquote_open') {
    while (tokens[at] && tokens[at]!.type !== 'blockquote_close') at += 1
    at += 1
  }
  const lead = tokens[at]
  if (lead?.type !== 'paragraph_open' || tokens[at + 1]!.content.startsWith('\u2063'))
    return { above, below: at, lead: null }
  let below = at + 3
  while (tokens[below]?.type === 'html_block') below += 1
  return { above, below, lead }
}
