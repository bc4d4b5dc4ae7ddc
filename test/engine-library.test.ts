/** The engine as another project has it: packed, installed, typed by tsc and run as plain JavaScript. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { compileStrictly, installPacked } from './packed-project.ts'
import { temporaryFolder } from './service.ts'

const root = path.dirname(import.meta.dirname)
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

/** Runs a file of the project in a Node that the engine supports. */
function runFile(file: string): { stdout: string; stderr: string } {
  return spawnSync(process.execPath, [file], { cwd: folder, encoding: 'utf8' })
}

test('the three lines of the README run a template from TypeScript and from JavaScript', () => {
  const lines = THREE_LINES.trim().split('\n')
  assert.equal(lines.length, 3)
  const markdown = `const markdown = ${JSON.stringify(TEMPLATE)}\n`
  writeFileSync(path.join(folder, 'typed.ts'), markdown + THREE_LINES)
  writeFileSync(path.join(folder, 'plain.mjs'), markdown + THREE_LINES)
  assert.equal(compileStrictly(folder, ['typed.ts']), '')
  for (const file of ['typed.js', 'plain.mjs']) {
    const { stdout, stderr } = runFile(file)
    assert.equal(stdout.split('\n')[0], '# north: 41', stderr)
  }
})

test('a fault is thrown with its line, column and message', () => {
  const code = `
    import { runTemplate, TemplateError } from '@assay/engine'
    const error = await runTemplate(${JSON.stringify(FAULTY)}).catch((error) => error)
    const { line, column, message } = error.faults[0]
    console.log(JSON.stringify([error instanceof TemplateError, line, column > 0, message]))
    const missing = await runTemplate(${JSON.stringify(TEMPLATE)}, { data: './folder' }).catch((error) => error)
    console.log(missing.code, missing.message)
  `
  writeFileSync(path.join(folder, 'faulty.mjs'), code)
  const { stdout, stderr } = runFile('faulty.mjs')
  const [fault, ...missing] = stdout.split('\n')
  const [typed, line, placed, message] = JSON.parse(fault || stderr) as [boolean, number, boolean, string]
  assert.deepEqual([typed, line, placed], [true, 5, true])
  assert.match(message, /nowhere/)
  assert.match(missing.join('\n'), /^variables_invalid .*region is required/s)
})

test('the shipped templates and sample data are installed with the engine', () => {
  const code = `
    import { readFileSync } from 'node:fs'
    import { runTemplate } from '@assay/engine'
    import { templatesFolder } from '@assay/engine/reading/samples'
    const { insight } = await runTemplate(readFileSync(templatesFolder + '/nile-flow.md', 'utf8'))
    console.log(templatesFolder.includes('node_modules'), insight.title)
  `
  writeFileSync(path.join(folder, 'shipped.mjs'), code)
  const { stdout, stderr } = runFile('shipped.mjs')
  assert.match(stdout, /^true .*Nile/, stderr)
})
