import assert from 'node:assert/strict'
import test from 'node:test'
import { type Chart, chartPlaceholder, type ReadChartForm } from '@assay/model/insight'
import * as fc from 'fast-check'
import MarkdownIt from 'markdown-it'
import { HOSTILE_TEXTS, UNSEEN } from '../../../test/hostile/hostile-texts.ts'
import { plainLine } from '../printing/escape.ts'
import { tableRows } from '../values/rows.ts'
import type { Row } from '../values/value.ts'
import { chartLeftOut, chartPoints } from './chart-values.ts'
import { fillCharts } from './charts.ts'
import { drawChart } from './drawing/draw.ts'
import { type ChartOptions, MAX_POINTS } from './points.ts'
import { makeChart } from './spec.ts'

const rows: Row[] = ['a', 'b', 'c'].map((k, index) => ({ k, n: index * 2 - 1, day: `2024-01-0${index + 1}` }))

function chart(given: Partial<ChartOptions>, data: Row[] = rows): Chart {
  return makeChart('chart-1', data, { type: 'line', x: 'day', y: ['n'], series: null, title: 'T', ...given })
}

const fill = (one: Chart, form: ReadChartForm, svgs?: string[]): string =>
  fillCharts(`a\n\n${chartPlaceholder(one.id)}\n\nb\n`, [one], form, svgs)

test('mermaid draws single series, with its numbers under it', () => {
  assert.equal(
    fill(chart({}), 'mermaid'),
    'a\n\n```mermaid\nxychart-beta\n    title "T"\n    x-axis "Day" ["2024-01-01", "2024-01-02", "2024-01-03"]\n    y-axis "N"\n    line [-1, 1, 3]\n```\n\n*3 values, lowest -1 (2024-01-01), highest 3 (2024-01-03), last 3 (2024-01-03).*\n\nb\n',
  )
  assert.match(fill(chart({ type: 'bar', x: 'k' }), 'mermaid'), /y-axis "N" -1 --> 3\n {4}bar \[-1, 1, 3\]/)
  const slices = rows.map((row) => ({ ...row, n: 5 }))
  assert.match(fill(chart({ type: 'pie', x: 'k' }, slices), 'mermaid'), /pie showData title T\n {4}"a" : 5/)
  const many = rows.map((row) => ({ ...row, n: 11_731_294 }))
  assert.match(fill(chart({ type: 'pie', x: 'k' }, many), 'mermaid'), /"a" : 11731294\n/)
})

test('what mermaid cannot draw becomes text', () => {
  const cases = [
    chart(
      { y: ['n', 'm'] },
      rows.map((row) => ({ ...row, m: 1 })),
    ),
    chart({}, [...rows, { day: '2024-01-04', n: null, k: 'd' }]),
    chart({ type: 'point', x: 'n' }),
    chart({ type: 'pie', x: 'k' }),
    chart(
      {},
      Array.from({ length: 25 }, (_, index) => ({ day: `d${index}`, n: index })),
    ),
    chart({}, [{ day: '2024-01-01', n: 1e30 }]),
    chart({}, []),
  ]
  for (const one of cases) assert.match(fill(one, 'mermaid'), /^a\n\n```text\n/, JSON.stringify(one.type))
})

test('mermaid cuts names that would run off the page, by letters', () => {
  const filled = fill(chart({ type: 'bar', x: 'k' }, [{ k: '😀'.repeat(80), n: 1 }]), 'mermaid')
  assert.ok(filled.includes(`["${'😀'.repeat(39)}…"]`), filled)
})

test('text draws lines as sparklines and categories as bars', () => {
  assert.match(fill(chart({}), 'text'), /```text\nT\n▁▅█\n3 values/)
  assert.match(fill(chart({ type: 'bar', x: 'k' }), 'text'), /a ░{13} -1\nb █{13}▍ 1\nc █{40} 3\n```/)
})

test('an image is inline, and text where there is none', () => {
  const svg = '<svg></svg>'
  const filled = fill(chart({ title: 'a] (b' }), 'image', [svg])
  assert.ok(filled.includes(`![a\\] (b](data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')})`))
  assert.match(fill(chart({}), 'image'), /```text/)
})

test('a link names the chart, for readers that draw it themselves', () => {
  assert.equal(fill(chart({ title: 'a] b' }), 'link'), 'a\n\n![a\\] b](chart:chart-1)\n\nb\n')
  assert.equal(fill(chart({ title: '' }), 'link'), 'a\n\n![Chart of N](chart:chart-1)\n\nb\n')
})

test('none leaves no trace', () => {
  assert.equal(fill(chart({}), 'none'), 'a\n\nb\n')
})

test('a histogram counts every number once, in bins with round edges', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 }),
      (values) => {
        const points = chartPoints(
          chart(
            { type: 'histogram', x: 'v', y: [] },
            values.map((v) => ({ v })),
          ),
        )
        assert.ok(points.length <= 41, String(points.length))
        assert.equal(
          points.reduce((sum, point) => sum + point.y!, 0),
          values.length,
        )
        for (const [index, point] of points.slice(1).entries()) assert.equal(point.x, points[index]!.x2)
      },
    ),
  )
})

test('values beyond the most are left out, and it is said', () => {
  const many = Array.from({ length: MAX_POINTS + 7 }, (_, index) => ({ day: index, n: index }))
  const one = chart({}, many)
  assert.deepEqual([chartPoints(one).length, chartLeftOut(one)], [MAX_POINTS, 7])
  assert.match(fill(one, 'text'), /Only the first 5,000 of 5,007 values are drawn/)
})

test('labels from data can neither leave the fence nor give mermaid orders', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.constantFrom('"] \n```\n# x', '%%{init: {"theme": "x"}}%%', '#quot;', '\u2063chart:chart-1\u2063'),
      ),
      (label) => {
        const one = chart({ type: 'bar', x: 'k', title: label }, [{ k: label, n: 1 }])
        for (const form of ['mermaid', 'text'] as const) {
          const lines = fill(one, form).split('\n')
          assert.equal(lines.filter((line) => line.startsWith('```')).length, 2)
          assert.ok(!lines.some((line) => line.includes('\u2063')))
          if (form !== 'mermaid') continue
          const source = lines.slice(3, lines.indexOf('```'))
          assert.ok(!/%%|[{}]/.test(source.join('\n')))
          for (const line of source) assert.equal((line.match(/"/g) ?? []).length % 2, 0)
        }
      },
    ),
  )
})

test('a column that is missing or no number is refused', () => {
  assert.throws(() => chart({ y: ['m'] }), /no column "m"/)
  assert.throws(() => chart({ y: ['k'] }), /does not hold numbers/)
  assert.throws(() => chart({ series: 'z' }), /no column "z"/)
})

test('years bear no separators, short labels stand upright, many series differ in colour', async () => {
  const column = (name: string, type: 'integer' | 'text') => ({ name, type, database_type: type })
  const data = tableRows('b', {
    columns: [
      column('year', 'integer'),
      column('n', 'integer'),
      column('name', 'text'),
      column('long', 'text'),
    ],
    rows: Array.from({ length: 12 }, (_, index) => [
      1990 + index,
      index,
      `s${index}`,
      `rather long ${index}`,
    ]),
    total: 12,
  })
  type Encoding = Record<'x' | 'y', { axis?: object }>
  const encoding = (given: Partial<ChartOptions>) =>
    (chart(given, data).spec.layer as { encoding: Encoding }[])[0]!.encoding
  assert.deepEqual(encoding({ x: 'year' }).x.axis, { tickCount: 8, format: 'd' })
  assert.deepEqual(encoding({ x: 'n' }).x.axis, { tickCount: 8 })
  const few = data.slice(0, 4)
  const named = (chart({ x: 'name', type: 'bar' }, few).spec.layer as { encoding: Encoding }[])[0]!.encoding
  assert.deepEqual(named.x.axis, { labelAngle: 0, labelLimit: 320 })
  // Names that are too long for a line are put beside horizontal bars.
  assert.equal((encoding({ x: 'long', type: 'bar' }).y as { field?: string }).field, 'x')
  const svg = await drawChart(chart({ x: 'year', series: 'name' }, data).spec)
  const colors = new Set(
    [...svg.matchAll(/stroke="(#[0-9a-f]{6})" stroke-width="2"/g)].map(([, color]) => color),
  )
  assert.ok(colors.size >= 12, [...colors].join())
})

const MERMAID_LINE =
  /^(?:xychart-beta(?: horizontal)?| {4}title "[^"]*"| {4}x-axis "[^"]*" \["[^"]*"(?:, "[^"]*")*\]| {4}y-axis "[^"]*"(?: [-\d.]+ --> [-\d.]+)?| {4}bar \[[-\d., ]+\])$/

test('no hostile name or value leaves its place in any form of a chart', () => {
  const markdown = new MarkdownIt({ html: true, linkify: true })
  const blocksOf = (text: string) =>
    markdown.parse(text, {}).filter(({ type }) => !/^(?:paragraph|inline)/.test(type))
  for (let at = 0; at < HOSTILE_TEXTS.length; at += 12) {
    const texts = HOSTILE_TEXTS.slice(at, at + 12)
    for (const title of texts) {
      const data = texts.map((text, index) => ({ [title]: text, n: index + 1 }))
      const one = chart({ type: 'bar', x: title, title: plainLine(title) }, data)
      assert.doesNotMatch((one.spec.title ?? '') as string, UNSEEN)
      const { values } = one.spec.data as { values: object[] }
      JSON.stringify([values, one.spec.usermeta, one.spec.layer], (_, value: unknown) => {
        if (typeof value === 'string') assert.ok(!UNSEEN.test(value) && !/[\t\r\n]/.test(value), value)
        return value
      })
      const drawn = fill(one, 'mermaid')
      assert.doesNotMatch(drawn, UNSEEN)
      const [fence, ...more] = blocksOf(drawn)
      assert.deepEqual([fence!.type, fence!.info, more], ['fence', 'mermaid', []])
      for (const line of fence!.content.trimEnd().split('\n')) {
        assert.match(line, MERMAID_LINE)
        assert.doesNotMatch(line.replace(/-->/, ''), /%%|[<>{}#;`\\]/)
      }
      for (const [form, type] of [
        ['text', 'fence'],
        ['link', undefined],
      ] as const) {
        const shown = fill(one, form)
        assert.doesNotMatch(shown, UNSEEN)
        assert.deepEqual(
          blocksOf(shown).map((token) => token.type),
          type === undefined ? [] : [type],
        )
      }
      const [link] = markdown.parseInline(fill(one, 'link').split('\n')[2]!, {})
      assert.deepEqual(
        link!.children!.map((token) => [token.type, token.attrGet('src')]),
        [['image', 'chart:chart-1']],
      )
    }
  }
})
