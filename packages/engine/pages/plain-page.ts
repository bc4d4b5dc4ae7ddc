/**
 * The frame of the pages of insights with their policy, and pages without layout: an insight as its Markdown, and a page of
 * one sentence. The service makes these itself, so nothing here loads a reader of Markdown.
 */
import { createHash } from 'node:crypto'
import type { Chart, PageInsight } from '@assay/model/insight'
import { fillCharts } from '../charts/charts.ts'
import { formatCount, formatValue } from '../printing/format.ts'
import { ANSWER } from './answer.generated.ts'
import { escapeHtml } from './html.ts'
import { PAGE_STYLE } from './page-style.ts'

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64')
/** Lets charts answer the pointer and the arrow keys, tables sort, filter and be saved, and a frame be as high as its page. */
export const PAGE_SCRIPT = `${ANSWER}\nanswerCharts(document)\nanswerTables(document)\nanswerAnchors(document)\nanswerFrame(window)\n`
/** The policy, also sent as a header: browsers apply both. */
export const INSIGHT_PAGE_POLICY = `default-src 'none'; script-src 'sha256-${hashOf(PAGE_SCRIPT)}'; style-src 'sha256-${hashOf(PAGE_STYLE)}'; img-src data:; base-uri 'none'; form-action 'none'`

/** The most of an insight's Markdown that is shown unrendered. */
const PLAIN_CHARACTERS_MOST = 200_000

/** The fallback for the rendered body, at linear cost: the Markdown as plain text. */
export function plainBody(text: string, charts: Chart[]): string {
  const shown = text.slice(0, PLAIN_CHARACTERS_MOST)
  const left = text.length - shown.length
  const rest =
    left === 0
      ? ''
      : `<p>The last ${formatCount(left)} characters are left out here. All of it is in the Markdown and JSON forms of this insight.</p>\n`
  return `<p>This text could not be laid out. It stands here as Markdown.</p>
<pre tabindex="0">${escapeHtml(fillCharts(shown, charts, 'none'))}</pre>
${rest}`
}

/** The page shown if the insight cannot be shown. */
export function plainInsightPage(insight: PageInsight): string {
  const title = escapeHtml(insight.title)
  const body = plainBody(insight.markdown, insight.charts)
  return wholePage(title, `<main>\n<h1>${title}</h1>\n${body}</main>\n${footer(insight)}`)
}

/** The policy of a page with a form, which may submit to its own service only. */
export const FORM_PAGE_POLICY = INSIGHT_PAGE_POLICY.replace("form-action 'none'", "form-action 'self'")

/** A page of one sentence with the same style and policy. `below` holds a form of our own. */
export function plainPage(title: string, sentence: string, below = ''): string {
  const heading = escapeHtml(title)
  return wholePage(
    heading,
    `<main>
<h1>${heading}</h1>
<p>${escapeHtml(sentence)}</p>
${below}</main>`,
    below === '' ? INSIGHT_PAGE_POLICY : FORM_PAGE_POLICY,
  )
}

/** `title` and `body` are HTML. */
export function wholePage(title: string, body: string, policy = INSIGHT_PAGE_POLICY, script = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
${body}
${script === '' ? '' : `<script>${script}</script>\n`}</body>
</html>
`
}

/** "28 November 2026" of a time. */
export const dayInWords = (at: string): string => formatValue(at.slice(0, 10), 'd mmmm yyyy')

export function footer(insight: PageInsight): string {
  const { insight_id, template_id, template_version, created_at } = insight
  const parts = [
    `Made on ${dayInWords(created_at)}, ${created_at.slice(11, 16)} UTC`,
    `template ${template_id}, version ${template_version}`,
    ...(insight_id === '' ? [] : [`insight ${insight_id}`]),
  ]
  return `<footer>${escapeHtml(parts.join(' · '))}</footer>`
}
