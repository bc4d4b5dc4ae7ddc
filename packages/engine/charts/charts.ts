/**
 * Fills the charts into an insight's Markdown, in the form that the reader requested. The numbers are printed below each
 * drawing, for printouts and screen readers.
 */
import { CHART_PLACEHOLDER, type Chart, type Insight, type ReadChartForm } from '@assay/model/insight'
import { type Edit, type Mark, movedMarks } from '@assay/model/provenance'
import { escapeMarkdown } from '../printing/escape.ts'
import { mermaidChart } from './forms/mermaid.ts'
import { chartNumbers } from './forms/numbers.ts'
import { textChart } from './forms/text.ts'
import { chartName } from './labels.ts'

const WITH_EMPTY_LINES = new RegExp(`${CHART_PLACEHOLDER.source}\\n*`, 'gm')

/** Fills in the charts. `svgs`: one for each chart, for the form `image`. A chart without one becomes text. */
export function fillCharts(
  markdown: string,
  charts: Chart[],
  form: ReadChartForm,
  svgs: string[] = [],
): string {
  return fillMarked({ markdown }, charts, form, svgs).markdown
}

/** Does the same, and moves the marks to their places in the filled text. An insight without marks gets none. */
export function fillMarked(
  { markdown, provenance }: Pick<Insight, 'markdown' | 'provenance'>,
  charts: Chart[],
  form: ReadChartForm,
  svgs: string[] = [],
): { markdown: string; provenance?: Mark[] } {
  const edits: Edit[] = []
  const placeholder = form === 'none' ? WITH_EMPTY_LINES : CHART_PLACEHOLDER
  const filled = markdown.replace(placeholder, (found: string, id: string, start: number) => {
    const chart = form === 'none' ? -1 : charts.findIndex((one) => one.id === id)
    const text = form === 'none' || chart < 0 ? '' : chartMarkdown(charts[chart]!, form, svgs[chart])
    edits.push({ start, end: start + found.length, length: text.length })
    return text
  })
  return { markdown: filled, ...(provenance ? { provenance: movedMarks(provenance, edits) } : {}) }
}

function chartMarkdown(chart: Chart, form: Exclude<ReadChartForm, 'none'>, svg: string | undefined): string {
  if (form === 'link') return `![${altOf(chart)}](chart:${chart.id})`
  const drawn = form === 'mermaid' ? mermaidChart(chart) : form === 'image' ? image(chart, svg) : null
  if (drawn === null) return textChart(chart)
  return `${drawn}\n\n*${escapeMarkdown(chartNumbers(chart))}*`
}

function image(chart: Chart, svg: string | undefined): string | null {
  if (svg === undefined || svg === '') return null
  const drawing = Buffer.from(withoutPlaces(svg)).toString('base64')
  return `![${altOf(chart)}](data:image/svg+xml;base64,${drawing})`
}

function altOf(chart: Chart): string {
  return escapeMarkdown(chartName(chart))
}

/** Returns the drawing without the places of its values, which only a page uses. */
function withoutPlaces(svg: string): string {
  return svg.replace(/ data-(?:places|panels)="[\d., -]*"/g, '')
}
