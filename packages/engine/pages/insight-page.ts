/**
 * An insight as one self-contained HTML page: it loads nothing from other hosts and runs no script but its own, and a policy in
 * the page enforces both. HTML in the Markdown is escaped. Pictures of other hosts become links, because loading one would reveal the
 * reader.
 */
import type { Chart, PageInsight } from '@assay/model/insight'
import { isShortCell } from '@assay/model/shown-table'
import { LINEAGE_HEADING } from '../printing/lineage-section.ts'
import { placeLinks } from './behind/place-links.ts'
import { rowsSection } from './behind/section.ts'
import { type Behind, type BehindPage, behindPage } from './behind/sheets.ts'
import { chartFigure, type Drawing } from './chart-figure.ts'
import { foldEvidence } from './fold-evidence.ts'
import { escapeHtml } from './html.ts'
import { cutLongPages } from './page-cuts.ts'
import { createParser, LINK, PICTURE } from './parser.ts'
import { type Around, placeAround } from './place-around.ts'
import { footer, INSIGHT_PAGE_POLICY, PAGE_SCRIPT, wholePage } from './plain-page.ts'

const TABLE_OPEN = '<div class="table" tabindex="0">'

function createMarkdown() {
  const markdown = createParser()
  cutLongPages(markdown)
  placeAround(markdown)
  foldEvidence(markdown)
  placeLinks(markdown)
  const { rules } = markdown.renderer
  rules.image = (tokens, index, options, _env, self) => {
    const token = tokens[index]!
    const address = String(token.attrGet('src') ?? '')
    const alt = self.renderInlineAsText(token.children ?? [], options, {})
    if (PICTURE.test(address)) return `<img src="${escapeHtml(address)}" alt="${escapeHtml(alt)}">`
    const label = `${alt === '' ? 'Picture' : alt} (${address})`
    return `<a href="${escapeHtml(address)}" rel="noreferrer noopener nofollow">${escapeHtml(label)}</a>`
  }
  rules.link_open = (tokens, index, options, _env, self) => {
    const token = tokens[index]!
    const address = String(token.attrGet('href') ?? '')
    if (!LINK.test(address)) token.attrSet('href', '#')
    token.attrSet('rel', 'noreferrer noopener nofollow')
    return self.renderToken(tokens, index, options)
  }
  rules.table_open = () => `${TABLE_OPEN}<table>\n`
  rules.table_close = () => '</table></div>\n'
  // Content that is wider than the page scrolls, also by keyboard.
  const [fence, indented] = [rules.fence!, rules.code_block!]
  rules.fence = (...given) => withFocus(fence(...given))
  rules.code_block = (...given) => withFocus(indented(...given))
  rules.th_open = (tokens, index) => cellOpen('th', tokens[index]!.attrGet('style'))
  rules.td_open = (tokens, index) =>
    cellOpen(
      'td',
      tokens[index]!.attrGet('style'),
      (tokens[index + 1]?.content ?? '').replace(/\u2063[^\u2063]*\u2063/g, ''),
    )
  return markdown
}

function withFocus(pre: string): string {
  return pre.replace(/^<pre>/, '<pre tabindex="0">')
}

/** Returns the opening tag of a cell. The policy forbids style attributes, so alignment is a class. */
function cellOpen(tag: 'th' | 'td', style: string | number | null, text = ''): string {
  const align = /text-align:(right|center)/.exec(String(style ?? ''))?.[1]
  const classes = [align ?? '', text !== '' && isShortCell(text) ? 'short' : ''].filter(Boolean)
  return classes.length === 0 ? `<${tag}>` : `<${tag} class="${classes.join(' ')}">`
}

/** The placeholder of a chart. A tag is matched whole, so that a placeholder in its attributes does not count. */
const PLACE = /(<p>)?\u2063chart:([a-z0-9_-]+)\u2063(<\/p>)?|<[^>]*>/g

let markdown: ReturnType<typeof createMarkdown> | undefined

/**
 * Returns Markdown as HTML. `figure` renders each chart, `around` is set around the text, and numbers lead to the
 * rows `behind` it.
 */
export function insightBody(
  text: string,
  charts: readonly Chart[],
  figure: (chart: Chart, index: number) => string,
  around: Around = { reading: null, folds: false },
  behind?: BehindPage,
): string {
  markdown ??= createMarkdown()
  return markdown
    .render(text, { around, behind })
    .replace(PLACE, (all, open, id: string | undefined, close) => {
      if (id === undefined) return all
      const index = charts.findIndex((chart) => chart.id === id)
      const drawn = index < 0 ? '' : figure(charts[index]!, index)
      return open === undefined || close === undefined ? `${open ?? ''}${drawn}${close ?? ''}` : drawn
    })
}

/**
 * Returns the page. `drawings`: one for each chart of the insight; a chart without one is shown as text. `behind`:
 * its rows are shown too.
 */
export function insightPage(insight: PageInsight, drawings: readonly Drawing[], behind?: Behind): string {
  const { markdown: text, charts, reading } = insight
  const rows = behind && behindPage(behind, insight)
  const around = { reading, folds: true, rows: new Set(rows?.sheets.map(({ id }) => id)) }
  const figure = (chart: Chart, index: number): string => chartFigure(chart, drawings[index])
  const filled = insightBody(text, charts, figure, around, rows)
  const title = escapeHtml(insight.title)
  const heading = /<h1[ >]/.test(filled) ? '' : `<h1>${title}</h1>\n`
  return wholePage(
    title,
    `<main>
${heading}${folded(filled, rows ? rowsSection(rows) : '')}</main>
${footer(insight)}`,
    INSIGHT_PAGE_POLICY,
    PAGE_SCRIPT,
  )
}

/** Folds "How this was computed", which is more than half of a page, below the rows. */
function folded(body: string, rows: string): string {
  const heading = `<h2>${LINEAGE_HEADING}</h2>`
  const start = body.lastIndexOf(heading)
  if (start < 0) return body + rows
  const computed = body
    .slice(start + heading.length)
    .replace(/<p><code>([a-z_][a-z0-9_]*)<\/code>/g, '<p id="computed-$1"><code>$1</code>')
  return `${body.slice(0, start)}${rows}<details class="computed"><summary>${LINEAGE_HEADING}</summary>${computed}</details>\n`
}
