/** Tests several processes on one PostgreSQL, each with one role. What one begins another continues. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { type Client, createClient } from '@assay/client'
import { type Collector, startCollector } from '../servers/collector.ts'
import { missingPostgres, type Postgres, startPostgres } from '../servers/postgres.ts'
import { modes, type Receiver, startReceiver } from '../servers/receiver.ts'
import {
  assay,
  cleanEnvironment,
  eventually,
  type Service,
  startService,
  temporaryFolder,
} from '../servers/service.ts'

const TOKEN = 'assay-nodes-test-token'
const ROLES = ['api', 'worker', 'dispatcher'] as const
const missing = await missingPostgres()
const folders = ROLES.map(() => temporaryFolder())
const nodes: Service[] = []
let postgres: Postgres
let receiver: Receiver
let collector: Collector
let client: Client
let env: Record<string, string>

const LONG = `---
title: Long
---
\`\`\`sql pairs
select count(*) as n from range(3000000) a, range(3000000) b where (a.range * b.range) % 7 = 3
\`\`\`
# {{ pairs | first: "n" }}
`

function runAssay(args: string[], environment: Record<string, string>): Promise<{ stderr: string }> {
  return promisify(execFile)(process.execPath, [assay, ...args], { env: cleanEnvironment(environment) })
}

async function run(template_id: string): Promise<string> {
  const assignment_id = await client.jobs.create({ template_id })
  await client.jobs.run(assignment_id)
  return assignment_id
}

async function statusOf(assignment_id: string): Promise<string> {
  return (await client.jobs.status(assignment_id)).job_status
}

suite('nodes on one PostgreSQL', { skip: missing ?? false }, () => {
  before(async () => {
    postgres = await startPostgres()
    const url = await postgres.createDatabase(`assay_nodes_${process.pid}`)
    receiver = await startReceiver({ mode: modes.ok() })
    collector = await startCollector()
    env = {
      ASSAY_STORE: url,
      ASSAY_SECRET_KEY: 'a1'.repeat(32),
      ASSAY_TOKEN: TOKEN,
      ASSAY_WORKERS: '1',
      ASSAY_LEASE: '10m',
      ASSAY_WEBHOOK_TARGETS: 'loopback',
      ASSAY_TRACES: collector.url,
    }
  })
  after(async () => {
    for (const node of nodes) node.signal('SIGKILL')
    await Promise.all(nodes.map((node) => node.exited))
    await receiver.close()
    await collector.close()
    await postgres.dropDatabase(`assay_nodes_${process.pid}`)
    await postgres.stop()
    for (const { remove } of folders) remove()
  })

  test('"assay migrate" makes the schema, and a second time finds it made', async () => {
    const environment = { ...env, ASSAY_HOME: folders[0]!.folder }
    for (const _ of [1, 2])
      assert.match((await runAssay(['migrate'], environment)).stderr, /The schema is up to date/)
  })

  test('a node without the secret key does not start, and says what it needs', async () => {
    const without = { ASSAY_STORE: env.ASSAY_STORE!, ASSAY_HOME: folders[0]!.folder, ASSAY_PORT: '0' }
    await assert.rejects(runAssay(['serve'], without), (error: { stderr: string }) => {
      assert.match(error.stderr, /ASSAY_SECRET_KEY: on PostgreSQL every node needs the same key/)
      return true
    })
  })

  test('a job that is created on one node runs on another and is told by a third', async () => {
    const started = ROLES.map((role, index) =>
      startService({ home: folders[index]!.folder, wrapped: false, env: { ...env, ASSAY_ROLES: role } }),
    )
    nodes.push(...(await Promise.all(started)))
    client = createClient({ url: nodes[0]!.url, token: TOKEN })
    await client.webhooks.create({ url: `${receiver.url}/hook`, user_id: 'ada', presence_name: 'nodes' })
    const assignment_id = await run('nile-flow')
    assert.equal((await client.jobs.wait(assignment_id)).job_status, 'completed')
    const { body } = await receiver.next()
    assert.match(body.toString('utf8'), new RegExp(assignment_id))

    const trace = assignment_id.replaceAll('-', '')
    const names = ['job created', 'job run request', 'job', 'delivery attempt']
    const spans = () => collector.spans().filter(({ traceId }) => traceId === trace)
    await eventually(() => spans().length === names.length, 'its spans have come from all three')
    assert.deepEqual(new Set(spans().map(({ name }) => name)), new Set(names))
    assert.equal(new Set(spans().map(({ node }) => node)).size, 3)
    const root = spans().find(({ name }) => name === 'job created')!.spanId
    for (const { name, parentSpanId } of spans())
      assert.equal(parentSpanId, name === 'job created' ? '' : root)
  })

  test('a cancel on one node frees the worker of another long before that renews its lease', async () => {
    await client.templates.put('long', LONG)
    const long = await run('long')
    await eventually(async () => (await statusOf(long)) === 'executing', 'it runs')
    const begun = performance.now()
    assert.equal((await client.jobs.cancel(long)).job_status, 'canceled')
    // The worker runs one job at a time, and the next one waits.
    assert.equal((await client.jobs.wait(await run('nile-flow'))).job_status, 'completed')
    // A renewal of the lease would also stop the job, but renewals are 200 s apart. So the hint has arrived.
    assert.ok(performance.now() - begun < 180_000, `${performance.now() - begun} ms`)
  })

  test('a crash of the database needs no restart of any node', async () => {
    if (!postgres.restart) return
    await postgres.restart()
    let id: string | undefined
    await eventually(async () => {
      id = await run('nile-flow').catch(() => undefined)
      return id !== undefined
    }, 'the API answers again')
    assert.equal((await client.jobs.wait(id!)).job_status, 'completed')
    for (;;) if ((await receiver.next()).body.includes(id!)) return
  })

  test('every node stops cleanly when it is told to', async () => {
    for (const node of nodes) node.signal('SIGTERM')
    assert.deepEqual(await Promise.all(nodes.map((node) => node.exited)), [0, 0, 0])
  })
})
