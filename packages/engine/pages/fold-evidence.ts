/**
 * Folds the section "Evidence" of a text, up to the next heading of its level, so that readers open the statistics only
 * if they want them.
 */
import type { Parser, Token } from './parser.ts'
import type { Around } from './place-around.ts'

const HEADING = 'Evidence'

const beginsSection = ({ type, tag, level }: Token): boolean =>
  type === 'heading_open' && tag === 'h2' && level === 0

/** A mail is not folded, because mail clients cannot. */
export function foldEvidence(markdown: Parser): void {
  markdown.core.ruler.push('evidence', (state) => {
    const { tokens } = state
    const start = tokens.findIndex(
      (token, index) => beginsSection(token) && tokens[index + 1]!.content === HEADING,
    )
    if (start < 0 || !(state.env as { around: Around }).around.folds) return
    const html = (content: string): Token => Object.assign(new state.Token('html_block', '', 0), { content })
    const next = tokens.findIndex((token, index) => index > start && beginsSection(token))
    const end = next < 0 ? tokens.length : next
    state.tokens = [
      ...tokens.slice(0, start),
      html(`<details class="folded"><summary>${HEADING}</summary>\n`),
      ...tokens.slice(start + 3, end),
      html('</details>\n'),
      ...tokens.slice(end),
    ]
  })
}
