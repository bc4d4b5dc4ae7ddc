/** Erasing what the jobs of a user have left, step by step. */
import assert from 'node:assert/strict'
import { uuidv7 } from '../../runtime/ids.ts'
import type { Store } from '../store.ts'
import {
  addWebhook,
  type ConformanceTests,
  claimAll,
  completeNew,
  execute,
  findings,
  outcome,
  queueNew,
  refuses,
  register,
  WORKSPACE,
} from './given.ts'

async function erase(store: Store, user_id: string, limit: number) {
  const total = { jobs: 0, events: 0, steps: 0 }
  let cursor: string | undefined
  do {
    const step = await store.eraseUser({ workspace_id: WORKSPACE, user_id, cursor, limit })
    total.jobs += step.jobs
    total.events += step.events
    total.steps += 1
    cursor = step.next_cursor ?? undefined
  } while (cursor !== undefined)
  return total
}

export const erasureTests: ConformanceTests = {
  'all jobs of a user go, with insights, events and deliveries, and those of others stay': async ({
    store,
  }) => {
    await register(store)
    const webhook = await addWebhook(store, { events: ['*'] })
    const kept = await completeNew(store, { user_id: 'bob' })
    const done = await completeNew(store)
    const running = await execute(store)
    await queueNew(store)
    for (const one of (await claimAll(store)).slice(0, 2)) await store.recordAttempt(outcome(one))
    const erased = await erase(store, 'ada', 2)
    assert.equal(erased.jobs, 3)
    assert.ok(erased.steps > 3, 'in steps')
    const { items: jobs } = await store.listJobs({ workspace_id: WORKSPACE, limit: 100 })
    assert.deepEqual(
      jobs.map((job) => job.assignment_id),
      [kept.assignment_id],
    )
    const insight = (insight_id: string) => store.getInsight({ workspace_id: WORKSPACE, insight_id })
    assert.equal(await insight(done.insight_id!), null)
    assert.ok(await insight(kept.insight_id!))
    const { items: events } = await store.listEvents({ workspace_id: WORKSPACE, limit: 100, order: 'newest' })
    assert.deepEqual([...new Set(events.map(({ data }) => data.user_id))], ['bob'])
    assert.equal(
      erased.events,
      3 + 3 + 2,
      'queued, started, completed; queued, started, canceled; queued, canceled',
    )
    const deliveries = await store.listDeliveries({
      workspace_id: WORKSPACE,
      webhook_id: webhook.webhook_id,
      limit: 100,
    })
    assert.deepEqual([...new Set(deliveries.items.map((one) => one.assignment_id))], [kept.assignment_id])
    assert.equal(
      await store.completeJob({ ...running, insight_id: uuidv7(), findings: findings() }),
      false,
      'a worker that still runs one writes nothing',
    )
    assert.deepEqual((await claimAll(store)).length <= 3, true)
    assert.deepEqual(await erase(store, 'ada', 100), { jobs: 0, events: 0, steps: 2 })
  },

  'a cursor of another list does not erase': async ({ store }) => {
    await queueNew(store)
    await queueNew(store)
    const { next_cursor } = await store.listJobs({ workspace_id: WORKSPACE, limit: 1 })
    const input = { workspace_id: WORKSPACE, user_id: 'ada', limit: 10, cursor: next_cursor! }
    await refuses(store.eraseUser(input), 'invalid')
  },
}
