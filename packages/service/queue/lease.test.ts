import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { syncAtOnce } from '../../store/sqlite/durable/sync-at-once.ts'
import { createLog, silentLog } from '../runtime/log.ts'
import { createLease } from './lease.ts'

syncAtOnce()

const folders: string[] = []
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

/** Opens a real store on a clock that the test advances. `away` cuts the store off. */
async function setUp(leaseMs = 30_000) {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-lease-'))
  folders.push(home)
  const clock = new FakeClock()
  const kept = await openStore({ url: '', home, clock, publicUrl: null })
  const state = { away: false, renewals: 0 }
  const store = new Proxy(kept, {
    get(target, name: keyof Store) {
      if (name !== 'renewNode') return target[name]
      return async (input: Parameters<Store['renewNode']>[0]) => {
        state.renewals += 1
        if (state.away) throw new AppError('store_unavailable', 'The store is away.')
        return kept.renewNode(input)
      }
    },
  })
  const node = { node_id: 'node-1', name: 'host:1', roles: ['worker'], version: '1' }
  const said: string[] = []
  const stream = { write: (line: string) => said.push((JSON.parse(line) as { msg: string }).msg) }
  const log = createLog({ level: 'info', format: 'json', stream })
  const lease = createLease({ store, clock, log, node, leaseMs })
  await lease.register()
  return { clock, store: kept, state, lease, said }
}

/** Advances the clock in steps that no sleeper misses, and lets the woken work run. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 500) {
    clock.advance(500)
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve))
  }
}

async function queuedJob(store: Store, assignment_id: string) {
  const workspace_id = 'default'
  const template = { template_id: 't', version: 'v', source: '# t', partials: {} }
  const rest = { variables: {}, presence_name: null, priority: 0, metadata: {}, user_id: 'u' }
  await store.createJob({ assignment_id, workspace_id, template, ...rest })
  await store.queueJob({ workspace_id, assignment_id })
  const [claimed] = await store.claimJobs({ node_id: 'node-1', limit: 1 })
  return claimed!.job
}

const ID = '019c0f5e-7a10-7c3b-9c55-3f0d8a1b2c3d'

test('renews every 10 s, so that the lease holds on for as long as the node lives', async () => {
  const { clock, store, lease, state } = await setUp()
  const control = new AbortController()
  const running = lease.run(control.signal)
  await advance(clock, 60_000)
  assert.equal(state.renewals, 6)
  assert.ok(lease.holds())
  const [node] = await store.listNodes()
  assert.ok(Date.parse(node!.lease_until) > clock.now() + 15_000)
  control.abort()
  await running
  assert.deepEqual(await store.listNodes(), [], 'it signs off')
  await store.close()
})

test('stops its own work before the lease ends where it cannot renew', async () => {
  const { clock, store, lease, state } = await setUp()
  const control = new AbortController()
  const running = lease.run(control.signal)
  const job = await queuedJob(store, ID)
  const hold = lease.hold({ assignment_id: ID, attempt: job.attempt, node_id: 'node-1' }, 'default')
  const [node] = await store.listNodes()
  const leaseEnds = Date.parse(node!.lease_until)
  state.away = true
  while (!hold.signal.aborted && clock.now() < leaseEnds) await advance(clock, 500)
  assert.equal(hold.reason, 'lapsed')
  assert.ok(clock.now() <= leaseEnds - 1000, 'with time left to kill the analysis')
  assert.ok(!lease.holds(), 'and it claims nothing more')
  state.away = false
  await advance(clock, 11_000)
  assert.ok(lease.holds(), 'it goes on by itself once the store is back')
  control.abort()
  await running
  await store.close()
})

test('a short lease is renewed as often in its time, and its work stops a second before it ends', async () => {
  const { clock, store, lease, state } = await setUp(3000)
  const control = new AbortController()
  const running = lease.run(control.signal)
  await advance(clock, 6000)
  assert.ok(state.renewals >= 4 && state.renewals <= 6, `${state.renewals}`)
  state.away = true
  const [node] = await store.listNodes()
  while (lease.holds()) await advance(clock, 500)
  assert.ok(clock.now() <= Date.parse(node!.lease_until) - 1000)
  control.abort()
  await running
  await store.close()
})

test('says why it could not be renewed, for as long as it cannot be, and that it is again', async () => {
  const { clock, store, lease, state, said } = await setUp()
  const control = new AbortController()
  const running = lease.run(control.signal)
  await advance(clock, 10_500)
  assert.equal(lease.trouble(), null)
  assert.ok(lease.left() > 25_000 && lease.left() <= 30_000)
  state.away = true
  await advance(clock, 11_000)
  assert.equal(typeof lease.trouble(), 'string')
  state.away = false
  await advance(clock, 2000)
  assert.equal(lease.trouble(), null)
  assert.deepEqual(said, ['the lease could not be renewed', 'the lease is renewed again'])
  control.abort()
  await running
  await store.close()
})

test('stops a canceled job at the next renewal, without any hint', async () => {
  const { clock, store, lease } = await setUp()
  const control = new AbortController()
  const running = lease.run(control.signal)
  const job = await queuedJob(store, ID)
  const hold = lease.hold({ assignment_id: ID, attempt: job.attempt, node_id: 'node-1' }, 'default')
  await store.cancelJob({ workspace_id: 'default', assignment_id: ID })
  assert.ok(!hold.signal.aborted)
  await advance(clock, 10_500)
  assert.equal(hold.reason, 'taken')
  control.abort()
  await running
  await store.close()
})

test('gives up everything and registers anew after it was reaped', async () => {
  const { clock, store, lease } = await setUp()
  const control = new AbortController()
  const running = lease.run(control.signal)
  const job = await queuedJob(store, ID)
  const hold = lease.hold({ assignment_id: ID, attempt: job.attempt, node_id: 'node-1' }, 'default')
  await store.reapNodes({ all: true })
  await advance(clock, 10_500)
  assert.equal(hold.reason, 'taken')
  assert.ok(lease.holds())
  assert.equal((await store.listNodes()).length, 1)
  const now = await store.getJob({ workspace_id: 'default', assignment_id: ID })
  assert.deepEqual([now?.job_status, now?.losses], ['queued', 1])
  control.abort()
  await running
  await store.close()
})

test('an answer that never comes does not stop the renewing', async () => {
  const { clock, store } = await setUp()
  let asked = 0
  const silent = new Proxy(store, {
    get(target, name: keyof Store) {
      if (name !== 'renewNode') return target[name]
      return (input: Parameters<Store['renewNode']>[0]) => {
        asked += 1
        return asked === 1 ? new Promise(() => undefined) : store.renewNode(input)
      }
    },
  })
  const node = { node_id: 'node-2', name: 'host:2', roles: ['worker'], version: '1' }
  const lease = createLease({ store: silent, clock, log: silentLog, node, leaseMs: 30_000 })
  await lease.register()
  const control = new AbortController()
  const running = lease.run(control.signal)
  await advance(clock, 40_000)
  assert.ok(asked >= 2)
  assert.ok(lease.holds())
  control.abort()
  await running
  await store.close()
})
