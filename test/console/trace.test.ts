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
import { compareTexts, csvOf } from '../../packages/console/src/answers/tables.ts'
import type { Insight } from '../../packages/console/src/insights.ts'
import { textIn } from '../../packages/console/src/parts/insight/hast-text.ts'
import { spotOf, withNumbers } from '../../packages/console/src/parts/insight/numbers.ts'
import { type Spot, traceSpot } from '../../packages/console/src/trace.ts'
import { figureText, linePoints, movedOf } from '../../packages/console/src/words/change.ts'
import { formatValue } from '../../packages/engine/printing/format.ts'

/** The numbers of an insight as the page makes them clickable: text and place, in the order of the page. */
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

/** What the page says of the first number that shows these signs. */
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
  const [share] = answerTo(insight, '22.3%')
  const late = JSON.stringify(tables.totals!.rows[0]![2])
  assert.deepEqual(share, {
    says: null,
    sources: cell('totals', 'late_share, row 1', late),
    more: 0,
    through: ['fmt: "pct1"'],
    fact: 'late_share',
  })
  assert.ok(Math.abs(Number(late) - 0.223) < 0.0005)
  const [constant] = answerTo(insight, '15')
  assert.match(constant!.says!, /^It is written in the template/)
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
    '> late \\[x\\] &lt;b  \n> &eacute; 12.5% &amp;amp; &nosuch; 7\n',
    '- a\n  & b 3,141 **4** `5` [6](https://a.test)',
  ].join('\n')
  const numbers = numbersOf(insightOf(markdown, { provenance: [] }))
  assert.deepEqual(
    numbers.map(({ text }) => text),
    ['2024', '12.5%', '7', '3,141', '4'],
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
  assert.match(says({ start: 1, end: 2 }), /written in the template/)
  assert.match(says(null), /before places were recorded/)
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
  assert.equal(words('27.3%', 0.236, 0.273), 'up 3.7 points')
  assert.equal(words('27.3%', 28.3, 27.3), 'down 1 point')
  assert.equal(words('1%', 0.0101, 0.01), 'level')
  assert.equal(words('112', 100, 112), 'up 12 %')
  assert.equal(words('-50', -100, -50), 'up 50 %')
  assert.equal(words('1,234', 1230, 1234), 'level')
  assert.equal(words('3', 0, 3), 'up from 0')
  assert.equal(words('3', 3), undefined)
  assert.equal(movedOf(measured('2', 1, 2))?.since, '2026-01-01')
  assert.equal(movedOf(measured('3', 1, 2, 3))?.since, 'week 1')
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
    csvOf([
      ['Name', 'a "b"'],
      ['=1+1', '-5.2%'],
      ['@x,y', '+1,204'],
      ['-1+A1', 'two\nlines'],
    ]),
    `\ufeffName,"a ""b"""\r\n'=1+1,-5.2%\r\n"'@x,y","+1,204"\r\n'-1+A1,"two\nlines"\r\n`,
  )
})

test('sorts shown numbers by value, texts by letters, and puts empty cells last', () => {
  const sorted = (texts: string[], descending: boolean) =>
    texts.toSorted((a, b) => compareTexts(a, b, descending))
  assert.deepEqual(sorted(['1,204', '−3', '', '27.5%'], true), ['1,204', '27.5%', '−3', ''])
  assert.deepEqual(sorted(['b', '', 'A'], false), ['A', 'b', ''])
})
