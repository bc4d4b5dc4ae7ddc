/**
 * Shows a chart in a page: two drawings, one of which is shown by the width of the page, the text of each value, and
 * the numbers below.
 */
import type { Chart } from '@assay/model/insight'
import { guardSvg } from '../charts/drawing/svg-guard.ts'
import { chartNumbers } from '../charts/forms/numbers.ts'
import { textChart } from '../charts/forms/text.ts'
import { chartTips } from '../charts/forms/tips.ts'
import { chartName } from '../charts/labels.ts'
import { escapeHtml } from './html.ts'

/** The SVG for a page and the one for a phone. */
export interface Drawing {
  wide: string
  narrow: string
}

/** Reads the result of the task `draw` in the form `pages`. */
export function drawingsOf(svgs: readonly string[]): Drawing[] {
  return Array.from({ length: svgs.length / 2 }, (_, index) => ({
    wide: svgs[2 * index]!,
    narrow: svgs[2 * index + 1]!,
  }))
}

/** Returns the text for readers who see no drawing. */
export function textFigure(chart: Chart): string {
  const text = textChart(chart).split('\n').slice(1, -1).join('\n')
  return `<figure class="chart"><pre tabindex="0">${escapeHtml(text)}</pre></figure>\n`
}

export function chartFigure(chart: Chart, drawing: Drawing | undefined): string {
  if (drawing === undefined || drawing.wide === '') return textFigure(chart)
  const { mode, tips } = chartTips(chart)
  const shown = (size: 'wide' | 'narrow'): string =>
    `<div class="drawing ${size}" role="img" aria-label="${escapeHtml(chartName(chart))}">${guardSvg(drawing[size], `${chart.id}-${size}`)}</div>`
  const narrow = drawing.narrow === '' ? '' : shown('narrow')
  const data = `data-mode="${mode}" data-tips="${escapeHtml(JSON.stringify(tips))}"`
  return `<figure class="chart" ${data}>${shown('wide')}${narrow}<figcaption>${escapeHtml(chartNumbers(chart))}</figcaption></figure>\n`
}
