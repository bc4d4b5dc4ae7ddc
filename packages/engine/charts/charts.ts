/**
 * Fills the charts into an insight's Markdown, in the form that the reader requested. The numbers are printed below each
 * drawing, for printouts and screen readers.
 */
import { CHART_PLACEHOLDER, type Chart, type ReadChartForm } from '@assay/model/insight'
import { escapeMarkdown } from '../printing/escape.ts'
import { mermaidChart } from './forms/mermaid.ts'
import { chartNumbers } from './forms/numbers.ts'
import { textChart } from './forms/text.ts'
import { chartName } from './labels.ts'

/** `svgs`: one for each chart, for the form `image`; a chart without one becomes text. */
export function fillCharts(
  markdown: string,
  charts: Chart[],
  form: ReadChartForm,
  svgs: string[] = [],
): string {
  if (form === 'none') return markdown.replace(new RegExp(`${CHART_PLACEHOLDER.source}\\n*`, 'gm'), '')
  return markdown.replace(CHART_PLACEHOLDER, (_, id: string) => {
    const index = charts.findIndex((chart) => chart.id === id)
    return index < 0 ? '' : chartMarkdown(charts[index]!, form, svgs[index])
  })
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

/** The drawing without the places of its values, which only a page uses. */
function withoutPlaces(svg: string): string {
  return svg.replace(/ data-(?:places|panels)="[\d., -]*"/g, '')
}
