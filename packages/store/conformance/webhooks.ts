/** Webhooks, the events that they get, and the list of events. */
import assert from 'node:assert/strict'
import type { Event } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import {
  CLOSED,
  HEADERS_MOST,
  HEALTHY,
  type HeaderChange,
  SUBSCRIPTIONS_MOST,
  WEBHOOKS_MOST,
} from '@assay/model/webhook'
import type { AttemptOutcome, ClaimedDelivery, Store } from '../store.ts'
import { WEBHOOKS } from '../tables/webhooks/webhooks.ts'
import {
  addWebhook,
  type ConformanceTests,
  claimAll,
  completeNew,
  execute,
  FAILED_ATTEMPT,
  failAll,
  findings,
  HOUR,
  otherWorkspace,
  outcome,
  queueNew,
  refuses,
  register,
  send,
  sorted,
  WORKSPACE,
  webhookInput,
} from './given.ts'

/** Returns which webhooks (by presence_name) wait for which events. */
async function told(store: Store): Promise<string[]> {
  const claimed = await claimAll(store)
  return claimed.map(({ webhook, event }) => `${webhook.presence_name} ${event.type}`).toSorted()
}

async function allEvents(store: Store, workspace_id = WORKSPACE): Promise<Event[]> {
  return (await store.listEvents({ workspace_id, limit: 200, order: 'oldest' })).items
}

export const webhookTests: ConformanceTests = {
  'keeps so many webhooks of a workspace, and subscriptions beside them': async ({ store, copy }) => {
    const mail = { kind: 'email', target: 'v1.target' } as const
    await addWebhook(store)
    await addWebhook(store, mail)
    await copy(WEBHOOKS, ['webhook_id'], WEBHOOKS_MOST - 4, "kind = 'webhook'")
    await copy(WEBHOOKS, ['webhook_id'], SUBSCRIPTIONS_MOST - 1, "kind = 'email'")
    const some = Array.from({ length: 9 }, () => webhookInput({ events: ['job.failed'] }))
    const asked = await Promise.allSettled(some.map((input) => store.createWebhook(input)))
    const inputs = some.filter((_, at) => asked[at]!.status === 'fulfilled')
    assert.equal(inputs.length, 3, 'however many ask at once')
    await refuses(store.createWebhook(webhookInput()), 'conflict')
    await refuses(store.createWebhook(webhookInput({ kind: 'openlineage' })), 'conflict')
    await store.createWebhook(inputs[0]!)
    await refuses(store.createWebhook(webhookInput({ ...mail, kind: 'slack' })), 'conflict')
    await addWebhook(store, { ...mail, kind: 'reader' })
    await otherWorkspace(store, 'calm')
    await addWebhook(store, { workspace_id: 'calm' })
    const { webhook_id } = inputs[0]!
    assert.ok(await store.deleteWebhook({ workspace_id: WORKSPACE, webhook_id }))
    await store.createWebhook(webhookInput())
  },

  'creates, reads and lists webhooks': async ({ store }) => {
    const input = webhookInput({
      retry_schedule: [1, 2.5],
      max_in_flight: 3,
      rate_per_second: 0.5,
      events: ['*'],
    })
    const made = await store.createWebhook(input)
    const { created_at, updated_at, ...rest } = made
    const plain = { kind: 'webhook', target: null, tells_skipped: false, personal: false, follows: null }
    assert.deepEqual(rest, {
      ...input,
      ...plain,
      status: 'enabled',
      disabled_reason: null,
      ...HEALTHY,
      ...CLOSED,
      held_until: null,
      held_reason: null,
    })
    assert.equal(created_at, updated_at)
    assert.deepEqual(await store.getWebhook(made), made)
    const workspace_id = await otherWorkspace(store)
    assert.equal(await store.getWebhook({ workspace_id, webhook_id: made.webhook_id }), null)
    const second = await addWebhook(store, { user_id: 'bob', presence_name: 'sales', events: null })
    const ids = async (query: Partial<Parameters<typeof store.listWebhooks>[0]>): Promise<string[]> =>
      (await store.listWebhooks({ workspace_id: WORKSPACE, limit: 10, ...query })).items.map(
        (webhook) => webhook.webhook_id,
      )
    assert.deepEqual(await ids({}), [second.webhook_id, made.webhook_id])
    assert.deepEqual(await ids({ user_id: 'bob' }), [second.webhook_id])
    assert.deepEqual(await ids({ presence_name: 'ops' }), [made.webhook_id])
    assert.deepEqual(await ids({ status: 'disabled' }), [])
  },

  'replaces a webhook that is created again under its id': async ({ store }) => {
    const first = await addWebhook(store)
    const again = await addWebhook(store, {
      webhook_id: first.webhook_id,
      secrets: [{ sealed: 'v1.new', expires_at: null }],
    })
    assert.deepEqual(again.secrets, [{ sealed: 'v1.new', expires_at: null }])
    assert.deepEqual(await store.getWebhook(first), again)
    const workspace_id = await otherWorkspace(store)
    await refuses(addWebhook(store, { workspace_id, webhook_id: first.webhook_id }), 'name_taken')
  },

  'patches what is given and leaves the rest': async ({ store }) => {
    const made = await addWebhook(store)
    const patched = await store.updateWebhook({
      ...made,
      patch: { url: 'https://example.com/other', events: null, max_in_flight: 2 },
    })
    const expected = { ...made, url: 'https://example.com/other', events: null, max_in_flight: 2 }
    assert.deepEqual(patched, { ...expected, updated_at: patched?.updated_at })
    assert.deepEqual(await store.getWebhook(made), patched)
    const workspace_id = await otherWorkspace(store)
    const elsewhere = { workspace_id, webhook_id: made.webhook_id, patch: { description: 'x' } }
    assert.equal(await store.updateWebhook(elsewhere), null)
  },

  'sets and removes headers by name over what others set at the same time': async ({ store }) => {
    const header = (name: string, value: string) => ({ name, sealed: `v1.${value}`, fingerprint: value })
    const set = (name: string, value: string) => ({ name, sealed: header(name, value) })
    const made = await addWebhook(store, { headers: [header('X-A', '1'), header('X-B', '1')] })
    const change = (headers: HeaderChange[] | null) => store.updateWebhook({ ...made, patch: { headers } })
    await Promise.all([
      change([set('X-C', '2')]),
      change([set('x-a', '3')]),
      change([{ name: 'x-b', sealed: null }]),
    ])
    const held = (await store.getWebhook(made))?.headers.map(
      ({ name, fingerprint }) => `${name} ${fingerprint}`,
    )
    assert.deepEqual(held?.toSorted(), ['X-C 2', 'x-a 3'])
    const many = Array.from({ length: HEADERS_MOST }, (_, index) => set(`X-${index}`, '4'))
    await refuses(change(many), 'invalid')
    assert.equal((await store.getWebhook(made))?.headers.length, 2)
    assert.deepEqual((await change(null))?.headers, [])
    assert.equal((await change(many))?.headers.length, HEADERS_MOST)
  },

  'keeps the reason of a webhook that is disabled again': async ({ store }) => {
    const made = await addWebhook(store)
    const disable = (disabled_reason: string) =>
      store.updateWebhook({ ...made, patch: { status: 'disabled', disabled_reason } })
    assert.equal((await disable('It answered 410.'))?.disabled_reason, 'It answered 410.')
    assert.equal((await disable('Turned off by ada.'))?.disabled_reason, 'It answered 410.')
  },

  'lets no older secret sign beyond the overlap of the last rotation, nor more than a few at once': async ({
    store,
    now,
  }) => {
    const made = await addWebhook(store)
    const rotate = async (sealed: string, overlap_ms: number) =>
      (await store.rotateSecret({ ...made, sealed, public_key: null, overlap_ms }))?.secrets ?? []
    for (let count = 0; count < 20; count += 1) await rotate(`v1.${count}`, 24 * HOUR)
    assert.deepEqual(
      (await rotate('v1.new', HOUR)).map((secret) => secret.sealed),
      ['v1.new', 'v1.19', 'v1.18', 'v1.17', 'v1.16'],
    )
    const [, ...older] = (await store.getWebhook(made))?.secrets ?? []
    for (const { expires_at } of older) assert.ok(Date.parse(expires_at ?? '') <= now() + HOUR + 5000)
    assert.deepEqual(await rotate('v1.last', 0), [{ sealed: 'v1.last', expires_at: null }])
  },

  'rotates the secret: the new one first, the old one until the overlap ends': async ({
    store,
    now,
    elapse,
  }) => {
    const made = await addWebhook(store)
    const rotate = (sealed: string) =>
      store.rotateSecret({ ...made, sealed, public_key: null, overlap_ms: 24 * HOUR })
    const once = await rotate('v1.second')
    assert.deepEqual(
      once?.secrets.map((secret) => secret.sealed),
      ['v1.second', 'v1.secret'],
    )
    assert.equal(once?.secrets[0]?.expires_at, null)
    const left = Date.parse(once?.secrets[1]?.expires_at ?? '') - now()
    assert.ok(Math.abs(left - 24 * HOUR) < 5000, `${left}`)
    await elapse(25 * HOUR)
    const twice = await rotate('v1.third')
    assert.deepEqual(
      twice?.secrets.map((secret) => secret.sealed),
      ['v1.third', 'v1.second'],
    )
    assert.equal(
      await store.rotateSecret({ ...made, workspace_id: 'x', sealed: '', public_key: null, overlap_ms: 1 }),
      null,
    )
  },

  'deletes a webhook with its deliveries': async ({ store }) => {
    await register(store)
    const made = await addWebhook(store)
    const [delivery_id] = await send(store, made, 2)
    const [claimed] = await store.claimDeliveries({ node_id: 'node-1', limit: 2 })
    const workspace_id = await otherWorkspace(store)
    assert.equal(await store.deleteWebhook({ workspace_id, webhook_id: made.webhook_id }), false)
    assert.equal(await store.deleteWebhook(made), true)
    assert.equal(await store.deleteWebhook(made), false)
    assert.equal(await store.getDelivery({ workspace_id: WORKSPACE, delivery_id: delivery_id! }), null)
    assert.equal(await store.recordAttempt(outcome(claimed!)), false)
    assert.deepEqual(await claimAll(store), [])
  },

  'tells each webhook of the events that it asks for': async ({ store }) => {
    await register(store)
    await addWebhook(store, { presence_name: 'ending', events: null })
    await addWebhook(store, { presence_name: 'all', events: ['*'] })
    await addWebhook(store, { presence_name: 'started', events: ['job.started'] })
    await addWebhook(store, { presence_name: 'job.completed', events: null })
    const workspace_id = await otherWorkspace(store)
    await addWebhook(store, { workspace_id, presence_name: 'foreign', events: ['*'] })
    await completeNew(store)
    assert.deepEqual(await told(store), [
      'all job.completed',
      'all job.queued',
      'all job.started',
      'ending job.completed',
      'job.completed job.completed',
      'started job.started',
    ])
  },

  'a job with a presence name tells only the webhooks that bear it': async ({ store }) => {
    await register(store)
    await addWebhook(store, { presence_name: 'ops' })
    await addWebhook(store, { presence_name: 'sales' })
    await completeNew(store, { presence_name: 'sales' })
    await completeNew(store, { presence_name: 'nobody' })
    assert.deepEqual(await told(store), ['sales job.completed'])
    await completeNew(store)
    assert.deepEqual(await told(store), ['ops job.completed', 'sales job.completed'])
  },

  'lineage is told of every run, whatever its name, once': async ({ store }) => {
    await register(store)
    const events = ['job.completed' as const]
    await addWebhook(store, { kind: 'openlineage', presence_name: 'catalog', tells_skipped: true, events })
    await completeNew(store)
    assert.deepEqual(await told(store), ['catalog job.completed'])
    for (const presence_name of ['sales', 'catalog', '*']) {
      await completeNew(store, { presence_name })
      assert.deepEqual(await told(store), ['catalog job.completed'], presence_name)
    }
  },

  'a webhook whose own name is a star is told of the jobs with that name, and not of every run': async ({
    store,
  }) => {
    await register(store)
    await addWebhook(store, { presence_name: '*' })
    await completeNew(store, { presence_name: 'sales' })
    assert.deepEqual(await told(store), [])
    await completeNew(store, { presence_name: '*' })
    assert.deepEqual(await told(store), ['* job.completed'])
  },

  'follows a change of what a webhook asks for': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await store.updateWebhook({ ...webhook, patch: { events: ['job.failed'] } })
    await completeNew(store)
    assert.deepEqual(await told(store), [])
    await store.failJob({ ...(await execute(store)), error: { code: 'timed_out', detail: 'x' } })
    assert.deepEqual(await told(store), ['ops job.failed'])
    await store.updateWebhook({ ...webhook, patch: { status: 'disabled' } })
    await store.failJob({ ...(await execute(store)), error: { code: 'timed_out', detail: 'x' } })
    assert.deepEqual(await told(store), [])
  },

  'a job skipped by its condition completes, says so, and tells nobody': async ({ store }) => {
    await register(store)
    await addWebhook(store, { events: ['job.completed'] })
    const lease = await execute(store)
    const insight_id = uuidv7()
    await store.completeJob({ ...lease, insight_id, findings: findings({ skipped: 'condition' }) })
    const job = await store.getJob({ workspace_id: WORKSPACE, ...lease })
    assert.deepEqual([job?.job_status, job?.skipped], ['completed', 'condition'])
    assert.ok(await store.getInsight({ workspace_id: WORKSPACE, insight_id }))
    const event = (await allEvents(store)).at(-1)
    assert.deepEqual([event?.type, event?.data.skipped], ['job.completed', 'condition'])
    assert.deepEqual(await told(store), [])
  },

  'writes the event of each move with the job in it': async ({ store }) => {
    await register(store)
    const job = await completeNew(store, { presence_name: 'ops' })
    await store.cancelJob(await queueNew(store))
    await store.failJob({ ...(await execute(store)), error: { code: 'timed_out', detail: 'x' } })
    const events = await allEvents(store)
    assert.deepEqual(
      events.map((event) => event.type),
      [
        'job.queued',
        'job.started',
        'job.completed',
        'job.queued',
        'job.canceled',
        'job.queued',
        'job.started',
        'job.failed',
      ],
    )
    assert.equal(new Set(events.map((event) => event.event_id)).size, 8)
    const completed = events[2]!
    assert.equal(completed.timestamp, job.finished_at)
    const { assignment_id, insight_id, user_id, metadata } = job
    const wanted = {
      assignment_id,
      insight_id,
      user_id,
      metadata,
      presence_name: 'ops',
      job_status: 'completed',
    }
    for (const [name, value] of Object.entries(wanted)) assert.deepEqual(completed.data[name], value)
    assert.match(String(completed.data.result_url), new RegExp(`insight_id=${insight_id}$`))
  },

  'reads events forward without a gap, and goes on from where it was': async ({ store }) => {
    const read = (cursor?: string) =>
      store.listEvents({ workspace_id: WORKSPACE, limit: 3, order: 'oldest', cursor })
    const empty = await read()
    assert.deepEqual(empty.items, [])
    assert.ok(empty.next_cursor)
    const jobs = await Promise.all(Array.from({ length: 5 }, () => queueNew(store)))
    const seen: string[] = []
    let cursor: string | null = empty.next_cursor
    for (let round = 0; round < 2; round += 1) {
      const page = await read(cursor ?? undefined)
      seen.push(...page.items.map((event) => String(event.data.assignment_id)))
      cursor = page.next_cursor
      assert.ok(cursor)
    }
    const ids = jobs.map((job) => job.assignment_id)
    assert.deepEqual(sorted(seen), sorted(ids))
    assert.deepEqual((await read(cursor ?? undefined)).items, [])
    const late = await queueNew(store)
    const { items } = await read(cursor ?? undefined)
    assert.deepEqual(
      items.map((event) => event.data.assignment_id),
      [late.assignment_id],
    )
  },

  'reads events backward and by type': async ({ store }) => {
    const jobs = [await queueNew(store), await queueNew(store), await queueNew(store)]
    await store.cancelJob(jobs[0]!)
    const page = await store.listEvents({ workspace_id: WORKSPACE, limit: 2, order: 'newest' })
    assert.deepEqual(
      page.items.map((event) => event.type),
      ['job.canceled', 'job.queued'],
    )
    const cursor = page.next_cursor ?? undefined
    const rest = await store.listEvents({ workspace_id: WORKSPACE, limit: 2, order: 'newest', cursor })
    assert.equal(rest.items.length, 2)
    assert.equal(rest.next_cursor, null)
    const queued = await store.listEvents({
      workspace_id: WORKSPACE,
      limit: 9,
      order: 'newest',
      type: 'job.queued',
    })
    assert.deepEqual(
      queued.items.map((event) => event.data.assignment_id),
      jobs.map((job) => job.assignment_id).toReversed(),
    )
    await refuses(store.listEvents({ workspace_id: WORKSPACE, limit: 2, order: 'oldest', cursor }), 'invalid')
  },

  'disables a webhook once and tells those that ask to know': async ({ store }) => {
    await register(store)
    const bad = await addWebhook(store, { presence_name: 'bad', url: 'https://bad.example/hook' })
    await addWebhook(store, { presence_name: 'watcher', events: ['webhook.disabled'] })
    await addWebhook(store, { presence_name: 'ending', events: null })
    await send(store, bad, 2)
    const claimed = await claimAll(store)
    assert.equal(claimed.length, 2)
    for (const one of claimed)
      await store.recordAttempt(
        outcome(one, { next: { status: 'failed' }, disable: { reason: 'It answered 410.' } }),
      )
    const webhook = await store.getWebhook(bad)
    assert.deepEqual([webhook?.status, webhook?.disabled_reason], ['disabled', 'It answered 410.'])
    const events = (await allEvents(store)).filter((event) => event.type === 'webhook.disabled')
    assert.deepEqual(
      events.map((event) => event.data),
      [
        {
          webhook_id: bad.webhook_id,
          url: 'https://bad.example/hook',
          disabled_reason: 'It answered 410.',
          delivery: {
            delivery_id: claimed[0]!.delivery_id,
            event_id: claimed[0]!.event.event_id,
            event_type: 'webhook.test',
          },
        },
      ],
    )
    assert.deepEqual(await told(store), ['watcher webhook.disabled'])
  },

  'tells once that a webhook fails, and again only after it has succeeded': async ({ store }) => {
    await register(store)
    const bad = await addWebhook(store, { presence_name: 'bad', url: 'https://bad.example/hook' })
    await addWebhook(store, { presence_name: 'watcher', events: ['webhook.failing'] })
    const settle = async (over: Partial<AttemptOutcome>): Promise<ClaimedDelivery> => {
      await send(store, bad, 1)
      const claimed = (await claimAll(store)).find(({ webhook }) => webhook.webhook_id === bad.webhook_id)!
      assert.ok(await store.recordAttempt(outcome(claimed, over)))
      return claimed
    }
    const failure = { next: { status: 'failed' as const }, record: FAILED_ATTEMPT, warn: true as const }
    const first = await settle(failure)
    const failing = (await store.getWebhook(bad))!
    assert.equal(failing.failing_reason, 'http_status: 500')
    assert.ok(failing.warned_at)
    await settle(failure)
    const said = async () => (await allEvents(store)).filter((event) => event.type === 'webhook.failing')
    const { failing_since, failing_reason } = failing
    assert.deepEqual(
      (await said()).map((event) => event.data),
      [
        {
          webhook_id: bad.webhook_id,
          url: 'https://bad.example/hook',
          failing_since,
          failing_reason,
          disabled_from: new Date(Date.parse(failing_since!) + 5 * 86_400_000).toISOString(),
          delivery: {
            delivery_id: first.delivery_id,
            event_id: first.event.event_id,
            event_type: 'webhook.test',
          },
        },
      ],
    )
    await settle({})
    const well = await store.getWebhook(bad)
    assert.deepEqual([well?.failing_since, well?.failing_reason, well?.warned_at], [null, null, null])
    await settle(failure)
    assert.equal((await said()).length, 2)
  },

  'keeps what waits for a disabled webhook, and sends it once it is enabled': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 3)
    await failAll(store, { status: 'pending', wait_ms: HOUR })
    assert.ok((await store.getWebhook(webhook))?.failing_since)
    await store.updateWebhook({
      ...webhook,
      patch: { status: 'disabled', disabled_reason: 'Paused by Ada.' },
    })
    assert.equal((await store.getWebhook(webhook))?.disabled_reason, 'Paused by Ada.')
    assert.deepEqual(await claimAll(store), [])
    assert.equal((await store.counts()).deliveries.waiting, 3)
    const enabled = await store.updateWebhook({ ...webhook, patch: { status: 'enabled' } })
    assert.deepEqual([enabled?.failing_since, enabled?.disabled_reason], [null, null])
    assert.deepEqual(
      (await claimAll(store)).map((one) => one.attempt),
      [2, 2, 2],
    )
  },

  'each job that somebody must be told of wakes who sends': async ({ store }) => {
    await register(store)
    await addWebhook(store)
    const topics: string[] = []
    const stop = store.subscribe(({ topic }) => topics.push(topic))
    const woken = (): number => topics.filter((topic) => topic === 'deliveries').length
    const until = performance.now() + 60_000
    // PostgreSQL sends one hint of its own when it begins to listen.
    for (const least of [1, 2, 3]) {
      await completeNew(store)
      while (woken() < least && performance.now() < until)
        await new Promise((resolve) => setImmediate(resolve))
      assert.ok(woken() >= least, `woken ${woken()} times by ${least} jobs`)
    }
    stop()
  },
}
