import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { syncAtOnce } from '../../store/sqlite/durable/sync-at-once.ts'
import { silentLog } from '../runtime/log.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { createReaper } from './reaper.ts'

syncAtOnce()

const folders: string[] = []
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

const workspace_id = 'default'
const DAY_MS = 86_400_000

async function setUp() {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-reaper-'))
  folders.push(home)
  const clock = new FakeClock()
  const kept = await openStore({ url: '', home, clock, publicUrl: null })
  /** `kinds`: those of each batch. `flood`: each batch of drafts is full. */
  const state = { away: false, kinds: [] as string[], endless: false, flood: false }
  const store = new Proxy(kept, {
    get(target, name: keyof Store) {
      const method = target[name]
      if (name === 'prune' && !state.away)
        return async (input: Parameters<Store['prune']>[0]) => {
          state.kinds.push(input.kinds!.join(' '))
          if (state.endless) return new Promise(() => undefined)
          const pruned = await target.prune(input)
          return state.flood ? { ...pruned, drafts: 50 } : pruned
        }
      if (typeof method !== 'function' || !state.away) return method
      return () => Promise.reject(new AppError('store_unavailable', 'The store is away.'))
    },
  })
  const reaper = createReaper({
    store,
    node_id: 'the reaper',
    clock,
    log: silentLog,
    keep: {
      jobs_ms: 30 * DAY_MS,
      drafts_ms: 30 * DAY_MS,
      events_ms: 30 * DAY_MS,
      deliveries_ms: 30 * DAY_MS,
    },
    keepAuditMs: 365 * DAY_MS,
    leaseMs: 30_000,
    metrics: createMetrics(),
  })
  const control = new AbortController()
  const running = reaper.run(control.signal)
  const stop = async (): Promise<void> => {
    control.abort()
    if (!state.endless) await running
    await kept.close()
  }
  return { store: kept, clock, state, stop }
}

async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    clock.advance(500)
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve))
  }
}

async function draft(store: Store): Promise<string> {
  const assignment_id = uuidv7()
  const template = { template_id: 't', version: 'v', source: '# t', partials: {} }
  const rest = { variables: {}, presence_name: null, priority: 0, metadata: {}, user_id: 'u' }
  await store.createJob({ assignment_id, workspace_id, template, ...rest })
  return assignment_id
}

async function enqueue(store: Store): Promise<string> {
  const assignment_id = await draft(store)
  await store.queueJob({ workspace_id, assignment_id })
  return assignment_id
}

const node = (node_id: string) => ({
  node_id,
  name: node_id,
  roles: ['worker'],
  version: '1',
  lease_ms: 30_000,
})

test('puts back the job of a node whose lease has run out, with a loss', async () => {
  const { store, clock, stop } = await setUp()
  await store.registerNode(node('dead'))
  const assignment_id = await enqueue(store)
  await store.claimJobs({ node_id: 'dead', limit: 1 })
  await advance(clock, 29_000)
  assert.equal((await store.getJob({ workspace_id, assignment_id }))?.job_status, 'active')
  await advance(clock, 8000)
  const job = await store.getJob({ workspace_id, assignment_id })
  assert.deepEqual([job?.job_status, job?.losses], ['queued', 1])
  assert.deepEqual(await store.listNodes(), [])
  await stop()
})

test('puts back the job of a lost node while a deletion of old rows takes long', async () => {
  const { store, clock, state, stop } = await setUp()
  state.endless = true
  await advance(clock, 61_000)
  assert.equal(state.kinds.length, 1)
  await store.registerNode(node('dead'))
  const assignment_id = await enqueue(store)
  await store.claimJobs({ node_id: 'dead', limit: 1 })
  await advance(clock, 37_000)
  assert.equal((await store.getJob({ workspace_id, assignment_id }))?.job_status, 'queued')
  await stop()
})

test('leaves the nodes time to renew when the store comes back from an outage', async () => {
  const { store, clock, state, stop } = await setUp()
  await store.registerNode(node('alive'))
  await advance(clock, 7000)
  state.away = true
  await advance(clock, 60_000)
  state.away = false
  // A node that is alive asks once a second, which is more often than the reaper looks.
  for (let second = 0; second < 8; second += 1) {
    await advance(clock, 1000)
    await store.renewNode({ node_id: 'alive', lease_ms: 30_000, held: [] })
  }
  await advance(clock, 8000)
  assert.equal((await store.listNodes()).length, 1)
  await stop()
})

test('deletes what has been kept long enough, and nothing younger', async () => {
  const { store, clock, stop } = await setUp()
  const old = await enqueue(store)
  await store.cancelJob({ workspace_id, assignment_id: old })
  clock.advance(20 * DAY_MS)
  const young = await enqueue(store)
  await store.cancelJob({ workspace_id, assignment_id: young })
  clock.advance(11 * DAY_MS)
  await advance(clock, 70_000)
  assert.equal(await store.getJob({ workspace_id, assignment_id: old }), null)
  assert.ok(await store.getJob({ workspace_id, assignment_id: young }))
  await stop()
})

const ALL = 'jobs drafts events deliveries workspaces other'

test('deletes on only of the kinds that had a full batch', async () => {
  const { store, clock, state, stop } = await setUp()
  for (let made = 0; made < 120; made += 1) await draft(store)
  clock.advance(31 * DAY_MS)
  await advance(clock, 30_000)
  assert.deepEqual(state.kinds, [ALL, 'drafts', 'drafts'])
  const left = await store.listJobs({ workspace_id, limit: 1 })
  assert.deepEqual(left.items, [])
  await stop()
})

test('looks at every kind each minute, also while one has full batches without end', async () => {
  const { clock, state, stop } = await setUp()
  state.flood = true
  await advance(clock, 185_000)
  const rounds = state.kinds.filter((kinds) => kinds === ALL).length
  assert.ok(rounds >= 3, `${rounds} rounds of all kinds in three minutes`)
  assert.ok(state.kinds.length > 10 * rounds, 'and many batches of the one')
  await stop()
})
