/** Makes the marks of each type of chart as Vega-Lite, over the points of points.ts. */

import type { ChartType } from '@assay/model/insight'
import { drawnTitle, panelTitles } from '../labels.ts'
import { annotations, roomOfEvents } from './annotations.ts'
import { edgeOf } from './look.ts'
import {
  across,
  colored,
  colorOfName,
  HEIGHT,
  isBar,
  liesOnSide,
  NAMED_AT_END,
  namesOf,
  type Plot,
  ROW,
  rowName,
  rowsDown,
  type Spec,
  seriesNames,
  typeOfX,
  xAxis,
  yAxis,
} from './scales.ts'
import { forecast, funnel, heatmap, intervals, waterfall } from './steps.ts'

const PANELS_BESIDE = 3
const PANEL_GAP = 24
/** The width of a panel in pixels by the number of panels in a row. Together they are as wide as a chart. */
const PANEL_WIDTHS: Record<number, number> = { 2: 312, 3: 200 }

/** Returns the part of the specification that draws: a mark with its encoding, layers, or panels of them. */
export function layersOf(plot: Plot): Spec {
  const size = { width: plot.width, height: heightOf(plot) }
  const { type } = plot
  if (type === 'pie') return { ...size, ...pie(plot) }
  const layer = [
    ...titledAbove(plot, marksOf(plot)),
    ...(type === 'waterfall' || type === 'funnel' || type === 'heatmap' ? [] : annotations(plot)),
  ]
  if (!plot.by) return { ...size, layer }
  const names = [...new Set(plot.points.map(({ by }) => by))]
  const { panels } = plot.kept
  const header = { title: null, ...(panels ? panelTitles(panels) : {}) }
  const field = { field: 'by', type: 'nominal', sort: names, header }
  const resolve = differInSize(plot) ? { resolve: { scale: { y: 'independent' } } } : {}
  const columns = Math.min(PANELS_BESIDE, new Set(plot.points.map(({ by }) => by)).size)
  return {
    facet: field,
    columns,
    spacing: PANEL_GAP,
    ...resolve,
    spec: { width: PANEL_WIDTHS[columns] ?? plot.width, height: 150, layer },
  }
}

/**
 * Tells whether panels need scales of their own. They share one, so that they can be compared, unless they differ in what they
 * measure or one panel would be flat along its bottom.
 */
function differInSize({ points, kept }: Plot): boolean {
  if (kept.x === 'text') return false
  const measures = new Set(Object.values(kept.panels ?? {}).map(({ unit, fmt }) => `${unit} ${fmt}`))
  if (measures.size > 1) return true
  const largest = new Map<string, number>()
  for (const { by = '', y } of points)
    if (y !== null) largest.set(by, Math.max(largest.get(by) ?? 0, Math.abs(y)))
  const sizes = [...largest.values()].filter((size) => size > 0)
  return Math.max(...sizes, 0) > 20 * Math.min(...sizes)
}

/** Puts the title of the axis above the names of events, so that their lines do not cross it. */
function titledAbove(plot: Plot, marks: Spec[]): Spec[] {
  const room = roomOfEvents(plot)
  if (room === 0) return marks
  return marks.map((mark) => {
    const encoding = mark.encoding as Record<string, Spec> | undefined
    const axis = encoding?.y?.axis as { titleY?: number } | undefined
    if (axis?.titleY === undefined) return mark
    const y = { ...encoding!.y, axis: { ...axis, titleY: axis.titleY - room } }
    return { ...mark, encoding: { ...encoding, y } }
  })
}

function marksOf(plot: Plot): Spec[] {
  const makers: Record<Exclude<ChartType, 'pie'>, (plot: Plot) => Spec[]> = {
    line: lines,
    area: lines,
    point: lines,
    bar: bars,
    histogram: bins,
    forecast,
    interval: intervals,
    waterfall,
    heatmap,
    funnel,
  }
  return makers[plot.type as Exclude<ChartType, 'pie'>](plot)
}

function heightOf({ type, points, kept }: Plot): number {
  if (type === 'waterfall' || type === 'interval' || type === 'funnel' || liesOnSide(type, kept.x, points)) {
    const rows = new Set(points.map(rowName)).size
    return Math.max(2, rows) * ROW
  }
  if (type === 'heatmap') return Math.max(3, new Set(points.map(({ series }) => series)).size) * 26
  return type === 'pie' ? 260 : HEIGHT
}

function lines(plot: Plot): Spec[] {
  const { type, points, by } = plot
  const names = seriesNames(points)
  const atEnd = type === 'line' && names.length > 1 && names.length <= NAMED_AT_END && !by
  const dotted = type === 'line' && points.length <= 60
  const mark =
    type === 'line'
      ? { type: 'line', ...(dotted ? { point: { size: 28, filled: true } } : {}) }
      : type === 'area'
        ? { type: 'area', opacity: 0.75, line: true }
        : { type: 'point', filled: false, size: 36, strokeWidth: 1.5, opacity: 1 }
  const encoding = { x: xAxis(plot), y: yAxis(plot, type === 'area'), ...colored(plot, !atEnd) }
  return [{ mark, encoding }, ...(atEnd ? endNames(plot, names) : [])]
}

/**
 * Draws the name of each line beside its last value, moved apart if two would touch, with an edge that keeps it
 * readable on a line.
 */
function endNames(plot: Plot, names: string[]): Spec[] {
  const ends = names.flatMap((name) => {
    const last = plot.points.findLast((point) => point.series === name && point.y !== null)
    return last ? [{ x: last.x, y: last.y!, series: name, color: colorOfName(plot, name) }] : []
  })
  const known = plot.points.flatMap(({ y }) => (y === null ? [] : [y]))
  const [low, high] = [
    known.reduce((a, b) => Math.min(a, b), Infinity),
    known.reduce((a, b) => Math.max(a, b), -Infinity),
  ]
  const apart = ((high - low) * 16) / HEIGHT
  const ordered = ends.toSorted((a, b) => a.y - b.y)
  for (const [index, end] of ordered.entries()) {
    const below = ordered[index - 1]
    if (below && end.y - below.y < apart) end.y = below.y + apart
  }
  const data = { values: ordered }
  const mark = { type: 'text', align: 'right', dx: 0, dy: -9, fontWeight: 600, limit: 160 }
  const place = {
    x: { field: 'x', type: typeOfX(plot) },
    y: { field: 'y', type: 'quantitative' },
    text: { field: 'series' },
  }
  const color = { field: 'color', type: 'nominal', scale: null }
  return [
    { data, mark: edgeOf(mark), encoding: place },
    { data, mark, encoding: { ...place, color } },
  ]
}

function bars(plot: Plot): Spec[] {
  const { points, kept } = plot
  const grouped = seriesNames(points).length > 0
  const mark = { type: 'bar', cornerRadiusEnd: 2 }
  if (liesOnSide(plot.type, kept.x, points)) {
    const offset = grouped ? { yOffset: { field: 'series', sort: null } } : {}
    return [
      {
        mark,
        encoding: {
          y: rowsDown('x', namesOf(plot.points)),
          x: across(plot, true),
          ...colored(plot, true),
          ...offset,
        },
      },
    ]
  }
  const offset = grouped && isBar('bar', points) ? { xOffset: { field: 'series', sort: null } } : {}
  return [{ mark, encoding: { x: xAxis(plot), y: yAxis(plot, true), ...colored(plot, true), ...offset } }]
}

function bins(plot: Plot): Spec[] {
  const x = {
    field: 'x',
    type: 'quantitative',
    title: drawnTitle(plot.kept.labels.x),
    bin: { binned: true },
    axis: { tickCount: 8 },
  }
  return [{ mark: { type: 'bar' }, encoding: { x, x2: { field: 'x2' }, y: yAxis(plot, true) } }]
}

function pie({ kept }: Plot): Spec {
  return {
    mark: { type: 'arc', innerRadius: 60 },
    encoding: {
      theta: { field: 'y', type: 'quantitative', stack: true },
      color: { field: 'x', type: 'nominal', sort: null, title: drawnTitle(kept.labels.x) },
      order: { field: 'y', type: 'quantitative', sort: 'descending' },
    },
  }
}
