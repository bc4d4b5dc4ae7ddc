/** Tests the engine as another project has it: packed, installed, typed by tsc and run as plain JavaScript. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { temporaryFolder } from '../servers/service.ts'
import { compileStrictly, installPacked } from './packed-project.ts'

const root = path.dirname(path.dirname(import.meta.dirname))
const { folder, remove } = temporaryFolder()
after(remove)

const THREE_LINES = /```ts\n(.*?)```/s.exec(
  readFileSync(path.join(root, 'packages/engine/README.md'), 'utf8'),
)![1]!

const TEMPLATE = `---
title: Orders
sources:
  orders: { file: orders.csv }
variables:
  region: { type: string, required: true }
---
\`\`\`sql total
select sum(amount) as amount from orders where region = $region
\`\`\`
# {{ vars.region }}: {{ total | first: "amount" }}
`

const FAULTY = `---
title: Faulty
---
\`\`\`sql total
select nothing from nowhere
\`\`\`
# {{ total | first: "nothing" }}
`

before(() => {
  installPacked(['engine'], folder)
  mkdirSync(path.join(folder, 'folder'))
  writeFileSync(path.join(folder, 'folder/orders.csv'), 'region,amount\nnorth,1\nsouth,2\nnorth,40\n')
})

const INSTALLED = `
import { readFileSync } from 'node:fs'
import { runTemplate, TemplateError } from '@assay/engine'
import { templatesFolder } from '@assay/engine/reading/samples'
const caught = (run) => run.catch((error) => error)
const error = await caught(runTemplate(${JSON.stringify(FAULTY)}))
const missing = await caught(runTemplate(${JSON.stringify(TEMPLATE)}, { data: './folder' }))
const { insight } = await runTemplate(readFileSync(templatesFolder + '/nile-flow.md', 'utf8'))
console.log(JSON.stringify({
  typed: error instanceof TemplateError,
  fault: error.faults[0],
  missing: missing.code + ' ' + missing.message,
  shipped: [templatesFolder.includes('node_modules'), insight.title],
}))
`

interface Told {
  typed: boolean
  fault: { line: number; column: number; message: string }
  missing: string
  shipped: [inModules: boolean, title: string]
}

/** Runs a file of the project in a Node that the engine supports. */
function runFile(file: string): { stdout: string; stderr: string } {
  return spawnSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' })
}

test('the three lines of the README run a template from TypeScript', () => {
  const lines = THREE_LINES.trim().split('\n')
  assert.equal(lines.length, 3)
  writeFileSync(path.join(folder, 'typed.ts'), `const markdown = ${JSON.stringify(TEMPLATE)}\n${THREE_LINES}`)
  assert.equal(compileStrictly(folder, ['typed.ts']), '')
  const { stdout, stderr } = runFile('typed.js')
  assert.equal(stdout.split('\n')[0], '# north: 41', stderr)
})

suite('from JavaScript', () => {
  let lines: string[]
  let told: Told

  before(() => {
    const markdown = `const markdown = ${JSON.stringify(TEMPLATE)}\n`
    writeFileSync(path.join(folder, 'installed.mjs'), INSTALLED)
    writeFileSync(
      path.join(folder, 'plain.mjs'),
      `${markdown}${THREE_LINES}\nawait import('./installed.mjs')\n`,
    )
    const { stdout, stderr } = runFile('plain.mjs')
    lines = stdout.trimEnd().split('\n')
    assert.ok(lines.length > 1, stderr)
    told = JSON.parse(lines.at(-1)!) as Told
  })

  test('the same three lines run a template from JavaScript', () => {
    assert.equal(lines[0], '# north: 41')
  })

  test('a fault is thrown with its line, column and message', () => {
    const { line, column, message } = told.fault
    assert.deepEqual([told.typed, line, column > 0], [true, 5, true])
    assert.match(message, /nowhere/)
    assert.match(told.missing, /^variables_invalid .*region is required/s)
  })

  test('the shipped templates and sample data are installed with the engine', () => {
    assert.equal(told.shipped[0], true)
    assert.match(told.shipped[1], /Nile/)
  })
})
