/**
 * Tests the client as another project has it: packed, installed, typed by tsc and run as plain JavaScript on the
 * machine's Node.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { build } from 'vite'
import { startService, temporaryFolder } from '../servers/service.ts'
import { compileStrictly, installPacked } from './packed-project.ts'

const root = path.dirname(path.dirname(import.meta.dirname))
const { folder, remove } = temporaryFolder()
const project = path.join(folder, 'project')
after(remove)

const MAIN = `import { ClientError, createClient, type JobView, sign, verify } from '@assay/client'

const assay = createClient({ url: process.env.ASSAY_URL!, token: process.env.ASSAY_TOKEN! })
const id: string = await assay.jobs.create({ template_id: 'flight-delays', template_vars: { origin: 'ORD' } })
await assay.jobs.run(id)
const seen: JobView['job_status'][] = []
const job = await assay.jobs.wait(id, { onChange: (view) => seen.push(view.job_status) })
if (job.job_status === 'canceled') throw new Error(job.error.code)
const insight = await assay.jobs.json(job.insight_id)
const refused = await assay.jobs.create({ template_id: 'nowhere' }).catch((error: unknown) => error)
const [happened] = (await assay.events.list({ type: 'job.completed' })).items
const { event_id, ...message } = happened!
const body = JSON.stringify(message)
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const timestamp = Math.floor(Date.now() / 1000)
const headers = {
  'webhook-id': 'msg_1',
  'webhook-timestamp': String(timestamp),
  'webhook-signature': sign({ id: 'msg_1', timestamp, body, secrets: [secret] }),
}
const { id: verified, event } = verify({ headers, body, secret })
console.log(JSON.stringify({
  received: event.type === 'job.completed' && event.data.insight_id === job.insight_id,
  ended: seen.at(-1),
  facts: insight.facts.length,
  markdown: (await assay.jobs.markdown(job.insight_id)).split('\\n')[0],
  code: refused instanceof ClientError ? refused.code : null,
  verified,
}))
`

const COMMON_JS = `import { ClientError, createClient, type InsightView, JobFailed, sign } from '@assay/client'

const assay = createClient({ url: process.env.ASSAY_URL!, token: process.env.ASSAY_TOKEN! })
async function main(): Promise<void> {
  const insight: InsightView = await assay.jobs.runAndWait('nile-flow', {}, { idempotencyKey: 'common' })
  const refused: unknown = await assay.jobs.runAndWait('nowhere').catch((error: unknown) => error)
  const told = refused instanceof ClientError && !(refused instanceof JobFailed) && refused.code
  console.log(typeof require, insight.facts.length > 0, told, typeof sign)
}
void main()
`

const BROWSER = `import { createClient } from '@assay/client'

createClient({ url: location.origin, token: '' }).me().then(console.log)
`

before(() => {
  installPacked(['client'], project)
  mkdirSync(path.join(project, 'common'))
  const guide = readFileSync(path.join(root, 'packages/client/README.md'), 'utf8')
  writeFileSync(path.join(project, 'guide.ts'), /```ts\n(.*?)```/s.exec(guide)![1]!)
  writeFileSync(path.join(project, 'main.ts'), MAIN)
  writeFileSync(path.join(project, 'common/package.json'), '{"type": "commonjs"}')
  writeFileSync(path.join(project, 'common/main.ts'), COMMON_JS)
  writeFileSync(path.join(project, 'browser.js'), BROWSER)
})

test('another project compiles against the client, runs jobs, reads insights, recognises refusals and verifies webhooks', async () => {
  assert.equal(compileStrictly(project, ['main.ts', 'common/main.ts', 'guide.ts']), '')
  const token = 'client-test-token-0123456789'
  const service = await startService({
    home: path.join(folder, 'home'),
    env: { ASSAY_TOKEN: token },
    wrapped: false,
  })
  const env = { ...process.env, ASSAY_URL: service.url, ASSAY_TOKEN: token }
  const run = (file: string): string =>
    execFileSync('node', [file], { cwd: project, encoding: 'utf8', env, timeout: 120_000 })
  try {
    const { facts, ...rest } = JSON.parse(run('main.js')) as { facts: number }
    assert.ok(facts > 0)
    assert.deepEqual(rest, {
      ended: 'completed',
      markdown: '# Flight delays from Chicago (ORD), June 2001',
      code: 'not_found',
      verified: 'msg_1',
      received: true,
    })
    assert.equal(run('common/main.js'), 'function true not_found function\n')
  } finally {
    service.signal('SIGTERM')
    await service.exited
  }
})

test('the packed client brings everything that it needs', () => {
  assert.deepEqual(readdirSync(path.join(project, 'node_modules/@assay')), ['client'])
  const { dependencies } = JSON.parse(
    readFileSync(path.join(project, 'node_modules/@assay/client/package.json'), 'utf8'),
  ) as { dependencies?: object }
  assert.equal(dependencies, undefined)
})

test('the build for browsers uses nothing of Node', async () => {
  await build({
    root: project,
    configFile: false,
    logLevel: 'silent',
    build: { lib: { entry: 'browser.js', formats: ['es'], fileName: 'bundle' }, minify: false },
  })
  const text = readFileSync(path.join(project, 'dist/bundle.js'), 'utf8')
  assert.match(text, /idempotency-key/)
  assert.doesNotMatch(text, /node:|\bBuffer\b/)
})
