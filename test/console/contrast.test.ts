/**
 * Tests that colours keep the contrast that WCAG 2.2 asks for, light and dark: 4.5 for text and 3 for marks. The console
 * and the page of a link have the same colours. axe does not look into drawings, so it is computed from the colours of
 * what is drawn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Chart } from '@assay/model/insight'
import { drawChart } from '../../packages/engine/charts/drawing/draw.ts'
import { COLORS } from '../../packages/engine/charts/marks/colors.generated.ts'
import { AXIS, GRID, PAGE, PROPERTY_OF_COLOR } from '../../packages/engine/charts/marks/look.ts'
import { overlayChart } from '../../packages/engine/charts/overlay.ts'
import type { ChartOptions } from '../../packages/engine/charts/points.ts'
import { makeChart } from '../../packages/engine/charts/spec.ts'
import type { Row } from '../../packages/engine/values/value.ts'

/**
 * The colours of grid lines, axes and the edges around letters. They carry no information, so they need no contrast.
 */
const PLAIN: readonly string[] = [AXIS, GRID, PAGE]
const LEAST = { text: 4.5, mark: 3 }

type Rgb = readonly [number, number, number]

function rgbOf(hex: string): Rgb {
  assert.match(hex, /^#[0-9a-f]{6}$/)
  return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb
}

/** Returns the relative luminance by WCAG. */
function luminance(color: Rgb): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(one: Rgb, other: Rgb): number {
  const [high, low] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

/** Returns a colour as it is seen through its opacity on a page. */
const over = (color: Rgb, page: Rgb, opacity: number): Rgb =>
  color.map((part, at) => part * opacity + page[at]! * (1 - opacity)) as unknown as Rgb

/** The colours of one page by the property of each. */
type Theme = ReadonlyMap<string, string>

const theme = (nth: 0 | 1): Theme =>
  new Map(Object.entries(COLORS).map(([name, pair]) => [`--${name}`, pair[nth]]))
const THEMES: Record<string, Theme> = { 'a light page': theme(0), 'a dark page': theme(1) }

const LETTERS = ['ink', 'quiet', 'accent', 'good', 'bad', 'token-keyword', 'token-string', 'token-number']
const PAIRS: Record<string, readonly string[]> = {
  paper: LETTERS,
  shade: LETTERS,
  sunk: ['ink', 'quiet'],
  'accent-wash': ['ink', 'accent'],
  'bad-wash': ['ink', 'bad'],
  'notice-wash': ['ink', 'quiet'],
  accent: ['accent-ink'],
}

for (const [page, colors] of Object.entries(THEMES))
  test(`letters and the edges of fields stand out from each ground of ${page}`, () => {
    const found = (one: string, other: string): number =>
      contrast(rgbOf(colors.get(`--${one}`)!), rgbOf(colors.get(`--${other}`)!))
    for (const [ground, letters] of Object.entries(PAIRS))
      for (const name of letters)
        assert.ok(found(name, ground) >= LEAST.text, `${name} on ${ground}: ${found(name, ground)}`)
    for (const edge of ['edge', 'notice', 'accent', 'bad'])
      assert.ok(found(edge, 'paper') >= LEAST.mark, `${edge}: ${found(edge, 'paper')}`)
  })

interface Painted {
  kind: 'text' | 'mark'
  color: string
  opacity: number
  /** The element, for the message of a failure. */
  told: string
}

/**
 * Returns the painted elements of a drawing. Shades, such as bands and cells, are left out, because their values are in
 * text beside them.
 */
function paintedIn(svg: string): Painted[] {
  return [...svg.matchAll(/<(text|path|rect|line|circle)\b([^>]*)>/g)].flatMap(
    ([told, tag, given]): Painted[] => {
      const of = Object.fromEntries(
        [...given!.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
      )
      const kind = tag === 'text' ? 'text' : 'mark'
      return (['fill', 'stroke'] as const).flatMap((paint): Painted[] => {
        const color = of[paint]
        const opacity = Number(of.opacity ?? 1) * Number(of[`${paint}-opacity`] ?? 1)
        const shade = kind === 'mark' && paint === 'fill' && opacity < 1
        if (color === undefined || !color.startsWith('#') || PLAIN.includes(color) || shade || opacity === 0)
          return []
        return [{ kind, color, opacity, told }]
      })
    },
  )
}

const meanings = new Map([
  ['y', { label: 'late flights', unit: null, fmt: 'pct1', good: 'down' as const, target: 0.2 }],
])

function chart(rows: Row[], given: Partial<ChartOptions>): Chart {
  return makeChart(
    'chart-1',
    rows,
    { type: 'line', x: 'x', y: ['y'], series: null, title: 'T', ...given },
    meanings,
  )
}

const rowsOf = (names: readonly string[]): Row[] =>
  names.flatMap((name, at) =>
    [1, 2, 3, 4].map((x) => ({ x, y: x / 10 + at / 20, z: x, name, low: x / 10 - 0.1, high: x / 10 + 0.2 })),
  )
const named = (count: number): string[] => Array.from({ length: count }, (_, at) => `series ${at}`)
const text: Row[] = ['a', 'b', 'c'].map((x, at) => ({
  x,
  y: 0.3 - at / 5,
  low: 0.1 - at / 5,
  high: 0.5 - at / 5,
}))

const weeks = [18, 11].map((first) =>
  chart(
    [0, 1, 2].map((nth) => ({ x: `2001-06-${first + nth}`, y: nth / 10 })),
    {},
  ),
) as [Chart, Chart]

const CHARTS: Record<string, Chart> = {
  'a line with a target and an event': chart(rowsOf(['a']), { events: [{ x: 2, label: 'Strike' }] }),
  'lines with their names': chart(rowsOf(named(4)), { series: 'name' }),
  'lines with a legend': chart(rowsOf(named(16)), { series: 'name' }),
  'a highlight': chart(rowsOf(['before', 'this week']), { series: 'name', highlight: 'this week' }),
  'two runs': overlayChart(...weeks)!.chart,
  areas: chart(rowsOf(named(9)), { series: 'name', type: 'area' }),
  points: chart(rowsOf(named(8)), { series: 'name', type: 'point' }),
  bars: chart(text, { type: 'bar' }),
  panels: chart(rowsOf(named(3)), { by: 'name' }),
  histogram: chart(rowsOf(['a']), { type: 'histogram', x: 'z', y: [] }),
  waterfall: chart(text, { type: 'waterfall', from: 1, to: 1.2 }),
  interval: chart(text, { type: 'interval', low: 'low', high: 'high' }),
  funnel: chart(text.slice(0, 2), { type: 'funnel' }),
  heatmap: chart(rowsOf(named(2)), { type: 'heatmap', series: 'name' }),
  pie: chart(text.slice(0, 2), { type: 'pie' }),
  forecast: chart(
    [5, 6].map((x) => ({ x, y: 0.4, low_95: 0.1, high_95: 0.7 })),
    { type: 'forecast', history: { rows: rowsOf(['a']), x: 'x', y: 'y' } },
  ),
}

for (const [name, given] of Object.entries(CHARTS))
  test(`every text and mark of ${name} stands out from each page`, async () => {
    for (const size of ['wide', 'narrow'] as const) {
      const painted = paintedIn(await drawChart(given.spec, size))
      assert.ok(painted.some(({ kind }) => kind === 'text'))
      assert.ok(painted.some(({ kind }) => kind === 'mark'))
      for (const [page, theme] of Object.entries(THEMES)) {
        const ground = rgbOf(theme.get('--chart-page')!)
        for (const { kind, color, opacity, told } of painted) {
          const property = PROPERTY_OF_COLOR.get(color)
          assert.ok(property, `${color} has no colour of ${page}: ${told}`)
          const shown = over(rgbOf(theme.get(property)!), ground, opacity)
          const found = contrast(shown, ground)
          assert.ok(found >= LEAST[kind], `${found.toFixed(2)} on ${page}: ${told}`)
        }
      }
    }
  })
