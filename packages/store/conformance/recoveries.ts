/** Recoveries of failed deliveries, statistics, idempotency keys and retention. */
import assert from 'node:assert/strict'
import type { EventType } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import type { Pruned, Retention } from '../contract/workspaces/retention.ts'
import type { IdempotencyStart, Store } from '../store.ts'
import {
  addWebhook,
  at,
  attempt,
  type ConformanceTests,
  claimAll,
  completeNew,
  DAY,
  failAll,
  HOUR,
  jobInput,
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

async function advanceAll(store: Store, limit: number): Promise<number> {
  let steps = 0
  while (await store.advanceRecoveries({ limit })) steps += 1
  return steps
}

export const recoveryTests: ConformanceTests = {
  'recovers each event that failed since a time, once, in steps': async ({ store, now, elapse }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 2)
    await failAll(store)
    await elapse(HOUR)
    await store.updateWebhook({ ...webhook, patch: { status: 'enabled' } })
    const failed = await send(store, webhook, 4)
    await failAll(store)
    await store.updateWebhook({ ...webhook, patch: { status: 'enabled' } })
    await send(store, webhook, 1)
    for (const one of await claimAll(store)) await store.recordAttempt(outcome(one))
    const window = { ...webhook, since: at(now() - 60 * SECOND), until: null, include_unsent: false }
    assert.equal(await store.countRecoverable(window), 4)
    const recovery_id = uuidv7()
    const begun = await store.createRecovery({ ...window, recovery_id })
    assert.deepEqual([begun?.status, begun?.count, begun?.done], ['running', 4, 0])
    assert.ok((await advanceAll(store, 3)) >= 2)
    const ended = await store.getRecovery({ ...webhook, recovery_id })
    assert.deepEqual([ended?.status, ended?.count, ended?.done], ['completed', 4, 4])
    assert.equal(await store.countRecoverable(window), 0)
    const recovered = await claimAll(store)
    const events = await Promise.all(
      failed.map(
        async (delivery_id) => (await store.getDelivery({ workspace_id: WORKSPACE, delivery_id }))!.event_id,
      ),
    )
    assert.deepEqual(sorted(recovered.map((one) => one.event.event_id)), sorted(events))
    await Promise.all(
      recovered.map((one) => store.recordAttempt(outcome(one, { next: { status: 'failed' } }))),
    )
    assert.equal(await store.advanceRecoveries({ limit: 10 }), false)
    assert.equal(await store.countRecoverable(window), 4)
  },

  'recovers events of the types that are named only': async ({ store, now }) => {
    await register(store)
    const webhook = await addWebhook(store, { events: ['job.started', 'job.completed'] })
    await completeNew(store)
    await completeNew(store)
    await failAll(store)
    const window = { ...webhook, since: at(now() - HOUR), until: null, include_unsent: false }
    const of = async (...event_types: EventType[]) => store.countRecoverable({ ...window, event_types })
    assert.deepEqual(
      [await of('job.started'), await of('job.started', 'job.completed'), await of('job.failed')],
      [2, 4, 0],
    )
    const recovery_id = uuidv7()
    await store.createRecovery({ ...window, event_types: ['job.completed'], recovery_id })
    await advanceAll(store, 3)
    const { status, done } = (await store.getRecovery({ ...webhook, recovery_id }))!
    assert.deepEqual([status, done], ['completed', 2])
    await store.updateWebhook({ ...webhook, patch: { status: 'enabled' } })
    assert.deepEqual(
      (await claimAll(store)).map((one) => one.event.type),
      ['job.completed', 'job.completed'],
    )
  },

  'recovers up to a time': async ({ store, now, elapse }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 2)
    await failAll(store)
    await elapse(HOUR)
    await send(store, webhook, 1)
    await failAll(store)
    const window = { ...webhook, since: at(now() - 2 * HOUR), include_unsent: false }
    assert.equal(await store.countRecoverable({ ...window, until: at(now() - 60 * SECOND) }), 2)
    assert.equal(await store.countRecoverable({ ...window, until: null }), 3)
    assert.equal(await store.countRecoverable({ ...window, until: at(now() - 90 * 60 * SECOND) }), 0)
  },

  'sends what was never sent where that is asked for': async ({ store, now }) => {
    await register(store)
    await completeNew(store)
    await completeNew(store, { presence_name: 'ops' })
    await completeNew(store, { presence_name: 'sales' })
    const webhook = await addWebhook(store, { presence_name: 'ops', events: ['job.completed'] })
    await send(store, webhook)
    await send(store, await addWebhook(store, { presence_name: 'other' }))
    await completeNew(store, { presence_name: 'ops' })
    for (const one of await claimAll(store)) await store.recordAttempt(outcome(one))
    const window = { ...webhook, since: at(now() - HOUR), until: null }
    assert.equal(await store.countRecoverable({ ...window, include_unsent: false }), 0)
    assert.equal(await store.countRecoverable({ ...window, include_unsent: true }), 2)
    await store.createRecovery({ ...window, include_unsent: true, recovery_id: uuidv7() })
    await advanceAll(store, 2)
    const claimed = await claimAll(store)
    assert.deepEqual(
      claimed.map((one) => [one.webhook.webhook_id, one.event.type]),
      Array.from({ length: 2 }, () => [webhook.webhook_id, 'job.completed']),
    )
    const deliveries = await Promise.all(
      claimed.map((one) => store.getDelivery({ workspace_id: WORKSPACE, delivery_id: one.delivery_id })),
    )
    for (const delivery of deliveries) assert.ok(delivery?.assignment_id)
  },

  'takes a canceled delivery as never sent': async ({ store, now }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await completeNew(store)
    await store.cancelPending(webhook)
    const window = { ...webhook, since: at(now() - HOUR), until: null }
    assert.equal(await store.countRecoverable({ ...window, include_unsent: false }), 0)
    assert.equal(await store.countRecoverable({ ...window, include_unsent: true }), 1)
  },

  'answers null for a recovery of a webhook of another workspace': async ({ store, now }) => {
    const webhook = await addWebhook(store)
    const workspace_id = await otherWorkspace(store)
    const window = {
      workspace_id,
      webhook_id: webhook.webhook_id,
      since: at(now() - HOUR),
      until: null,
      include_unsent: true,
    }
    assert.equal(await store.countRecoverable(window), null)
    assert.equal(await store.createRecovery({ ...window, recovery_id: uuidv7() }), null)
    const recovery_id = uuidv7()
    const mine = { ...window, workspace_id: WORKSPACE, recovery_id }
    const made = await store.createRecovery(mine)
    assert.deepEqual(await store.createRecovery(mine), made)
    assert.equal(await store.getRecovery({ ...window, recovery_id }), null)
    assert.equal(await store.webhookStats({ ...window, since: at(0) }), null)
  },

  'counts attempts by hour and knows the percentiles of the delivered ones': async ({
    store,
    now,
    elapse,
  }) => {
    await register(store)
    const webhook = await addWebhook(store, { max_in_flight: 200 })
    await send(store, webhook, 1)
    await failAll(store)
    await elapse(2 * HOUR)
    const ids = await send(store, webhook, 100)
    const claimed = await store.claimDeliveries({ node_id: 'node-1', limit: 300 })
    const durations = ids.map((_, index) => 10 * (index + 1))
    // One transaction writes all, so that all fall into one hour.
    await store.recordAttempts(
      claimed.map((one, index) => outcome(one, { record: attempt({ duration_ms: durations[index]! }) })),
    )
    const stats = (await store.webhookStats({ ...webhook, since: at(now() - DAY) }))!
    assert.deepEqual([stats.sent, stats.failed], [100, 1])
    for (const [found, exact] of [
      [stats.p50_ms, 500],
      [stats.p95_ms, 950],
      [stats.p99_ms, 990],
    ] as const)
      assert.ok(Math.abs(found! - exact) <= 0.06 * exact, `${found} for ${exact}`)
    assert.deepEqual(
      stats.hours.map(({ sent, failed }) => [sent, failed]),
      [
        [0, 1],
        [100, 0],
      ],
    )
    assert.match(stats.hours[0]!.hour, /:00:00\.000Z$/)
    const recent = await store.webhookStats({ ...webhook, since: at(now()) })
    assert.deepEqual([recent?.sent, recent?.failed], [100, 0])
    const empty = await store.webhookStats({ ...(await addWebhook(store)), since: at(0) })
    assert.deepEqual(empty, { sent: 0, failed: 0, p50_ms: null, p95_ms: null, p99_ms: null, hours: [] })
  },
}

const KEY = { workspace_id: WORKSPACE, method: 'POST', path: '/v1alpha/jobs/', key: 'k-1' }

function start(store: Store, over: Record<string, string> = {}): Promise<IdempotencyStart> {
  return store.startIdempotent({ ...KEY, body_hash: 'h-1', id: uuidv7(), node_id: 'node-1', ...over })
}

export const idempotencyTests: ConformanceTests = {
  'replays the first answer for the same body and refuses another': async ({ store }) => {
    const id = uuidv7()
    assert.deepEqual(await start(store, { id }), { state: 'new', id })
    const waiting = await start(store)
    assert.equal(waiting.state, 'in_progress')
    assert.ok(waiting.state === 'in_progress' && waiting.retry_after > 0)
    assert.deepEqual(await start(store, { body_hash: 'h-2' }), { state: 'mismatch' })
    await store.endIdempotent({ ...KEY, answer: 'v1.sealed' })
    assert.deepEqual(await start(store), { state: 'replay', answer: 'v1.sealed' })
    assert.deepEqual(await start(store, { body_hash: 'h-2' }), { state: 'mismatch' })
    assert.deepEqual(await start(store, { node_id: 'node-2' }), { state: 'replay', answer: 'v1.sealed' })
  },

  'keeps keys apart by workspace, method and path': async ({ store }) => {
    await otherWorkspace(store)
    await start(store)
    for (const over of [{ workspace_id: 'other' }, { method: 'PUT' }, { path: '/x' }, { key: 'k-2' }])
      assert.equal((await start(store, over)).state, 'new')
  },

  'begins again where no answer was kept: under the same id, or a new one for another body': async ({
    store,
  }) => {
    const id = uuidv7()
    await start(store, { id })
    await store.endIdempotent({ ...KEY, answer: null })
    assert.deepEqual(await start(store), { state: 'new', id })
    assert.equal((await start(store)).state, 'in_progress')
    await store.endIdempotent({ ...KEY, answer: null })
    const other = uuidv7()
    assert.deepEqual(await start(store, { id: other, body_hash: 'h-2' }), { state: 'new', id: other })
    assert.deepEqual(await start(store), { state: 'mismatch' })
  },

  'a late fault does not forget the answer that another has kept': async ({ store }) => {
    await start(store)
    await store.endIdempotent({ ...KEY, answer: 'v1.sealed' })
    await store.endIdempotent({ ...KEY, answer: null })
    assert.deepEqual(await start(store), { state: 'replay', answer: 'v1.sealed' })
  },

  'lets a key that a dead process left open be taken over, with the same id': async ({ store, elapse }) => {
    const id = uuidv7()
    await start(store, { id })
    await elapse(61 * SECOND)
    assert.deepEqual(await start(store, { node_id: 'node-2' }), { state: 'new', id })
    assert.equal((await start(store, { node_id: 'node-2' })).state, 'in_progress')
  },

  'keeps a key for 24 hours': async ({ store, elapse }) => {
    await start(store)
    await store.endIdempotent({ ...KEY, answer: 'v1.sealed' })
    await elapse(23 * HOUR)
    assert.equal((await start(store)).state, 'replay')
    await elapse(2 * HOUR)
    const id = uuidv7()
    assert.deepEqual(await start(store, { id, body_hash: 'h-2' }), { state: 'new', id })
  },
}

const KEEP: Retention = {
  jobs_ms: 30 * DAY,
  drafts_ms: 365 * DAY,
  events_ms: 30 * DAY,
  deliveries_ms: 30 * DAY,
}

export const retentionTests: ConformanceTests = {
  'keeps each kind as long as it is told, by the clock of the store': async ({ store, elapse }) => {
    await register(store)
    const webhook = await addWebhook(store, { events: ['*'] })
    const job = await completeNew(store)
    const due = await claimAll(store)
    assert.ok(due.length > 1)
    for (const one of due) await store.recordAttempt(outcome(one))
    const [waiting] = await send(store, webhook)
    await elapse(10 * DAY)
    const keep = { ...KEEP, deliveries_ms: 20 * DAY }
    const nothing = { jobs: 0, drafts: 0, events: 0, deliveries: 0, workspaces: 0, other: 0 }
    assert.deepEqual(await store.prune({ keep, limit: 100 }), nothing)
    const short = { ...keep, deliveries_ms: 5 * DAY }
    assert.equal((await store.prune({ keep: short, limit: 1 })).deliveries, 1, 'in batches')
    assert.equal((await store.prune({ keep: short, limit: 100 })).deliveries, due.length - 1)
    const get = (delivery_id: string) => store.getDelivery({ workspace_id: WORKSPACE, delivery_id })
    for (const { delivery_id } of due) assert.equal(await get(delivery_id), null)
    assert.equal((await get(waiting!))?.status, 'pending')
    assert.ok(await store.getJob(job))
    const events = () => store.listEvents({ workspace_id: WORKSPACE, limit: 50, order: 'newest' })
    const kept = (await events()).items.length
    assert.ok(kept >= due.length)
    const pruned = await store.prune({ keep: { ...KEEP, events_ms: 5 * DAY }, limit: 100 })
    assert.equal(pruned.events, kept - 1, 'all but the one that a delivery waits for')
    assert.equal((await store.prune({ keep: { ...KEEP, jobs_ms: 5 * DAY }, limit: 100 })).jobs, 1)
    const forever = { jobs_ms: 1e300, drafts_ms: 1e300, events_ms: 1e300, deliveries_ms: 1e300 }
    assert.equal((await store.prune({ keep: forever, limit: 100 })).jobs, 0)
  },

  'deletes what ended long ago, in batches, and nothing else': async ({ store, elapse }) => {
    await register(store)
    const template = { template_id: 'old', version: 'v-0', source: '# Old', partials: {} }
    const old = [await completeNew(store, { template }), await completeNew(store), await completeNew(store)]
    const draft = await store.createJob(jobInput())
    const queued = await queueNew(store)
    await elapse(40 * DAY)
    const fresh = await completeNew(store)
    const prune = () => store.prune({ keep: KEEP, limit: 2 })
    assert.equal((await prune()).jobs, 2)
    const second = await prune()
    assert.equal(second.jobs, 1)
    assert.equal((await prune()).jobs, 0)
    for (const job of old) {
      assert.equal(await store.getJob(job), null)
      assert.equal(await store.getInsight({ workspace_id: WORKSPACE, insight_id: job.insight_id! }), null)
    }
    for (const job of [draft, queued, fresh]) assert.ok(await store.getJob(job))
    assert.ok(await store.getInsight({ workspace_id: WORKSPACE, insight_id: fresh.insight_id! }))
    assert.equal(await store.getTemplateVersion({ template_id: 'old', version: 'v-0' }), null)
    assert.ok(await store.getTemplateVersion({ template_id: 'delays', version: 'v-1' }))
  },

  'deletes what was never run, after a time of its own, and counts it no more': async ({ store, elapse }) => {
    await register(store)
    const template = { template_id: 'old', version: 'v-0', source: '# Old', partials: {} }
    const never = [await store.createJob(jobInput({ template })), await store.createJob(jobInput())]
    await queueNew(store)
    const later = await store.createJob(jobInput())
    await store.queueJob(later)
    await elapse(10 * DAY)
    const fresh = await store.createJob(jobInput())
    const prune = (days: number) => store.prune({ keep: { ...KEEP, drafts_ms: days * DAY }, limit: 1 })
    assert.equal((await prune(11)).drafts, 0)
    const one = await prune(9)
    assert.deepEqual([one.drafts, one.jobs], [1, 0], 'in batches')
    assert.equal((await prune(9)).drafts, 1)
    assert.equal((await prune(9)).drafts, 0)
    for (const job of never) {
      assert.equal(await store.getJob(job), null)
      await refuses(store.queueJob(job), 'not_found')
    }
    assert.equal((await store.getJob(fresh))?.job_status, 'draft')
    assert.equal((await store.getJob(later))?.job_status, 'queued')
    const counts = (await store.counts()).jobs.map(({ job_status, count }) => [job_status, count])
    assert.deepEqual(Object.fromEntries(counts), { draft: 1, queued: 2 })
    assert.equal(await store.getTemplateVersion({ template_id: 'old', version: 'v-0' }), null)
  },

  'deletes the kinds that it is told, and no other': async ({ store, elapse }) => {
    await register(store)
    const old = await completeNew(store)
    const draft = await store.createJob(jobInput())
    await elapse(400 * DAY)
    const nothing = { jobs: 0, drafts: 0, events: 0, deliveries: 0, workspaces: 0, other: 0 }
    const prune = (...kinds: (keyof Pruned)[]) => store.prune({ keep: KEEP, limit: 100, kinds })
    assert.deepEqual(await prune('drafts', 'deliveries'), { ...nothing, drafts: 1 })
    assert.equal(await store.getJob(draft), null)
    assert.ok(await store.getJob(old))
    assert.deepEqual(await prune('jobs'), { ...nothing, jobs: 1 })
    assert.ok((await prune('events')).events > 0)
  },

  'deletes old events with their ended deliveries, but not what still waits': async ({ store, elapse }) => {
    await register(store)
    const webhook = await addWebhook(store)
    const [delivered] = await send(store, webhook)
    for (const one of await claimAll(store)) await store.recordAttempt(outcome(one))
    const [waiting] = await send(store, webhook)
    await elapse(40 * DAY)
    const [fresh] = await send(store, webhook)
    const pruned = await store.prune({ keep: KEEP, limit: 100 })
    assert.equal(pruned.events, 1)
    const get = (delivery_id: string) => store.getDelivery({ workspace_id: WORKSPACE, delivery_id })
    assert.equal(await get(delivered!), null)
    assert.ok(await get(waiting!))
    assert.ok(await get(fresh!))
    assert.equal((await claimAll(store)).length, 2)
    const stats = await store.webhookStats({ ...webhook, since: at(0) })
    assert.equal(stats?.sent, 0)
  },

  'refuses everything once it is closed': async ({ store }) => {
    await store.ping()
    await store.close()
    await refuses(store.ping(), 'store_unavailable')
    await refuses(store.createJob(jobInput()), 'store_unavailable')
    await refuses(store.getJob({ workspace_id: WORKSPACE, assignment_id: uuidv7() }), 'store_unavailable')
    await store.close()
  },
}
