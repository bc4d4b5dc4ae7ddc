import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import type { Pool, RunOptions } from '@assay/engine/run/pool'
import type { RunResult, RunTask } from '@assay/engine/run/protocol'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { jobEventData } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import type { Findings } from '@assay/model/insight'
import type { JobStatus } from '@assay/model/job'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { syncAtOnce } from '../../store/sqlite/durable/sync-at-once.ts'
import { openConnections } from '../connections/connection-registry.ts'
import { silentLog } from '../runtime/log.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { createLease } from './lease.ts'
import { createWorker } from './worker.ts'

syncAtOnce()

const folders: string[] = []
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

const workspace_id = 'default'
const FINDINGS = {
  title: 'Found',
  markdown: '# Found\n',
  tables: {},
  charts: [],
  analyses: {},
  facts: [],
  lineage: { peak_memory_bytes: 1 },
  chart_form: 'none',
  template_id: 't',
  template_version: 'v',
  skipped: null,
} as unknown as Findings
const DONE: RunResult = { status: 'done', findings: FINDINGS }

interface Run {
  task: Omit<RunTask, 'caps'>
  options: RunOptions
  end(result: RunResult): void
}

/**
 * A pool whose runs the test ends. The first `slots` runs have a slot from the start. A run whose signal is aborted
 * ends as `stopped`, as in the real pool.
 */
function testPool(slots = Infinity) {
  const runs: Run[] = []
  const pool = {
    run: (task: Omit<RunTask, 'caps'>, options: RunOptions) =>
      new Promise<RunResult>((resolve) => {
        runs.push({ task, options, end: resolve })
        if (runs.length <= slots) options.onBegin?.()
        options.signal?.addEventListener('abort', () => resolve({ status: 'stopped' }))
      }),
  } as unknown as Pool
  return { pool, runs }
}

async function setUp({ concurrency = 1, drainMs = 1000, slots = Infinity } = {}) {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-worker-'))
  folders.push(home)
  const clock = new FakeClock()
  const kept = await openStore({ url: '', home, clock, publicUrl: null })
  /** The methods of the store that throw as if the store were away. */
  const away = new Set<keyof Store>()
  /** The methods of the store that throw an unexpected error. */
  const broken = new Set<keyof Store>()
  /** The methods of the store that never answer. */
  const silent = new Set<keyof Store>()
  /** The methods of the store that do their work but lose the answer. */
  const lost = new Set<keyof Store>()
  const store = new Proxy(kept, {
    get(target, name: keyof Store) {
      const method = target[name]
      if (typeof method !== 'function') return method
      return (...input: never[]) => {
        if (away.has(name)) return Promise.reject(new AppError('store_unavailable', 'The store is away.'))
        if (silent.has(name)) return new Promise(() => undefined)
        if (broken.has(name)) return Promise.reject(new Error('cache lookup failed for relation 1259'))
        const answer = (method as (...input: never[]) => unknown)(...input)
        if (!lost.has(name)) return answer
        return Promise.resolve(answer).then(() => {
          throw new AppError('store_unavailable', 'The connection broke at COMMIT.')
        })
      }
    },
  })
  const node = { node_id: 'node-1', name: 'host:1', roles: ['worker'], version: '1' }
  const lease = createLease({ store, clock, log: silentLog, node, leaseMs: 30_000 })
  await lease.register()
  const { pool, runs } = testPool(slots)
  const worker = createWorker({
    store,
    pool,
    lease,
    sample: { 'a.csv': '/a.csv' },
    data: '/data',
    connections: await openConnections({ store, secrets: null, file: null, targets: null, environment: {} }),
    node_id: node.node_id,
    concurrency,
    drainMs,
    clock,
    log: silentLog,
    metrics: createMetrics(),
  })
  const control = new AbortController()
  const running = worker.run(control.signal)
  const state = async (assignment_id: string) => (await kept.getJob({ workspace_id, assignment_id }))!
  return { store: kept, clock, away, broken, lost, silent, runs, running, stop: () => control.abort(), state }
}

async function enqueue(store: Store, source = '# t'): Promise<string> {
  const assignment_id = uuidv7()
  const template = { template_id: 't', version: source === '# t' ? 'v' : 'w', source, partials: {} }
  const rest = { variables: { a: 1 }, presence_name: null, priority: 0, metadata: {}, user_id: 'u' }
  await store.createJob({ assignment_id, workspace_id, template, ...rest })
  await store.queueJob({ workspace_id, assignment_id })
  return assignment_id
}

/** Lets all work that is due run until the condition holds. It advances the clock only if it is given one. */
async function until(holds: () => boolean | Promise<boolean>, clock?: FakeClock): Promise<void> {
  for (let round = 0; round < 5000; round += 1) {
    if (await holds()) return
    await new Promise((resolve) => setImmediate(resolve))
    clock?.advance(100)
  }
  assert.fail('it did not come to pass')
}

test('runs a queued job to its insight, with its version, variables and folders', async () => {
  const { store, clock, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  const { task, options } = runs[0]!
  assert.equal(task.template.source, '# t')
  assert.deepEqual(task.variables, { a: 1 })
  assert.deepEqual(task.roots, { sample: { 'a.csv': '/a.csv' }, data: '/data' })
  assert.equal(options.workspace_id, workspace_id)
  await until(async () => (await state(id)).job_status === 'executing', clock)
  runs[0]!.end(DONE)
  await until(async () => (await state(id)).job_status === 'completed')
  const job = await state(id)
  assert.deepEqual(
    job.moves.map((move) => move.job_status),
    ['draft', 'queued', 'active', 'executing', 'completed'] satisfies JobStatus[],
  )
  const insight = await store.getInsight({ workspace_id, insight_id: job.insight_id! })
  assert.equal(insight?.markdown, '# Found\n')
  stop()
  await running
  await store.close()
})

test('a template that asks what is new gets the analyses that were delivered last, also after a lost attempt', async () => {
  const { store, clock, runs, state, stop, running } = await setUp()
  const ask = '{{ a.new.size }}'
  const analyses = { a: { headline: 'One.' } }
  const deliver = async (skipped: 'condition' | null): Promise<void> => {
    const id = await enqueue(store, ask)
    const before = runs.length
    await until(() => runs.length === before + 1, clock)
    runs.at(-1)!.end({ status: 'done', findings: { ...FINDINGS, analyses, skipped } as unknown as Findings })
    await until(async () => (await state(id)).job_status === 'completed', clock)
  }
  await deliver('condition')
  await deliver(null)
  assert.deepEqual(
    runs.map(({ task }) => task.delivered),
    [null, null],
  )
  const id = await enqueue(store, ask)
  await until(() => runs.length === 3, clock)
  assert.deepEqual(runs[2]!.task.delivered, analyses)
  runs[2]!.end({ status: 'crashed', detail: 'gone' })
  await until(() => runs.length === 4, clock)
  assert.deepEqual(runs[3]!.task.delivered, analyses)
  runs[3]!.end(DONE)
  await until(async () => (await state(id)).job_status === 'completed', clock)
  await enqueue(store)
  await until(() => runs.length === 5, clock)
  assert.equal(runs[4]!.task.delivered, null)
  runs[4]!.end(DONE)
  stop()
  await running
  await store.close()
})

test('a job that ends within moments has its start written with its end, at the time when it began', async () => {
  const { store, clock, runs, state, stop, running } = await setUp()
  const ids = [await enqueue(store), await enqueue(store)]
  await until(() => runs.length === 1)
  clock.advance(40)
  assert.equal((await state(ids[0]!)).job_status, 'active')
  runs[0]!.end(DONE)
  await until(() => runs.length === 2)
  clock.advance(40)
  runs[1]!.end({ status: 'failed', error: { code: 'analysis_failed', detail: 'No such column.' } })
  for (const id of ids) await until(async () => (await state(id)).finished_at !== null)
  for (const [index, last] of (['completed', 'canceled'] as const).entries()) {
    const job = await state(ids[index]!)
    assert.deepEqual(
      job.moves.map((move) => move.job_status),
      ['draft', 'queued', 'active', 'executing', last],
    )
    assert.equal(Date.parse(job.finished_at!) - Date.parse(job.started_at!), 40)
    assert.equal(job.started_at, job.moves[3]?.at)
  }
  const { items } = await store.listEvents({ workspace_id, limit: 9, order: 'oldest' })
  assert.deepEqual(
    items.slice(2).map(({ type }) => type),
    ['job.started', 'job.completed', 'job.started', 'job.failed'],
  )
  stop()
  await running
  await store.close()
})

test('a job that waits for an analysis process is not executing until it has one', async () => {
  const { store, clock, runs, state, stop, running } = await setUp({ slots: 0 })
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  for (let round = 0; round < 50; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(100)
  }
  assert.equal((await state(id)).job_status, 'active')
  runs[0]!.options.onBegin!()
  await until(async () => (await state(id)).job_status === 'executing', clock)
  runs[0]!.end(DONE)
  await until(async () => (await state(id)).job_status === 'completed')
  stop()
  await running
})

test('a failed analysis ends its job with the error', async () => {
  const { store, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  runs[0]!.end({ status: 'failed', error: { code: 'timed_out', detail: 'Too slow.' } })
  await until(async () => (await state(id)).job_status === 'canceled')
  assert.deepEqual((await state(id)).error, { code: 'timed_out', detail: 'Too slow.' })
  stop()
  await running
  await store.close()
})

test('a failed job tells its steps with their times, also where its process was ended, and its event does not', async () => {
  const { store, clock, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  const error = { code: 'timed_out', detail: 'Too slow.' } as const
  for (const [at, label] of ['source sales', 'daily', 'daily'].entries()) {
    runs[0]!.options.onProgress!({ percent: 10 * at, step: Math.min(at, 1) + 1, steps: 3, label })
    clock.advance(30)
  }
  runs[0]!.end({ status: 'failed', error })
  await until(async () => (await state(id)).job_status === 'canceled')
  const job = await state(id)
  assert.deepEqual(job.error, {
    ...error,
    steps: [
      { name: 'source sales', elapsed_ms: 30 },
      { name: 'daily', elapsed_ms: 60 },
    ],
  })
  assert.deepEqual(jobEventData(job, null).error, error)
  const second = await enqueue(store)
  await until(() => runs.length === 2)
  const steps = [{ name: 'all', elapsed_ms: 2 }]
  runs[1]!.end({ status: 'failed', error, steps })
  await until(async () => (await state(second)).job_status === 'canceled')
  assert.deepEqual((await state(second)).error, { ...error, steps })
  stop()
  await running
  await store.close()
})

test('a claim whose answer was lost is given back, and its job runs', async () => {
  const { store, clock, lost, runs, state, stop, running } = await setUp()
  lost.add('claimJobs')
  const id = await enqueue(store)
  await until(async () => (await state(id)).job_status === 'active')
  assert.equal(runs.length, 0, 'nobody knows of it')
  lost.clear()
  await until(() => runs.length === 1, clock)
  runs[0]!.end(DONE)
  await until(async () => (await state(id)).job_status === 'completed')
  const { attempt, losses } = await state(id)
  assert.deepEqual([attempt, losses], [2, 0])
  stop()
  await running
  await store.close()
})

test('stops a running analysis at once when its job is canceled', async () => {
  const { store, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  await store.cancelJob({ workspace_id, assignment_id: id })
  await until(() => runs[0]!.options.signal!.aborted)
  assert.equal((await state(id)).error?.code, 'canceled_by_user')
  const next = await enqueue(store)
  await until(() => runs.length === 2)
  runs[1]!.end(DONE)
  await until(async () => (await state(next)).job_status === 'completed')
  stop()
  await running
  await store.close()
})

test('a job whose process dies is tried three times and then ends', async () => {
  const { store, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await until(() => runs.length === attempt)
    runs[attempt - 1]!.end({ status: 'crashed', detail: 'It died.' })
  }
  await until(async () => (await state(id)).job_status === 'canceled')
  const job = await state(id)
  assert.deepEqual([job.error?.code, job.attempt, job.losses], ['worker_lost', 3, 3])
  stop()
  await running
  await store.close()
})

test('told to stop, it lets a running job finish', async () => {
  const { store, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  const waiting = await enqueue(store)
  await until(() => runs.length === 1)
  stop()
  runs[0]!.end(DONE)
  await running
  assert.equal((await state(id)).job_status, 'completed')
  assert.equal((await state(waiting)).job_status, 'queued', 'and claims no other')
  await store.close()
})

test('gives a job back without a loss when it does not finish while the node drains', async () => {
  const { store, clock, runs, state, stop, running } = await setUp({ drainMs: 5000 })
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  stop()
  let ended = false
  void running.then(() => {
    ended = true
  })
  await until(() => ended, clock)
  const job = await state(id)
  assert.deepEqual([job.job_status, job.losses], ['queued', 0])
  await store.close()
})

test('writes what was found once the store is back', async () => {
  const { store, clock, away, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  await until(async () => (await state(id)).job_status === 'executing', clock)
  away.add('completeJob')
  runs[0]!.end(DONE)
  for (let round = 0; round < 50; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(100)
  }
  assert.equal((await state(id)).job_status, 'executing')
  away.clear()
  await until(async () => (await state(id)).job_status === 'completed', clock)
  stop()
  await running
  await store.close()
})

test('a database that refuses an outcome for a reason nobody foresaw ends no node, and the job runs again', async () => {
  const { store, clock, broken, runs, state, stop, running } = await setUp()
  for (const method of ['completeJob', 'loseJob'] as const) broken.add(method)
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  runs[0]!.end(DONE)
  await until(() => runs.length === 2, clock)
  broken.clear()
  runs[1]!.end(DONE)
  await until(async () => (await state(id)).job_status === 'completed', clock)
  assert.equal((await state(id)).losses, 0)
  stop()
  await running
  await store.close()
})

test('writes progress at most once a second, and the newest', async () => {
  const { store, clock, runs, state, stop, running } = await setUp()
  const id = await enqueue(store)
  await until(() => runs.length === 1)
  clock.advance(100)
  await until(async () => (await state(id)).job_status === 'executing')
  const { onProgress } = runs[0]!.options
  let writes = 0
  store.subscribe((hint) => {
    if (hint.topic === 'job') writes += 1
  })
  for (let tenth = 1; tenth <= 30; tenth += 1) {
    onProgress!({ percent: tenth, step: 1, steps: 2, label: 'daily' })
    clock.advance(100)
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(writes, 3)
  assert.equal((await state(id)).progress.percent, 29)
  runs[0]!.end(DONE)
  await until(async () => (await state(id)).job_status === 'completed')
  stop()
  await running
  await store.close()
})

test('a stopped attempt waits for no answer of the store to its start or its progress', async () => {
  const { store, clock, silent, runs, running, stop } = await setUp()
  for (const method of ['startJob', 'reportProgress'] as const) silent.add(method)
  const first = await enqueue(store)
  await until(() => runs.length === 1)
  await enqueue(store)
  runs[0]!.options.onProgress!({ percent: 50, step: 1, steps: 2, label: 'daily' })
  for (let tenth = 0; tenth < 20; tenth += 1) {
    clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await store.cancelJob({ workspace_id, assignment_id: first })
  await until(() => runs.length === 2)
  silent.clear()
  runs[1]!.end(DONE)
  stop()
  await running
  await store.close()
})

test('runs as many at a time as it is given', async () => {
  const { store, runs, state, stop, running } = await setUp({ concurrency: 3 })
  const ids = []
  for (let count = 0; count < 5; count += 1) ids.push(await enqueue(store))
  await until(() => runs.length === 3)
  const states = await Promise.all(ids.map(async (id) => (await state(id)).job_status))
  assert.deepEqual(states, ['active', 'active', 'active', 'queued', 'queued'])
  runs[1]!.end(DONE)
  await until(() => runs.length === 4)
  for (const run of runs) run.end(DONE)
  await until(() => runs.length === 5)
  runs[4]!.end(DONE)
  for (const id of ids) await until(async () => (await state(id)).job_status === 'completed')
  stop()
  await running
  await store.close()
})
