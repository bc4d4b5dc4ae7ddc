/** Jobs that are settled together, with a claim at the same time. */
import assert from 'node:assert/strict'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import type { Lease, Store } from '../store.ts'
import {
  addWebhook,
  type ConformanceTests,
  findings,
  NODE,
  otherWorkspace,
  queueNew,
  register,
  sorted,
  WORKSPACE,
} from './given.ts'

const MANY = 24
const ERROR = { code: 'timed_out' as const, detail: 'x' }

async function claimMany(store: Store, limit = MANY): Promise<Lease[]> {
  const claimed = await store.claimJobs({ node_id: NODE, limit })
  return claimed.map(({ job }) => ({
    assignment_id: job.assignment_id,
    attempt: job.attempt,
    node_id: NODE,
  }))
}

async function queueMany(store: Store, count = MANY, workspace_id = WORKSPACE): Promise<string[]> {
  const jobs = await Promise.all(Array.from({ length: count }, () => queueNew(store, { workspace_id })))
  return sorted(jobs.map(({ assignment_id }) => assignment_id))
}

const ids = (leases: Lease[]): string[] => sorted(leases.map(({ assignment_id }) => assignment_id))

export const settleTests: ConformanceTests = {
  'many that end in one moment are each written once, and those claimed beside them are others': async ({
    store,
  }) => {
    await register(store)
    const waves = [await queueMany(store), await queueMany(store), await queueMany(store)]
    let held = await claimMany(store)
    const seen = [held]
    for (let wave = 1; wave < waves.length; wave += 1) {
      const [settled, claimed] = await Promise.all([
        Promise.all(held.map((lease) => store.failJob({ ...lease, error: ERROR, ran_ms: 0 }))),
        claimMany(store),
      ])
      assert.ok(settled.every(Boolean))
      held = claimed
      seen.push(claimed)
    }
    assert.deepEqual(ids(seen.flat()), sorted(waves.flat()))
    await Promise.all(held.map((lease) => store.failJob({ ...lease, error: ERROR, ran_ms: 0 })))
    assert.deepEqual((await store.counts()).jobs, [])
    const { items } = await store.listEvents({ workspace_id: WORKSPACE, limit: 500, order: 'oldest' })
    for (const assignment_id of waves.flat()) {
      const told = items.filter(({ data }) => data.assignment_id === assignment_id).map(({ type }) => type)
      assert.deepEqual(told, ['job.queued', 'job.started', 'job.failed'])
    }
  },

  'of many that end in one moment each is judged alone: started or not, lost, refused': async ({ store }) => {
    await register(store)
    await queueMany(store)
    const held = await claimMany(store)
    const [started, canceled, twice, other, unstarted] = held as [Lease, Lease, Lease, Lease, Lease]
    await store.startJob(started)
    await store.cancelJob({ workspace_id: WORKSPACE, ...canceled })
    const insight_id = uuidv7()
    const complete = (lease: Lease, insight = uuidv7(), ran_ms?: number): Promise<boolean> =>
      store.completeJob({ ...lease, insight_id: insight, findings: findings(), ran_ms })
    const settled = await Promise.allSettled([
      complete(started),
      complete(canceled, uuidv7(), 5),
      complete(twice, insight_id, 5),
      complete(other, insight_id, 5),
      complete(unstarted),
      store.failJob({ ...held[5]!, attempt: 7, error: ERROR, ran_ms: 5 }),
      store.failJob({ ...held[6]!, node_id: 'another', error: ERROR, ran_ms: 5 }),
      ...held.slice(7).map((lease, index) => complete(lease, uuidv7(), index * 10)),
    ])
    const answers = settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason))
    const refused = answers.findIndex((answer) => answer instanceof AppError && answer.code === 'name_taken')
    assert.ok(refused === 2 || refused === 3, 'one of the two has the id that both asked for')
    const wrong = new Set([1, refused, 4, 5, 6])
    for (const [index, lease] of held.entries()) {
      if (index !== refused) assert.equal(answers[index], !wrong.has(index), `${index}`)
      const job = (await store.getJob({ workspace_id: WORKSPACE, ...lease }))!
      const states = job.moves.slice(3).map(({ job_status }) => job_status)
      const expected: string[] =
        index === 1 ? ['canceled'] : wrong.has(index) ? [] : ['executing', 'completed']
      assert.deepEqual(states, expected, `${index}`)
      assert.equal(job.job_status, expected.at(-1) ?? 'active')
      assert.deepEqual(
        job.moves.map(({ at }) => at),
        sorted(job.moves.map(({ at }) => at)),
      )
      if (expected.length < 2) continue
      assert.deepEqual(
        [job.started_at, job.finished_at],
        job.moves.slice(3).map(({ at }) => at),
      )
      assert.equal(job.progress.percent, 100)
      const insight = await store.getInsight({ workspace_id: WORKSPACE, insight_id: job.insight_id! })
      assert.equal(insight?.assignment_id, lease.assignment_id)
    }
  },

  'a claim beside many that end finds the slots that they free, where a workspace has a cap': async ({
    store,
  }) => {
    await register(store)
    await store.updateWorkspace({ workspace_id: WORKSPACE, patch: { max_running: MANY } })
    await queueMany(store, 3 * MANY)
    let held = await claimMany(store, 2 * MANY)
    for (let wave = 1; wave < 3; wave += 1) {
      assert.equal(held.length, MANY)
      const settles = held.map((lease) => store.failJob({ ...lease, error: ERROR, ran_ms: 0 }))
      held = await claimMany(store, 2 * MANY)
      assert.ok((await Promise.all(settles)).every(Boolean))
    }
    assert.equal(held.length, MANY)
  },

  'a claim beside many that end goes by what runs now, where several workspaces wait': async ({ store }) => {
    await register(store)
    const workspace_id = await otherWorkspace(store)
    await queueMany(store, 2 * MANY)
    await queueMany(store, 2 * MANY, workspace_id)
    const share = async (leases: Lease[]): Promise<number> => {
      const jobs = await Promise.all(leases.map((lease) => store.getJob({ workspace_id, ...lease })))
      return jobs.filter((job) => job !== null).length
    }
    const held = await claimMany(store)
    assert.equal(await share(held), MANY / 2)
    const settles = held.map((lease) => store.failJob({ ...lease, error: ERROR, ran_ms: 0 }))
    assert.equal(await share(await claimMany(store)), MANY / 2)
    assert.ok((await Promise.all(settles)).every(Boolean))
  },

  'of many that end in one moment those that somebody must be told of are told': async ({ store }) => {
    await register(store)
    const workspace_id = await otherWorkspace(store)
    await queueMany(store)
    await queueMany(store, MANY, workspace_id)
    const held = await claimMany(store, 2 * MANY)
    const webhook = await addWebhook(store, { workspace_id, events: null })
    const settled = held.map((lease) => store.failJob({ ...lease, error: ERROR, ran_ms: 0 }))
    assert.ok((await Promise.all(settled)).every(Boolean))
    const { items } = await store.listDeliveries({ workspace_id, webhook_id: webhook.webhook_id, limit: 100 })
    assert.equal(items.length, MANY)
  },
}
