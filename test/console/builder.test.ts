/** What the builder writes runs as it is: every question over every kind of measure that it offers. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { readMetric } from '@assay/engine/metrics/definition'
import {
  type Choices,
  HOWS,
  labelOf,
  metricName,
  missingOf,
  questionsFor,
} from '../../packages/console/src/drafts/builder/choices.ts'
import { metricText, templateText } from '../../packages/console/src/drafts/builder/write.ts'
import { roots, STARTED_AT, withPool } from '../gallery.ts'

const ROWS = Array.from({ length: 600 }, (_, at) => {
  const day = new Date(Date.UTC(2024, 0, 1 + Math.floor(at / 3))).toISOString().slice(0, 10)
  return `${day},${50 + ((at * 37) % 23)},${1 + (at % 4)},${['North', 'South', 'East'][at % 3]},a${at % 2}`
})
const CSV = `Paid at,"the ""net"" amount",units,region,time\n${ROWS.join('\n')}\n`

const base: Choices = {
  of: { file: 'orders 2024.csv', lines: [] },
  how: 'sum',
  column: 'the "net" amount',
  per: 'units',
  time: 'Paid at',
  grain: 'day',
  dimensions: ['region', 'time'],
  label: '',
  unit: 'EUR',
  good: 'up',
  question: 'rise',
}

test('each question over each measure is written as a template that runs, and no other is offered', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-builder-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(path.join(folder, 'orders 2024.csv'), CSV)
  const all = HOWS.flatMap((how) =>
    questionsFor({ ...base, how }).map((question) => ({ ...base, how, question })),
  )
  const written: Choices[] = [
    ...all,
    { ...base, time: '', question: 'largest' },
    { ...base, grain: 'month', dimensions: [], question: 'next' },
  ]
  assert.equal(written.length, 38)
  await withPool(async (pool) => {
    for (const choices of written) {
      const told = `${choices.how}, ${choices.question}`
      assert.equal(missingOf(choices, 'template'), null, told)
      const source = templateText(choices)
      const template = { template_id: 'built', version: 'v', source, partials: {} }
      const own = { ...roots, data: folder }
      const task = { kind: 'run', template, variables: {}, started_at: STARTED_AT, roots: own } as const
      const result = await pool.run(task, { workspace_id: 'test' })
      assert.equal(result.status, 'done', `${told}: ${JSON.stringify(result)}\n${source}`)
    }
  })
})

test('each measure is written as a metric without a fault', () => {
  for (const how of HOWS) {
    const choices = { ...base, how }
    const name = metricName(choices)
    assert.match(name, /^[a-z][a-z0-9_]*$/)
    const { metric, faults } = readMetric(name, metricText(choices))
    assert.deepEqual(faults, [], metricText(choices))
    assert.equal(metric?.label, labelOf(choices))
    assert.deepEqual(metric?.dimensions, ['region', 'time'])
  }
})

test('what is not chosen yet is said, and nothing is written before', () => {
  const asks = (over: Partial<Choices>, kind: 'metric' | 'template' = 'template') =>
    missingOf({ ...base, ...over }, kind)
  assert.match(asks({ of: { file: '', lines: [] } })!, /file/)
  assert.match(asks({ column: '' })!, /measure/)
  assert.match(asks({ how: 'per', per: '' })!, /divide/)
  assert.match(asks({ time: '' }, 'metric')!, /column of times/)
  assert.match(asks({ dimensions: [], question: 'why' })!, /question/)
  assert.equal(asks({ how: 'rows', column: '' }, 'metric'), null)
})
