/**
 * Defines the look of every chart: one type scale, one grid, and colours with a meaning. Blue is what the chart is
 * about, grey is context, vermilion is what is bad. The first eight colours are those of Okabe and Ito (Color Universal
 * Design, 2008), which readers with any colour vision tell apart, darkened where they would be too pale for a line on
 * white. The first four also write the names of series, and are dark enough for small letters.
 */

import { COLORS } from './colors.generated.ts'

type Color = keyof typeof COLORS
const light = (name: Color): string => COLORS[name][0]

export const INK = light('chart-ink')
export const QUIET = light('chart-quiet')
export const AXIS = light('chart-axis')
export const GRID = light('chart-grid')
export const PAGE = light('chart-page')
export const ACCENT = light('chart-1')
export const BAD = light('chart-2')
export const GOOD = light('chart-3')
export const CONTEXT = light('chart-8')

export const SERIES = Object.keys(COLORS)
  .filter((name) => /^chart-\d+$/.test(name))
  .map((name) => light(name as Color))

/** The custom property that stands for each colour in a page, so that a dark page needs no second drawing. */
export const PROPERTY_OF_COLOR: ReadonlyMap<string, string> = new Map([
  [INK, '--chart-ink'],
  [QUIET, '--chart-quiet'],
  [AXIS, '--chart-axis'],
  [GRID, '--chart-grid'],
  [PAGE, '--chart-page'],
  ...SERIES.map((color, index): [string, string] => [color, `--chart-${index + 1}`]),
])

/** Returns all colours as CSS declarations, for light pages or for dark ones. */
export const colorProperties = (theme: 'light' | 'dark'): string =>
  Object.entries(COLORS)
    .map(([name, pair]) => `--${name}: ${pair[theme === 'light' ? 0 : 1]};`)
    .join(' ')

/** The size of letters in pixels. A page shows a wide drawing from 665 pixels on, at which these letters are 12. */
const LETTERS = 13
/**
 * The size of letters of a narrow drawing of 300 pixels. The narrowest phones, of 320 pixels, show it at 278, where 13
 * become 12.
 */
export const LETTERS_NARROW = 13

/**
 * The most pixels of a label by Vega's estimate. Vega without a canvas assumes 8 pixels a letter, which is too much;
 * this cuts labels at about 40 letters.
 */
export const LABEL_LIMIT = 320

export const LOOK = {
  font: 'system-ui, sans-serif',
  background: PAGE,
  view: { stroke: null },
  padding: { left: 4, top: 6, right: 12, bottom: 4 },
  axis: {
    labelColor: QUIET,
    titleColor: QUIET,
    gridColor: GRID,
    domainColor: AXIS,
    tickColor: AXIS,
    labelFontSize: LETTERS,
    titleFontSize: LETTERS,
    titleFontWeight: 'normal',
    labelPadding: 5,
    titlePadding: 8,
    labelOverlap: 'parity',
    labelSeparation: 8,
  },
  axisX: { grid: false, tickSize: 4 },
  axisY: { domain: false, ticks: false },
  title: {
    anchor: 'start',
    subtitleColor: QUIET,
    subtitleFontSize: LETTERS,
    subtitlePadding: 6,
    color: INK,
    fontSize: 14,
    fontWeight: 600,
    lineHeight: 18,
    offset: 12,
    frame: 'bounds',
  },
  legend: {
    orient: 'bottom',
    direction: 'horizontal',
    columns: 4,
    labelColor: INK,
    titleColor: QUIET,
    labelFontSize: LETTERS,
    titleFontSize: LETTERS,
    titleFontWeight: 'normal',
    labelLimit: LABEL_LIMIT,
    symbolStrokeWidth: 2,
    // The symbol of an area is as strong as its edge.
    symbolOpacity: 1,
  },
  header: {
    labelColor: INK,
    labelFontSize: LETTERS,
    labelFontWeight: 600,
    labelAnchor: 'start',
    title: null,
  },
  mark: { color: ACCENT },
  arc: { stroke: PAGE, strokeWidth: 1 },
  line: { strokeWidth: 2, strokeCap: 'round', strokeJoin: 'round' },
  text: { color: INK, fontSize: LETTERS },
  range: { category: SERIES },
}

/** The options that put the title above the axis, where it needs no room beside the numbers. */
export const TITLE_ABOVE = {
  titleAngle: 0,
  titleAlign: 'left',
  titleBaseline: 'bottom',
  titleX: 0,
  titleY: -8,
}

export const WIDE = 720
export const NARROW = 300

/** Returns the same text as an edge in the colour of the page, which keeps letters readable above lines. */
export const edgeOf = (mark: Record<string, unknown>): Record<string, unknown> => ({
  ...mark,
  color: PAGE,
  stroke: PAGE,
  strokeWidth: 4,
  strokeJoin: 'round',
})
