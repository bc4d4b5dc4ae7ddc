import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runTemplate } from '@assay/engine'
import { createCatalog } from '@assay/engine/reading/catalog'
import { templatesFolder } from '@assay/engine/reading/samples'
import type { Mark } from '@assay/model/provenance'
import type { Root, RootContent } from 'hast'
import Markdown from 'react-markdown'
import rehypeSanitize from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import { compareTexts, textsCsv } from '../../packages/console/src/answers/tables.ts'
import type { Insight } from '../../packages/console/src/insights.ts'
import { textIn } from '../../packages/console/src/parts/insight/hast-text.ts'
import { spotOf, withNumbers } from '../../packages/console/src/parts/insight/numbers.ts'
import { type Spot, traceSpot } from '../../packages/console/src/trace.ts'
import { changeInWords, figureText, linePoints, movedOf } from '../../packages/console/src/words/change.ts'
import {
  figureDifferences,
  findingDifferences,
  unequalPeriods,
  variableDifferences,
} from '../../packages/console/src/words/differences.ts'
import { formatValue } from '../../packages/engine/printing/format.ts'
import { FORMULA, fieldsOf, HOSTILE_TEXTS } from '../hostile/hostile-texts.ts'

/** Returns the numbers of an insight as the page makes them clickable: text and place, in the order of the page. */
function numbersOf(insight: Insight): { text: string; spot: Spot }[] {
  const found: { text: string; spot: Spot }[] = []
  const collect = () => (tree: Root) => visit(tree)
  const visit = (node: Root | RootContent): void => {
    if (node.type === 'element' && node.properties.dataSpot) {
      const dataset = { spot: String(node.properties.dataSpot) }
      found.push({ text: textIn(node), spot: spotOf({ dataset } as unknown as HTMLElement) })
    } else if ('children' in node) node.children.forEach(visit)
  }
  const rehypePlugins = [rehypeSanitize, withNumbers(insight), collect]
  Markdown({ children: insight.markdown, remarkPlugins: [remarkGfm], rehypePlugins })
  return found
}

/** Returns what the page says of the first number that shows these signs. */
function answerTo(insight: Insight, text: string) {
  const number = numbersOf(insight).find((one) => one.text === text)
  assert.ok(number, `${text} is no number of the text`)
  return traceSpot(insight, number.spot)
}

const cell = (block: string, where: string, value: string, row: number | null = 0) => [
  { block, where, row, value },
]
const insightOf = (markdown: string, rest: Partial<Insight>) =>
  ({ markdown, tables: {}, analyses: {}, lineage: { variables: {} }, ...rest }) as Insight

test('each number of a shipped report leads to its cell or field, and a number of the template to none', async () => {
  const entry = createCatalog({ shipped: templatesFolder, folders: [] })
    .list()
    .find(({ template }) => template.template_id === 'flight-delays')!
  const { source, partials } = entry.source
  const made = await runTemplate(source, { partials, charts: 'none' })
  const insight = made.insight as unknown as Insight
  const { tables } = insight
  const [share] = answerTo(insight, '22.3 %')
  const at = tables.totals!.columns.findIndex(({ name }) => name === 'late_share')
  const late = JSON.stringify(tables.totals!.rows[0]![at])
  assert.deepEqual(share, {
    says: null,
    sources: cell('totals', 'late_share, row 1', late),
    more: 0,
    through: ['fmt: "pct1"'],
    fact: 'late_share',
  })
  assert.ok(Math.abs(Number(late) - 0.223) < 0.0005)
  const [constant] = answerTo(insight, '15')
  assert.match(constant!.says!, /^The template holds this number/)
  assert.deepEqual(constant!.sources, [])

  const cells = numbersOf(insight).filter(({ spot }) => spot.line !== undefined)
  assert.equal(
    cells.length,
    5 * 4 + 5 * 4,
    'two tables of five rows, each with four columns that have digits',
  )
  for (const { text, spot } of cells) {
    const [{ sources, through } = assert.fail(text)] = traceSpot(insight, spot)
    const code = /"(.*)"/.exec(through[0] ?? '')?.[1]
    const value = sources[0]!.value!
    assert.equal(code ? formatValue(Number(value), code) : value.slice(0, 10), text)
  }
  for (const { text, spot } of numbersOf(insight))
    if (spot.line === undefined) assert.equal(insight.markdown.slice(spot.start, spot.end), text)
})

test('a number is found behind escapes, entities and the margins of quotes and lists, and not in links or code', () => {
  const markdown = [
    '# Tom &amp; Co\\* of 2024\n',
    '> late \\[x\\] &lt;b  \n> &eacute; 12.5 % &amp;amp; &nosuch; 7\n',
    '- a\n  & b 3,141 **4** `5` [6](https://a.test)',
  ].join('\n')
  const numbers = numbersOf(insightOf(markdown, { provenance: [] }))
  assert.deepEqual(
    numbers.map(({ text }) => text),
    ['2024', '12.5 %', '7', '3,141', '4'],
  )
  for (const { text, spot } of numbers) assert.equal(markdown.slice(spot.start, spot.end), text)
})

test('a cell keeps its row where the table shows other rows than the first, and a list has rows of its own', () => {
  const markdown = '| n | v |\n|---|---|\n| 30 | x |\n| 40 | 9 |\n| 10 | |\n\n4.50 of 3'
  const at = (text: string) => markdown.lastIndexOf(text)
  const insight = insightOf(markdown, {
    tables: {
      q: {
        columns: ['n', 'v'].map((name) => ({ name, type: 'integer', database_type: 'INTEGER' })),
        rows: [
          [10, null],
          [20, 8],
          [30, null],
          [40, 9],
        ],
        total: 60,
      },
    },
    analyses: { odd: { points: [{ value: 1 }, { value: 4.496 }] } } as unknown as Insight['analyses'],
    provenance: [
      {
        start: 0,
        end: at('\n\n'),
        from: [{ block: 'q' }],
        table: {
          columns: [
            { name: 'n', fmt: null },
            { name: 'v', fmt: 'num0' },
          ],
          rows: [
            [2, 3],
            [0, 0],
          ],
        },
      },
      {
        start: at('4.5'),
        end: at('4.5') + 4,
        from: [{ block: 'odd', field: 'points', row: 1, column: 'value' }],
      },
      { start: at('3'), end: at('3') + 1, from: [{ block: 'q', column: 'n', rows: [0, 3], count: 3 }] },
    ],
  })
  const sources = numbersOf(insight).flatMap(({ spot }) =>
    traceSpot(insight, spot).flatMap((one) => one.sources),
  )
  assert.deepEqual(sources, [
    ...cell('q', 'n, row 3', '30', 2),
    ...cell('q', 'n, row 4', '40', 3),
    ...cell('q', 'v, row 4', '9', 3),
    ...cell('q', 'n, row 1', '10'),
    ...cell('odd', 'value, row 2 of points', '4.496', null),
    { block: 'q', where: 'n, 3 of rows 1 to 4', row: null, value: null },
  ])
})

test('variables, counts and fields are named, and text without a place says why', () => {
  const says = (mark: Partial<Mark> | null) => {
    const provenance = mark ? [{ start: 0, end: 1, from: [], ...mark }] : undefined
    const period = { label: 'May', start: '2024-05-01' }
    const [found] = answerTo(
      insightOf('5', {
        provenance,
        tables: { q: { columns: [], rows: [], total: 5 } },
        lineage: { variables: { top: 5, period } } as unknown as Insight['lineage'],
      }),
      '5',
    )
    return found!.says ?? found!.sources.map(({ where, value }) => `${where}: ${value}`).join()
  }
  assert.equal(says({ from: [{ variable: 'top' }] }), 'the variable top: 5')
  assert.equal(says({ from: [{ variable: 'period' }] }), 'the variable period: May')
  assert.equal(says({ from: [{ block: 'q', field: 'size' }] }), 'the count of rows: 5')
  assert.match(says({ by: 'model' }), /language model/)
  assert.match(says({ by: 'unrecorded' }), /more values than are recorded/)
  assert.match(says({ start: 1, end: 2 }), /not read from data/)
  assert.match(says(null), /has no record of places/)
})

const measured = (text: string, ...values: number[]) => ({
  figure: { label: 'late', value: values.at(-1)!, unit: null, text },
  history: values.map((value, nth) => ({
    insight_id: '',
    created_at: `2026-01-0${nth + 1}T00:00:00.000Z`,
    period: nth === 0 ? null : `week ${nth}`,
    value,
  })),
})

test('says how a figure moved: shares in points, others in per cent, and nothing without a period before', () => {
  const words = (text: string, ...values: number[]) => movedOf(measured(text, ...values))?.words
  assert.equal(words('27.3 %', 0.236, 0.273), 'up 3.7 points')
  assert.equal(words('27.3 %', 28.3, 27.3), 'down 1 point')
  assert.equal(words('1 %', 0.0101, 0.01), 'level')
  assert.equal(words('112', 100, 112), 'up 12 %')
  assert.equal(words('-50', -100, -50), 'up 50 %')
  assert.equal(words('1,234', 1230, 1234), 'level')
  assert.equal(words('3', 0, 3), 'up from 0')
  assert.equal(words('3', 3), undefined)
  assert.equal(movedOf(measured('2', 1, 2))?.since, 'the run of 1 Jan 2026')
  assert.equal(movedOf(measured('3', 1, 2, 3))?.since, 'week 1')
})

test('says the change of a figure in its own unit', () => {
  assert.equal(changeInWords('27.3 %', 0.273, 0.236), 'up 3.7 points')
  assert.equal(changeInWords('16.2 minutes', 16.2, 18.1), 'down 1.9 minutes (10.5 %)')
  assert.equal(changeInWords('$1,234', 1234.4, 1000), 'up $234 (23.4 %)')
  assert.equal(changeInWords('−3 °C', -3, 2), 'down 5 °C')
  assert.equal(changeInWords('1.2 million', 1_200_000, 1_000_000), 'up 20 %')
  assert.equal(changeInWords('12 flights', 12, 0), 'up 12 flights')
  assert.equal(changeInWords('12 flights', 12, 12), 'the same')
  assert.equal(changeInWords('1,001', 1001, 1000), 'about the same')
})

const period = (start: string, end: string) => ({ start, end, label: start })
const outcome = (headline: string, grade: string, more = {}) => ({ headline, grade, ...more })

const THIS_WEEK = {
  reading: {
    tiles: [
      { of: 'totals.late_share', label: 'Late flights', text: '27.3 %', value: 0.273 },
      { of: 'totals.flights', label: 'Flights', text: '812', value: 812 },
    ],
    proofs: [
      { block: 'review', by: 'ORD' },
      { block: 'review', by: 'SFO' },
      { block: 'spread', by: null },
    ],
  },
  facts: [
    { name: 'late_share', value: 0.273, text: '27.3 %' },
    { name: 'worst_day', value: 'Friday', text: 'Friday' },
  ],
  analyses: {
    review: outcome('All.', 'firm', {
      groups: [
        outcome('Delays at ORD rose.', 'firm', { by: 'ORD', direction: 'increasing' }),
        outcome('Delays at SFO rose.', 'likely', { by: 'SFO', relative: 0.2 }),
      ],
    }),
    spread: outcome('Most are early.', 'firm'),
    quiet: outcome('Said by nobody.', 'unclear'),
  },
  lineage: {
    template_version: 'v-2',
    variables: { origin: 'ORD', period: period('2001-06-18', '2001-06-25') },
  },
} as unknown as Insight
const LAST_WEEK = {
  reading: {
    tiles: [{ of: 'totals.late_share', label: 'Late flights', text: '23.6 %', value: 0.236 }],
    proofs: [{ block: 'review', by: 'ORD' }],
  },
  facts: [
    { name: 'worst_day', value: 'Monday', text: 'Monday' },
    { name: 'record', value: 3, text: '3' },
  ],
  analyses: {
    review: outcome('All.', 'firm', {
      groups: [
        outcome('Delays at ORD fell.', 'likely', { by: 'ORD', direction: 'decreasing' }),
        outcome('Whether delays at SFO changed cannot be told.', 'unclear', { by: 'SFO', relative: -0.1 }),
      ],
    }),
    quiet: outcome('Said by nobody.', 'firm'),
  },
  lineage: {
    template_version: 'v-2',
    variables: { origin: 'ORD', period: period('2001-06-11', '2001-06-18') },
  },
} as unknown as Insight

test('tells every figure of two runs, what is new and what is gone', () => {
  const told = figureDifferences(THIS_WEEK, LAST_WEEK)
  assert.deepEqual(
    told.map(({ label, now, before, change }) => [label, now, before, change]),
    [
      ['Late flights', '27.3 %', '23.6 %', 'up 3.7 points'],
      ['Flights', '812', null, 'new'],
      ['worst day', 'Friday', 'Monday', 'changed'],
      ['record', null, '3', 'gone'],
    ],
  )
})

test('tells which findings turned or became surer, also one that only one run prints, and none that nobody prints', () => {
  const told = (one: Insight, other: Insight) =>
    findingDifferences(one, other).map(({ key, change }) => [key, change])
  assert.deepEqual(told(THIS_WEEK, LAST_WEEK), [
    ['review, ORD', 'Turned: up now, down before.'],
    ['review, SFO', 'Surer: probable now, cannot tell before.'],
    ['spread', 'New.'],
  ])
  assert.deepEqual(told(LAST_WEEK, THIS_WEEK), [
    ['review, ORD', 'Turned: down now, up before.'],
    ['review, SFO', 'Less sure: cannot tell now, probable before.'],
    ['spread', 'Gone.'],
  ])
  assert.deepEqual(
    told(THIS_WEEK, THIS_WEEK).map(([, change]) => change),
    [null, null, null],
  )
})

test('tells variables that differ, but not the period, and warns of periods of unequal length', () => {
  const month = period('2001-05-01', '2001-06-01')
  const other = {
    ...LAST_WEEK,
    lineage: { template_version: 'v-1', variables: { origin: null, period: month } },
  } as unknown as Insight
  assert.deepEqual(variableDifferences(THIS_WEEK, LAST_WEEK), [])
  assert.deepEqual(variableDifferences(THIS_WEEK, other), [
    { name: 'origin', now: 'ORD', before: 'not given' },
    { name: 'version of the template', now: 'v-2', before: 'v-1' },
  ])
  assert.equal(unequalPeriods(THIS_WEEK, LAST_WEEK), null)
  assert.equal(
    unequalPeriods(THIS_WEEK, other),
    'This run covers 7 days, the other 31: their totals cannot be compared.',
  )
})

test('prints a unit once, and lays the points of a line into its box', () => {
  assert.equal(figureText({ label: '', value: 9, unit: 'minutes', text: '9' }), '9 minutes')
  assert.equal(figureText({ label: '', value: 9, unit: '%', text: '9 %' }), '9 %')
  assert.deepEqual(linePoints([1, 3, 2], 10, 4), [
    [0, 4],
    [5, 0],
    [10, 2],
  ])
  assert.deepEqual(linePoints([2, 2], 10, 4), [
    [0, 2],
    [10, 2],
  ])
})

test('saves CSV that a spreadsheet reads and cannot run: formulas get an apostrophe, numbers stay', () => {
  assert.equal(
    textsCsv([
      ['Name', 'a "b"'],
      ['=1+1', '-5.2%'],
      ['@x,y', '+1,204'],
      ['-1+A1', 'two\nlines'],
    ]),
    `\ufeffName,"a ""b"""\r\n'=1+1,-5.2%\r\n"'@x,y","+1,204"\r\n'-1+A1,"two\nlines"\r\n`,
  )
  for (const text of HOSTILE_TEXTS) {
    const [cell, ...more] = fieldsOf(
      textsCsv([[text]])
        .slice(1)
        .replace(/\r\n$/, ''),
    )
    assert.deepEqual([more, cell!.replace(/^'/, '')], [[], text.replace(/^'/, '')])
    assert.doesNotMatch(cell!, FORMULA)
  }
})

test('sorts shown numbers by value, texts by letters, and puts empty cells last', () => {
  const sorted = (texts: string[], descending: boolean) =>
    texts.toSorted((a, b) => compareTexts(a, b, descending))
  assert.deepEqual(sorted(['1,204', '−3', '', '27.5%'], true), ['1,204', '27.5%', '−3', ''])
  assert.deepEqual(sorted(['b', '', 'A'], false), ['A', 'b', ''])
})
