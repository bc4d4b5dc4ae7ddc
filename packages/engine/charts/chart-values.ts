/** The values of a chart and what it keeps beside them, as its specification holds them. */
import type { Chart } from '@assay/model/insight'

/** How a column is named and printed for a reader, as a chart keeps it. */
export interface Label {
  title: string
  unit: string | null
  fmt: string | null
}

/**
 * The part of the chart that a value belongs to. `total` and `rest` are steps of a waterfall; `joint` is the last
 * known value, from which a forecast is drawn.
 */
export type Part = 'history' | 'joint' | 'ahead' | 'total' | 'up' | 'down' | 'rest'

/** One plotted value. The `x` and `x2` of histograms are the edges of the bin. */
export interface Point {
  x: string | number | null
  y: number | null
  series?: string
  x2?: number
  by?: string
  low?: number | null
  high?: number | null
  low_80?: number | null
  high_80?: number | null
  part?: Part
  /** The value's own time, if it was moved. Only a value of an earlier run that is drawn over another one has it. */
  was?: string
}

export type XKind = 'time' | 'number' | 'text'

export interface ChartEvent {
  x: string | number
  label: string
}

/** What a chart keeps beside its values, in the specification's `usermeta`. */
export interface Kept {
  x: XKind
  left_out: number
  labels: { x: Label; y: Label; series?: Label; by?: Label }
  /** The measure of each panel, by its name, if the panels are of several metrics. */
  panels?: Record<string, Label>
  target?: number
  events?: ChartEvent[]
}

const keptOf = (chart: Chart): Partial<Kept> => (chart.spec.usermeta as Partial<Kept> | undefined) ?? {}

/** Returns the values of a chart, without the joint of a forecast. */
export function chartPoints(chart: Chart): Point[] {
  const values = (chart.spec.data as { values?: Point[] } | undefined)?.values ?? []
  return values.some(({ part }) => part === 'joint') ? values.filter(({ part }) => part !== 'joint') : values
}

export const chartXKind = (chart: Chart): XKind => keptOf(chart).x ?? 'text'
/** Returns the number of values that were left out. */
export const chartLeftOut = (chart: Chart): number => keptOf(chart).left_out ?? 0
/** Returns the labels; none for charts of insights that were made before labels were kept. */
export const chartLabels = (chart: Chart): Partial<Kept['labels']> => keptOf(chart).labels ?? {}
/** Returns the measure of a value: that of its panel, or of the chart. */
export const measureAt = (chart: Chart, point: Point | undefined): Label | undefined =>
  keptOf(chart).panels?.[point?.by ?? ''] ?? chartLabels(chart).y
export const chartTarget = (chart: Chart): number | null => keptOf(chart).target ?? null
export const chartEvents = (chart: Chart): ChartEvent[] => keptOf(chart).events ?? []

export function isKnown<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined
}
