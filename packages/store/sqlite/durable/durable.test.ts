import assert from 'node:assert/strict'
import fs, { cpSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { systemClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { jobInput, register, WORKSPACE } from '../../conformance/given.ts'
import { openStore } from '../../open.ts'
import type { Hint, Store } from '../../store.ts'

type Done = (error: Error | null) => void

/** The syncs that wait for the test; null for real syncs. */
let held: Done[] | null
let home: string
let store: Store
let failures: AppError[]

const { fdatasync } = fs
mock.method(fs, 'fdatasync', (descriptor: number, done: Done) => {
  if (held) held.push(done)
  else fdatasync(descriptor, done)
})
syncBuiltinESMExports()

async function open(folder: string): Promise<Store> {
  const failed = (error: AppError) => failures.push(error)
  return openStore({ url: '', home: folder, clock: systemClock, publicUrl: null, failed })
}

beforeEach(async () => {
  held = null
  failures = []
  home = await mkdtemp(path.join(tmpdir(), 'assay-durable-'))
  store = await open(home)
})
afterEach(async () => {
  await store.close()
  await rm(home, { recursive: true })
})

async function passes(count: number): Promise<void> {
  for (let pass = 0; pass < count; pass += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** Resolves once a sync is under way. */
async function syncing(): Promise<Done> {
  for (;;) {
    const done = held?.shift()
    if (done) return done
    await passes(1)
  }
}

const isUnusable = (error: unknown): boolean =>
  error instanceof AppError &&
  error.code === 'store_unavailable' &&
  /failed to write.*EIO.*restart the service/.test(error.message)

test('nobody is told of a write before it is durable: not who wrote, not who reads, not who listens', async () => {
  const job = await store.createJob(jobInput())
  const hints: Hint[] = []
  store.subscribe((hint) => hints.push(hint))
  const order: string[] = []
  held = []
  const queued = store.queueJob(job).then(() => order.push('written'))
  const end = await syncing()
  const reads = [
    store.getJob(job).then((seen) => order.push(`read ${seen?.job_status}`)),
    store.listJobs({ workspace_id: WORKSPACE, limit: 10 }).then(() => order.push('listed')),
    store.getJob({ ...job, workspace_id: 'none' }).then(() => order.push('not found')),
    // A refusal reveals the state too, so it also waits for the sync.
    store.deleteJob(job).catch((error: AppError) => order.push(error.code)),
  ]
  await passes(5)
  assert.deepEqual([order, hints], [[], []])
  end(null)
  await Promise.all([queued, ...reads])
  assert.deepEqual(order, ['written', 'read queued', 'listed', 'not found', 'job_unfinished'])
  assert.ok(hints.length > 0)
})

test('a read is answered at once while nothing is being written, or what is written changes nothing', async () => {
  const job = await store.createJob(jobInput())
  await register(store)
  held = []
  assert.deepEqual(await store.claimJobs({ node_id: 'node-1', limit: 5 }), [])
  assert.equal((await store.getJob(job))?.job_status, 'draft')
  assert.deepEqual(held, [])
})

test('once a sync has failed nothing is written or read, and what was acknowledged is in the files', async () => {
  const kept = await store.createJob(jobInput())
  held = []
  const lost = store.createJob(jobInput())
  const fail = await syncing()
  const read = assert.rejects(store.getJob(kept), isUnusable)
  fail(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }))
  held = null
  await assert.rejects(lost, isUnusable)
  await read
  await assert.rejects(store.ping(), isUnusable)
  await assert.rejects(store.queueJob(kept), isUnusable)
  await assert.rejects(store.getJob(kept), isUnusable)
  assert.equal(failures.length, 1)
  assert.ok(isUnusable(failures[0]))
  await store.close()
  // The log was not moved to the database at its end, and only another process may open the store.
  assert.ok((await stat(path.join(home, 'assay.db-wal'))).size > 0)
  await assert.rejects(open(home), /in use by process/)
  const copy = await mkdtemp(path.join(tmpdir(), 'assay-durable-'))
  for (const file of ['assay.db', 'assay.db-wal']) cpSync(path.join(home, file), path.join(copy, file))
  const next = await open(copy)
  assert.ok(await next.getJob(kept))
  await next.close()
  await rm(copy, { recursive: true })
})

test('what a killed process has left in the log is durable before the store is open', async () => {
  await store.createJob(jobInput())
  const copy = await mkdtemp(path.join(tmpdir(), 'assay-durable-'))
  for (const file of ['assay.db', 'assay.db-wal']) cpSync(path.join(home, file), path.join(copy, file))
  held = []
  let opened = false
  const opening = open(copy).then((next) => {
    opened = true
    return next
  })
  const end = await syncing()
  await passes(5)
  assert.equal(opened, false)
  held = null
  end(null)
  await (await opening).close()
  await rm(copy, { recursive: true })
})

test('closing waits until what was written is durable', async () => {
  held = []
  const written = store.createJob(jobInput())
  let closed = false
  const closing = store.close().then(() => {
    closed = true
  })
  const end = await syncing()
  await passes(5)
  assert.equal(closed, false)
  end(null)
  await Promise.all([closing, written])
})
