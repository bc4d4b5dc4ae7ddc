/** Kinds of webhook, sealed targets, and skipped runs for those that ask. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { Store } from '../store.ts'
import {
  addWebhook,
  type ConformanceTests,
  claimAll,
  execute,
  findings,
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
}
