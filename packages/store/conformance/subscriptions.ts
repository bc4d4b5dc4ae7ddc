/** Kinds of webhooks, sealed targets, skipped runs for subscriptions that ask for them, and the last delivered insight. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { Findings } from '@assay/model/insight'
import type { NewJob, Store } from '../store.ts'
import {
  addWebhook,
  type ConformanceTests,
  claimAll,
  execute,
  findings,
  jobInput,
  otherWorkspace,
  outcome,
  register,
  send,
  sorted,
  WORKSPACE,
} from './given.ts'

async function finish(store: Store, skipped: 'condition' | null, over: Partial<NewJob> = {}): Promise<void> {
  const lease = await execute(store, over)
  assert.ok(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings({ skipped }) }))
}

const email = { kind: 'email', target: 'v1.target', url: 'mailto:••••' } as const

export const subscriptionTests: ConformanceTests = {
  'keeps the kind and the target of a webhook, and lists by kind': async ({ store }) => {
    const plain = await addWebhook(store)
    assert.deepEqual([plain.kind, plain.target, plain.tells_skipped], ['webhook', null, false])
    const mail = await addWebhook(store, { ...email, tells_skipped: true })
    assert.deepEqual([mail.kind, mail.target, mail.tells_skipped], ['email', 'v1.target', true])
    assert.deepEqual(await store.getWebhook(mail), mail)
    const kinds = async (...given: ('webhook' | 'email' | 'slack')[]) =>
      (await store.listWebhooks({ workspace_id: WORKSPACE, limit: 10, kinds: given })).items
    assert.deepEqual(await kinds('email', 'slack'), [mail])
    assert.deepEqual(await kinds('webhook'), [plain])
    assert.deepEqual(await kinds('slack'), [])
    await register(store)
    await finish(store, null, { notify: [mail.webhook_id] })
    const claimed = await claimAll(store)
    const seen = claimed.map(({ webhook }) => `${webhook.kind} ${webhook.target}`)
    assert.deepEqual(sorted(seen), ['email v1.target', 'webhook null'])
  },

  'changes a target only where it is still the one that was read': async ({ store }) => {
    const mail = await addWebhook(store, email)
    const change = (if_target: string | null, target: string) =>
      store.updateWebhook({ ...mail, if_target, patch: { target } })
    assert.equal((await change('v1.target', 'v1.second'))?.target, 'v1.second')
    assert.equal(await change('v1.target', 'v1.third'), null)
    assert.equal((await store.getWebhook(mail))?.target, 'v1.second')
    const both = await Promise.all([change('v1.second', 'v1.a'), change('v1.second', 'v1.b')])
    assert.equal(both.filter((one) => one !== null).length, 1)
  },

  'tells of a skipped run only those that ask for it': async ({ store }) => {
    await register(store)
    await addWebhook(store)
    const asking = await addWebhook(store, { ...email, tells_skipped: true })
    const notify = [asking.webhook_id]
    await finish(store, 'condition', { notify })
    assert.deepEqual(
      (await claimAll(store)).map(({ webhook }) => webhook.webhook_id),
      [asking.webhook_id],
    )
    await store.updateWebhook({ ...asking, patch: { tells_skipped: false } })
    await finish(store, 'condition', { notify })
    assert.deepEqual(await claimAll(store), [])
  },

  'a job tells the subscriptions that it names or that bear its presence name, and no other': async ({
    store,
  }) => {
    await register(store)
    const own = await addWebhook(store, { ...email, presence_name: 'default' })
    await addWebhook(store, { ...email, presence_name: 'board' })
    await addWebhook(store, { ...email, presence_name: 'other' })
    await addWebhook(store, { presence_name: 'hook' })
    const workspace_id = await otherWorkspace(store)
    const foreign = await addWebhook(store, { ...email, workspace_id })
    const told = async (over: Partial<NewJob>) => {
      await finish(store, null, over)
      return sorted((await claimAll(store)).map(({ webhook }) => webhook.presence_name))
    }
    assert.deepEqual(await told({}), ['hook'])
    assert.deepEqual(await told({ notify: [] }), ['hook'])
    const notify = [own.webhook_id, foreign.webhook_id, uuidv7()]
    assert.deepEqual(await told({ notify }), ['default', 'hook'])
    assert.deepEqual(await told({ presence_name: 'board' }), ['board'])
    assert.deepEqual(await told({ presence_name: 'board', notify }), ['board', 'default'])
    // A subscription that is named twice is told once.
    assert.deepEqual(await told({ presence_name: 'default', notify }), ['default'])
    const job = (await store.listJobs({ workspace_id: WORKSPACE, limit: 1 })).items[0]!
    assert.deepEqual(job.notify, notify)
    await store.updateWebhook({ ...own, patch: { status: 'disabled' } })
    assert.deepEqual(await told({ notify }), ['hook'])
  },

  'tells everyone of an event that is of no job': async ({ store }) => {
    await register(store)
    const mail = await addWebhook(store, { ...email, events: ['webhook.disabled'] })
    const bad = await addWebhook(store)
    await send(store, bad)
    const [claimed] = await claimAll(store)
    const disable = { reason: 'It answered 410.' }
    await store.recordAttempt(outcome(claimed!, { next: { status: 'failed' }, disable }))
    const seen = (await claimAll(store)).map(({ webhook }) => webhook.webhook_id)
    assert.deepEqual(seen, [mail.webhook_id])
  },

  'writes whom a job tells with its end, and nobody is told where the end is not written': async ({
    store,
  }) => {
    await register(store)
    const { webhook_id } = await addWebhook(store, email)
    const lease = await execute(store, { notify: [webhook_id] })
    const end = { insight_id: uuidv7(), findings: findings() }
    assert.equal(await store.completeJob({ ...lease, attempt: lease.attempt + 1, ...end }), false)
    const waiting = async () =>
      (await store.listDeliveries({ workspace_id: WORKSPACE, webhook_id, limit: 10 })).items.length
    assert.equal(await waiting(), 0)
    assert.equal(await store.completeJob({ ...lease, ...end }), true)
    assert.equal(await waiting(), 1)
    assert.equal(await store.completeJob({ ...lease, ...end }), false)
    assert.equal(await waiting(), 1)
    const events = await store.listEvents({ workspace_id: WORKSPACE, limit: 10, order: 'newest' })
    assert.deepEqual(events.items[0]!.data.notify, [webhook_id])
  },

  'a recovery of what was never sent finds the jobs that name the subscription': async ({ store }) => {
    await register(store)
    const mail = await addWebhook(store, email)
    await finish(store, null)
    await store.updateWebhook({ ...mail, patch: { status: 'disabled' } })
    await finish(store, null, { notify: [mail.webhook_id] })
    await store.updateWebhook({ ...mail, patch: { status: 'enabled' } })
    const recovery = await store.createRecovery({
      ...mail,
      recovery_id: uuidv7(),
      since: '2000-01-01T00:00:00.000Z',
      until: null,
      include_unsent: true,
    })
    assert.equal(recovery?.count, 1)
  },

  'finds the enabled subscriptions that follow a schedule or a template': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    const follows = ['schedule:s', 'template:delays']
    const one = await addWebhook(store, { ...email, follows })
    const two = await addWebhook(store, { ...email, follows: ['template:delays'] })
    await addWebhook(store, { ...email, follows, workspace_id })
    const found = async (...followed: string[]) =>
      sorted(await store.findFollowers({ workspace_id: WORKSPACE, followed }))
    assert.deepEqual(await found(...follows), sorted([one.webhook_id, two.webhook_id]))
    assert.deepEqual(await found('schedule:s'), [one.webhook_id])
    assert.deepEqual(await found('template:other'), [])
    await store.updateWebhook({ ...one, patch: { follows: ['template:other'] } })
    await store.updateWebhook({ ...two, patch: { status: 'disabled' } })
    assert.deepEqual(await found(...follows), [])
    assert.deepEqual(await found('template:other'), [one.webhook_id])
    await store.deleteWebhook(one)
    assert.deepEqual(await found('template:other'), [])
  },

  'finds subscriptions by id, and the own ones of a user': async ({ store }) => {
    const workspace_id = await otherWorkspace(store)
    const hook = await addWebhook(store, { personal: true })
    const named = await addWebhook(store, { ...email, user_id: 'bob' })
    const own = await addWebhook(store, { ...email, personal: true })
    await addWebhook(store, { ...email, personal: true, user_id: 'bob' })
    const foreign = await addWebhook(store, { ...email, personal: true, workspace_id })
    const found = async (...webhook_ids: string[]) => {
      const given = { workspace_id: WORKSPACE, webhook_ids, personal_of: 'ada' }
      return sorted((await store.findSubscriptions(given)).map(({ webhook_id }) => webhook_id))
    }
    assert.deepEqual(await found(), [own.webhook_id])
    const both = sorted([named.webhook_id, own.webhook_id])
    assert.deepEqual(await found(named.webhook_id, hook.webhook_id, foreign.webhook_id), both)
    assert.deepEqual(await found(named.webhook_id, own.webhook_id), both)
    await store.updateWebhook({ ...own, patch: { personal: false } })
    assert.deepEqual(await found(), [])
  },

  'knows the last insight that was delivered for a template, its variables and its schedule or presence':
    async ({ store, elapse }) => {
      await register(store)
      const asked = { workspace_id: WORKSPACE, template_id: 'delays', schedule_id: null, presence_name: null }
      const variables = jobInput().variables
      const last = async (over: Partial<Parameters<Store['lastDelivered']>[0]> = {}) => {
        const text = await store.lastDelivered({ ...asked, variables, ...over })
        return text === null ? null : (JSON.parse(text) as Record<string, { headline: string }>).a!.headline
      }
      const done = async (
        headline: string,
        over: Partial<NewJob> = {},
        skipped: 'condition' | null = null,
      ) => {
        const lease = await execute(store, over)
        const analyses = { a: { headline } } as unknown as Findings['analyses']
        const found = findings({ analyses, skipped })
        assert.ok(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: found }))
        await elapse(1000)
        return lease
      }
      assert.equal(await last(), null)
      await done('first')
      await done('skipped', {}, 'condition')
      assert.equal(await last(), 'first')
      const second = await done('second')
      assert.equal(await last(), 'second')
      assert.equal(await last({ variables: { ...variables, origin: 'ORD' } }), null)
      assert.equal(await last({ presence_name: 'board' }), null)
      assert.equal(await last({ workspace_id: 'other' }), null)
      await done('of the board', { presence_name: 'board' })
      assert.equal(await last({ presence_name: 'board' }), 'of the board')
      const schedule_id = uuidv7()
      assert.equal(await last({ schedule_id }), null)
      await done('of the schedule', { schedule_id })
      assert.equal(await last({ schedule_id }), 'of the schedule')
      assert.equal(await last(), 'second')
      // A job that died before its end changes nothing. A deleted job is replaced by the one before.
      await execute(store)
      assert.equal(await last(), 'second')
      await store.deleteJob({ workspace_id: WORKSPACE, assignment_id: second.assignment_id })
      assert.equal(await last(), 'first')
    },
}
