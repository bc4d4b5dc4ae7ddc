/** Erases the jobs of a user and what they have left, step by step. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import { NO_CAPS } from '../caps.ts'
import type { Store } from '../store.ts'
import {
  addWebhook,
  type ConformanceTests,
  claimAll,
  completeNew,
  execute,
  findings,
  jobInput,
  otherWorkspace,
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

const FOR_EVER = { jobs_ms: 1e15, drafts_ms: 1e15, events_ms: 1e15, deliveries_ms: 1e15 }

/** Fills a workspace with an object of each kind. */
async function fill(store: Store): Promise<string> {
  const workspace_id = await otherWorkspace(store)
  await register(store)
  await addWebhook(store, { workspace_id, events: ['*'] })
  for (let nth = 0; nth < 3; nth += 1) await completeNew(store, { workspace_id })
  await store.createUser({
    user_id: uuidv7(),
    workspace_id,
    username: 'bob',
    scopes: ['viewer'],
    password_hash: null,
  })
  await store.createToken({
    token_id: uuidv7(),
    token_hash: 'hash-of-team',
    workspace_id,
    user_id: 'bob',
    name: 'bob',
    scopes: ['viewer'],
    expires_at: null,
  })
  await store.putTemplate({ workspace_id, template_id: 'mine', source: '# Mine', user_id: 'bob' })
  await store.putMetric({ workspace_id, metric_id: 'mine', source: 'metric: mine', user_id: 'bob' })
  await store.keepNarrative({ workspace_id, hash: 'h', text: 'text' })
  await store.keepFileDialect({ workspace_id, path: 'a.csv', lines: ['dates: dmy'] })
  return workspace_id
}

async function closed(store: Store, workspace_id: string): Promise<void> {
  const end = performance.now() + 60_000
  while (await store.getWorkspace(workspace_id)) {
    assert.ok(performance.now() < end, `the workspace ${workspace_id} is still there`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
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

  'a workspace that is being deleted is seen by nobody, takes no job, and frees its id when all is gone':
    async ({ store }) => {
      const workspace_id = await fill(store)
      const deleting = store.deleteWorkspace(workspace_id)
      await closed(store, workspace_id)
      const late = refuses(store.createJob(jobInput({ workspace_id })), 'not_found')
      const [principal, user, { items }] = await Promise.all([
        store.findToken('hash-of-team'),
        store.findUser({ workspace_id, username: 'bob' }),
        store.listWorkspaces({ limit: 10 }),
      ])
      assert.deepEqual([principal, user, items.length], [null, null, 1])
      await late
      assert.equal(await deleting, true)
      await otherWorkspace(store, workspace_id)
      assert.deepEqual((await store.listUsers({ workspace_id, limit: 10 })).items, [])
      assert.deepEqual((await store.listEvents({ workspace_id, limit: 10, order: 'newest' })).items, [])
    },

  'a deletion of a workspace that was cut off is not seen half done, and is taken up again': async ({
    store,
    reopen,
  }) => {
    const workspace_id = await fill(store)
    const cut = store.deleteWorkspace(workspace_id).catch(() => false)
    // The first transaction closes the workspace, and then the service ends.
    await closed(store, workspace_id)
    const again = await reopen(NO_CAPS)
    await cut
    assert.equal(await again.getWorkspace(workspace_id), null)
    assert.equal(await again.findToken('hash-of-team'), null)
    assert.equal(await again.findUser({ workspace_id, username: 'bob' }), null)
    assert.deepEqual(
      (await again.listWorkspaces({ limit: 10 })).items.map((one) => one.workspace_id),
      [WORKSPACE],
    )
    const schedules = await again.claimSchedules({ limit: 10 })
    assert.deepEqual(schedules, [])
    await refuses(again.createJob(jobInput({ workspace_id })), 'not_found')
    const pruned = async (): Promise<number> =>
      Object.values(await again.prune({ keep: FOR_EVER, limit: 2 })).reduce((sum, count) => sum + count, 0)
    while ((await pruned()) > 0);
    await otherWorkspace(again, workspace_id)
    assert.deepEqual((await again.listUsers({ workspace_id, limit: 10 })).items, [])
  },
}
