/**
 * Tests a PostgreSQL that fails over: its primary dies, a streaming standby answers before it is promoted, and then
 * takes over. Also tests a node whose machine shows another time than the database.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Client, createClient } from '@assay/client'
import { Client as PostgresClient } from 'pg'
import { Webhook } from 'standardwebhooks'
import { missingPostgres, type Postgres, startOwnPostgres } from '../servers/postgres.ts'
import { type Proxy, startProxy } from '../servers/proxy.ts'
import { startReceiver } from '../servers/receiver.ts'
import { eventually, isAlive, type Service, startService, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'assay-failover-test-token'
const DATABASE = 'assay_failover'
const missing = await missingPostgres()
const { folder, remove } = temporaryFolder()
const clock = path.join(folder, 'clock')

const SLOW = `---
title: Slow
---
\`\`\`sql pairs
select count(*) as n from range(20000) a, range(20000) b where (a.range * b.range) % 7 = 3
\`\`\`
# {{ pairs | first: "n" }}
`

async function ask(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new PostgresClient({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

/** Returns the node's analysis processes that run a task now. */
async function busy(url: string): Promise<number> {
  const metrics = await (
    await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })
  ).text()
  return Number(/^assay_analysis_children\{state="busy"\} (\d+)$/m.exec(metrics)?.[1])
}

suite('a failover of PostgreSQL', {
  skip: process.env.ASSAY_TEST_POSTGRES ? 'the server is not ours' : (missing ?? false),
}, () => {
  let primary: Postgres
  let standby: Postgres
  let way: Proxy
  let node: Service
  let client: Client

  before(async () => {
    primary = await startOwnPostgres()
    const url = await primary.createDatabase(DATABASE)
    standby = await primary.standby!()
    // The primary answers a commit when the standby has it, so that no accepted job is lost with the primary.
    await ask(url, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await ask(url, 'SELECT pg_reload_conf()')
    await eventually(
      async () => (await ask(url, `SELECT sync_state FROM pg_stat_replication`))[0]?.sync_state === 'sync',
      'the standby is synchronous',
    )
    way = await startProxy({ host: '127.0.0.1', port: primary.port! })
    node = await startService({
      home: folder,
      wrapped: false,
      env: {
        ASSAY_STORE: `postgres://postgres@127.0.0.1:${way.port}/${DATABASE}`,
        ASSAY_SECRET_KEY: '11'.repeat(32),
        ASSAY_TOKEN: TOKEN,
        ASSAY_LEASE: '10s',
        ASSAY_WEBHOOK_TARGETS: 'loopback',
        ASSAY_TEST_CLOCK: clock,
        NODE_OPTIONS: `--import=${pathToFileURL(path.join(import.meta.dirname, '../servers/shift-clock.ts')).href}`,
      },
    })
    client = createClient({ url: node.url, token: TOKEN })
  })
  after(async () => {
    node?.signal('SIGTERM')
    await node?.exited
    await way?.close()
    await standby?.stop()
    remove()
  })

  test('ends no node and loses no accepted job, and /readyz reports it until a standby is promoted', async () => {
    await client.templates.put('slow', SLOW)
    await client.templates.put('short', '# Short\n')
    const jobs: string[] = []
    // One job runs at a time, and the others wait.
    for (const template_id of ['slow', 'short', 'short']) {
      const id = await client.jobs.create({ template_id })
      await client.jobs.run(id)
      jobs.push(id)
    }
    await eventually(async () => (await client.jobs.status(jobs[0]!)).job_status === 'executing', 'one runs')

    way.redirect({ host: '127.0.0.1', port: standby.port! })
    await primary.stop()
    await eventually(async () => (await fetch(`${node.url}/readyz`)).status === 503, 'the node is not ready')
    // The standby answers now and takes no writes. The analysis ends, and its outcome cannot be written.
    await eventually(async () => (await busy(node.url)) === 0, 'the analysis has ended')
    const once = createClient({ url: node.url, token: TOKEN, retries: 0 })
    await assert.rejects(once.jobs.create({ template_id: 'slow' }), {
      status: 503,
      code: 'store_unavailable',
    })
    const unready = await fetch(`${node.url}/readyz`)
    assert.equal(unready.status, 503)
    assert.match(await unready.text(), /standby/)

    await standby.promote()
    await eventually(
      async () => (await fetch(`${node.url}/readyz`)).status === 200,
      'the node is ready again',
    )
    for (const id of jobs)
      await eventually(
        async () => (await client.jobs.status(id)).job_status === 'completed',
        `the job ${id} ends`,
      )
    assert.ok(isAlive(node.server), 'the node never ended')
  })

  test('a node an hour behind signs by the clock of the database, and is not ready until its own is set', async (t) => {
    const receiver = await startReceiver()
    t.after(() => receiver.close())
    const { signing_secret } = await client.webhooks.create({
      url: receiver.url,
      user_id: 'ada',
      presence_name: 'ops',
    })
    const set = async (ms: number, status: number): Promise<string> => {
      writeFileSync(clock, String(ms))
      node.signal('SIGUSR2')
      let said = ''
      await eventually(async () => {
        const answer = await fetch(`${node.url}/readyz`)
        said = await answer.text()
        return answer.status === status
      }, `/readyz answers ${status}`)
      return said
    }
    assert.match(await set(-3_600_000, 503), /The clock of this machine is 60 min behind that of the store/)
    const id = await client.jobs.create({ template_id: 'short', presence_name: 'ops' })
    await client.jobs.run(id)
    const { body, headers } = await receiver.next()
    // The library refuses a timestamp that is more than five minutes off.
    new Webhook(signing_secret!).verify(body.toString(), headers as Record<string, string>)
    await set(0, 200)
  })
})
