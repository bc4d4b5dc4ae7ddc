/**
 * Draws two runs of one report in one chart: this run in the main colour, the earlier one in grey. Times of another
 * period are moved onto those of this run. A chart of several series gets one panel for each.
 */
import type { Chart } from '@assay/model/insight'
import { chartPoints, chartXKind, type Kept, type Point } from './chart-values.ts'
import { layersOf } from './marks/layers.ts'
import { LOOK, WIDE } from './marks/look.ts'

const NOW = 'This run'
const BEFORE = 'Before'
/** The most names in a chart. With more, the two runs would hide each other. */
const MOST_NAMES = 40
/** The most series that have a panel each. */
const MOST_PANELS = 12
/** The types of charts with one value at each place. */
const OVERLAID: readonly Chart['type'][] = ['line', 'area', 'bar', 'point']

export interface Overlay {
  chart: Chart
  /** The names of categories that only this run has. `gone`: those of the earlier run only. */
  appeared: string[]
  gone: string[]
}

/** Returns the chart of both; null if the two cannot be drawn into one. */
export function overlayChart(chart: Chart, earlier: Chart): Overlay | null {
  const kind = chartXKind(chart)
  if (chart.type !== earlier.type || kind !== chartXKind(earlier)) return null
  if (!OVERLAID.includes(chart.type) || chart.y.join() !== earlier.y.join()) return null
  if ((chart.by ?? null) !== (earlier.by ?? null)) return null
  const [now, before] = [chartPoints(chart), chartPoints(earlier)]
  const all = [...now, ...before]
  if (now.length === 0 || before.length === 0) return null
  const isSeries = all.some(({ series }) => series)
  if (isSeries && chart.by) return null
  if (new Set(all.map(panelOf)).size > MOST_PANELS) return null
  const isText = kind === 'text'
  const [own, other] = [now, before].map((points) => (isText ? namesOf(points) : panelsOf(points))) as [
    string[],
    string[],
  ]
  if (isText && new Set([...own, ...other]).size > MOST_NAMES) return null
  // The events of this run stay. The two runs need no title.
  const kept = chart.spec.usermeta as Kept
  const { labels } = kept
  const points = [
    ...now.map((point) => inPanel(point, NOW)),
    ...(kind === 'time' ? movedByPanel(before, now) : before).map((point) => inPanel(point, BEFORE)),
  ]
  // Areas would cover each other.
  const type = chart.type === 'area' ? 'line' : chart.type
  const { x, y, title, id, block } = chart
  const by = isSeries ? (chart.series ?? 'series') : (chart.by ?? null)
  const plot = {
    type,
    x,
    y,
    series: 'run',
    by,
    title,
    points,
    kept: {
      ...kept,
      labels: {
        ...labels,
        series: { title: '', unit: null, fmt: null },
        ...(isSeries && labels.series ? { by: labels.series } : {}),
      },
    },
    good: 'none' as const,
    width: WIDE,
    highlight: NOW,
  }
  const spec = {
    ...frameOf(chart.spec),
    usermeta: plot.kept,
    data: { values: points },
    ...apart(layersOf(plot), by !== null && kind === 'time'),
    config: LOOK,
  }
  const named = kind === 'text' || by !== null
  return {
    chart: { id, type, title, block, x, y, series: 'run', by, spec },
    appeared: named ? own.filter((name) => !other.includes(name)) : [],
    gone: named ? other.filter((name) => !own.includes(name)) : [],
  }
}

/** Returns the series or the panel of a value; empty if the chart has one of them. */
const panelOf = ({ series, by }: Point): string => series ?? by ?? ''

/** Moves a series into a panel, because colour distinguishes the runs. */
function inPanel(point: Point, run: string): Point {
  const panel = panelOf(point)
  return { ...point, ...(panel === '' ? {} : { by: panel }), series: run }
}

/** Gives panels axes of their own if their times differ. */
function apart(drawn: Chart['spec'], panels: boolean): Chart['spec'] {
  if (!panels) return drawn
  const { scale = {} } = (drawn.resolve ?? {}) as { scale?: object }
  return { ...drawn, resolve: { scale: { ...scale, x: 'independent' } } }
}

/** Returns the part of the specification around its marks, which stand elsewhere in a chart with panels. */
function frameOf({ layer: _l, facet: _f, spec: _s, columns: _c, resolve: _r, ...frame }: Chart['spec']) {
  return frame
}

const panelsOf = (points: readonly Point[]): string[] => [...new Set(points.map(panelOf))]
const namesOf = (points: readonly Point[]): string[] => [...new Set(points.map(({ x }) => String(x)))]

/** Moves the times of each panel by itself, because panels may have different times. */
function movedByPanel(before: readonly Point[], now: readonly Point[]): Point[] {
  return panelsOf(before).flatMap((panel) => {
    const [own, other] = [now, before].map((points) => points.filter((point) => panelOf(point) === panel))
    return own!.length === 0 ? other! : moved(other!, own!)
  })
}

/** Moves the times of an earlier period to begin where those of this one begin. Times that overlap stay. */
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
