/** Kinds of webhook, sealed targets, skipped runs for those that ask, and what was delivered last. */
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
  register,
  sorted,
  WORKSPACE,
} from './given.ts'

async function finish(store: Store, skipped: 'condition' | null): Promise<void> {
  const lease = await execute(store)
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
    await finish(store, null)
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
    await finish(store, 'condition')
    assert.deepEqual(
      (await claimAll(store)).map(({ webhook }) => webhook.webhook_id),
      [asking.webhook_id],
    )
    await store.updateWebhook({ ...asking, patch: { tells_skipped: false } })
    await finish(store, 'condition')
    assert.deepEqual(await claimAll(store), [])
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
      // A job that died before its end changes nothing; one that is deleted gives way to the one before.
      await execute(store)
      assert.equal(await last(), 'second')
      await store.deleteJob({ workspace_id: WORKSPACE, assignment_id: second.assignment_id })
      assert.equal(await last(), 'first')
    },
}
