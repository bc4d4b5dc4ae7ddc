/**
 * Draws a chart by Vega. Expressions are interpreted from their syntax tree, never compiled, so that the policy of the
 * page needs no 'unsafe-eval'; colours are the page's own custom properties, so that the theme and print need no second
 * drawing; the tooltip is ours, since Vega's writes style attributes.
 */

import type { Chart } from '@assay/model/insight'
import embed, { type Config, type VisualizationSpec } from 'vega-embed'
import { expressionInterpreter } from 'vega-interpreter'

const CATEGORIES = Array.from({ length: 8 }, (_, index) => `var(--series-${index + 1})`)
const QUIET = 'var(--quiet)'
const LINE = 'var(--line)'

const CONFIG: Config = {
  background: 'transparent',
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: {
    labelColor: QUIET,
    titleColor: QUIET,
    gridColor: LINE,
    domainColor: LINE,
    tickColor: LINE,
    labelFontSize: 12,
    titleFontSize: 12,
    titleFontWeight: 'normal',
    titlePadding: 10,
  },
  legend: { labelColor: 'var(--ink)', titleColor: QUIET, orient: 'bottom', columns: 4, labelFontSize: 12 },
  header: { labelColor: QUIET, titleColor: QUIET },
  mark: { color: CATEGORIES[0]!, tooltip: { content: 'encoding' } },
  line: { strokeWidth: 2.2 },
  rule: { color: QUIET },
  text: { color: 'var(--ink)' },
  range: { category: CATEGORIES, ramp: ['var(--ramp-low)', 'var(--ramp-high)'] },
}

function specOf(chart: Chart): VisualizationSpec {
  const { title: _, ...spec } = chart.spec
  const size =
    chart.type === 'pie' ? {} : { width: 'container', autosize: { type: 'fit', contains: 'padding' } }
  return { ...spec, ...size } as unknown as VisualizationSpec
}

function rowsOf(value: unknown): [string, string][] {
  if (value === null || typeof value !== 'object') return [['', String(value)]]
  return Object.entries(value).map(([name, shown]) => [name, String(shown)])
}

function showTooltip(box: HTMLElement, event: MouseEvent, value: unknown): void {
  box.hidden = value === null || value === undefined || value === ''
  if (box.hidden) return
  box.replaceChildren(
    ...rowsOf(value).map(([name, shown]) => {
      const row = document.createElement('div')
      const [label, text] = [document.createElement('span'), document.createElement('b')]
      label.textContent = name
      text.textContent = shown
      row.append(label, text)
      return row
    }),
  )
  const { width, height } = box.getBoundingClientRect()
  box.style.left = `${Math.min(event.clientX + 14, innerWidth - width - 8)}px`
  box.style.top = `${Math.min(event.clientY + 14, innerHeight - height - 8)}px`
}

/** Draws into the element; the returned function removes the drawing. */
export async function drawChart(place: HTMLElement, chart: Chart): Promise<() => void> {
  const box = document.createElement('div')
  box.className = 'chart-tooltip'
  box.hidden = true
  document.body.append(box)
  const { usermeta: _, config: _own, ...spec } = specOf(chart) as Record<string, unknown>
  const { finalize } = await embed(place, spec, {
    mode: 'vega-lite',
    renderer: 'svg',
    actions: false,
    defaultStyle: false,
    ast: true,
    expr: expressionInterpreter,
    config: CONFIG,
    tooltip: (_handler, event, _item, value) => showTooltip(box, event, value),
    loader: { http: {}, load: refuse, sanitize: refuse } as never,
  })
  return () => {
    finalize()
    box.remove()
  }
}

/** A specification holds its rows, so nothing is loaded. */
function refuse(): Promise<never> {
  return Promise.reject(new Error('A chart loads nothing.'))
}
