/**
 * Two runs of one report in one chart: this run in the colour of what the chart is about, the earlier one in the grey of context.
 * Times of another period are moved onto those of this run.
 */
import type { Chart } from '@assay/model/insight'
import { chartPoints, chartXKind, type Kept, type Point } from './chart-values.ts'
import { layersOf } from './marks/layers.ts'
import { ACCENT, CONTEXT, LOOK, WIDE } from './marks/look.ts'

const NOW = 'This run'
const BEFORE = 'Before'
/** Beyond these the two runs would hide each other. */
const MOST_NAMES = 40
/** Charts with one value at each place. */
const OVERLAID: readonly Chart['type'][] = ['line', 'area', 'bar', 'point']

export interface Overlay {
  chart: Chart
  /** Names of categories that only this run has, or only the earlier one. */
  appeared: string[]
  gone: string[]
}

/** Null: the two cannot be drawn into one. */
export function overlayChart(chart: Chart, earlier: Chart): Overlay | null {
  const kind = chartXKind(chart)
  if (chart.type !== earlier.type || kind !== chartXKind(earlier)) return null
  if (!OVERLAID.includes(chart.type) || chart.by || chart.y.join() !== earlier.y.join()) return null
  const [now, before] = [chartPoints(chart), chartPoints(earlier)]
  if ([now, before].some((points) => points.length === 0 || points.some(({ series }) => series))) return null
  const [own, other] = [namesOf(now), namesOf(before)]
  if (kind === 'text' && new Set([...own, ...other]).size > MOST_NAMES) return null
  // What happened in this run stays; the two runs need no title.
  const kept = chart.spec.usermeta as Kept
  const { labels } = kept
  const points = [
    ...now.map((point) => ({ ...point, series: NOW })),
    ...(kind === 'time' ? moved(before, now) : before).map((point) => ({ ...point, series: BEFORE })),
  ]
  // Areas would cover each other.
  const type = chart.type === 'area' ? 'line' : chart.type
  const { x, y, title, id, block } = chart
  const plot = {
    type,
    x,
    y,
    series: 'run',
    title,
    points,
    kept: { ...kept, labels: { ...labels, series: { title: '', unit: null, fmt: null } } },
    good: 'none' as const,
    width: WIDE,
  }
  const spec = {
    ...chart.spec,
    usermeta: plot.kept,
    data: { values: points },
    ...layersOf(plot),
    config: { ...LOOK, range: { category: [ACCENT, CONTEXT] } },
  }
  const named = kind === 'text'
  return {
    chart: { id, type, title, block, x, y, series: 'run', spec },
    appeared: named ? own.filter((name) => !other.includes(name)) : [],
    gone: named ? other.filter((name) => !own.includes(name)) : [],
  }
}

const namesOf = (points: readonly Point[]): string[] => [...new Set(points.map(({ x }) => String(x)))]

/** The times of an earlier period begin where those of this one begin; times that overlap stay. */
function moved(before: readonly Point[], now: readonly Point[]): Point[] {
  const times = (points: readonly Point[]): number[] =>
    points.flatMap(({ x }) => (x === null ? [] : [Date.parse(String(x))])).toSorted((a, b) => a - b)
  const [own, other] = [times(now), times(before)]
  const shift = own[0]! - other[0]!
  if (!(other.at(-1)! < own[0]!)) return [...before]
  return before.map((point) =>
    point.x === null ? point : { ...point, x: later(String(point.x), shift), was: String(point.x) },
  )
}

function later(text: string, ms: number): string {
  const time = new Date(Date.parse(text) + ms).toISOString()
  return text.length === 10 ? time.slice(0, 10) : time
}
