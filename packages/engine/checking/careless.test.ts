import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Fault } from '@assay/model/template'
import { openTestPool, templateOf } from '../run/test-pool.ts'
import { IN_ANALYSES, IN_FRONT_MATTER, IN_SQL, IN_TEXT, type Mistake } from './careless-fixture.ts'

const SETTINGS = `---
variables:
  kind: { type: string }
  period: { type: period, default: 2024-01-01..2024-01-31 }
  top: { type: integer, default: 5 }
sources:
  sales: { file: sales.csv }
---
\`\`\`sql daily
select day, kind, amount, n, us_day from sales
where ($kind is null or kind = $kind) and day >= $period.start and n < $top + 100
\`\`\`
`
const LINES = SETTINGS.split('\n').length - 1
const day = (index: number): string => String(1 + (index % 28)).padStart(2, '0')
const ROWS = Array.from(
  { length: 40 },
  (_, index) =>
    `2024-01-${day(index)},${index % 2 ? 'x' : 'y'},${index}.5,${index % 7},${13 + (index % 15)} Jan 2024`,
)
const bench = await openTestPool({
  files: { 'sales.csv': `day,kind,amount,n,us_day\n${ROWS.join('\n')}\n` },
})
after(() => bench.close())

const checks = new Map<string, Promise<Fault[]>>()

/** Returns the faults of a source. Each source is checked once. */
function faultsOf(source: string): Promise<Fault[]> {
  const task = { kind: 'check' as const, template: templateOf(source), roots: bench.roots }
  const faults = checks.get(source) ?? bench.pool.check(task, { workspace_id: 'test' })
  checks.set(source, faults)
  return faults
}

/** Returns "line:column message remedy" of each error. Line 1 is the first of the text. */
async function errorsOf(source: string, above: number): Promise<string[]> {
  return (await faultsOf(source))
    .filter(({ severity }) => severity === 'error')
    .map(({ line, column, message, remedy }) => `${line - above}:${column} ${message} ${remedy}`)
}

async function assertFound([text, place, says]: Mistake, source: string, above: number): Promise<void> {
  const errors = await errorsOf(source, above)
  const begin = place === '' || place.includes(':') ? place : `${place}:`
  const found = errors.some((error) => error.startsWith(begin) && says.test(error))
  assert.ok(found, `${text}\n${errors.join('\n')}\nis wanted at ${place}: ${says}`)
}

test('a template without a mistake has no fault', async () => {
  assert.deepEqual(await errorsOf(`${SETTINGS}{{ daily.size }}\n`, LINES), [])
})

test('each way to say what drivers compares with has no fault', async () => {
  const base = '```analysis why\nmethod: drivers\nof: daily\nvalue: amount\nby: [kind]\n'
  const ways = ['time: day', 'split: { column: kind, before: x, after: y }', 'expected: n']
  for (const way of ways)
    assert.deepEqual(await errorsOf(`${SETTINGS}${base}${way}\n\`\`\`\n{{ why.summary }}\n`, LINES), [], way)
})

test('mistakes in SQL are found where they stand, with what to write instead', async () => {
  for (const mistake of IN_SQL) await assertFound(mistake, SETTINGS + mistake[0], LINES)
})

test('mistakes in analyses are found where they stand, with what to write instead', async () => {
  for (const mistake of IN_ANALYSES) await assertFound(mistake, SETTINGS + mistake[0], LINES)
})

test('mistakes in the text are found where they stand, with what to write instead', async () => {
  for (const mistake of IN_TEXT) await assertFound(mistake, SETTINGS + mistake[0], LINES)
})

test('mistakes in the front matter are found where they stand, with what to write instead', async () => {
  for (const mistake of IN_FRONT_MATTER) {
    await assertFound(mistake, `---\n${mistake[0]}\n---\n# Title\n`, 0)
  }
})

test('a run tells the same mistakes by the same sentences, with the same names', async () => {
  for (const [text] of [...IN_SQL, ...IN_ANALYSES, ...IN_TEXT]) {
    const source = `${SETTINGS}${text}`
    const result = await bench.run(templateOf(source), {
      kind: null,
      period: '2024-01-01..2024-01-31',
      top: 5,
    })
    assert.equal(result.status, 'failed', text)
    const { detail } = result.status === 'failed' ? result.error : { detail: '' }
    // DuckDB words each of these errors itself.
    if (/\w+ Error: /.test(detail)) continue
    const sentences = (await errorsOf(source, 0)).map((error) => error.slice(error.indexOf(' ') + 1))
    const same = sentences.some(
      (sentence) => detail.includes(sentence) || sentence.includes(detail.replace(/^[^:]*: /, '')),
    )
    assert.ok(same, `${text}\nrun: ${detail}\ncheck: ${sentences.join('\n')}`)
  }
})

test('a source whose path waits for a variable passes the check; with a default its columns are judged', async () => {
  const source = (variable: string): string =>
    `---\nvariables: { f: ${variable} }\nsources: { t: { file: "{{ vars.f }}" } }\n---\n\`\`\`sql q\nselect dy from t\n\`\`\`\n${'`'.repeat(3)}analysis d\nmethod: describe\nof: t\nvalue: amnt\n${'`'.repeat(3)}\n# {{ q.size }}\n`
  assert.deepEqual(await errorsOf(source('{ type: file, required: true }'), 0), [])
  assert.deepEqual(await errorsOf(source('{ type: string, required: true }').replace('"{{', '"in/{{'), 0), [])
  const judged = await errorsOf(source('{ type: file, default: sales.csv }'), 0)
  assert.equal(judged.length, 2)
  assert.match(judged.join(), /"dy" not found.*no column "amnt"/)
  const gone = await errorsOf(source('{ type: file, default: none.csv }'), 0)
  assert.match(gone.join(), /There is no file "none\.csv"/)
})
