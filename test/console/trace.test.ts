import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareTexts, csvOf } from '../../packages/console/src/answers/tables.ts'
import type { Insight } from '../../packages/console/src/insights.ts'
import { shownNumber, traceNumber } from '../../packages/console/src/trace.ts'
import { figureText, linePoints, movedOf } from '../../packages/console/src/words/change.ts'

const column = (name: string) => ({ name, type: 'number' as const, database_type: 'DOUBLE' })
const INSIGHT = {
  facts: [{ name: 'late_share', value: 0.22254, text: '22.3%' }],
  analyses: { spread: { mean: 9.0391, points: [{ value: -3.934 }] } },
  lineage: { sources: [{ name: 'flights', files: [], rows: 3_000_000, format: 'parquet' }] },
  tables: {
    daily: { columns: [column('n'), column('delay')], rows: [[16_503, 26.94]], total: 30 },
    big: { columns: [column('id')], rows: [['9007199254740993']], total: 1 },
  },
} as unknown as Insight

const found = (text: string) => traceNumber(text, INSIGHT)?.map(({ block, where }) => `${block}: ${where}`)

test('reads numbers as a text shows them', () => {
  assert.deepEqual(shownNumber('−1,204.50%'), { value: -1204.5, decimals: 2, percent: true })
  assert.equal(shownNumber('2001-06-15'), null)
  assert.equal(traceNumber('late', INSIGHT), null)
})

test('finds the cells, facts, outcomes and sources that show a number when rounded like it', () => {
  assert.deepEqual(found('22.3%'), ['late_share: '])
  assert.deepEqual(found('9.0'), ['spread: mean'])
  assert.deepEqual(found('3.93'), ['spread: points.0.value'])
  assert.deepEqual(found('16,503'), ['daily: n, row 1'])
  assert.deepEqual(found('26.9'), ['daily: delay, row 1'])
  assert.deepEqual(found('3,000,000'), ['flights: rows'])
  assert.deepEqual(found('30'), ['daily: number of rows'])
  assert.deepEqual(found('26.8'), [], 'what no cell shows is not guessed')
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
