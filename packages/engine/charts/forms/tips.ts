/** Makes the text that a chart shows at the pointer for each value, with its format and unit. */

import type { Chart } from '@assay/model/insight'
import { measureAt, type Point } from '../chart-values.ts'
import { funnelText, stepText, valueText, xText } from '../labels.ts'

import { intervalText } from './numbers.ts'

/** The way in which the nearest value is found: along the bottom, down the side, or in the plane. */
export type Mode = 'across' | 'down' | 'plane'

/** A heading, the name of the series and the value. */
export type Tip = [heading: string, name: string, value: string]

export function chartTips(chart: Chart): { mode: Mode; tips: Tip[] } {
  const values = (chart.spec.data as { values?: Point[] } | undefined)?.values ?? []
  return { mode: modeOf(chart), tips: values.map((point) => tipOf(chart, point, values)) }
}

function modeOf(chart: Chart): Mode {
  if (chart.type === 'waterfall' || chart.type === 'interval' || chart.type === 'funnel') return 'down'
  if (chart.type === 'point' || chart.type === 'pie' || chart.type === 'heatmap') return 'plane'
  const [first] = (chart.spec.layer as { encoding?: { y?: { field?: string } } }[] | undefined) ?? []
  // Horizontal bars have their names down the side.
  return first?.encoding?.y?.field === 'x' ? 'down' : 'across'
}

function tipOf(chart: Chart, point: Point, values: Point[]): Tip {
  const y = measureAt(chart, point)
  const heading = xText(chart, point)
  const series = point.series ?? NAMES[point.part ?? ''] ?? y?.title ?? ''
  const name = point.was === undefined ? series : `${series}, ${xText(chart, { ...point, x: point.was })}`
  if (chart.type === 'waterfall') return [heading, name, stepText(y, point)]
  if (chart.type === 'funnel') return [heading, name, funnelText(y, point.y, values[0]?.y ?? 0)]
  const banded = chart.type === 'interval' || (chart.type === 'forecast' && point.part === 'ahead')
  return [heading, name, banded ? intervalText(chart, point) : valueText(y, point.y)]
}

const NAMES: Record<string, string> = {
  history: 'Known',
  joint: 'Known',
  ahead: 'Expected, 95 % interval',
  total: 'Total',
  up: 'Up',
  down: 'Down',
  rest: 'Rest',
}
