/** Tests the types of charts beyond lines and bars, in each form, and the drawing of all on a page and on a phone. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Chart } from '@assay/model/insight'
import type { Row } from '../values/value.ts'
import { chartEvents, chartPoints } from './chart-values.ts'
import { fillCharts } from './charts.ts'
import { drawChart } from './drawing/draw.ts'
import { chartTips } from './forms/tips.ts'
import { ACCENT, CONTEXT, QUIET } from './marks/look.ts'
import { overlayChart } from './overlay.ts'
import { type ChartOptions } from './points.ts'
import { makeChart } from './spec.ts'
import { linesOf, textWidthOf } from './text-width.ts'

const meanings = new Map([
  ['late_share', { label: 'late flights', unit: null, fmt: 'pct1', good: 'down' as const, target: 0.2 }],
  ['amount', { label: 'sales', unit: 'EUR', fmt: 'num0', good: 'up' as const, target: null }],
])

function chart(rows: Row[], given: Partial<ChartOptions>): Chart {
  const options: ChartOptions = { type: 'line', x: 'x', y: ['y'], series: null, title: 'T', ...given }
  return makeChart('chart-1', rows, options, meanings)
}

const inText = (one: Chart): string => fillCharts('\u2063chart:chart-1\u2063', [one], 'text')

test('a highlighted series has the accent, and the others are grey with readable names', async () => {
  const rows = ['before', 'now'].flatMap((part, at) => [1, 2].map((x) => ({ x, y: x + at, part })))
  const strokes = async (one: Chart): Promise<string[]> =>
    [
      ...(await drawChart(one.spec)).matchAll(/<path [^>]*stroke="(#[0-9a-f]{6})" stroke-width="2"[^>]*>/g),
    ].map(([, color]) => color!)
  const one = chart(rows, { series: 'part', highlight: 'now' })
  assert.deepEqual(await strokes(one), [CONTEXT, ACCENT])
  const svg = await drawChart(one.spec)
  assert.match(svg, new RegExp(`fill="${QUIET}"[^>]*>before<`))
  assert.match(svg, new RegExp(`fill="${ACCENT}"[^>]*>now<`))
  const columns = chart(
    [1, 2].map((x) => ({ x, late: x, amount: 2 * x })),
    { y: ['late', 'amount'], highlight: 'amount' },
  )
  assert.deepEqual(await strokes(columns), [CONTEXT, ACCENT])
})

test('panels share a scale unless one of them would be flat', () => {
  const panels = (share: number) =>
    chart(
      [1, 2, 3].flatMap((x) => [
        { x, y: 1000 * x, metric: 'flights' },
        { x, y: share * x, metric: 'late' },
      ]),
      { by: 'metric' },
    ).spec.resolve
  assert.deepEqual(panels(0.2), { scale: { y: 'independent' } })
  assert.equal(panels(200), undefined)
})

test('panels of several metrics have the numbers and the unit of each', async () => {
  const rows = [1, 2, 3].flatMap((x) => [
    { x, value: 100 + x, metric: 'Late flights' },
    { x, value: 0.2 * x, metric: 'Share "late"' },
  ])
  const measures = new Map([
    [
      'late flights',
      { label: 'late flights', unit: 'flights', fmt: 'num0', good: 'none' as const, target: null },
    ],
    ['share "late"', { label: 'share "late"', unit: null, fmt: 'pct0', good: 'none' as const, target: null }],
  ])
  const one = chart(rows, { y: ['value'], by: 'metric', measures })
  assert.deepEqual(one.spec.resolve, { scale: { y: 'independent' } })
  const svg = await drawChart(one.spec)
  assert.match(svg, />40 %</)
  assert.match(svg, />Late flights \(flights\)</)
  assert.doesNotMatch(svg, />0\.4<|>Value</)
  assert.deepEqual(chartTips(one).tips[1]!.slice(-1), ['20 %'])
  assert.match(inText(one), /Share "late": 3 values, lowest 20 % /)
})

test('an axis in points says so, and a small part of a funnel is not called nothing', async () => {
  const given = [{ x: 'a', y: 0.02, low: 0.01, high: 0.03 }]
  const meaning = { label: 'difference', unit: null, fmt: 'pts1', good: 'up' as const, target: null }
  const options: ChartOptions = {
    type: 'interval',
    x: 'x',
    y: ['y'],
    series: null,
    title: 'T',
    low: 'low',
    high: 'high',
  }
  const one = makeChart('chart-1', given, options, new Map([['y', meaning]]))
  assert.match(await drawChart(one.spec), />Difference \(points\)</)
  const steps = [1000, 997, 8, 0].map((y, at) => ({ x: `step ${at}`, y }))
  const parts = chartTips(chart(steps, { type: 'funnel' })).tips.map((tip) => tip[2])
  assert.deepEqual(parts, ['1,000 (100 %)', '997 (over 99 %)', '8 (under 1 %)', '0 (0 %)'])
})

test('two runs are drawn into one chart: their times begin together, and each keeps its own', async () => {
  const week = (first: number, y: number): Row[] =>
    [0, 1, 2].map((nth) => ({ x: `2001-06-${first + nth}`, y: y + nth }))
  const [now, before] = [chart(week(18, 5), {}), chart(week(11, 3), {})]
  const { chart: both, appeared, gone } = overlayChart(now, before)!
  assert.deepEqual([appeared, gone], [[], []])
  assert.deepEqual(
    chartPoints(both).map(({ x, y, series, was }) => [x, y, series, was]),
    [
      ['2001-06-18', 5, 'This run', undefined],
      ['2001-06-19', 6, 'This run', undefined],
      ['2001-06-20', 7, 'This run', undefined],
      ['2001-06-18', 3, 'Before', '2001-06-11'],
      ['2001-06-19', 4, 'Before', '2001-06-12'],
      ['2001-06-20', 5, 'Before', '2001-06-13'],
    ],
  )
  assert.deepEqual(chartTips(both).tips[4]!.slice(1), ['Before, 2001-06-12', '4'])
  const svg = await drawChart(both.spec)
  assert.ok(svg.includes(CONTEXT) && svg.includes(ACCENT), 'the earlier one is grey')
  const bars = (names: string[]): Chart =>
    chart(
      names.map((x) => ({ x, y: 1 })),
      { type: 'bar' },
    )
  const named = overlayChart(bars(['a', 'b']), bars(['b', 'c']))!
  assert.deepEqual([named.appeared, named.gone], [['a'], ['c']])
  assert.equal(overlayChart(now, bars(['a'])), null)
  assert.equal(overlayChart(waterfall, waterfall), null)
})

test('series are drawn over those of the earlier run in panels, one for each, and a series of one run alone is told', async () => {
  const run = (first: number, names: string[]) =>
    chart(
      names.flatMap((part, at) =>
        [0, 1, 2].map((nth) => ({ x: `2001-06-${first + nth}`, y: at + nth, part })),
      ),
      { series: 'part' },
    )
  const { chart: both, appeared, gone } = overlayChart(run(18, ['a', 'b']), run(11, ['a', 'c']))!
  assert.deepEqual([appeared, gone], [['b'], ['c']])
  const shown = chartPoints(both).map(({ by, series }) => `${by} ${series}`)
  assert.deepEqual([...new Set(shown)], ['a This run', 'b This run', 'a Before', 'c Before'])
  const svg = await drawChart(both.spec)
  assert.ok(svg.includes(CONTEXT) && svg.includes(ACCENT))
  assert.match(chartTips(both).tips.flat().join(' '), /Before, 2001-06-12/)
  const several = { y: ['y', 'z'] }
  const columns = (first: number) => chart([{ x: `2001-06-${first}`, y: 1, z: 2 }], several)
  assert.deepEqual(
    new Set(chartPoints(overlayChart(columns(18), columns(11))!.chart).map(({ by }) => by)),
    new Set(['Y', 'Z']),
  )
  const many = (first: number) =>
    run(
      first,
      Array.from({ length: 13 }, (_, at) => `s${at}`),
    )
  assert.equal(overlayChart(many(18), many(11)), null)
})

const CAUSES: Row[] = [
  { where: { country: 'Germany', channel: 'paid search' }, amount: -830 },
  { where: { country: 'France' }, amount: -120 },
  { where: { channel: 'newsletter' }, amount: 240 },
]
const waterfall = chart(CAUSES, { type: 'waterfall', x: 'where', y: ['amount'], from: 10800, to: 10000 })

test('a waterfall begins and ends at the totals, and says what its steps leave', () => {
  const points = chartPoints(waterfall)
  assert.deepEqual(
    points.map(({ x, y, part }) => [x, y, part]),
    [
      ['Before', 10800, 'total'],
      ['Germany, paid search', -830, 'down'],
      ['France', -120, 'down'],
      ['newsletter', 240, 'up'],
      ['Everything else', -90, 'rest'],
      ['After', 10000, 'total'],
    ],
  )
  for (const [index, { low }] of points.slice(1, -1).entries()) assert.equal(low, points[index]!.high)
  assert.match(inText(waterfall), /Everything else +░+ +-90\n/)
  assert.deepEqual(chartTips(waterfall).tips[3], ['newsletter', 'Up', '+240'])
  const whole = chart(CAUSES, { type: 'waterfall', x: 'where', y: ['amount'] })
  assert.deepEqual(chartPoints(whole).at(-1), { x: 'Total', y: -710, low: -710, high: -710, part: 'total' })
})

const EFFECTS: Row[] = [
  { arm: 'a', y: 0.02, low: 0.01, high: 0.03 },
  { arm: 'b', y: 0, low: -0.01, high: 0.01 },
]
const intervals = chart(EFFECTS, { type: 'interval', x: 'arm', low: 'low', high: 'high' })

test('intervals show zero where it is near', () => {
  assert.match(inText(intervals), /a +┆ +├─+●─+┤ 0\.02 \(0\.01 to 0\.03\)\nb +├─+●─+┤ +0 \(-0\.01 to 0\.01\)/)
  const far = EFFECTS.map((row) => ({ arm: row.arm, y: 100, low: 99, high: 101 }))
  assert.doesNotMatch(inText(chart(far, { type: 'interval', x: 'arm', low: 'low', high: 'high' })), /┆/)
})

const month = (index: number): string =>
  `20${String(20 + Math.floor(index / 12))}-${String(1 + (index % 12)).padStart(2, '0')}-01`
const HISTORY: Row[] = Array.from({ length: 48 }, (_, index) => ({
  month: month(index),
  amount: 100 + index,
}))
const AHEAD: Row[] = Array.from({ length: 6 }, (_, index) => {
  const value = 150 + index
  return {
    time: month(48 + index),
    value,
    low_80: value - 5,
    high_80: value + 5,
    low_95: value - 9,
    high_95: value + 9,
  }
})
const forecast = chart(AHEAD, {
  type: 'forecast',
  x: 'time',
  y: ['value'],
  history: { rows: HISTORY, x: 'month', y: 'amount' },
})

test('a forecast shows what is known before it, with the label and format of what is known', () => {
  const points = chartPoints(forecast)
  assert.deepEqual(
    ['history', 'ahead', 'joint'].map((part) => points.filter((point) => point.part === part).length),
    [36, 6, 0],
  )
  assert.match(inText(forecast), /│/)
  assert.match(
    inText(forecast),
    /Known until 2023-12-01: 147 EUR; expected 2024-01-01: 150 EUR \(141 to 159\); 2024-06-01: 155 EUR/,
  )
  assert.deepEqual(chartTips(forecast).tips.at(-1), [
    '2024-06-01',
    'Expected, 95 % interval',
    '155 EUR (146 to 164)',
  ])
})

const HEAT: Row[] = ['Mon', 'Tue'].flatMap((day, index) =>
  [6, 7, 8].map((hour) => ({ day, hour, late_share: 0.1 * (index + hour - 5) })),
)
const heatmap = chart(HEAT, { type: 'heatmap', x: 'hour', series: 'day', y: ['late_share'] })

test('a heatmap shades a row for each series', () => {
  assert.match(inText(heatmap), /Mon ░░▒▒▓▓\nTue ▒▒▓▓██\n/)
  assert.match(inText(heatmap), /6 cells, lowest 10\.0 % \(6, Mon\), highest 40\.0 % \(8, Tue\)/)
})

const funnel = chart(
  [
    { x: 'Visited', y: 1000 },
    { x: 'Paid', y: 130 },
  ],
  { type: 'funnel' },
)

test('a funnel says what is left of the first step', () => {
  assert.match(inText(funnel), /Paid +█+▎ 130 \(13 %\)/)
})

const DAYS: Row[] = Array.from({ length: 10 }, (_, index) => ({
  x: `2024-01-${String(index + 1).padStart(2, '0')}`,
  late_share: index / 40,
  by: index % 2 === 0 ? 'even' : 'odd',
}))
const marked = chart(DAYS, {
  y: ['late_share'],
  events: [
    { date: '2024-01-03', label: 'Strike' },
    { date: '2023-01-03', label: 'before the chart' },
  ],
})
const panels = chart(DAYS, { y: ['late_share'], by: 'by' })

test('target and events are drawn and said; an event without a place is refused', () => {
  assert.deepEqual(chartEvents(marked), [{ x: '2024-01-03', label: 'Strike' }])
  assert.match(
    inText(marked),
    /last 22\.5 % \(2024-01-10\)\. Target: 20\.0 %\. Events: 2024-01-03 Strike\.\n/,
  )
  const names: Row[] = Array.from({ length: 20 }, (_, index) => ({ x: `step ${index}`, late_share: 0.1 }))
  const many = chart(names, { y: ['late_share'], events: names.map(({ x }) => ({ x, label: 'a' })) })
  assert.equal(chartEvents(many).length, 12)
  assert.throws(
    () => chart(DAYS, { y: ['late_share'], events: [{ label: 'x' }] }),
    /An event needs a position/,
  )
})

test('small multiples are drawn by panel in text', () => {
  assert.match(inText(panels), /even:\n[▁-█]{5}\nodd:\n[▁-█]{5}\n/)
  assert.match(inText(panels), /even: 5 values, lowest .*; odd: 5 values, lowest /)
})

const ALL = { waterfall, intervals, forecast, heatmap, funnel, marked, panels }

test('every type is drawn for a page and for a phone, each value has a place, and no letter is below 12 pixels where it is shown', async () => {
  for (const [name, one] of Object.entries(ALL)) {
    for (const [size, widest] of [
      ['wide', 760],
      ['narrow', 305],
    ] as const) {
      const svg = await drawChart(one.spec, size)
      const width = Number(/viewBox="0 0 ([\d.]+)/.exec(svg)![1])
      assert.ok(width <= widest, `${name} is ${width} wide`)
      const sizes = [...svg.matchAll(/font-size="([\d.]+)px"/g)].map(([, px]) => Number(px))
      const least = size === 'wide' ? 12 : (12 * 300) / 278
      assert.ok(sizes.length > 0 && sizes.every((px) => px >= least), `${name}: ${sizes.join(' ')}`)
      const places = /data-places="([^"]*)"/.exec(svg)![1]!.split(' ')
      const values = (one.spec.data as { values: unknown[] }).values.length
      assert.equal(places.length, values, name)
      assert.doesNotMatch(svg, /late_share|low_95|>undefined|NaN/, name)
    }
  }
})

test('long names leave room for the values on a phone, and no number is cut', async () => {
  const rows: Row[] = [
    { where: 'United States of America, returning customers on mobile phones', amount: -120_400 },
    { where: 'Germany', amount: 54_310 },
  ]
  const steps = chart(rows, { type: 'waterfall', x: 'where', y: ['amount'], from: 900_000, to: 800_000 })
  const parts = chart(rows.slice(1), { type: 'funnel', x: 'where', y: ['amount'] })
  for (const { spec } of [steps, parts]) {
    const svg = await drawChart(spec, 'narrow')
    const [left, , width] = /data-panels="([^"]*)"/.exec(svg)![1]!.split(',').map(Number)
    assert.ok(left! + width! <= 300 && width! >= 120, `${left} and ${width}`)
  }
})

test('names of events that would touch stand above each other, and that of a target where the line is far', () => {
  const rows: Row[] = Array.from({ length: 24 }, (_, index) => ({
    month: month(index),
    late_share: 0.21 + index / 100,
  }))
  const events = [3, 4].map((index) => ({ month: month(index), label: 'A new price list' }))
  const { spec } = chart(rows, { x: 'month', y: ['late_share'], events })
  const layers = (spec as { layer: { mark: { type: string; y?: number; dy?: number; x?: unknown } }[] }).layer
  const texts = layers.filter(({ mark }) => mark.type === 'text').map(({ mark }) => mark)
  assert.equal(new Set(texts.flatMap(({ y }) => (y === undefined ? [] : [y]))).size, 2)
  assert.ok(texts.every(({ y }) => y === undefined || y < 0))
  // The values rise from the target on, so there are none below the right end.
  assert.deepEqual(
    texts.filter(({ y }) => y === undefined).map(({ x, dy }) => [x, dy]),
    [
      [0, 4],
      [0, 4],
    ],
  )
})

const LONG = 'United Kingdom of Great Britain and Northern Ireland'

test('long names down the side stand in two lines in the middle of their row, and no name is left out', async () => {
  const names = [LONG, 'Bosnia and Herzegovina, affiliate marketing', 'short']
  const rows = names.map((x, y) => ({ x, y: y + 1, low: y, high: y + 2 }))
  for (const type of ['waterfall', 'interval', 'funnel', 'bar'] as const) {
    const given = type === 'interval' ? { type, low: 'low', high: 'high' } : { type }
    const svg = await drawChart(chart(rows, given).spec)
    for (const part of ['United Kingdom of Great Britain', 'and Northern Ireland', 'short', 'Bosnia and'])
      assert.ok(svg.includes(part), `${type}: ${part}`)
    const narrow = await drawChart(chart(rows, given).spec, 'narrow')
    assert.match(narrow, /United Kingdom.*of Great Brit[^<]*…/s)
  }
})

test('a name is wrapped between words, by letters where one is too wide, and cut at the last line', () => {
  for (const width of [60, 110, 240])
    for (const name of [
      LONG,
      'Donaudampfschifffahrtsgesellschaftskapitän',
      'WWWW @@@@ 北京市朝阳区建国门外大街',
      'a',
    ]) {
      const lines = linesOf(name, width, 13, 2)
      assert.ok(lines.length <= 2)
      for (const line of lines) assert.ok(textWidthOf(line, 13) <= width, `${line} in ${width}`)
    }
  assert.deepEqual(linesOf(LONG, 240, 13, 2), ['United Kingdom of Great Britain', 'and Northern Ireland'])
  assert.deepEqual(linesOf('a b', 100, 13, 2), ['a b'])
})

test('the line of an event crosses no name of another, and panels have lines in the order of the rows', async () => {
  const rows = Array.from({ length: 30 }, (_, index) => ({ x: index, y: index % 5 }))
  const events = [3, 5, 8, 20, 24, 29].map((at, index) => ({ x: at, label: `A rather long name ${index}` }))
  const svg = await drawChart(chart(rows, { events }).spec)
  const drawn = [...svg.matchAll(/translate\(([-\d.]+),([-\d.]+)\)"[^>]*>A rather long name (\d)/g)]
  assert.ok(drawn.length >= 6)
  const tops = new Map(drawn.map(([, , top, index]) => [Number(index), Number(top)]))
  // The names are on the right of their lines, so a later one stands lower.
  for (const [one, next] of [
    [0, 1],
    [1, 2],
  ] as const)
    assert.ok(tops.get(one)! < tops.get(next)!, JSON.stringify([...tops]))
  const panels = ['z', 'a'].flatMap((k) => rows.map((row) => ({ ...row, k })))
  const many = await drawChart(chart(panels, { by: 'k', events: events.slice(0, 1) }).spec)
  assert.ok(many.indexOf('>z<') < many.indexOf('>a<') && many.indexOf('>z<') > 0)
  assert.equal(many.match(new RegExp(`<line[^>]*stroke="${CONTEXT}"`, 'g'))?.length, 2)
})

const gridOf = (names: (string | number)[]): Chart =>
  chart(
    ['Germany', 'United Kingdom'].flatMap((land) => names.map((x, at) => ({ land, x, late_share: at / 10 }))),
    { type: 'heatmap', series: 'land', y: ['late_share'] },
  )

test('the columns of a heatmap keep all letters of their names: in a line, in two, or aslant', async () => {
  const names = [
    'free check',
    'paid search',
    'partner referral',
    'newsletter',
    'direct visit',
    'social media',
  ]
  const wide = await drawChart(gridOf(names).spec)
  const narrow = await drawChart(gridOf(names).spec, 'narrow')
  for (const name of names) assert.ok(narrow.includes(`>${name}<`), name)
  assert.equal(narrow.match(/rotate\(315/g)?.length, names.length)
  assert.match(wide, />free check<.*>partner<.*>referral</s)
  assert.doesNotMatch(wide, /rotate\(315/)
  const hours = await drawChart(gridOf(Array.from({ length: 24 }, (_, hour) => hour)).spec, 'narrow')
  assert.doesNotMatch(hours, /rotate\(315/)
  const airports = Array.from({ length: 20 }, (_, index) => `Airport ${index}`)
  const many = await drawChart(gridOf(airports).spec, 'narrow')
  assert.equal(many.match(/rotate\(315/g)?.length, 10)
})

test('panels say the value of their target once, below the title', async () => {
  const rows = ['z', 'a'].flatMap((k) => DAYS.map((row) => ({ ...row, k })))
  for (const size of ['wide', 'narrow'] as const) {
    const svg = await drawChart(chart(rows, { y: ['late_share'], by: 'k' }).spec, size)
    assert.equal(svg.match(/>[^<]*Dotted line/g)?.length, 1, size)
    assert.doesNotMatch(svg, />Target/)
    assert.match(svg, /Dotted line:.*20\.0 %/s)
  }
})
