/** The work on jobs: claims, their order, settles and their fence, and the nodes that hold jobs. */
import assert from 'node:assert/strict'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import type { JobStatus } from '@assay/model/job'
import type { ClaimedJob, Hint, Lease, Store } from '../store.ts'
import {
  addWebhook,
  type ConformanceTests,
  claim,
  claimAll,
  execute,
  findings,
  jobInput,
  LEASE_MS,
  NODE,
  otherWorkspace,
  outcome,
  queueNew,
  refuses,
  register,
  SECOND,
  send,
  sorted,
  WORKSPACE,
} from './given.ts'

async function statusOf(store: Store, { assignment_id }: { assignment_id: string }): Promise<JobStatus> {
  const job = await store.getJob({ workspace_id: WORKSPACE, assignment_id })
  return job!.job_status
}

async function claimIds(store: Store, limit: number): Promise<string[]> {
  const claimed = await store.claimJobs({ node_id: NODE, limit })
  return claimed.map(({ job }) => job.assignment_id)
}

/** Tries every settle of a lost lease. None may write. */
async function assertLost(store: Store, lease: Lease): Promise<void> {
  const before = await store.getJob({ workspace_id: WORKSPACE, ...lease })
  assert.equal(await store.startJob(lease), false)
  assert.equal(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() }), false)
  assert.equal(await store.failJob({ ...lease, error: { code: 'analysis_failed', detail: 'x' } }), false)
  assert.equal(await store.loseJob(lease), false)
  await store.releaseJobs([lease])
  await store.reportProgress({ ...lease, progress: { percent: 99, step: 9, steps: 9, label: 'late' } })
  assert.deepEqual(await store.getJob({ workspace_id: WORKSPACE, ...lease }), before)
}

export const claimTests: ConformanceTests = {
  'claims a queued job for a node, with the folder of its workspace': async ({ store }) => {
    await store.createWorkspace({ workspace_id: 'team', name: 'Team', data_folder: '/data/team' })
    await register(store)
    const queued = await queueNew(store, { workspace_id: 'team' })
    const [claimed] = await store.claimJobs({ node_id: NODE, limit: 5 })
    assert.equal(claimed?.data_folder, '/data/team')
    assert.deepEqual(
      { ...claimed?.job, moves: [] },
      { ...queued, job_status: 'active', attempt: 1, moves: [] },
    )
    assert.deepEqual(await store.claimJobs({ node_id: NODE, limit: 5 }), [])
  },

  'lets only registered nodes claim': async ({ store }) => {
    await queueNew(store)
    await refuses(store.claimJobs({ node_id: 'stranger', limit: 1 }), 'conflict')
    await refuses(store.claimDeliveries({ node_id: 'stranger', limit: 1 }), 'conflict')
  },

  'claims the highest priority first, then the oldest': async ({ store, elapse }) => {
    await register(store)
    const ids: Record<string, string> = {}
    for (const [name, priority] of Object.entries({ low: -5, a: 0, b: 0, high: 7, c: 0 })) {
      ids[name] = (await queueNew(store, { priority })).assignment_id
      await elapse(SECOND)
    }
    assert.deepEqual(await claimIds(store, 3), [ids.high, ids.a, ids.b])
    assert.deepEqual(await claimIds(store, 9), [ids.c, ids.low])
  },

  'claims for the workspace with the fewest running, so that none starves another': async ({
    store,
    elapse,
  }) => {
    await otherWorkspace(store, 'busy')
    await otherWorkspace(store, 'calm')
    await register(store)
    const busy: string[] = []
    for (let index = 0; index < 4; index += 1)
      busy.push((await queueNew(store, { workspace_id: 'busy' })).assignment_id)
    await elapse(SECOND)
    const calm = [
      (await queueNew(store, { workspace_id: 'calm' })).assignment_id,
      (await queueNew(store, { workspace_id: 'calm' })).assignment_id,
    ]
    assert.deepEqual(await claimIds(store, 6), [busy[0], calm[0], busy[1], calm[1], busy[2], busy[3]])
  },

  'claims by what runs now: a finished job makes room for its workspace': async ({ store, elapse }) => {
    await otherWorkspace(store, 'a')
    await otherWorkspace(store, 'b')
    await register(store)
    const first = await execute(store, { workspace_id: 'a' })
    await execute(store, { workspace_id: 'b' })
    await execute(store, { workspace_id: 'b' })
    await queueNew(store, { workspace_id: 'b' })
    await elapse(SECOND)
    await queueNew(store, { workspace_id: 'a' })
    await store.failJob({ ...first, error: { code: 'timed_out', detail: 'x' } })
    const [next] = await store.claimJobs({ node_id: NODE, limit: 1 })
    assert.equal(next?.job.workspace_id, 'a')
  },

  'a higher priority goes first in its own workspace, and before no other workspace': async ({ store }) => {
    await otherWorkspace(store, 'busy')
    await register(store)
    await execute(store, { workspace_id: 'busy' })
    const calm = await queueNew(store)
    const later = await queueNew(store, { workspace_id: 'busy' })
    const urgent = await queueNew(store, { workspace_id: 'busy', priority: 100 })
    assert.deepEqual(await claimIds(store, 3), [
      calm.assignment_id,
      urgent.assignment_id,
      later.assignment_id,
    ])
  },

  'serves the workspaces in turn, however long the queue of one is, one job at a time': async ({
    store,
    elapse,
  }) => {
    await otherWorkspace(store, 'busy')
    await otherWorkspace(store, 'calm')
    await register(store)
    for (let index = 0; index < 6; index += 1) await queueNew(store, { workspace_id: 'busy', priority: 50 })
    const served: string[] = []
    const next = async (): Promise<void> => {
      const [{ job }] = (await store.claimJobs({ node_id: NODE, limit: 1 })) as [ClaimedJob]
      const { assignment_id, attempt, workspace_id } = job
      served.push(workspace_id)
      const lease = { assignment_id, attempt, node_id: NODE }
      assert.ok(await store.failJob({ ...lease, error: { code: 'timed_out', detail: 'x' } }))
      await elapse(SECOND)
    }
    await next()
    for (const workspace_id of ['calm', WORKSPACE, 'calm', WORKSPACE]) await queueNew(store, { workspace_id })
    for (let index = 0; index < 6; index += 1) await next()
    // A workspace that was never served comes first. None is served twice while another waits.
    assert.deepEqual(served.slice(0, 7), ['busy', 'calm', WORKSPACE, 'busy', 'calm', WORKSPACE, 'busy'])
  },

  'never claims a job twice, however many ask at once': async ({ store }) => {
    await register(store)
    await register(store, 'node-2')
    for (let index = 0; index < 20; index += 1) await queueNew(store)
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        store.claimJobs({ node_id: index % 2 === 0 ? NODE : 'node-2', limit: 3 }),
      ),
    )
    const ids = claims.flat().map(({ job }) => job.assignment_id)
    assert.equal(ids.length, 20)
    assert.equal(new Set(ids).size, 20)
  },

  'runs a job to its insight in one transaction': async ({ store }) => {
    await register(store)
    const job = await queueNew(store)
    const lease = await claim(store)
    assert.equal(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() }), false)
    assert.equal(await store.startJob(lease), true)
    assert.equal(await store.startJob(lease), false)
    const insight_id = uuidv7()
    const found = findings()
    assert.equal(await store.completeJob({ ...lease, insight_id, findings: found }), true)
    const done = (await store.getJob(job))!
    assert.deepEqual([done.job_status, done.insight_id, done.skipped], ['completed', insight_id, null])
    assert.equal(done.progress.percent, 100)
    assert.ok(done.started_at && done.finished_at)
    assert.deepEqual(
      done.moves.map((move) => move.job_status),
      ['draft', 'queued', 'active', 'executing', 'completed'],
    )
    const insight = await store.getInsight({ workspace_id: WORKSPACE, insight_id })
    const { skipped: _, ...kept } = found
    const { assignment_id } = job
    assert.deepEqual(insight, { insight_id, assignment_id, ...kept, created_at: insight?.created_at })
    const of = { workspace_id: WORKSPACE, insight_id }
    const { tables, analyses, facts, provenance, lineage, ...head } = insight
    assert.deepEqual(await store.getInsightHead(of), head)
    const bytes = (await store.insightBytes(of))!
    // PostgreSQL writes JSON with blanks.
    assert.ok(
      bytes >= JSON.stringify(kept).length * 0.9 && bytes < JSON.stringify(kept).length * 1.5,
      String(bytes),
    )
    assert.equal(await store.insightBytes({ ...of, workspace_id: 'other' }), null)
    const { ...data } = (await store.getInsightData(of))!
    assert.deepEqual(
      Object.fromEntries(
        Object.entries(data).map(([name, text]) => [name, JSON.parse(Buffer.from(text!).toString())]),
      ),
      {
        tables,
        analyses,
        facts,
        provenance,
        lineage,
      },
    )
    for (const elsewhere of [
      { ...of, workspace_id: 'other' },
      { ...of, insight_id: uuidv7() },
    ]) {
      assert.equal(await store.getInsightHead(elsewhere), null)
      assert.equal(await store.getInsightData(elsewhere), null)
    }
    await assertLost(store, lease)
    assert.equal(await store.getInsight({ workspace_id: WORKSPACE, insight_id: uuidv7() }), null)
  },

  'ends an active job with the start that was not marked, in one transaction': async ({
    store,
    now,
    elapse,
  }) => {
    await register(store)
    await queueNew(store)
    await queueNew(store)
    const [one, two] = [await claim(store), await claim(store)]
    await elapse(SECOND)
    const before = now()
    const done = { ...one, insight_id: uuidv7(), findings: findings(), ran_ms: 200 }
    assert.equal(await store.completeJob(done), true)
    const error = { code: 'timed_out' as const, detail: 'x' }
    // A job cannot have begun before its claim.
    assert.equal(await store.failJob({ ...two, error, ran_ms: 3_600_000 }), true)
    for (const [lease, last] of [
      [one, 'completed'],
      [two, 'canceled'],
    ] as const) {
      const job = (await store.getJob({ workspace_id: WORKSPACE, ...lease }))!
      const [claimed, started, ended] = job.moves.slice(2)
      assert.deepEqual(
        [claimed?.job_status, started?.job_status, ended?.job_status],
        ['active', 'executing', last],
      )
      assert.deepEqual([job.started_at, job.finished_at], [started?.at, ended?.at])
      assert.ok(claimed!.at <= started!.at && started!.at <= ended!.at)
      await assertLost(store, lease)
    }
    const first = (await store.getJob({ workspace_id: WORKSPACE, ...one }))!
    const ran = Date.parse(first.finished_at!) - Date.parse(first.started_at!)
    assert.ok(ran <= 200 && Date.parse(first.finished_at!) >= before - SECOND, `${ran}`)
    const { items } = await store.listEvents({ workspace_id: WORKSPACE, limit: 4, order: 'newest' })
    assert.deepEqual(
      items.map(({ type }) => type),
      ['job.failed', 'job.started', 'job.completed', 'job.started'],
    )
  },

  'settles that are asked at once are each judged alone, and a claim with them takes what is next': async ({
    store,
  }) => {
    await register(store)
    const workspace_id = await otherWorkspace(store)
    await addWebhook(store, { workspace_id, events: null })
    const told = await execute(store, { workspace_id })
    const [done, twin, lost, failed] = [
      await execute(store),
      await execute(store),
      await execute(store),
      await execute(store),
    ]
    await store.cancelJob({ workspace_id: WORKSPACE, ...lost })
    const next = await queueNew(store)
    const complete = (lease: Lease, insight_id = uuidv7()) =>
      store.completeJob({ ...lease, insight_id, findings: findings() })
    const insight_id = uuidv7()
    const [settled, claimed] = await Promise.all([
      Promise.allSettled([
        complete(done, insight_id),
        complete(twin, insight_id),
        complete(lost),
        store.failJob({ ...failed, error: { code: 'timed_out', detail: 'x' } }),
        complete(told),
      ]),
      store.claimJobs({ node_id: NODE, limit: 1 }).catch(() => null),
    ])
    const [first, second, ...rest] = settled.map((one) =>
      one.status === 'fulfilled' ? one.value : one.reason,
    )
    assert.deepEqual(rest, [false, true, true])
    // Both calls asked for the same id. One has it, and only the other is refused.
    const both = [first, second]
    assert.equal(both.filter((one) => one === true).length, 1)
    assert.equal(both.filter((one) => one instanceof AppError && one.code === 'name_taken').length, 1)
    const [job] = claimed ?? (await store.claimJobs({ node_id: NODE, limit: 1 }))
    assert.equal(job?.job.assignment_id, next.assignment_id)
    assert.equal((await claimAll(store)).length, 1, 'the webhook is told')
  },

  'ends a job that failed as canceled with its error': async ({ store }) => {
    await register(store)
    const lease = await execute(store)
    const error = { code: 'memory_exceeded' as const, detail: 'The block "main" needed more than 1 GB.' }
    assert.equal(await store.failJob({ ...lease, error }), true)
    const job = await store.getJob({ workspace_id: WORKSPACE, ...lease })
    assert.deepEqual([job?.job_status, job?.error, job?.insight_id], ['canceled', error, null])
    await assertLost(store, lease)
    await queueNew(store)
    const active = await claim(store)
    assert.equal(await store.failJob({ ...active, error }), true)
  },

  'gives a job back when its child died, and ends it at the third loss': async ({ store }) => {
    await register(store)
    const job = await queueNew(store)
    for (const attempt of [1, 2, 3]) {
      const lease = await claim(store)
      assert.equal(lease.attempt, attempt)
      await store.startJob(lease)
      assert.equal(await store.loseJob(lease), true)
      await assertLost(store, lease)
    }
    const ended = (await store.getJob(job))!
    assert.deepEqual([ended.job_status, ended.error?.code, ended.losses], ['canceled', 'worker_lost', 3])
    assert.deepEqual(await claimIds(store, 1), [])
  },

  'gives a job back without a loss while the node drains, and to its old position': async ({
    store,
    elapse,
  }) => {
    await register(store)
    const first = await queueNew(store)
    await elapse(SECOND)
    await queueNew(store)
    const active = await claim(store)
    const executing = await execute(store)
    await store.reportProgress({ ...executing, progress: { percent: 50, step: 1, steps: 2, label: 'main' } })
    await store.releaseJobs([active, executing, { ...active, node_id: 'node-2' }])
    assert.equal(await statusOf(store, active), 'queued')
    const given = await store.getJob({ workspace_id: WORKSPACE, ...executing })
    assert.deepEqual([given?.job_status, given?.losses, given?.progress.percent], ['queued', 0, 0])
    await assertLost(store, executing)
    const [urgent, old] = await claimIds(store, 2)
    assert.equal(urgent, executing.assignment_id)
    assert.equal(old, first.assignment_id)
    assert.equal((await store.getJob({ workspace_id: WORKSPACE, assignment_id: old }))?.attempt, 2)
  },

  'a canceled job cannot be settled any more': async ({ store }) => {
    await register(store)
    const lease = await execute(store)
    await store.cancelJob({ workspace_id: WORKSPACE, ...lease })
    await assertLost(store, lease)
  },

  'a zombie cannot touch the next attempt, neither on another node nor on its own': async ({ store }) => {
    await register(store)
    await register(store, 'node-2')
    const first = await execute(store)
    await store.loseJob(first)
    const second = await claim(store, 'node-2')
    await assertLost(store, first)
    await assertLost(store, { ...second, node_id: NODE })
    await store.loseJob(second)
    const third = await claim(store)
    await assertLost(store, first)
    assert.equal(await store.startJob(third), true)
  },

  'tells listeners of what changed, after the commit': async ({ store }) => {
    await register(store)
    const hints: Hint[] = []
    const job = await store.createJob(jobInput())
    const stop = store.subscribe((hint) => hints.push(hint))
    const told = async (wanted: Hint): Promise<void> => {
      const end = performance.now() + 60_000
      while (!hints.some((hint) => JSON.stringify(hint) === JSON.stringify(wanted))) {
        assert.ok(performance.now() < end, `nobody was told of ${JSON.stringify(wanted)}`)
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      hints.length = 0
    }
    await store.queueJob(job)
    await told({ topic: 'jobs' })
    const lease = await claim(store)
    await told({ topic: 'job', assignment_id: job.assignment_id })
    await store.cancelJob({ workspace_id: WORKSPACE, ...lease })
    await told({ topic: 'job', assignment_id: job.assignment_id })
    await send(store, await addWebhook(store))
    await told({ topic: 'deliveries' })
    stop()
    await queueNew(store)
    assert.deepEqual(hints, [])
  },
}

export const nodeTests: ConformanceTests = {
  'registers, lists and removes nodes': async ({ store, now }) => {
    await register(store)
    await register(store, 'node-2')
    const nodes = await store.listNodes()
    assert.deepEqual(nodes.map((node) => node.node_id).toSorted(), [NODE, 'node-2'])
    const node = nodes.find(({ node_id }) => node_id === NODE)
    assert.deepEqual([node?.name, node?.roles, node?.version], ['host/node-1', ['worker'], '1.0.0'])
    const left = Date.parse(node!.lease_until) - now()
    assert.ok(left > LEASE_MS - 10 * SECOND && left <= LEASE_MS + SECOND, `${left}`)
    await store.removeNode('node-2')
    assert.equal((await store.listNodes()).length, 1)
  },

  'a renewal keeps the lease, writes progress and says what to stop': async ({ store, elapse }) => {
    await register(store)
    const kept = await execute(store)
    const canceled = await execute(store)
    const lost = await execute(store)
    await store.cancelJob({ workspace_id: WORKSPACE, ...canceled })
    await store.loseJob(lost)
    await elapse(20 * SECOND)
    const progress = { percent: 40, step: 2, steps: 5, label: 'by_carrier' }
    const unknown = uuidv7()
    const { stop } = await store.renewNode({
      node_id: NODE,
      lease_ms: LEASE_MS,
      held: [
        { ...kept, progress },
        { ...canceled, progress },
        { ...lost, progress: null },
        { assignment_id: unknown, attempt: 1, progress: null },
      ].map(({ assignment_id, attempt, progress }) => ({ assignment_id, attempt, progress })),
    })
    assert.deepEqual(
      stop,
      [canceled, lost, { assignment_id: unknown, attempt: 1 }].map(({ assignment_id, attempt }) => ({
        assignment_id,
        attempt,
      })),
    )
    assert.deepEqual((await store.getJob({ workspace_id: WORKSPACE, ...kept }))?.progress, progress)
    await elapse(20 * SECOND)
    assert.deepEqual(await store.reapNodes({ all: false }), { nodes: 0, jobs: 0, deliveries: 0 })
  },

  'gives back what a node owns and does not know, without a loss and each kind by itself': async ({
    store,
  }) => {
    await register(store)
    await register(store, 'node-2')
    const webhook = await addWebhook(store)
    await send(store, webhook, 3)
    const known = await execute(store)
    const unknown = (await queueNew(store), await claim(store))
    const others = await execute(store, {}, 'node-2')
    const [first, ...rest] = await claimAll(store)
    const jobs = [known]
    assert.deepEqual(await store.giveBackUnknown({ node_id: NODE, jobs }), { jobs: 1, deliveries: 0 })
    const stateOf = async (lease: Lease) => {
      const job = await store.getJob({ workspace_id: WORKSPACE, ...lease })
      return [job?.job_status, job?.losses]
    }
    assert.deepEqual(await stateOf(known), ['executing', 0])
    assert.deepEqual(await stateOf(unknown), ['queued', 0])
    assert.deepEqual(await stateOf(others), ['executing', 0])
    await assertLost(store, unknown)
    const deliveries = [first!.delivery_id]
    assert.deepEqual(await store.giveBackUnknown({ node_id: NODE, deliveries }), {
      jobs: 0,
      deliveries: rest.length,
    })
    assert.equal(await store.recordAttempt(outcome(first!)), true)
    const again = await claimAll(store, 'node-2')
    assert.deepEqual(
      sorted(again.map(({ delivery_id }) => delivery_id)),
      sorted(rest.map(({ delivery_id }) => delivery_id)),
    )
  },

  'a node whose lease seems to have ended does not take itself': async ({ store, elapse }) => {
    await register(store)
    await elapse(LEASE_MS + SECOND)
    const none = { nodes: 0, jobs: 0, deliveries: 0 }
    assert.deepEqual(await store.reapNodes({ all: false, but: NODE }), none)
    await store.renewNode({ node_id: NODE, lease_ms: LEASE_MS, held: [] })
  },

  'takes what an expired node held, with a loss, and the node must register anew': async ({
    store,
    elapse,
  }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 2)
    const lease = await execute(store)
    const active = (await queueNew(store), await claim(store))
    const held = await claimAll(store)
    assert.equal(held.length, 2)
    await elapse(LEASE_MS + SECOND)
    await register(store, 'node-2')
    assert.deepEqual(await store.reapNodes({ all: false }), { nodes: 1, jobs: 2, deliveries: 2 })
    for (const one of [lease, active]) {
      const job = await store.getJob({ workspace_id: WORKSPACE, ...one })
      assert.deepEqual([job?.job_status, job?.losses], ['queued', 1])
      await assertLost(store, one)
    }
    assert.deepEqual(
      (await store.listNodes()).map((node) => node.node_id),
      ['node-2'],
    )
    await refuses(store.renewNode({ node_id: NODE, lease_ms: LEASE_MS, held: [] }), 'conflict')
    await refuses(store.claimJobs({ node_id: NODE, limit: 1 }), 'conflict')
    const again = await claimAll(store, 'node-2')
    assert.deepEqual(
      sorted(again.map((one) => `${one.delivery_id} ${one.attempt}`)),
      sorted(held.map((one) => `${one.delivery_id} ${one.attempt}`)),
    )
  },

  'takes every node at once at the start': async ({ store }) => {
    await register(store)
    await register(store, 'node-2')
    await execute(store)
    await execute(store, {}, 'node-2')
    assert.deepEqual(await store.reapNodes({ all: true }), { nodes: 2, jobs: 2, deliveries: 0 })
    assert.deepEqual(await store.listNodes(), [])
  },

  'ends a job whose third node is lost': async ({ store, elapse }) => {
    const job = await queueNew(store)
    for (const node_id of ['a', 'b', 'c']) {
      await register(store, node_id)
      await store.startJob(await claim(store, node_id))
      await elapse(LEASE_MS + SECOND)
      await store.reapNodes({ all: false })
    }
    const ended = await store.getJob(job)
    assert.deepEqual([ended?.job_status, ended?.error?.code], ['canceled', 'worker_lost'])
    const { items } = await store.listEvents({ workspace_id: WORKSPACE, limit: 1, order: 'newest' })
    assert.equal(items[0]?.type, 'job.failed')
  },

  'gives back without a loss what a removed node held': async ({ store }) => {
    await register(store)
    await send(store, await addWebhook(store))
    const lease = await execute(store)
    assert.equal((await claimAll(store)).length, 1)
    await store.removeNode(NODE)
    const job = await store.getJob({ workspace_id: WORKSPACE, ...lease })
    assert.deepEqual([job?.job_status, job?.losses], ['queued', 0])
    await register(store, 'node-2')
    assert.equal((await claimAll(store, 'node-2')).length, 1)
  },

  'a node that registers anew under its id holds nothing of before': async ({ store }) => {
    await register(store)
    const lease = await execute(store)
    await register(store)
    await assertLost(store, lease)
    assert.equal(await statusOf(store, lease), 'queued')
  },

  'writes progress for the owner of the attempt only': async ({ store }) => {
    await register(store)
    const lease = await execute(store)
    const progress = { percent: 10, step: 1, steps: 4, label: 'main' }
    await store.reportProgress({ ...lease, progress })
    await store.reportProgress({ ...lease, attempt: 9, progress: { ...progress, percent: 90 } })
    await store.reportProgress({ ...lease, node_id: 'node-2', progress: { ...progress, percent: 91 } })
    assert.deepEqual((await store.getJob({ workspace_id: WORKSPACE, ...lease }))?.progress, progress)
  },
}
