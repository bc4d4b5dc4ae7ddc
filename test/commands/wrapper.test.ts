/** Tests bin/: signals and exit codes pass through the wrapper, and a killed parent leaves no process behind. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, test } from 'node:test'
import { createClient } from '@assay/client'
import {
  cleanEnvironment,
  descendants,
  eventually,
  isAlive,
  startService,
  temporaryFolder,
  within,
} from '../servers/service.ts'

const { folder, remove } = temporaryFolder()
after(remove)
const runtime = path.join(import.meta.dirname, '../..', 'bin', 'runtime.js')

/** Runs code under the wrapper, as on an older Node. */
function wrapped(code: string, ownGroup = false) {
  const file = path.join(folder, `code-${Math.random().toString(36).slice(2)}.mjs`)
  writeFileSync(file, code)
  const env = cleanEnvironment({ ASSAY_TEST_WRAPPER: '1' })
  const child = spawn(process.execPath, [runtime, file, 'an argument'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: ownGroup,
  })
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += String(chunk)
  })
  const said = (text: string): Promise<void> => eventually(() => out.includes(text), `it says "${text}"`)
  const exited = within(new Promise<number | null>((resolve) => child.on('close', resolve)), 'it ends')
  return { child, exited, said, out: () => out }
}

test('hands on arguments, standard input and the exit code', async () => {
  const { child, exited, out } = wrapped(`
    let text = ''
    for await (const chunk of process.stdin) text += chunk
    console.log(process.argv[2], text)
    process.exitCode = 42
  `)
  child.stdin.end('and some input')
  assert.equal(await exited, 42)
  assert.equal(out(), 'an argument and some input\n')
})

test('below node_modules, where Node runs no TypeScript, it says how it is installed', () => {
  const modules = path.join(folder, 'node_modules/assay')
  cpSync(path.dirname(runtime), path.join(modules, 'bin'), { recursive: true })
  writeFileSync(path.join(modules, 'package.json'), '{"type": "module"}')
  const { status, stderr } = spawnSync(process.execPath, [path.join(modules, 'bin/assay.js'), '--version'], {
    encoding: 'utf8',
    timeout: 120_000,
    env: cleanEnvironment(),
  })
  assert.equal(status, 69)
  assert.match(stderr, /from a clone .*npm ci.*npm install -g \./s)
})

test('the service has two semi-spaces of 4 MB for new objects, with a wrapper and without, unless another size is given', async () => {
  const file = path.join(folder, 'young.mjs')
  writeFileSync(
    file,
    `import { getHeapSpaceStatistics } from 'node:v8'
    const kept = []
    for (let count = 0; count < 2e6; count += 1) {
      kept.push({ count })
      if (kept.length > 2e5) kept.length = 0
    }
    console.log(getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size)\n`,
  )
  const youngBytes = (command: string, env: Record<string, string>): number => {
    const { stdout } = spawnSync(process.execPath, [runtime, file, command], {
      encoding: 'utf8',
      timeout: 120_000,
      env: cleanEnvironment(env),
    })
    return Number(stdout)
  }
  for (const env of [{}, { ASSAY_TEST_WRAPPER: '1' }]) assert.ok(youngBytes('serve', env) <= 8 * 2 ** 20)
  assert.ok(youngBytes('other', {}) > 8 * 2 ** 20)
  assert.ok(youngBytes('serve', { NODE_OPTIONS: '--max-semi-space-size=8' }) > 8 * 2 ** 20)
})

test('hands on each signal once', async () => {
  const { child, exited, said, out } = wrapped(`
    let seen = 0
    process.on('SIGINT', () => { seen += 1; console.log('int ' + seen) })
    process.on('SIGTERM', () => process.exit(seen))
    setInterval(() => undefined, 1000)
    console.log('ready')
  `)
  await said('ready')
  child.kill('SIGINT')
  await said('int 1')
  child.kill('SIGINT')
  await said('int 2')
  child.kill('SIGTERM')
  assert.equal(await exited, 2)
  assert.equal(out(), 'ready\nint 1\nint 2\n')
})

test('a child that a signal ends gives the code that a shell would', async () => {
  const { child, exited, said } = wrapped(`setInterval(() => undefined, 1000); console.log('ready')`)
  await said('ready')
  child.kill('SIGTERM')
  assert.equal(await exited, 143)
})

test('Ctrl-C, which the terminal sends to the whole group, reaches the child once', async () => {
  const { child, exited, said, out } = wrapped(
    `
    let seen = 0
    process.on('SIGINT', () => { seen += 1; console.log('int ' + seen) })
    process.on('SIGTERM', () => process.exit(seen))
    setInterval(() => undefined, 1000)
    console.log('ready')
  `,
    true,
  )
  await said('ready')
  process.kill(-child.pid!, 'SIGINT')
  await said('int 1')
  child.kill('SIGTERM')
  assert.equal(await exited, 1, out())
})

test('SIGTERM and SIGINT stop the service cleanly', async () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const service = await startService({ home: path.join(folder, signal) })
    const family = descendants(service.wrapper)
    service.signal(signal)
    assert.equal(await service.exited, 0, service.log())
    // A process whose walls are being built ends when its channel closes.
    await eventually(() => !family.some(isAlive), 'every process of the service ends')
  }
})

test('a second signal stops the service at once, with a job running', async () => {
  const home = path.join(folder, 'twice')
  const token = 'a-token-for-two-signals'
  const service = await startService({ home, env: { ASSAY_TOKEN: token, ASSAY_DRAIN: '1h' } })
  const client = createClient({ url: service.url, token })
  const sql = 'select count(*) as n from range(3000000) a, range(3000000) b where (a.range * b.range) % 7 = 3'
  await client.templates.put('long', `\`\`\`sql pairs\n${sql}\n\`\`\`\n# {{ pairs | first: "n" }}\n`)
  const id = await client.jobs.create({ template_id: 'long' })
  await client.jobs.run(id)
  for await (const job of client.jobs.watch(id)) if (job.job_status === 'executing') break
  const family = descendants(service.wrapper)
  service.signal('SIGTERM')
  await eventually(() => service.log().includes('A second signal stops at once'), 'the first signal is taken')
  service.signal('SIGTERM')
  assert.equal(await service.exited, 143)
  await eventually(() => !family.some(isAlive), 'the analysis ends with its parent')
})

for (const victim of ['wrapper', 'server'] as const) {
  test(`kill -9 of the ${victim} ends everything below and above it`, async (t) => {
    const home = path.join(folder, `kill-${victim}`)
    const token = 'a-token-for-a-kill'
    const service = await startService({ home, env: { ASSAY_TOKEN: token } })
    t.after(() => service.signal('SIGKILL'))
    const client = createClient({ url: service.url, token })
    await client.templates.put('short', '# Report\n')
    await client.jobs.runAndWait('short')
    const family = [service.wrapper, ...descendants(service.wrapper)]
    assert.ok(family.length >= 3, 'wrapper, server and an analysis process that is idle')
    process.kill(service[victim], 'SIGKILL')
    await eventually(() => !family.some(isAlive), 'all of them end')
    const again = await startService({ home })
    again.signal('SIGTERM')
    assert.equal(await again.exited, 0, 'and the home is free at once')
  })
}
