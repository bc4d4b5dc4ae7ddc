/**
 * Tests that the templates and metrics of the builder run without changes: every question over every kind of measure
 * that it offers.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { readMetric } from '@assay/engine/metrics/definition'
import type { Findings } from '@assay/model/insight'
import {
  type Choices,
  HOWS,
  isWritable,
  labelOf,
  metricName,
  missingOf,
  questionsFor,
} from '../../packages/console/src/drafts/builder/choices.ts'
import { metricText, templateText } from '../../packages/console/src/drafts/builder/write.ts'
import { roots, STARTED_AT, withPool } from '../generated/gallery.ts'

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
    for (const [at, choices] of written.entries()) {
      const told = `${choices.how}, ${choices.question}`
      assert.equal(missingOf(choices, 'template'), null, told)
      const source = templateText(choices)
      // Each template has its own version, because a process keeps what it has read by the version.
      const template = { template_id: 'built', version: `v${at}`, source, partials: {} }
      const own = { ...roots, data: folder }
      const task = { kind: 'run', template, variables: {}, started_at: STARTED_AT, roots: own } as const
      const result = await pool.run(task, { workspace_id: 'test' })
      assert.equal(result.status, 'done', `${told}: ${JSON.stringify(result)}\n${source}`)
      if (choices.question !== 'latest' || ['rows', 'sum'].includes(choices.how)) continue
      const current = Number((result as { findings: Findings }).findings.analyses.answer!.current)
      assert.ok(current < 73, `${told}: ${current} is no value of a month, but a sum over its days`)
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

test('a metric is asked only what its values can answer, a ratio by its two sums', () => {
  const asked = { ...base, of: { metric: 'conversion' }, time: '', question: 'why' } as const
  const answers = (adding: Choices['adding']) =>
    questionsFor({ ...asked, ...(adding && { adding }) }).filter((one) => ['why', 'largest'].includes(one))
  assert.deepEqual(answers('sum'), ['why', 'largest'])
  assert.deepEqual(answers('ratio'), ['why'])
  for (const adding of ['none', 'minimum', 'maximum', undefined] as const)
    assert.deepEqual(answers(adding), [], String(adding))
  assert.match(
    templateText({ ...asked, adding: 'ratio' }),
    /\nnumerator: numerator\ndenominator: denominator\n/,
  )
  assert.match(templateText({ ...asked, adding: 'sum' }), /\nvalue: value\n/)
})

test('names of columns stay what they are, and those that a template cannot hold are not offered', () => {
  const dimensions = ['true', 'Null', ' end ', 'a  b', 'say "so"', '`tick`', "it's", 'a: {b}', 'naïve']
  const choices = { ...base, dimensions }
  const { metric, faults } = readMetric(metricName(choices), metricText(choices))
  assert.deepEqual(faults, [])
  assert.deepEqual(metric?.dimensions, dimensions)
  for (const name of ['a {{ b', '{%', '```', '~~~', 'a\nb']) assert.equal(isWritable(name), false, name)
  for (const name of dimensions) assert.equal(isWritable(name), true, name)
  // The blocks have columns of these names, so such dimensions are no parts.
  assert.deepEqual(
    questionsFor({ ...base, how: 'mean', dimensions: ['value', 'N'] }),
    questionsFor({ ...base, how: 'mean', dimensions: [] }),
  )
})
