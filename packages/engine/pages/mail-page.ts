/**
 * Writes an insight as mail: an HTML part that mail clients can show (one style sheet, no script, pictures by
 * `cid:`), and a text part with the same content. The lineage is on the page only. Neither part loads anything from
 * other hosts, so opening the mail reveals nothing.
 */
import type { Chart, Fact, Insight, InsightHead } from '@assay/model/insight'
import { fillCharts } from '../charts/charts.ts'
import { chartNumbers } from '../charts/forms/numbers.ts'
import { chartName } from '../charts/labels.ts'
import { COLORS } from '../charts/marks/colors.generated.ts'
import { withoutLineage } from '../printing/lineage-section.ts'
import { textFigure } from './chart-figure.ts'
import { escapeHtml } from './html.ts'

export { withoutLineage } from '../printing/lineage-section.ts'

/** The part of an insight from which messages are made. */
export type ToldInsight = InsightHead & Pick<Insight, 'lineage'>

/** The content of a message, by mail or chat. */
export interface Message {
  /** One line of text. */
  headline: string
  /** The subject of a mail if it is not the headline. */
  subject?: string
  /** Plain sentences: for a failed job the reason and the remedy. */
  sentences: string[]
  facts: Pick<Fact, 'name' | 'text'>[]
  /** Present for a completed job that was not skipped. */
  insight: ToldInsight | null
  /** The address of the page; null for none. */
  link: string | null
}

/** The footer: why the reader gets the mail, and where to unsubscribe (null for nowhere). */
export interface Foot {
  why: string
  unsubscribe: string | null
}

/** The most characters of a mail. Gmail cuts a message at 102 kB; the page shows the rest. */
const CHARACTERS_MOST = 60_000

/**
 * The width of a picture in pixels. The drawing has 300 (marks/look.ts), so its letters of 13 are 15 on a phone of
 * 375 and 17 on a wide screen.
 */
const PICTURE_WIDTH = 400

/** Mail programs know no custom properties and change colours in the dark themselves. */
const [paper, ink, quiet, line, shade, accent, good, bad] = (
  ['paper', 'ink', 'quiet', 'line', 'shade', 'accent', 'good', 'bad'] as const
).map((name) => COLORS[name][0])

const STYLE = `
body { max-width: 720px; margin: 0; padding: 24px; background: ${paper}; color: ${ink}; font: 15px/1.55 -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 16px; }
h2 { font-size: 19px; margin: 28px 0 10px; }
h3 { font-size: 16px; margin: 22px 0 8px; }
p, ul, ol, pre, blockquote, figure { margin: 0 0 14px; }
a { color: ${accent}; }
pre, code { font: 13px/1.45 ui-monospace, Menlo, Consolas, monospace; background: ${shade}; }
pre { padding: 10px 12px; border: 1px solid ${line}; white-space: pre-wrap; overflow-wrap: anywhere; }
blockquote { padding-left: 14px; border-left: 3px solid ${line}; color: ${quiet}; }
table { border-collapse: collapse; font-size: 14px; margin: 0 0 14px; }
th, td { padding: 5px 14px 5px 0; text-align: left; vertical-align: top; border-bottom: 1px solid ${line}; }
td { overflow-wrap: anywhere; }
.short { white-space: nowrap; }
@media (max-width: 480px) { body { padding: 16px; } table { font-size: 12px; } th, td { padding-right: 8px; } }
th { border-bottom: 2px solid ${line}; }
.right { text-align: right; }
.center { text-align: center; }
figure img { display: block; width: 100%; max-width: ${PICTURE_WIDTH}px; height: auto; border: 0; }
figcaption, .foot { color: ${quiet}; font-size: 13px; }
.blockers { margin: 0 0 16px; padding: 10px 14px; border-left: 5px solid ${bad}; background: ${shade}; }
.blockers p { margin: 0 0 4px; }
.grade { padding: 1px 9px; border: 1px solid ${quiet}; border-radius: 12px; font-size: 13px; font-weight: 600; }
.tiles { margin: 0 0 14px; padding: 0; list-style: none; }
.tile { display: inline-block; vertical-align: top; width: 210px; margin: 0 8px 10px 0; padding: 10px 14px; border: 1px solid ${line}; border-radius: 8px; font-size: 13px; line-height: 1.4; }
.tile span, .tile b { display: block; }
.tile-change span { display: inline; }
.tile-label { font-weight: 600; }
.tile-figure { font-size: 26px; line-height: 1.25; }
.tile-when, .tile-note { color: ${quiet}; }
.tile-change.good { color: ${good}; }
.tile-change.bad, .tile-doubt { color: ${bad}; }
.open a { display: inline-block; padding: 9px 16px; background: ${accent}; color: ${paper}; text-decoration: none; border-radius: 5px; }
.foot { border-top: 1px solid ${line}; margin-top: 28px; padding-top: 12px; }
`

/** Cuts Markdown between blocks, so that no table or fence stays open. It reads no more than it may keep. */
export function shortened(markdown: string, most = CHARACTERS_MOST): { markdown: string; cut: boolean } {
  if (markdown.length <= most) return { markdown, cut: false }
  let end = 0
  let kept = 0
  let fenced = false
  // Two characters more, so that a block that ends exactly at the bound is found complete.
  for (const block of markdown.slice(0, most + 2).split('\n\n')) {
    if (end + block.length > most) break
    fenced = (block.match(/^(```|~~~)/gm) ?? []).length % 2 === 1 ? !fenced : fenced
    if (!fenced) kept = end + block.length
    end += block.length + 2
  }
  return { markdown: markdown.slice(0, kept), cut: true }
}

/**
 * Returns the figures of a mail. `cids`: the picture of each chart, by the chart's id; a chart without one is shown
 * as text.
 */
export function mailFigures(cids: ReadonlyMap<string, string>) {
  return (chart: Chart): string => {
    const cid = cids.get(chart.id)
    if (cid === undefined) return textFigure(chart)
    const numbers = escapeHtml(chartNumbers(chart))
    const alt = escapeHtml(chartName(chart))
    return `<figure><img src="cid:${cid}" alt="${alt}" width="${PICTURE_WIDTH}"><figcaption>${numbers}</figcaption></figure>\n`
  }
}

function footLine({ why, unsubscribe }: Foot): string {
  if (unsubscribe === null) return escapeHtml(why)
  return `${escapeHtml(why)} <a href="${escapeHtml(unsubscribe)}">Unsubscribe</a>`
}

function linkLine({ link, insight }: Message): string {
  if (link === null) return ''
  const label = insight === null ? 'Look at it' : 'Read the page'
  return `<p class="open"><a href="${escapeHtml(link)}">${label}</a></p>\n`
}

/** Returns the part of the insight's text that a mail shows. */
export function mailMarkdown({ insight }: Message): { markdown: string; cut: boolean } {
  return shortened(insight === null ? '' : withoutLineage(insight))
}

/** Returns the HTML part. `body` is `mailMarkdown` as HTML. */
export function mailPage(
  message: Message,
  { body, cut }: { body: string; cut: boolean },
  foot: Foot,
): string {
  const heading = /<h1[ >]/.test(body) ? '' : `<h1>${escapeHtml(message.headline)}</h1>\n`
  const sentences = message.sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>\n`).join('')
  // The link is at the top, because the rest may be long, but below the heading.
  const top = `${heading}${sentences}${body}`.replace(/<\/h1>\n?|$/, (end) => `${end}${linkLine(message)}`)
  const rest = cut ? '<p>The rest is on the page.</p>\n' : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(message.headline)}</title>
<style>${STYLE}</style>
</head>
<body>
${top}${rest}<p class="foot">${footLine(foot)}</p>
</body>
</html>
`
}

/** Returns the text part of the mail. */
export function mailText(message: Message, { why, unsubscribe }: Foot): string {
  const { insight, headline, sentences, link } = message
  const { markdown, cut } = mailMarkdown(message)
  const parts = [
    ...(insight === null
      ? [headline, ...sentences]
      : [...sentences, fillCharts(markdown, insight.charts, 'text')]),
    ...(cut ? ['The rest is on the page.'] : []),
    ...(link === null ? [] : [link]),
    `-- \n${why}${unsubscribe === null ? '' : `\nUnsubscribe: ${unsubscribe}`}`,
  ]
  return `${parts.map((part) => part.trim()).join('\n\n')}\n`
}
