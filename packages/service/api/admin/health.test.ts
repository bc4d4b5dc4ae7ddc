import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import type { Store } from '@assay/store/store'
import { mountSmallDisk } from '../../../../proofs/chaos/faults.ts'
import { temporaryFolder } from '../../../../test/servers/service.ts'
import type { ApiDependencies } from '../dependencies.ts'
import { type Api, createApi } from '../server.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

/** Opens another API over the same parts, with those in `over` replaced. */
async function beside(t: TestContext, { parts }: TestServer, over: Partial<ApiDependencies>): Promise<Api> {
  const api = await createApi({ ...parts, ...over })
  t.after(() => api.close())
  return api
}

function storeWith(store: Store, over: Partial<Store>): Store {
  return new Proxy(store, {
    get: (kept, name) => (name in over ? over[name as keyof Store] : kept[name as keyof Store]),
  })
}

const never = <T>(): Promise<T> => new Promise(() => undefined)

async function queueNew(store: Store, workspace_id: string): Promise<void> {
  const assignment_id = uuidv7()
  const template = { template_id: 't', version: 'v', source: '# t', partials: {} }
  const rest = { variables: {}, presence_name: null, priority: 0, metadata: {}, user_id: 'u' }
  await store.createJob({ assignment_id, workspace_id, template, ...rest })
  await store.queueJob({ workspace_id, assignment_id })
}

const measuring = ({ tokens }: { tokens: { admin: string } }) => ({
  url: '/metrics',
  headers: { authorization: `Bearer ${tokens.admin}` },
})

/** Sends a request and advances the clock by `ms` until the answer arrives. */
async function after(clock: FakeClock, ms: number, api: Api, asking: string | ReturnType<typeof measuring>) {
  const asked = api.inject(asking)
  for (let passed = 0; passed < ms; passed += 100) {
    for (let pass = 0; pass < 5; pass += 1) await new Promise((resolve) => setImmediate(resolve))
    clock.advance(100)
  }
  return asked
}

test('a store that hangs is not ready within two seconds, and is measured without', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  const store = storeWith(opened.store, { ping: never, counts: never })
  const api = await beside(t, opened, { store })
  const ready = await after(clock, 2100, api, '/readyz')
  assert.equal(ready.statusCode, 503)
  assert.match(ready.payload, /did not answer within 1.5 seconds/)
  const metrics = await after(clock, 2100, api, measuring(opened))
  assert.equal(metrics.statusCode, 200)
  assert.match(metrics.payload, /process_cpu_seconds_total/)
  assert.doesNotMatch(metrics.payload, /^assay_jobs\{/m, 'what is not known is not told')
})

test('a node whose lease cannot be renewed, or whose clock is far off, is not ready, and says why', async (t) => {
  const opened = await openTestServer(t)
  let trouble: string | null = null
  let skew = 59_000
  const lease = { left: () => 12_000, trouble: () => trouble, skewMs: () => skew }
  const api = await beside(t, opened, { lease })
  assert.equal((await api.inject('/readyz')).statusCode, 200)
  trouble = 'The database cannot be used: the disk is full.'
  const answer = await api.inject('/readyz')
  assert.equal(answer.statusCode, 503)
  assert.match(answer.payload, /cannot be renewed: .*the disk is full/)
  assert.match((await api.inject(measuring(opened))).payload, /^assay_lease_left_seconds 12$/m)
  trouble = null
  skew = -3_600_000
  const late = await api.inject('/readyz')
  assert.equal(late.statusCode, 503)
  assert.match(late.payload, /The clock of this machine is 60 min behind that of the store: set it by NTP/)
  assert.match((await api.inject(measuring(opened))).payload, /^assay_clock_skew_seconds -3600$/m)
})

test('a node on SQLite whose disk is full is not ready, until it has room again', async (t) => {
  const { folder, remove } = temporaryFolder()
  const disk = mountSmallDisk(folder, 4)
  t.after(() => {
    disk?.remove()
    remove()
  })
  if (!disk) return t.skip('nobody may mount a small disk here')
  const api = await beside(t, await openTestServer(t), { home: folder })
  assert.equal((await api.inject('/readyz')).statusCode, 200)
  const empty = disk.fill()
  const answer = await api.inject('/readyz')
  assert.equal(answer.statusCode, 503)
  assert.match(answer.payload, /The disk of the home is full/)
  empty()
  assert.equal((await api.inject('/readyz')).statusCode, 200)
})

test('a database that was put back to before a migration is not ready', async (t) => {
  const { ask, folder } = await openTestServer(t)
  assert.equal((await ask('GET', '/readyz')).status, 200)
  const db = new DatabaseSync(path.join(folder, 'assay.db'))
  db.exec('DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)')
  db.close()
  const answer = await ask('GET', '/readyz')
  assert.equal(answer.status, 503)
  assert.match(answer.json().detail, /lacks the migration/)
})

test('tells the queues of the largest workspaces by name, and of the rest together', async (t) => {
  const clock = new FakeClock()
  const { ask, store } = await openTestServer(t, { clock })
  for (let index = 0; index < 23; index += 1) {
    const workspace_id = `team-${index}`
    await store.createWorkspace({ workspace_id, name: workspace_id, data_folder: null })
    for (let count = 0; count < (index < 3 ? 1 : 2); count += 1) await queueNew(store, workspace_id)
  }
  clock.advance(30_000)
  const { text } = await ask('GET', '/metrics')
  assert.match(text, /^assay_jobs\{job_status="queued"\} 43$/m)
  assert.match(text, /^assay_jobs\{job_status="executing"\} 0$/m)
  assert.doesNotMatch(
    text,
    /^assay_jobs\{job_status="completed"\}/m,
    'finished jobs are not counted, so none are told',
  )
  assert.match(text, /^assay_build_info\{version="\d+\.\d+\.\d+",node="\d+\.\d+\.\d+"\} 1$/m)
  assert.match(text, /^assay_queue_oldest_seconds 30$/m)
  assert.match(text, /^assay_workspace_jobs\{workspace_id="team-7",job_status="queued"\} 2$/m)
  assert.match(text, /^assay_workspace_jobs\{workspace_id="\(others\)",job_status="queued"\} 3$/m)
  assert.match(text, /^assay_workspace_queue_oldest_seconds\{workspace_id="team-7"\} 30$/m)
  assert.equal(text.match(/^assay_workspace_jobs\{/gm)?.length, 21)
})

test('counts the store once in five seconds, however many ask', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  let counted = 0
  const counts = (): ReturnType<Store['counts']> => {
    counted += 1
    return opened.store.counts()
  }
  const api = await beside(t, opened, { store: storeWith(opened.store, { counts }) })
  await Promise.all(Array.from({ length: 9 }, () => api.inject(measuring(opened))))
  assert.equal(counted, 1)
  clock.advance(5000)
  await api.inject(measuring(opened))
  assert.equal(counted, 2)
})

test('shows the operator webhooks in trouble and the disk beside the queue', async (t) => {
  const opened = await openTestServer(t)
  const api = await beside(t, opened, { home: opened.folder })
  const headers = { authorization: `Bearer ${opened.tokens.admin}` }
  const queue = JSON.parse((await api.inject({ url: '/v1alpha/queue', headers })).payload) as {
    webhooks: unknown
    disk: { free_bytes: number; total_bytes: number }
  }
  assert.deepEqual(queue.webhooks, { failing: 0, disabled: 0 })
  assert.ok(queue.disk.total_bytes > queue.disk.free_bytes)
})
