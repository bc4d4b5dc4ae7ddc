/**
 * Tests the shipped templates: each is sound, together they use every feature, and they give the same bytes wherever
 * they run.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { CHART_TYPES, type Findings } from '@assay/model/insight'
import { type AnalysisBlock, type Template, VARIABLE_TYPES } from '@assay/model/template'
import type { Expression } from '../../packages/engine/language/expressions.ts'
import { readProse, type Statement } from '../../packages/engine/language/statements.ts'
import { METHODS } from '../../packages/engine/methods/catalog.ts'
import { replayAll, unmarked } from '../../packages/engine/rendering/replay-fixture.ts'
import { headlineFaults } from '../../packages/engine/verdicts/headline-fixture.ts'
import { gallery, galleryTasks, goldenFolder } from './gallery.ts'
import type { Ran } from './gallery-child.ts'

const templates = gallery().map((entry) => entry.template)

function statements(template: Template): Statement[] {
  return [template.body, ...Object.values(template.partials)].flatMap((text) => readProse(text).statements)
}

const used = templates.flatMap(statements)
const named = (tag: string, option: string): Expression[] =>
  used
    .filter((statement) => statement.tag === tag)
    .flatMap((statement) => statement.named.filter(({ name }) => name === option))
    .map(({ value }) => value)

function literal(expression: Expression): unknown {
  const [operand] = expression.operands
  return operand?.kind === 'literal' ? operand.value : null
}

test('there are at least twelve templates, each with a title, a description and tags', () => {
  assert.ok(templates.length >= 12)
  for (const { template_id, title, description, tags } of templates) {
    assert.ok(title.length > 0 && (description ?? '').length > 0 && tags.length > 0, template_id)
  }
})

const SHORT = new Set(['why-did-it-change', 'experiment-readout', 'alert-and-explain'])

test('each template has at most 80 lines, those to copy 40, and ends with what the reader may do', () => {
  for (const { source } of gallery()) {
    const lines = source.source.trimEnd().split('\n')
    assert.ok(
      lines.length <= (SHORT.has(source.template_id) ? 40 : 80),
      `${source.template_id} has ${lines.length} lines`,
    )
    assert.equal(
      lines.findLast((line) => line.startsWith('## ')),
      '## What next',
      source.template_id,
    )
  }
})

test('together with the guide they use every method', () => {
  const docs = path.join(import.meta.dirname, '../../docs')
  const guide = globSync(['templates.md', 'templates/*.md'], { cwd: docs })
    .map((page) => readFileSync(path.join(docs, page), 'utf8'))
    .join('\n')
  const shown = [...guide.matchAll(/^method: (\w+)$/gm)].map((match) => match[1]!)
  const methods = templates
    .flatMap((template) => template.blocks)
    .filter((block): block is AnalysisBlock => block.kind === 'analysis')
    .map((block) => block.method)
  assert.deepEqual(new Set([...methods, ...shown]), new Set(Object.keys(METHODS)))
})

test('together they use every type of chart', () => {
  assert.deepEqual(new Set(named('chart', 'type').map(literal)), new Set(CHART_TYPES))
})

test('together they use every type of variable and every rule for its values', () => {
  const variables = templates.flatMap((template) => template.variables)
  assert.deepEqual(new Set(variables.map((variable) => variable.type)), new Set(VARIABLE_TYPES))
  for (const rule of ['enum', 'min', 'max', 'pattern', 'items', 'of', 'until', 'default'] as const) {
    assert.ok(
      variables.some((variable) => variable[rule] !== null),
      rule,
    )
  }
  assert.ok(variables.some((variable) => variable.type === 'period' && variable.until === null))
})

test('together they use every tag, every option of a table and a chart, and clauses', () => {
  const tags = new Set(used.map((statement) => statement.tag))
  for (const tag of ['if', 'for', 'assign', 'render', 'fact', 'sql', 'table', 'chart', 'output']) {
    assert.ok(tags.has(tag), tag)
  }
  for (const option of ['limit', 'columns', 'fmt', 'align']) {
    assert.ok(named('table', option).length > 0, option)
  }
  for (const option of ['x', 'y', 'series', 'title']) assert.ok(named('chart', option).length > 0, option)
  assert.ok(named('chart', 'y').some(({ operands }) => operands[0]?.kind === 'list'))
  const filters = new Set(used.flatMap(({ expressions }) => expressions.flatMap((one) => one.filters)))
  for (const name of ['fmt', 'sum', 'mean', 'min', 'max', 'last', 'pluck', 'delta']) {
    assert.ok(
      [...filters].some((filter) => filter.name === name),
      name,
    )
  }
  assert.ok(templates.some((template) => template.deliver_if !== null))
  assert.ok(
    templates.some((template) => template.sources.some(({ columns }) => Object.keys(columns).length > 0)),
  )
  assert.ok(
    templates.some(({ blocks }) => blocks.some((one) => one.kind === 'sql' && /\[\[.*\$/.test(one.sql))),
  )
})

const HOLES = /\b(NaN|Infinity|undefined|null)\b|\[object Object\]/
const textOf = (markdown: string): string => markdown.split('## How this was computed')[0]!

/** The results of the other process, with another time zone and language. */
const ran = new Promise<Ran>((resolve, reject) => {
  const child = fork(path.join(import.meta.dirname, 'gallery-child.ts'), {
    env: { ...process.env, TZ: 'Pacific/Apia', LANG: 'tr_TR.UTF-8' },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  })
  let said = ''
  child.stderr!.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8')
  })
  child.once('message', (message) => {
    resolve(message as Ran)
    child.disconnect()
  })
  child.once('close', (code) => reject(new Error(`The process ended with ${code}.\n${said}`)))
})

test('no template has a fault', async () => {
  const { faults } = await ran
  assert.deepEqual(faults, Object.fromEntries(templates.map(({ template_id }) => [template_id, []])))
})

/**
 * Checks that each mark gives its text again, and that each number without a mark stands in the template or its
 * partials.
 */
function assertProvenance(name: string, findings: Findings): void {
  const { provenance, lineage } = findings
  const { replayed, left } = replayAll({
    ...findings,
    provenance: provenance!,
    vars: lineage.variables,
    run: { started_at: lineage.started_at, time_zone: lineage.time_zone },
  })
  assert.ok(replayed > 0, name)
  assert.deepEqual(left, [], name)
  const { source } = gallery().find(({ template }) => template.template_id === findings.template_id)!
  const written = [source.source, ...Object.values(source.partials)].join('\n')
  const numbers =
    unmarked({ markdown: findings.markdown, provenance: provenance! }).match(/\d+(?:[.,]\d+)*/g) ?? []
  for (const number of numbers) assert.ok(written.includes(number), `${name}: ${number} has no origin`)
}

// Golden results are made at one clock, in UTC. The long form, "npm run proof -- clocks", tries more clocks.
test('each template runs to its golden result in another time zone and language and at another clock', async () => {
  const names = Object.keys(galleryTasks())
  assert.deepEqual(
    readdirSync(goldenFolder).toSorted(),
    names.map((name) => `${name}.md`).toSorted(),
    'Run "npm run gen".',
  )
  const { runs } = await ran
  for (const name of names) {
    const { markdown, findings } = runs[name]!
    const golden = readFileSync(path.join(goldenFolder, `${name}.md`), 'utf8')
    assert.equal(markdown, golden, `${name}: run "npm run gen" where this is meant.`)
    assertProvenance(name, findings)
  }
})

test('with little or no data a template says so', async () => {
  for (const [name, markdown] of Object.entries((await ran).sparse)) {
    assert.doesNotMatch(textOf(markdown), HOLES, name)
    assert.doesNotMatch(
      textOf(markdown),
      /^(?:\d\. |\*\*).*\S {2}\S/mu,
      `${name}: a value is missing in a sentence`,
    )
  }
})

/** Finds the lines in bold that a template writes in place of a headline, and the numbered findings below. */
const SENTENCES = /^\*\*(.+?)\*\*(?= |$)|^\d\. (.+)$/gmu

test('no leading sentence of a template holds a statistic, a sign, a raw name, a cause or more than three digits', () => {
  const faults: string[] = []
  for (const file of readdirSync(goldenFolder)) {
    const text = textOf(readFileSync(path.join(goldenFolder, file), 'utf8'))
    const found = [...text.matchAll(SENTENCES)].map(([, bold, numbered]) => bold ?? numbered!)
    assert.ok(found.length > 0, file)
    const plain = found.map((one) => one.replaceAll('**', '').replaceAll('\\', ''))
    for (const headline of plain)
      faults.push(...headlineFaults({ headline, grade: 'firm' }).map((fault) => `${file}: ${fault}`))
  }
  assert.deepEqual(faults, [])
})

test('nothing in a result is a hole: no NaN, undefined or null in its text', () => {
  for (const file of readdirSync(goldenFolder)) {
    assert.doesNotMatch(textOf(readFileSync(path.join(goldenFolder, file), 'utf8')), HOLES, file)
  }
})
