/** Conditions of changes (If-Match, If-None-Match). Of two changes at once with the same condition one is refused. */
import assert from 'node:assert/strict'
import type { NewAuditRecord } from '@assay/model/audit'
import { type Conditions, type Expected, tagOfSource, tagOfWebhook } from '@assay/model/entity-tag'
import { uuidv7 } from '@assay/model/ids'
import type { Webhook } from '@assay/model/webhook'
import type { Store } from '../store.ts'
import { addWebhook, type ConformanceTests, refuses, WORKSPACE } from './given.ts'

const RECORD: NewAuditRecord = {
  workspace_id: WORKSPACE,
  user_id: 'ada',
  token_id: null,
  action: 'webhook.change',
  object_id: uuidv7(),
  fields: [],
  address: '127.0.0.1',
  request_id: 'r-1',
}

/** Returns the store for one request with the conditions. */
function expecting(
  store: Store,
  noun: Expected['noun'],
  id: string,
  { match = null, noneMatch = null }: Partial<Conditions>,
): Store {
  return store.audited(RECORD, { noun, workspace_id: WORKSPACE, id, match, noneMatch })
}

export function expectingWebhook(store: Store, webhook: Webhook): Store {
  return expecting(store, 'webhook', webhook.webhook_id, { match: tagOfWebhook(webhook) })
}

/** Returns how many of the requests succeeded. The others were refused for their conditions. */
async function passed(requests: Promise<unknown>[]): Promise<number> {
  const ended = await Promise.allSettled(requests)
  for (const one of ended)
    if (one.status === 'rejected') await refuses(Promise.reject(one.reason as Error), 'precondition_failed')
  return ended.filter(({ status }) => status === 'fulfilled').length
}

export const expectedTests: ConformanceTests = {
  'one of two changes that expect the same is refused, and writes nothing': async ({ store }) => {
    const webhook = await addWebhook(store)
    const change = (description: string) =>
      expectingWebhook(store, webhook).updateWebhook({ ...webhook, patch: { description } })
    assert.equal(await passed([change('one'), change('two')]), 1)
    assert.equal((await store.listAudit({ workspace_id: WORKSPACE, limit: 10 })).items.length, 1)
  },

  'a deletion that expects what is not there any more is refused': async ({ store }) => {
    const webhook = await addWebhook(store)
    const changed = (await store.updateWebhook({ ...webhook, patch: { description: 'other' } }))!
    await refuses(expectingWebhook(store, webhook).deleteWebhook(webhook), 'precondition_failed')
    assert.deepEqual(await store.getWebhook(webhook), changed)
    assert.equal(await expectingWebhook(store, changed).deleteWebhook(webhook), true)
    await refuses(expectingWebhook(store, changed).deleteWebhook(webhook), 'precondition_failed')
  },

  'one of a deletion and a change that expect the same is refused': async ({ store }) => {
    const webhook = await addWebhook(store)
    const patch = { description: 'other' }
    const requests = [
      expectingWebhook(store, webhook).deleteWebhook(webhook),
      expectingWebhook(store, webhook).updateWebhook({ ...webhook, patch }),
    ]
    assert.equal(await passed(requests), 1)
  },

  'one of two rotations that expect the same is refused': async ({ store }) => {
    const webhook = await addWebhook(store)
    const rotate = (sealed: string) =>
      expectingWebhook(store, webhook).rotateSecret({ ...webhook, sealed, public_key: null, overlap_ms: 0 })
    assert.equal(await passed([rotate('v1.one'), rotate('v1.two')]), 1)
  },

  'what is sealed by another key has the tag that it had': async ({ store }) => {
    const { webhook_id } = await addWebhook(store, { kind: 'email', target: 'v1.target' })
    const webhook = (await store.getWebhook({ workspace_id: WORKSPACE, webhook_id }))!
    const texts = [
      { from: 'v1.target', to: 'v1.other' },
      { from: 'v1.secret', to: 'v1.anew' },
    ]
    assert.equal(await store.reseal([{ table: 'webhooks', key: { webhook_id }, texts }]), 1)
    const resealed = (await store.getWebhook({ workspace_id: WORKSPACE, webhook_id }))!
    assert.deepEqual([resealed.target, tagOfWebhook(resealed)], ['v1.other', tagOfWebhook(webhook)])
  },

  'one of two that both expect that nothing is there makes it': async ({ store }) => {
    const template = { workspace_id: WORKSPACE, template_id: 'mine', user_id: 'ada' }
    const put = (source: string) =>
      expecting(store, 'template', 'mine', { noneMatch: '*' }).putTemplate({ ...template, source })
    assert.equal(await passed([put('# One'), put('# Two')]), 1)
    const { source } = (await store.getTemplate(template))!
    const replace = (next: string) =>
      expecting(store, 'template', 'mine', { match: tagOfSource(source) }).putTemplate({
        ...template,
        source: next,
      })
    assert.equal(await passed([replace('# Three'), replace('# Four')]), 1)
  },
}
