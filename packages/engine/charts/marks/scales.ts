/** Makes the axes, names and colours that the types of charts share. */

import type { ChartType } from '@assay/model/insight'
import { type Kept, type Point, type XKind } from '../chart-values.ts'
import { axisNumbers, drawnTitle, panelNumbers, shortX } from '../labels.ts'
import type { ChartOptions } from '../points.ts'
import { ACCENT, CONTEXT, INK, LABEL_LIMIT, QUIET, SERIES, TITLE_ABOVE } from './look.ts'

export type Spec = Record<string, unknown>

export interface Plot extends ChartOptions {
  points: Point[]
  kept: Kept
  good: 'up' | 'down' | 'none'
  width: number
}

/** The number of letters from which on names do not fit below bars, so that the bars are horizontal. */
const LETTERS_BELOW = 45
export const HEIGHT = 300
export const ROW = 30
/** The most series with a name at the end of each line. More series have a legend. */
export const NAMED_AT_END = 4
export const MOST_BARS = 40

export const rowName = (point: Point): string =>
  point.series === undefined ? shortX(point.x) : `${shortX(point.x)}, ${point.series}`

/** Tells whether the categories of bars are listed from the top down. */
export function liesOnSide(type: ChartType, kind: XKind, points: Point[]): boolean {
  if (type !== 'bar' || kind !== 'text') return false
  const names = [...new Set(points.map(({ x }) => shortX(x)))]
  return names.length <= MOST_BARS && names.reduce((sum, name) => sum + name.length + 2, 0) > LETTERS_BELOW
}

export const namesOf = (points: Point[]): string[] => points.map(({ x }) => String(x))

export const valuesOf = (points: Point[]): (number | null)[] =>
  points.flatMap(({ y, low, high }) => [y, low ?? null, high ?? null])

export function yAxis(plot: Plot, zero: boolean): Spec {
  const { y } = plot.kept.labels
  return {
    field: 'y',
    type: 'quantitative',
    title: plot.by ? null : drawnTitle(y) || null,
    axis: { ...TITLE_ABOVE, ...numbersUp(plot), tickCount: 5 },
    scale: { zero, nice: true, ...(zero ? {} : roomAround(valuesOf(plot.points))) },
  }
}

/** Returns room above and below values that are all alike. An axis of one number alone prints it with six decimals. */
function roomAround(values: (number | null)[]): Spec {
  const [first, ...others] = new Set(values.filter((value) => value !== null))
  if (first === undefined || others.length > 0) return {}
  const room = first === 0 ? 1 : Math.abs(first) / 2
  return { domain: { unionWith: [first - room, first + room] } }
}

function numbersUp({ points, kept: { labels, panels } }: Plot): Spec {
  if (!panels) return axisNumbers(labels.y, valuesOf(points))
  return panelNumbers(panels, (name) => valuesOf(points.filter(({ by }) => by === name)))
}

/** Returns the same numbers along the bottom. */
export function across(plot: Plot, zero: boolean, scale: Spec = {}): Spec {
  const { y } = plot.kept.labels
  const axis = { ...axisNumbers(y, valuesOf(plot.points)), tickCount: 5, grid: true, domain: false }
  return { field: 'y', type: 'quantitative', title: drawnTitle(y) || null, axis, scale: { zero, ...scale } }
}

/** The options of names down the side. Longer ones stand in two lines (drawing/size.ts). */
export const NAMES_DOWN = { labelLimit: 240, labelOverlap: false, ticks: false, domain: false }

export function rowsDown(field: string, names: string[]): Spec {
  return {
    field,
    type: 'nominal',
    sort: null,
    scale: { domain: [...new Set(names)] },
    title: null,
    axis: { ...NAMES_DOWN, labelColor: INK },
  }
}

export function xAxis({ kept, points, type, x }: Plot): Spec {
  const title = drawnTitle(kept.labels.x)
  if (kept.x === 'text' || isBar(type, points)) {
    const names = [...new Set(points.map((point) => shortX(point.x)))]
    const letters = names.reduce((sum, name) => sum + name.length + 2, 0)
    const ordered = kept.x !== 'text'
    const angle = letters <= 90 || ordered ? 0 : -40
    const axis = {
      labelAngle: angle,
      labelLimit: LABEL_LIMIT,
      ...(ordered && letters > LETTERS_BELOW ? thinned(names) : {}),
    }
    return { field: 'x', type: 'ordinal', sort: null, title, axis }
  }
  // A column of dates needs a title only if the template gave the column a name.
  const named = title.toLowerCase() !== x.toLowerCase().replaceAll('_', ' ')
  if (kept.x === 'time')
    return {
      field: 'x',
      type: 'temporal',
      title: named ? title : null,
      scale: { type: 'utc' },
      axis: { tickCount: 6 },
    }
  const years = points.every((point) => isYear(point.x))
  return {
    field: 'x',
    type: 'quantitative',
    title,
    axis: { tickCount: 8, ...(years ? { format: 'd' } : {}) },
    scale: { zero: false, nice: !years },
  }
}

/** Returns every n-th name, so that about ten are left. */
function thinned(names: string[]): Spec {
  const each = Math.ceil(names.length / 10)
  return {
    values: names
      .filter((_, index) => index % each === 0)
      .map((name) => (/^-?\d+(\.\d+)?$/.test(name) ? Number(name) : name)),
  }
}

export const isBar = (type: ChartType, points: Point[]): boolean =>
  type === 'bar' && new Set(points.map(({ x }) => x)).size <= MOST_BARS

/** Tells whether a number looks like a year. Whole numbers that do get no separators. */
export function isYear(x: Point['x']): boolean {
  return typeof x === 'number' && Number.isInteger(x) && x >= 1000 && x < 3000
}

export const seriesNames = (points: Point[]): string[] => [
  ...new Set(points.flatMap(({ series }) => (series === undefined ? [] : [series]))),
]

export function colored(plot: Plot, legend: boolean): Spec {
  const names = seriesNames(plot.points)
  if (names.length === 0) return {}
  const title = plot.kept.labels.series ? drawnTitle(plot.kept.labels.series) : null
  const range = names.map((name) => (name === plot.highlight ? ACCENT : CONTEXT))
  return {
    color: {
      field: 'series',
      type: 'nominal',
      sort: null,
      title,
      ...(plot.highlight ? { scale: { domain: names, range } } : {}),
      ...(legend ? {} : { legend: null }),
    },
  }
}

/**
 * Returns the colour in which the name of a series is written: that of its marks, or in place of the grey of context a
 * darker one, in which small letters are readable.
 */
export function colorOfName({ points, highlight }: Plot, name: string): string {
  if (highlight) return name === highlight ? ACCENT : QUIET
  return SERIES[seriesNames(points).indexOf(name)] ?? INK
}

export const typeOfX = ({ kept, type, points }: Plot): string =>
  kept.x === 'text' || isBar(type, points) ? 'ordinal' : kept.x === 'time' ? 'temporal' : 'quantitative'
