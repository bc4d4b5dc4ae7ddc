/**
 * Tests nodes on one PostgreSQL that die, are cut off, are told to stop and are replaced: which node continues their
 * work, and when. The lease is the shortest that may be set; ASSAY_TEST_LEASE=30 uses the default, in seconds.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { after, before, suite, test } from 'node:test'
import { type Client, createClient } from '@assay/client'
import { type ChaosNode, freePort, keepNode } from '../../proofs/chaos/cluster.ts'
import { missingPostgres, type Postgres, startPostgres } from '../servers/postgres.ts'
import { type Proxy, startProxy } from '../servers/proxy.ts'
import { modes, type Receiver, startReceiver } from '../servers/receiver.ts'
import { descendants, eventually, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'assay-takeover-test-token'
const LEASE_MS = Number(process.env.ASSAY_TEST_LEASE ?? 3) * 1000
/**
 * The longest milliseconds from the end of a lease to a takeover: the lease's length again, or twice the start time
 * of a node on a slow machine.
 */
let slackMs = LEASE_MS
/** The milliseconds for which a stopping node reports that it stops and still answers. */
const LINGER_MS = 2000
const LINGER = { ASSAY_LINGER: `${LINGER_MS}ms` }
const DATABASE = `assay_takeover_${process.pid}`
const missing = await missingPostgres()

/** A template that never ends. */
const LONG = `---
title: Long
limits: { timeout: 10m }
---
\`\`\`sql pairs
select count(*) as n from range(30000000) a, range(30000000) b where (a.range * b.range) % 7 = 3
\`\`\`
# {{ pairs | first: "n" }}
`
const SHORT = '---\ntitle: Short\n---\n```sql one\nselect 1 as n\n```\n# {{ one | first: "n" }}\n'

suite('who goes on with the work of a node', { skip: missing ?? false }, () => {
  const { folder, remove } = temporaryFolder()
  let postgres: Postgres
  let target: URL
  let client: Client
  let receiver: Receiver
  /** The node that has taken over the work of the killed one. */
  let survivor: ChaosNode
  const nodes: ChaosNode[] = []
  const proxies: Proxy[] = []

  /** Adds a node with its own connection to the database, and waits until it is ready. */
  async function addNode(roles: string, extra: Record<string, string> = {}): Promise<ChaosNode> {
    const proxy = await startProxy({ host: target.hostname, port: Number(target.port) })
    proxies.push(proxy)
    const url = new URL(target)
    url.port = String(proxy.port)
    const name = `node-${nodes.length + 1}`
    const env = {
      ASSAY_STORE: url.href,
      ASSAY_SECRET_KEY: 'a1'.repeat(32),
      ASSAY_TOKEN: TOKEN,
      ASSAY_LEASE: `${LEASE_MS}ms`,
      ASSAY_WORKERS: '1',
      ASSAY_WEBHOOK_TARGETS: 'loopback',
      ASSAY_DRAIN: '0s',
      ...extra,
    }
    const node = keepNode({
      name,
      roles,
      port: await freePort(),
      folder: path.join(folder, name),
      env,
      proxy,
    })
    nodes.push(node)
    const begun = performance.now()
    await eventually(() => node.ready(), `${name} is ready`)
    slackMs = Math.max(slackMs, 2 * (performance.now() - begun))
    return node
  }

  async function run(template_id: string): Promise<string> {
    const id = await client.jobs.create({ template_id })
    await client.jobs.run(id)
    return id
  }

  const isRunning = (id: string, attempt: number) => async (): Promise<boolean> => {
    const job = await client.jobs.status(id)
    return job.job_status === 'executing' && job.attempt === attempt
  }

  async function movesOf(id: string): Promise<{ job_status: string; attempt: number; at: string }[]> {
    const headers = { authorization: `Bearer ${TOKEN}`, accept: 'text/event-stream', 'last-event-id': '0' }
    const answer = await fetch(`${nodes[0]!.url}/v1alpha/jobs/events?assignment_id=${id}`, { headers })
    const text = await answer.text()
    return [...text.matchAll(/^event: status\ndata: (.*)$/gm)].map(
      ([, data]) => JSON.parse(data!) as { job_status: string; attempt: number; at: string },
    )
  }

  before(async () => {
    postgres = await startPostgres()
    target = new URL(await postgres.createDatabase(DATABASE))
    receiver = await startReceiver({ mode: modes.ok() })
    const api = await addNode('api', LINGER)
    client = createClient({ url: api.url, token: TOKEN })
    await client.templates.put('long', LONG)
    await client.templates.put('short', SHORT)
  })
  after(async () => {
    await Promise.all(nodes.map((node) => node.close()))
    for (const proxy of proxies) await proxy.close()
    await receiver.close()
    await postgres.dropDatabase(DATABASE)
    await postgres.stop()
    remove()
  })

  test('the job and the delivery of a killed node go on with another as soon as the lease has ended', async (context) => {
    const victim = await addNode('worker,dispatcher')
    const id = await run('long')
    await eventually(isRunning(id, 1), 'it runs')
    receiver.answer(modes.hang())
    const { webhook_id } = await client.webhooks.create({
      url: `${receiver.url}/hook`,
      user_id: 'ada',
      presence_name: 'takeover',
      events: ['job.canceled'],
    })
    const draft = await client.jobs.create({ template_id: 'short' })
    await client.jobs.cancel(draft)
    const first = await receiver.next()
    receiver.answer(modes.ok())
    survivor = await addNode('worker,dispatcher')
    await victim.close('SIGKILL')
    const killed = Date.now()
    await eventually(isRunning(id, 2), 'it runs elsewhere', LEASE_MS + slackMs)
    context.diagnostic(`taken over ${Date.now() - killed} ms after the kill, lease ${LEASE_MS}`)
    const second = await receiver.next()
    const waited = second.at - killed
    assert.ok(waited < LEASE_MS + slackMs, `${waited} ms`)
    assert.equal(second.headers['webhook-id'], first.headers['webhook-id'])
    assert.deepEqual(second.body, first.body)
    context.diagnostic(`made again ${waited} ms after the kill, lease ${LEASE_MS}`)
    await client.webhooks.delete(webhook_id)
    await client.jobs.cancel(id)
  })

  test('a node cut off from the database stops its own work before another can own it', async (context) => {
    const lonely = survivor
    const id = await run('long')
    await eventually(isRunning(id, 1), 'it runs')
    const busy = (): boolean => ticksOf(lonely) > 0
    await eventually(() => busy(), 'its process works')
    const other = await addNode('worker')
    lonely.proxy!.silence()
    await eventually(isRunning(id, 2), 'it runs elsewhere', LEASE_MS + 2 * slackMs)
    const before = ticksOf(lonely)
    await client.jobs.cancel(id)
    // An idle process uses almost no time. One tick is a hundredth of a second.
    assert.ok(ticksOf(lonely) - before < 20, 'its processes have nothing to do')
    const takenAt = (await movesOf(id)).find((move) => move.job_status === 'active' && move.attempt === 2)!.at
    // The connection to the database works again, but earlier connections are dead. silence.test.ts tests how a store
    // finds that out by itself.
    lonely.proxy!.cut()
    lonely.proxy!.mend()
    await eventually(() => lapseIn(lonely, id) !== null, 'it says when it stopped')
    const lapsedAt = lapseIn(lonely, id)!
    assert.ok(lapsedAt < takenAt, `stopped at ${lapsedAt}, taken at ${takenAt}`)
    context.diagnostic(`it stopped at ${lapsedAt}, the other began at ${takenAt}`)
    const next = await run('short')
    await other.close()
    assert.equal((await client.jobs.wait(next)).job_status, 'completed', 'and it works again by itself')
  })

  test('nodes that are told to stop give their job back, however often, and it counts as no loss', async () => {
    const id = await run('long')
    // A worker lost for the third time would end the job.
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const worker = attempt === 1 ? survivor : await addNode('worker')
      await eventually(isRunning(id, attempt), `attempt ${attempt} runs`)
      await worker.close()
      const job = await client.jobs.status(id)
      assert.deepEqual([job.job_status, job.attempt], ['queued', attempt])
    }
    await client.jobs.cancel(id)
  })

  test('nodes are replaced one after another under load, and no request fails', async (context) => {
    const rolled = [nodes[0]!, await addNode('api', LINGER)]
    const over = new AbortController()
    const balancer = startBalancer(rolled)
    const answers = new Map<string, number>()
    const failures: string[] = []
    const load = async (): Promise<void> => {
      for (let nth = 0; !over.signal.aborted; nth += 1) {
        const answer =
          nth % 3 === 0
            ? await balancer.send('GET', '/v1alpha/jobs/?limit=5')
            : await balancer.send('POST', '/v1alpha/jobs/')
        answers.set(answer, (answers.get(answer) ?? 0) + 1)
        if (answer !== '200') failures.push(answer)
      }
    }
    const loading = Promise.all([load(), load(), load(), load()])
    for (const node of rolled) {
      const starts = node.starts
      node.signal('SIGTERM')
      await eventually(() => node.starts > starts && node.ready(), 'the next one is ready')
      await eventually(() => balancer.members().includes(node), 'the balancer sends to it')
    }
    over.abort()
    await loading
    await balancer.close()
    assert.deepEqual(failures, [])
    context.diagnostic(JSON.stringify(Object.fromEntries(answers)))
    await Promise.all(rolled.map((node) => node.close()))
  })
})

/** Returns the hundredths of a second for which the analysis processes of a node have worked. */
function ticksOf(node: ChaosNode): number {
  return descendants(node.pid()!)
    .map((pid) => {
      try {
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
        return Number(fields[11]) + Number(fields[12])
      } catch {
        return 0
      }
    })
    .reduce((sum, ticks) => sum + ticks, 0)
}

/**
 * Returns the time at which the node logged that it stopped its attempt because it had lost its lease; null if it did
 * not.
 */
function lapseIn(node: ChaosNode, id: string): string | null {
  for (const line of readFileSync(node.logFile, 'utf8').split('\n')) {
    if (!line.includes(id) || !line.includes('"stopped":"lapsed"')) continue
    const { time, settle_ms } = JSON.parse(line) as { time: string; settle_ms: number }
    return new Date(Date.parse(time) - settle_ms).toISOString()
  }
  return null
}

/** Sends one request over a connection of its own. Resolves with its status, or with the reason why there is none. */
function sendOnce(url: string, method: string, target: string): Promise<string> {
  const body =
    method === 'POST' ? JSON.stringify({ payload: { type: 'template', template_id: 'short' } }) : undefined
  const headers = {
    authorization: `Bearer ${TOKEN}`,
    'content-type': 'application/json',
    connection: 'close',
  }
  return new Promise((resolve) => {
    const sent = request(`${url}${target}`, { method, headers, agent: false }, (response) => {
      response.resume()
      response.on('end', () => resolve(String(response.statusCode)))
    })
    sent.setTimeout(60_000, () => sent.destroy(new Error('no answer in 60 s')))
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    sent.end(body)
  })
}

/**
 * A load balancer. It asks each node again and again whether it is ready, and sends to those that said so a moment
 * ago, never twice. A node that has not answered within half of its linger time gets nothing, however busy the
 * machine is.
 */
function startBalancer(nodes: ChaosNode[]) {
  /** The times at which the ready nodes were last asked. */
  const ready = new Map<ChaosNode, number>()
  let turn = 0
  const over = new AbortController()
  const members = (): ChaosNode[] =>
    nodes.filter((node) => performance.now() - (ready.get(node) ?? -Infinity) < LINGER_MS / 2)
  const ask = async (node: ChaosNode): Promise<void> => {
    while (!over.signal.aborted) {
      const asked = performance.now()
      if ((await sendOnce(node.url, 'GET', '/readyz')) === '200') ready.set(node, asked)
      else ready.delete(node)
      await new Promise((resolve) => setTimeout(resolve, LINGER_MS / 20))
    }
  }
  const asking = nodes.map(ask)
  return {
    members,
    async send(method: string, target: string): Promise<string> {
      let fresh: ChaosNode[] = members()
      if (fresh.length === 0)
        await eventually(() => {
          fresh = members()
          return fresh.length > 0
        }, 'a node is ready')
      turn += 1
      return sendOnce(fresh[turn % fresh.length]!.url, method, target)
    },
    async close() {
      over.abort()
      await Promise.all(asking)
    },
  }
}
