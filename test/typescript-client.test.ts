/** The client as another project has it: packed, unpacked into `node_modules`, typed by tsc and run as plain JavaScript. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { startService, temporaryFolder } from './service.ts'

const root = path.dirname(import.meta.dirname)
const { folder, remove } = temporaryFolder()
const project = path.join(folder, 'project')
after(remove)

const MAIN = `import { ClientError, createClient, type JobView, sign, verify } from 'assay-client'

const assay = createClient({ url: process.env.ASSAY_URL!, token: process.env.ASSAY_TOKEN! })
const id: string = await assay.jobs.create({ template_id: 'flight-delays', template_vars: { origin: 'ORD' } })
await assay.jobs.run(id)
const seen: JobView['job_status'][] = []
const job = await assay.jobs.wait(id, { onChange: (view) => seen.push(view.job_status) })
const insight = await assay.jobs.json(job.insight_id!)
const refused = await assay.jobs.create({ template_id: 'nowhere' }).catch((error: unknown) => error)
const body = '{"type":"job.completed"}'
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const timestamp = Math.floor(Date.now() / 1000)
const headers = {
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(timestamp),
  'webhook-signature': sign({ id: 'msg_1', timestamp, body, secrets: [secret] }),
}
console.log(JSON.stringify({
  ended: seen.at(-1),
  facts: insight.facts.length,
  markdown: (await assay.jobs.markdown(job.insight_id!)).split('\\n')[0],
  code: refused instanceof ClientError ? refused.code : null,
  verified: verify({ headers, body, secret }).id,
}))
`

before(() => {
  execFileSync('npm', ['pack', path.join(root, 'clients/typescript'), '--pack-destination', folder], {
    stdio: 'ignore',
    shell: process.platform === 'win32',
  })
  const modules = path.join(project, 'node_modules')
  mkdirSync(path.join(modules, 'assay-client'), { recursive: true })
  execFileSync(
    'tar',
    ['-xzf', 'assay-client-0.1.0.tgz', '--strip-components=1', '-C', path.join(modules, 'assay-client')],
    {
      cwd: folder,
    },
  )
  symlinkSync(path.join(root, 'node_modules/typebox'), path.join(modules, 'typebox'), 'junction')
  symlinkSync(path.join(root, 'node_modules/@types'), path.join(modules, '@types'), 'junction')
  writeFileSync(path.join(project, 'package.json'), '{"type": "module"}')
  const guide = readFileSync(path.join(root, 'clients/typescript/README.md'), 'utf8')
  writeFileSync(path.join(project, 'guide.ts'), /```ts\n(.*?)```/s.exec(guide)![1]!)
  writeFileSync(path.join(project, 'main.ts'), MAIN)
  const compilerOptions = { strict: true, target: 'es2022', module: 'nodenext', types: ['node'] }
  writeFileSync(
    path.join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: ['main.ts', 'guide.ts'] }),
  )
})

test('has the version of the service', () => {
  const version = (file: string): unknown => JSON.parse(readFileSync(path.join(root, file), 'utf8')).version
  assert.equal(version('clients/typescript/package.json'), version('package.json'))
})

test('another project types against it and runs jobs, reads insights, tells refusals and verifies webhooks', async () => {
  const typed = spawnSync(
    process.execPath,
    [path.join(root, 'node_modules/typescript/bin/tsc'), '-p', project],
    {
      encoding: 'utf8',
    },
  )
  assert.equal(typed.stdout, '')
  const token = 'client-test-token-0123456789'
  const service = await startService({
    home: path.join(folder, 'home'),
    env: { ASSAY_TOKEN: token },
    wrapped: false,
  })
  try {
    const said = execFileSync('node', ['main.js'], {
      cwd: project,
      encoding: 'utf8',
      env: { ...process.env, ASSAY_URL: service.url, ASSAY_TOKEN: token },
    })
    const { facts, ...rest } = JSON.parse(said) as { facts: number }
    assert.ok(facts > 0)
    assert.deepEqual(rest, {
      ended: 'completed',
      markdown: '# Flight delays from ORD, 2001-06-01 to 2001-06-30',
      code: 'not_found',
      verified: 'msg_1',
    })
  } finally {
    service.signal('SIGTERM')
    await service.exited
  }
})

test('what a browser is given asks for nothing of Node', () => {
  const file = path.join(project, 'node_modules/assay-client/dist/browser.js')
  assert.doesNotMatch(readFileSync(file, 'utf8'), /node:|\bBuffer\b/)
})
