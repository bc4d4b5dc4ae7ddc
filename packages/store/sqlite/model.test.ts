import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { type Move, mayMove } from '@assay/model/job'
import * as fc from 'fast-check'
import {
  addWebhook,
  at,
  execute,
  findings,
  jobInput,
  LEASE_MS,
  otherWorkspace,
  outcome,
  register,
  SECOND,
  send,
} from '../conformance/given.ts'
import { LOOKED_AT_MOST } from '../list.ts'
import { claimAt, type SendingState } from '../nouns/webhooks/sending-state.ts'
import { openStore } from '../open.ts'
import type { ClaimedDelivery, Lease, Store } from '../store.ts'

interface World {
  store: Store
  clock: FakeClock
  jobs: { workspace_id: string; assignment_id: string }[]
  leases: Lease[]
  webhooks: { workspace_id: string; webhook_id: string }[]
  claimed: ClaimedDelivery[]
}

const NODES = ['node-1', 'node-2']

function pick<T>(list: T[], n: number): T | undefined {
  return list[n % Math.max(1, list.length)]
}

/** Runs the work on one entry of the list, chosen by n, if the list has any. */
async function on<T>(list: T[], n: number, work: (item: T) => Promise<unknown>): Promise<void> {
  const item = pick(list, n)
  if (item !== undefined) await work(item)
}

const workspaceOf = (n: number) => (n % 3 === 0 ? 'other' : 'default')

/** The steps, in any order, on whatever they find; n chooses the object. */
const STEPS: Record<string, (world: World, n: number) => Promise<unknown>> = {
  async create({ store, jobs }, n) {
    jobs.push(await store.createJob(jobInput({ workspace_id: workspaceOf(n), priority: n % 4 })))
  },
  queue: ({ store, jobs }, n) => on(jobs, n, (job) => store.queueJob(job)),
  cancel: ({ store, jobs }, n) => on(jobs, n, (job) => store.cancelJob(job)),
  delete: ({ store, jobs }, n) => on(jobs, n, (job) => store.deleteJob(job)),
  async claim({ store, leases }, n) {
    const node_id = NODES[n % 2]!
    for (const { job } of await store.claimJobs({ node_id, limit: 1 + (n % 3) }))
      leases.push({ assignment_id: job.assignment_id, attempt: job.attempt, node_id })
  },
  start: ({ store, leases }, n) => on(leases, n, (lease) => store.startJob(lease)),
  complete: ({ store, leases }, n) =>
    on(leases, n, async (lease) => {
      await store.startJob(lease)
      const skipped = n % 5 === 0 ? 'condition' : null
      await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings({ skipped }) })
    }),
  fail: ({ store, leases }, n) =>
    on(leases, n, (lease) => store.failJob({ ...lease, error: { code: 'timed_out', detail: 'x' } })),
  lose: ({ store, leases }, n) => on(leases, n, (lease) => store.loseJob(lease)),
  release: ({ store, leases }, n) => on(leases, n, (lease) => store.releaseJobs([lease])),
  async hook({ store, webhooks }, n) {
    webhooks.push(
      await addWebhook(store, {
        workspace_id: workspaceOf(n),
        events: ['*'],
        max_in_flight: n % 2 === 0 ? null : 2,
        rate_per_second: n % 5 === 0 ? 3 : null,
      }),
    )
  },
  patch: ({ store, webhooks }, n) =>
    on(webhooks, n, (webhook) =>
      store.updateWebhook({ ...webhook, patch: { status: n % 2 === 0 ? 'disabled' : 'enabled' } }),
    ),
  unhook: ({ store, webhooks }, n) => on(webhooks, n, (webhook) => store.deleteWebhook(webhook)),
  send: ({ store, webhooks }, n) =>
    on(webhooks, n, async (webhook) => {
      const found = await store.getWebhook(webhook)
      if (found) await send(store, found, 1 + (n % 4))
    }),
  async claimDeliveries({ store, claimed, webhooks }, n) {
    const runs = new Map(webhooks.map(({ webhook_id }) => [webhook_id, 1 + (n % 5)]))
    claimed.push(...(await store.claimDeliveries({ node_id: NODES[n % 2]!, limit: 1 + (n % 12), runs })))
  },
  deliver: ({ store, claimed }, n) => on(claimed, n, (one) => store.recordAttempt(outcome(one))),
  failDelivery: ({ store, claimed }, n) =>
    on(claimed, n, (one) =>
      store.recordAttempt(
        outcome(one, {
          next: n % 2 === 0 ? { status: 'failed' } : { status: 'pending', wait_ms: n * SECOND },
          ...(n % 7 === 0 ? { disable: { reason: 'gone' } } : {}),
        }),
      ),
    ),
  releaseDelivery: ({ store, claimed }, n) => on(claimed, n, (one) => store.releaseDeliveries([one])),
  redeliver: ({ store, claimed }, n) =>
    on(claimed, n, (one) => store.redeliver({ ...one, new_delivery_id: uuidv7() })),
  cancelPending: ({ store, webhooks }, n) => on(webhooks, n, (webhook) => store.cancelPending(webhook)),
  recover: ({ store, webhooks, clock }, n) =>
    on(webhooks, n, async (webhook) => {
      const recovery = { ...webhook, recovery_id: uuidv7(), since: at(clock.now() - 1e9), until: null }
      await store.createRecovery({ ...recovery, include_unsent: n % 2 === 0 })
      while (await store.advanceRecoveries({ limit: 2 }));
    }),
  async elapse({ store, clock }, n) {
    clock.advance(n % 4 === 0 ? LEASE_MS + SECOND : n * 100)
    await store.reapNodes({ all: false })
    for (const node_id of NODES) await register(store, node_id)
  },
  removeNode: async ({ store }, n) => {
    await store.removeNode(NODES[n % 2]!)
    await register(store, NODES[n % 2])
  },
  prune: ({ store }) =>
    store.prune({ keep: { jobs_ms: 1e5, drafts_ms: 1e5, events_ms: 1e5, deliveries_ms: 5e4 }, limit: 3 }),
}

const LANE_DRIFT = `
  SELECT * FROM (
    SELECT job_counts.*,
      (SELECT count(*) FROM jobs j WHERE j.workspace_id = job_counts.workspace_id AND job_status = 'draft') AS drafts,
      (SELECT count(*) FROM jobs j WHERE j.workspace_id = job_counts.workspace_id AND job_status = 'queued') AS waiting,
      (SELECT count(*) FROM jobs j WHERE j.workspace_id = job_counts.workspace_id AND job_status = 'active') AS actives,
      (SELECT count(*) FROM jobs j WHERE j.workspace_id = job_counts.workspace_id AND job_status = 'executing') AS running,
      (SELECT count(*) > 0 FROM jobs j WHERE j.workspace_id = job_counts.workspace_id AND job_status = 'queued') AS head
    FROM job_counts)
  WHERE draft <> drafts OR queued <> waiting OR active <> actives OR executing <> running
    OR (head_queued_at IS NOT NULL) <> head`
const OWNER_DRIFT = `
  SELECT assignment_id FROM jobs WHERE (owner IS NULL) = (job_status IN ('active', 'executing'))
    OR (job_status = 'completed') <> (insight_id IN (SELECT insight_id FROM insights) IS TRUE)
  UNION ALL SELECT delivery_id FROM deliveries WHERE owner IS NOT NULL AND status <> 'pending'
    OR (status = 'pending') <> (due_at IS NOT NULL)
  UNION ALL SELECT owner FROM jobs WHERE owner NOT IN (SELECT node_id FROM nodes)`
const WEBHOOKS = `
  SELECT webhooks.*,
    (SELECT count(*) FROM deliveries d WHERE d.webhook_id = webhooks.webhook_id AND owner IS NOT NULL AND ahead = 0) AS held,
    (SELECT min(due_at) FROM deliveries d
     WHERE d.webhook_id = webhooks.webhook_id AND status = 'pending' AND owner IS NULL) AS first_due
  FROM webhooks`

/** Checks that the computed columns agree with the rows from which they are computed. */
function assertSound(db: DatabaseSync): void {
  assert.deepEqual(db.prepare(LANE_DRIFT).all(), [])
  assert.deepEqual(db.prepare(OWNER_DRIFT).all(), [])
  for (const row of db.prepare(WEBHOOKS).all()) {
    assert.equal(row.in_flight, row.held)
    assert.equal(row.due_at, row.first_due)
    assert.equal(row.claim_at, claimAt(row as unknown as SendingState))
  }
  for (const row of db.prepare('SELECT job_status, attempt, moves FROM jobs').all()) {
    const moves = JSON.parse(row.moves as string) as Move[]
    assert.equal(moves.at(-1)?.job_status, row.job_status)
    for (const [index, move] of moves.slice(1).entries()) {
      const before = moves[index]!
      assert.ok(mayMove(before.job_status, move.job_status), JSON.stringify(moves))
      assert.ok(move.attempt >= before.attempt)
    }
  }
}

async function runSteps(steps: [string, number][]): Promise<void> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-model-'))
  const clock = new FakeClock()
  const store = await openStore({ url: '', home, clock, publicUrl: null })
  const reader = new DatabaseSync(path.join(home, 'assay.db'), { readOnly: true })
  try {
    await otherWorkspace(store)
    for (const node_id of NODES) await register(store, node_id)
    const world: World = { store, clock, jobs: [], leases: [], webhooks: [], claimed: [] }
    for (const [name, n] of steps) {
      await STEPS[name]!(world, n).catch((error: unknown) => {
        if (!(error instanceof AppError)) throw error
      })
      assertSound(reader)
    }
  } finally {
    reader.close()
    await store.close()
    await rm(home, { recursive: true })
  }
}

test('whatever happens in whatever order, every counter, owner and history stays true', async () => {
  const step = fc.tuple(fc.constantFrom(...Object.keys(STEPS)), fc.nat({ max: 59 }))
  const begin: [string, number][] = [
    ['hook', 0],
    ['hook', 1],
    ['create', 1],
    ['queue', 0],
  ]
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) =>
      runSteps([...begin, ...steps]),
    ),
    { numRuns: Number(process.env.ASSAY_TEST_RUNS ?? 25) },
  )
})

test('the last insight of a reader is found behind the jobs of thousands of others', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-last-'))
  const clock = new FakeClock()
  const store = await openStore({ url: '', home, clock, publicUrl: null })
  try {
    await register(store)
    const { template, variables, presence_name } = jobInput()
    const { template_id } = template
    const asked = { workspace_id: 'default', template_id, variables, presence_name, reader_id: 'ada' }
    for (const schedule_id of [null, uuidv7()]) {
      const lease = await execute(store, { reader_id: 'ada', schedule_id })
      assert.ok(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() }))
      clock.advance(SECOND)
      const jobs = Array.from({ length: LOOKED_AT_MOST }, () =>
        jobInput({ variables, reader_id: 'bob', schedule_id }),
      )
      await store.createJobs({ jobs, run: false })
      assert.ok(await store.lastDelivered({ ...asked, schedule_id }), String(schedule_id))
      assert.equal(await store.lastDelivered({ ...asked, schedule_id, reader_id: 'bob' }), null)
    }
  } finally {
    await store.close()
    await rm(home, { recursive: true })
  }
})
