/**
 * Defines the look of every chart: one type scale, one grid, and colours with a meaning. Blue is what the chart is
 * about, grey is context, vermilion is what is bad. The first eight colours are those of Okabe and Ito (Color Universal
 * Design, 2008), which readers with any colour vision tell apart, darkened where they would be too pale for a line on
 * white. The first four also write the names of series, and are dark enough for small letters.
 */

export const INK = '#1c2024'
export const QUIET = '#59616a'
export const AXIS = '#c5cbd1'
export const GRID = '#e6e9ec'
export const PAGE = '#ffffff'
export const ACCENT = '#0072b2'
export const BAD = '#c55000'
export const GOOD = '#00805f'
export const CONTEXT = '#8a939c'

export const SERIES = [
  ACCENT,
  BAD,
  GOOD,
  '#a8518a',
  '#8f6a00',
  '#3d93c9',
  '#7a4b2a',
  CONTEXT,
  '#6a4fb0',
  '#5b7f1f',
  '#c0392b',
  '#20868a',
  '#b0773c',
  '#cc5c8a',
  '#454b8c',
  '#56707f',
]

/** The custom property that stands for each colour in a page, so that a dark page needs no second drawing. */
export const PROPERTY_OF_COLOR: ReadonlyMap<string, string> = new Map([
  [INK, '--chart-ink'],
  [QUIET, '--chart-quiet'],
  [AXIS, '--chart-axis'],
  [GRID, '--chart-grid'],
  [PAGE, '--chart-page'],
  ...SERIES.map((color, index): [string, string] => [color, `--chart-${index + 1}`]),
])

/** The dark variants of these colours, as CSS declarations. */
export const DARK_CHART = [
  '--chart-ink: #e6e8ea; --chart-quiet: #a3acb5; --chart-axis: #4a525a; --chart-grid: #2a3036; --chart-page: #14171a;',
  '--chart-1: #56b4e9; --chart-2: #f5935a; --chart-3: #3fc89b; --chart-4: #e3a0cd; --chart-5: #d9b64a;',
  '--chart-6: #9ad2f5; --chart-7: #d6a07c; --chart-8: #7d8790; --chart-9: #b7a3f0; --chart-10: #a9cc66;',
  '--chart-11: #ff8a7a; --chart-12: #5fd0d3; --chart-13: #dcb27c; --chart-14: #f2a3c3; --chart-15: #9aa5ea;',
  '--chart-16: #9fb4c2;',
].join(' ')

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
