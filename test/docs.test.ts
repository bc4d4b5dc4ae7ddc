/**
 * The README and the guides hold what they promise: each shell block is pasted, as it stands, into a shell beside a
 * service of its own. Only the ports are others, and it runs one job at a time. Needs bash, curl and jq; where one is
 * missing the test says so.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import { freePort } from './free-port.ts'
import { runShell, type ShellResult, shellBlocks } from './shell-blocks.ts'

const root = path.dirname(import.meta.dirname)
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
const skip = missing.length > 0 ? `not on this machine: ${missing.join(', ')}` : false

/** Puts the Node that runs this first in PATH: a wrapper in its place doubles the time of a short command. */
const PINNED = `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`

/** Runs scripts in a folder that looks like the clone, with a home and a port of their own. */
async function paste(scripts: string[], token: string, programs = process.env.PATH): Promise<ShellResult> {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-docs-'))
  const [port, receivers] = [await freePort(), await freePort()]
  const links = [
    'bin',
    'packages',
    'templates',
    'package.json',
    'node_modules',
    'docs',
    'openapi.json',
    'test',
    'clients',
  ]
  const prepare = links
    .map((name) => `[ -e "${root}/${name}" ] && ln -s "${root}/${name}" . || true`)
    .join('\n')
  const environment = {
    PATH: programs,
    HOME: folder,
    LANG: 'C.UTF-8',
    ASSAY_HOME: path.join(folder, '.assay'),
    ASSAY_PORT: String(port),
    ASSAY_TOKEN: token,
    ASSAY_WORKERS: '1',
  }
  try {
    const moved = scripts.map((script) =>
      script.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`).replaceAll('9473', String(receivers)),
    )
    const result = await runShell([prepare, ...moved], { cwd: folder, env: environment })
    assert.equal(result.code, 0, result.output.slice(-4000))
    return { ...result, outputs: result.outputs.slice(1) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const TOKEN = 'docs-test-token-0123456789'
const SERVE =
  'node bin/assay.js serve > serve.log 2>&1 &\nuntil curl -sf http://127.0.0.1:8080/readyz > /dev/null; do kill -0 $!; sleep 0.1; done'

/** Blocks run at the same time, because they mostly wait. */
describe('what is pasted', { concurrency: 3 }, () => {
  test("the README's service starts and its workflow ends in the insight", { skip }, async () => {
    const [demo, start, workflow, offline, tests] = shellBlocks(path.join(root, 'README.md'))
    assert.equal(demo!.script, 'npm ci && npm run demo\n')
    assert.equal(tests!.script, 'npm ci && npm test\n')
    const { outputs } = await paste([start!.script, workflow!.script, offline!.script], TOKEN)
    assert.match(outputs[1]!, /^flight-delays {2}/m)
    assert.match(outputs[1]!, /^# /m)
    assert.match(outputs[1]!, /How this was computed/)
  })

  test("the README's demo shows the insight and the verified webhook", { skip }, async () => {
    const { outputs } = await paste(['npm run demo'], TOKEN)
    assert.match(outputs[0]!, /job\.completed/)
    assert.match(outputs[0]!, /verified/)
    assert.match(outputs[0]!, /^\*\*27\.3% of 85,239 flights/mu, 'the headline')
    assert.match(outputs[0]!, /^# Brief, /mu)
    assert.doesNotMatch(outputs[0]!, /```|^select/mu)
    const [printed = ''] = /^Assay runs on [\s\S]*^Done in .*$/mu.exec(outputs[0]!) ?? []
    assert.ok(printed !== '' && printed.split('\n').length <= 60, printed)
  })

  // The longest first.
  const GUIDES = [
    'cli',
    'templates',
    'people',
    'api',
    'schedules',
    'metrics',
    'testing',
    'webhooks',
    'operating',
    'agents',
    'files',
  ]
  for (const guide of GUIDES) {
    test(`every command of docs/${guide}.md runs as it is pasted`, { skip }, async () => {
      const blocks = shellBlocks(path.join(root, `docs/${guide}.md`)).filter((block) => block.notRun === null)
      await paste([SERVE, ...blocks.map((block) => block.script)], TOKEN, PINNED)
    })
  }
})
