import assert from 'node:assert/strict'
import test from 'node:test'
import { type Mark, movedMarks } from '@assay/model/provenance'
import * as fc from 'fast-check'
import { MOST_MARKS } from '../language/recorder.ts'
import { outcome, RUN, render, table } from './render-fixture.ts'
import { replayAll, unmarked } from './replay-fixture.ts'

const ROWS = 40
const random = (seed: number): (() => number) => {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}
const next = random(7)
const q = table(
  { n: 'integer', v: 'number', amount: 'decimal', name: 'text', day: 'date' },
  Array.from({ length: ROWS }, (_, row) => [
    row * 3 + 1,
    row % 7 === 3 ? null : Math.round(next() * 1e6) / 1e3 - 300,
    (next() * 1e4).toFixed(2),
    `group ${row % 4}`,
    `2024-01-${String((row % 28) + 1).padStart(2, '0')}`,
  ]),
)
const points = Array.from({ length: 9 }, (_, row) => ({
  time: `2024-02-0${row + 1}`,
  value: next() * 50,
  n: row,
}))
const odd = outcome({
  points,
  slope: 0.123456789,
  nested: { deep: { level: 4.5 } },
  headline: 'It rose by 12 %.',
})
const given = {
  vars: {
    limit: 6,
    factor: 2.5,
    period: { start: '2024-01-01', end: '2024-02-01', label: '1 to 31 January' },
  },
  blocks: { q: { ...q, total: 60 }, odd },
}

function rendered(body: string, partials: Record<string, string> = {}) {
  const { markdown, provenance } = render(body, { ...given, partials })
  return {
    markdown,
    provenance,
    tables: { q: given.blocks.q },
    analyses: { odd },
    vars: given.vars,
    run: RUN,
  }
}

const marksOf = (
  body: string,
  partials: Record<string, string> = {},
): [string, Omit<Mark, 'start' | 'end'>][] => {
  const { markdown, provenance } = rendered(body, partials)
  return provenance.map(({ start, end, ...mark }) => [markdown.slice(start, end), mark])
}

test('a cell, a field, a variable and a count are told with what they went through', () => {
  const cell = { block: 'q', row: 0, column: 'n' }
  assert.deepEqual(marksOf('12 {{ q[0].n }} {{ q.first.n | plus: 41 }}'), [
    ['1', { from: [cell] }],
    ['42', { from: [cell], through: ['plus: 41'] }],
  ])
  assert.deepEqual(marksOf('{{ odd.slope | round: 2 }} {{ odd.points[-1].n }} {{ odd.nested.deep.level }}'), [
    ['0.12', { from: [{ block: 'odd', field: 'slope' }], through: ['round: 2'] }],
    ['8', { from: [{ block: 'odd', field: 'points', row: 8, column: 'n' }] }],
    ['4.5', { from: [{ block: 'odd', field: 'nested.deep.level' }] }],
  ])
  assert.deepEqual(marksOf('{{ vars.limit }} {{ vars.period }} {{ q.size }} {{ odd.headline }}'), [
    ['6', { from: [{ variable: 'limit' }] }],
    ['1 to 31 January', { from: [{ variable: 'period' }] }],
    ['60', { from: [{ block: 'q', field: 'size' }] }],
    ['It rose by 12 %.', { from: [{ block: 'odd', field: 'headline' }] }],
  ])
})

test('filters of lists keep the rows: as a range with its count, or as the one cell that they pick', () => {
  assert.deepEqual(
    marksOf(
      '{% assign few = q | where: "name", "group 1" %}{{ few | sum: "n" }} {{ few.size }} {{ few | max: "n" }}',
    ),
    [
      [
        '580',
        {
          from: [{ block: 'q', column: 'n', rows: [1, 37], count: 10 }],
          through: ['where: "name", "group 1"', 'sum: "n"'],
        },
      ],
      [
        '10',
        { from: [{ block: 'q', rows: [1, 37], count: 10 }], through: ['where: "name", "group 1"', 'size'] },
      ],
      ['112', { from: [{ block: 'q', row: 37, column: 'n' }] }],
    ],
  )
})

test('loops, assign, capture and partials hand the origin on', () => {
  const cell = (row: number) => ({ from: [{ block: 'q', row, column: 'n' }] })
  assert.deepEqual(marksOf('{% for row in q limit: 2 offset: 3 %}{{ row.n }}, {% endfor %}'), [
    ['10', cell(3)],
    ['13', cell(4)],
  ])
  assert.deepEqual(marksOf('{% capture text %}of {{ q[2].n }}{% endcapture %}{{ text }} and {{ text }}'), [
    ['7', cell(2)],
    ['7', cell(2)],
  ])
  assert.deepEqual(marksOf('{% render "p", one: q[2] %}', { p: '5 {{ one.n }}' }), [['7', cell(2)]])
  const summed =
    '{% assign sum = 0 %}{% for row in q %}{% assign sum = sum | plus: row.n %}{% endfor %}{{ sum }}'
  const [[text, mark] = []] = marksOf(summed)
  assert.equal(text, '2380')
  assert.deepEqual(
    mark?.from,
    [{ block: 'q', column: 'n', rows: [0, 39], count: 40 }],
    'many cells are a range',
  )
})

test('a table is one mark with its columns and runs of rows, and each of its cells has its row', () => {
  const { markdown, provenance } = rendered(
    '{% assign top = q | sort: "v" | reverse %}{% table top, limit: 5, columns: ["n", "v"], fmt: { v: "num1" } %}',
  )
  const [mark, count] = provenance
  assert.deepEqual(mark!.table!.columns, [
    { name: 'n', fmt: null },
    { name: 'v', fmt: 'num1' },
  ])
  const cells = markdown.slice(mark!.start, mark!.end).split('\n').slice(2)
  const rows = mark!.table!.rows.flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  )
  assert.equal(rows.length, 5)
  for (const [index, line] of cells.entries()) {
    assert.equal(Number(line.split('|')[1]), q.rows[rows[index]!]![0], line)
  }
  assert.equal(markdown.slice(count!.start, count!.end), '40')
})

test('marks are bounded, and what follows the last says that it is not recorded', () => {
  const body = '{% for a in q %}{% for row in q %}{{ row.n }} {% endfor %}{% endfor %} 5 {{ vars.limit }}'
  const { markdown, provenance } = rendered(body)
  assert.equal(provenance.length, MOST_MARKS + 1)
  const last = provenance.at(-1)!
  assert.equal(last.by, 'unrecorded')
  assert.equal(last.end, markdown.trimEnd().length)
  assert.ok(last.start < markdown.indexOf(' 5 '))
})

test('marks keep their text where empty lines go, and where other text is put in', () => {
  const body = '\n\n\n{% if true %}\n\n\n\n{{ q[0].n }} \n\n\n{% endif %}\n\n- {{ q[1].n }}\n'
  assert.deepEqual(
    marksOf(body).map(([text]) => text),
    ['1', '4'],
  )
  const marks: Mark[] = [
    { start: 2, end: 4, from: [] },
    { start: 6, end: 9, from: [] },
  ]
  const moved = movedMarks(marks, [
    { start: 0, end: 1, length: 0 },
    { start: 4, end: 4, length: 10 },
    { start: 7, end: 20, length: 3 },
  ])
  assert.deepEqual(
    moved.map(({ start, end }) => [start, end]),
    [
      [1, 3],
      [15, 16],
    ],
  )
})

const column = fc.constantFrom('n', 'v', 'amount')
const number = fc
  .oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom('vars.limit', 'vars.factor', 'q[5].n', 'odd.slope'))
  .map(String)
const chosen = fc.constantFrom('q', '(q | where)', '(q | sort)', '(q | slice)')
const LISTS: Record<string, string> = {
  '(q | where)': '| where: "name", "group 2" ',
  '(q | sort)': '| sort: "amount" ',
  '(q | slice)': '| slice: 4, 9 ',
  q: '',
}
const start = fc.oneof(
  fc
    .tuple(fc.integer({ min: -5, max: 39 }), fc.constantFrom('n', 'amount'))
    .map(([row, name]) => `q[${row}].${name} `),
  fc
    .tuple(chosen, fc.constantFrom('sum', 'mean', 'max', 'min', 'last'), column)
    .map(([list, filter, name]) => `q ${LISTS[list]}| ${filter}: "${name}" `),
  fc.constantFrom(
    'odd.slope ',
    'odd.points[3].value ',
    'odd.points.size ',
    'vars.factor ',
    'odd.points | mean: "value" ',
    'q.last.v | default: q[1].n ',
    'q | pluck: "n" | first ',
    'q | pluck: "n" | slice: 3, 2 | sum ',
  ),
)
const step = fc.oneof(
  number.map((one) => `| plus: ${one} `),
  number.map((one) => `| minus: ${one} `),
  number.map((one) => `| times: ${one} `),
  fc.constantFrom('| divided_by: 3 ', '| abs ', '| ceil ', '| at_most: 50 ', '| at_least: q[2].n '),
)
const ending = fc.constantFrom(
  '',
  '| round: 2 ',
  '| fmt: "num1" ',
  '| fmt: "usd2" ',
  '| delta: "num2" ',
  '| round: 1 | append: " km" ',
  '| fmt: "num0" | prepend: "about "',
)
const value = fc
  .tuple(start, fc.array(step, { maxLength: 3 }), ending)
  .map(([first, steps, last]) => first + steps.join('') + last)
/** Numbers of the template have seven digits that no value has. */
const LITERAL = '7777777'
const piece = fc.oneof(
  value.map((one) => `«{{ ${one}}}»`),
  value.map((one) => `{% assign x = ${one}%}«{{ x }}»`),
  value.map((one) => `{% capture c %}${LITERAL} «{{ ${one}}}»{% endcapture %}{{ c }} `),
  fc.constant(` ${LITERAL} {{ ${LITERAL} | plus: 0 }}\n\n\n`),
  fc.constant(
    '{% for row in q limit: 3 %}\n- «{{ row.n }}» «{{ row.amount | times: 2 }}» {{ forloop.index }}\n{% endfor %}',
  ),
  fc.constant('\n{% table q, limit: 4 %}\n'),
)

test('each value that is printed has an origin that gives its text again, and no number of the template has one', () => {
  let [again, all] = [0, 0]
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), (pieces) => {
      const made = rendered(pieces.join(' '))
      const { replayed, left } = replayAll(made)
      again += replayed
      all += replayed + left.length
      const rest = unmarked(made)
      // The text between the marks of a value is empty. Each number of the template is there.
      assert.doesNotMatch(rest.replaceAll('«»', ''), /«[^»]*\d/)
      for (const { start: from, end } of made.provenance)
        assert.ok(!made.markdown.slice(from, end).includes(LITERAL))
    }),
    { seed: 11, numRuns: 150 },
  )
  assert.ok(again > all * 0.95, `${again} of ${all} marks were printed again`)
})
