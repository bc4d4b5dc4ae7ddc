/**
 * Checks the README and the guides. Each shell block is pasted, as it is, into a shell beside a service. Only the
 * ports differ, and the service runs one job at a time. The README and the pages of docs/operating start a process for
 * each command. The other guides share one process for commands that are not about the process (shell-commands.ts). The
 * test needs bash, curl and jq; it says so if one is missing.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runShell, type ShellResult, shellBlocks } from '../commands/shell-blocks.ts'
import { openShellCommands, type ShellCommands } from '../commands/shell-commands.ts'
import { freePort } from '../servers/free-port.ts'
import { assay, type Service, startService, temporaryFolder } from '../servers/service.ts'

const root = path.dirname(path.dirname(import.meta.dirname))
const missing = ['bash', 'curl', 'jq'].filter((tool) => spawnSync(tool, ['--version']).error !== undefined)
const skip = missing.length > 0 ? `not on this machine: ${missing.join(', ')}` : false

/** Puts the Node that runs this first in PATH. A wrapper in its place would double the time of a short command. */
const PINNED = `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`
const LINKS = [
  'packages',
  'templates',
  'package.json',
  'node_modules',
  'docs',
  'openapi.json',
  'test',
  'clients',
]

/**
 * The place where scripts are pasted. `home`: the home of a service that runs already, by default that of the folder.
 * `port`: its port.
 */
interface Place {
  home?: string
  port: number
  programs?: string
  /** Functions that the shell defines before the scripts. */
  functions?: string
  /** Whether `assay` is that of the clone; else it is that of a release, which starts sooner. */
  fromSources?: boolean
}

/** The folder of the scripts' folders, which stays until the end: a process that stays may use one of them as its own. */
const { folder: whole, remove: removeWhole } = temporaryFolder()
after(removeWhole)

/** Runs scripts in a folder of their own that looks like the clone. */
async function paste(
  scripts: string[],
  { home, port, programs, functions, fromSources = false }: Place,
): Promise<ShellResult> {
  const folder = mkdtempSync(path.join(whole, 'docs-'))
  const receivers = await freePort()
  for (const name of LINKS)
    if (existsSync(path.join(root, name))) symlinkSync(path.join(root, name), path.join(folder, name))
  symlinkSync(path.dirname(fromSources ? path.join(root, 'bin/assay.js') : assay), path.join(folder, 'bin'))
  const environment = {
    PATH: programs ?? process.env.PATH,
    HOME: folder,
    LANG: 'C.UTF-8',
    ASSAY_HOME: home ?? path.join(folder, '.assay'),
    // A running service has left its address and token for the command line here.
    ...(home !== undefined && process.env.XDG_RUNTIME_DIR
      ? { XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR }
      : {}),
    ASSAY_PORT: String(port),
    ASSAY_TOKEN: TOKEN,
    ASSAY_WORKERS: '1',
  }
  const moved = scripts.map((script) =>
    script.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`).replaceAll('9473', String(receivers)),
  )
  const first = functions === undefined ? [] : [functions]
  const result = await runShell([...first, ...moved], { cwd: folder, env: environment })
  assert.equal(result.code, 0, result.output.slice(-4000))
  // A text that a block leaves open would swallow the blocks after it.
  assert.equal(result.outputs.length, first.length + scripts.length + 1, 'each block ends')
  return { ...result, outputs: result.outputs.slice(first.length) }
}

/** The README's blocks: to try it, to start it, a workflow, commands without a service, the tests. */
const README = shellBlocks(path.join(root, 'README.md')).map((block) => block.script)
const OFFLINE = new Set(README[3]!.split('\n').filter(Boolean))

/**
 * Returns the blocks of a guide. It leaves out the README's commands without a service, which need only the clone and
 * ran there.
 */
const blocksOf = (guide: string): string[] =>
  shellBlocks(path.join(root, `docs/${guide}.md`))
    .filter((block) => block.notRun === null)
    .map((block) =>
      block.script
        .split('\n')
        .filter((line) => !OFFLINE.has(line))
        .join('\n'),
    )

/** The guide of the operator, with its pages. */
const OPERATING = [
  'operating',
  ...globSync('operating/*.md', { cwd: path.join(root, 'docs') })
    .map((page) => page.slice(0, -3))
    .toSorted(),
]

/** Guides that make the same user. They do not run at the same time beside the same service. */
const BESIDE_ONE = [
  ['cli', 'templates', 'people', 'schedules', 'metrics', 'testing', 'files'],
  ['api', 'webhooks', 'agents'],
]

const TOKEN = 'docs-test-token-0123456789'
test('every guide with commands is pasted below', () => {
  const pasted = [...OPERATING, ...BESIDE_ONE.flat()]
  const guides = globSync('**/*.md', { cwd: path.join(root, 'docs') }).map((page) => page.slice(0, -3))
  assert.deepEqual(
    guides.filter((guide) => blocksOf(guide).length > 0 && !pasted.includes(guide)),
    [],
  )
})

/** The guides run at the same time, because they mostly wait. */
describe('what is pasted', { concurrency: 3, skip }, () => {
  let commands: ShellCommands
  before(async () => {
    commands = await openShellCommands(whole)
  })
  after(() => commands.close())

  test("the README's service starts, its workflow ends in the insight, and every command of the pages of docs/operating runs beside it", async () => {
    const [demo, start, workflow, offline, tests] = README
    assert.equal(demo, 'npm ci && npm run demo\n')
    assert.equal(tests, 'npm ci && npm test\n')
    const pinned = `export PATH="${PINNED}"`
    const scripts = [start!, workflow!, offline!, pinned, ...OPERATING.flatMap(blocksOf)]
    const { outputs } = await paste(scripts, { port: await freePort(), fromSources: true })
    assert.match(outputs[1]!, /^flight-delays {2}/m)
    assert.match(outputs[1]!, /^# /m)
    assert.match(outputs[1]!, /How this was computed/)
  })

  test("the README's demo shows the insight and the verified webhook", async () => {
    const { outputs } = await paste(['npm run demo'], { port: await freePort(), fromSources: true })
    assert.match(outputs[0]!, /job\.completed/)
    assert.match(outputs[0]!, /verified/)
    assert.match(outputs[0]!, /^\*\*27\.3 % of 85,200 flights/mu, 'the headline')
    assert.match(outputs[0]!, /^# Brief, /mu)
    assert.doesNotMatch(outputs[0]!, /```|^select/mu)
    const [printed = ''] = /^Assay runs on [\s\S]*^Done in .*$/mu.exec(outputs[0]!) ?? []
    assert.ok(printed !== '' && printed.split('\n').length <= 60, printed)
  })

  test('a command that fails in the kept process fails its guide', async () => {
    const failing = paste(['echo first', 'node bin/assay.js new', 'echo second'], {
      port: await freePort(),
      programs: PINNED,
      functions: commands.functions,
    })
    await assert.rejects(failing, ({ message }: Error) => {
      assert.match(message, /first[\s\S]*usage: assay new/)
      assert.doesNotMatch(message, /second/)
      return true
    })
  })

  for (const guides of BESIDE_ONE) {
    describe(`beside one service: ${guides.join(', ')}`, () => {
      const { folder: home, remove } = temporaryFolder()
      let service: Service
      before(async () => {
        service = await startService({ home, wrapped: false, env: { ASSAY_TOKEN: TOKEN } })
      })
      after(async () => {
        service.signal('SIGTERM')
        await service.exited
        remove()
      })
      for (const guide of guides) {
        test(`every command of docs/${guide}.md runs as it is pasted`, async () => {
          const port = Number(new URL(service.url).port)
          await paste(blocksOf(guide), { home, port, programs: PINNED, functions: commands.functions })
        })
      }
    })
  }
})
