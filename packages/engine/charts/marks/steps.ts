/** Makes the marks of forecasts, intervals, waterfalls, heatmaps and funnels. */
import { isKnown } from '../chart-values.ts'
import { axisNumbers, drawnTitle, funnelText, stepText } from '../labels.ts'
import { zeroIsNear } from '../points.ts'
import { textWidthOf } from '../text-width.ts'
import { ACCENT, AXIS, BAD, CONTEXT, GOOD, GRID, INK, LETTERS_NARROW, QUIET, TITLE_ABOVE } from './look.ts'
import {
  across,
  NAMES_DOWN,
  namesOf,
  type Plot,
  rowName,
  rowsDown,
  type Spec,
  seriesNames,
  valuesOf,
  xAxis,
  yAxis,
} from './scales.ts'

export const only = (...parts: string[]): Spec[] => [{ filter: { field: 'part', oneOf: parts } }]

/** Draws known values in grey, and expected values dashed in blue, within their bands of 95 and 80 %. */
export function forecast(plot: Plot): Spec[] {
  const [x, y] = [xAxis(plot), yAxis(plot, false)]
  const band = (low: string, high: string, opacity: number): Spec => ({
    transform: [...only('joint', 'ahead'), { filter: `isValid(datum.${low})` }],
    mark: { type: 'area', color: ACCENT, opacity },
    encoding: { x, y: { ...y, field: low }, y2: { field: high } },
  })
  const inner = plot.points.some(({ low_80, part }) => part === 'ahead' && isKnown(low_80))
  return [
    band('low', 'high', 0.16),
    ...(inner ? [band('low_80', 'high_80', 0.2)] : []),
    { transform: only('history'), mark: { type: 'line', color: QUIET }, encoding: { x, y } },
    {
      transform: only('joint', 'ahead'),
      mark: { type: 'line', color: ACCENT, strokeDash: [5, 4] },
      encoding: { x, y },
    },
  ]
}

/**
 * Draws intervals. Zero is drawn if it is near, and then intervals that hold it are grey, because they may be no
 * effect.
 */
export function intervals(plot: Plot): Spec[] {
  const edges = plot.points.flatMap(({ low, high }) => [low, high].filter((edge) => isKnown(edge)))
  const zero = zeroIsNear(edges)
  const withRows = plot.points.map((point) => ({ ...point, row: rowName(point) }))
  const clear = 'datum.low > 0 || datum.high < 0'
  const color = zero ? { condition: { test: clear, value: ACCENT }, value: CONTEXT } : { value: ACCENT }
  const x = across(plot, zero)
  const transform = [
    { calculate: plot.series === null ? 'datum.x' : "datum.x + ', ' + datum.series", as: 'row' },
  ]
  const y = rowsDown(
    'row',
    withRows.map(({ row }) => row),
  )
  return [
    ...(zero
      ? [
          {
            data: { values: [{}] },
            mark: { type: 'rule', color: AXIS, strokeWidth: 1.5 },
            encoding: { x: { datum: 0 } },
          },
        ]
      : []),
    {
      transform,
      mark: { type: 'rule', strokeWidth: 2.5 },
      encoding: { y, x: { ...x, field: 'low' }, x2: { field: 'high' }, color },
    },
    { transform, mark: { type: 'point', filled: true, size: 80, opacity: 1 }, encoding: { y, x, color } },
  ]
}

/** Returns a scale that leaves room for the texts on the right of the longest bar, in a drawing of any width. */
function roomFor(texts: readonly { text: string }[], domain: Spec): Spec {
  const widest = texts.reduce((most, { text }) => Math.max(most, textWidthOf(text, LETTERS_NARROW)), 0)
  return { ...domain, nice: false, range: [0, { expr: `max(30, width - ${widest + 8})` }] }
}

/**
 * Draws totals as marks and steps as bars between them, so that the axis need not begin at zero and small steps stay
 * visible.
 */
export function waterfall(plot: Plot): Spec[] {
  const [up, down] = plot.good === 'up' ? [GOOD, BAD] : plot.good === 'down' ? [BAD, GOOD] : [ACCENT, BAD]
  const y = rowsDown('x', namesOf(plot.points))
  const levels = plot.points.flatMap(({ low, high }) => [low ?? 0, high ?? 0])
  const [least, most] = [Math.min(...levels), Math.max(...levels)]
  const color = {
    condition: [
      { test: "datum.part == 'rest'", value: CONTEXT },
      { test: "datum.part == 'up'", value: up },
    ],
    value: down,
  }
  const { y: label } = plot.kept.labels
  const texts = plot.points.map((point) => ({
    x: point.x,
    at: Math.max(point.low!, point.high!),
    text: stepText(label, point),
  }))
  const room = roomFor(texts, {
    domainMin: least - (most - least) * 0.04,
    domainMax: most + (least === most ? 1 : 0),
  })
  const x = { ...across(plot, false, room), field: 'low' }
  return [
    {
      transform: only('up', 'down', 'rest'),
      mark: { type: 'bar', height: { band: 0.62 } },
      encoding: { y, x, x2: { field: 'high' }, color },
    },
    {
      transform: only('total'),
      mark: { type: 'tick', color: INK, thickness: 3, height: { band: 0.8 } },
      encoding: { y, x },
    },
    {
      data: { values: texts },
      mark: { type: 'text', align: 'left', dx: 7 },
      encoding: { y, x: { field: 'at', type: 'quantitative' }, text: { field: 'text' } },
    },
  ]
}

/** Draws a heatmap. Shade is the opacity of one colour, which a dark page can invert. */
export function heatmap(plot: Plot): Spec[] {
  const { y, series } = plot.kept.labels
  const opacity = {
    field: 'y',
    type: 'quantitative',
    title: drawnTitle(y),
    scale: { range: [0.06, 1], zero: false },
    legend: { symbolType: 'square', symbolSize: 160, ...axisNumbers(y, valuesOf(plot.points)) },
  }
  return [
    {
      mark: { type: 'rect', color: ACCENT, stroke: GRID, strokeWidth: 0.5 },
      encoding: {
        x: {
          field: 'x',
          type: 'ordinal',
          sort: null,
          title: drawnTitle(plot.kept.labels.x),
          scale: { domain: [...new Set(plot.points.map((point) => point.x))] },
          // The width decides whether the names stand in a line, in two or aslant (drawing/size.ts).
          axis: { labelLimit: NAMES_DOWN.labelLimit },
        },
        y: {
          ...rowsDown('series', seriesNames(plot.points)),
          title: series ? drawnTitle(series) : null,
          axis: { ...TITLE_ABOVE, ...NAMES_DOWN },
        },
        opacity,
      },
    },
  ]
}

/** Draws each step as a bar, with the share that is left of the first step. */
export function funnel(plot: Plot): Spec[] {
  const first = plot.points[0]?.y ?? 0
  const texts = plot.points.map(({ x, y }) => ({ x, y, text: funnelText(plot.kept.labels.y, y, first) }))
  const y = rowsDown('x', namesOf(plot.points))
  const domainMax = Math.max(...plot.points.map((point) => point.y ?? 0), 0) || 1
  const x = across(plot, true, roomFor(texts, { domainMax }))
  const encoding = { y, x: { ...x, axis: null } }
  return [
    { mark: { type: 'bar', cornerRadiusEnd: 2, height: { band: 0.75 } }, encoding },
    {
      data: { values: texts },
      mark: { type: 'text', align: 'left', dx: 7 },
      encoding: { ...encoding, text: { field: 'text' } },
    },
  ]
}
