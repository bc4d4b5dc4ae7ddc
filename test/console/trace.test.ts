import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Insight } from '../../packages/console/src/insights.ts'
import { shownNumber, traceNumber } from '../../packages/console/src/trace.ts'

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
