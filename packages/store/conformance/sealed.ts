/** Sealed texts, and values of the whole store. */
import assert from 'node:assert/strict'
import { addWebhook, type ConformanceTests, WORKSPACE } from './given.ts'

export const sealedTests: ConformanceTests = {
  'puts a sealed text in the place of another, where that is still there': async ({ store }) => {
    const { webhook_id } = await addWebhook(store, {
      headers: [
        { name: 'authorization', sealed: 'v1.a', fingerprint: '0123abcd' },
        { name: 'x-team', sealed: 'v1.b', fingerprint: '0123abcd' },
      ],
      secrets: [{ sealed: 'v1.c', expires_at: null }],
    })
    const texts = ['a', 'c', 'gone'].map((name) => ({ from: `v1.${name}`, to: `v2.${name}` }))
    const row = { table: 'webhooks' as const, key: { webhook_id }, texts }
    assert.equal(await store.reseal([row, { ...row, key: { webhook_id: 'none' } }]), 1)
    assert.equal(await store.reseal([row]), 0, 'a repeat finds nothing to do')
    const kept = (await store.getWebhook({ workspace_id: WORKSPACE, webhook_id }))!
    assert.deepEqual(
      [...kept.headers, ...kept.secrets].map(({ sealed }) => sealed),
      ['v2.a', 'v1.b', 'v2.c'],
    )
    await store.createConnection({
      workspace_id: WORKSPACE,
      name: 'crm',
      kind: 'postgresql',
      description: null,
      options: {},
      secrets: [{ name: 'password', sealed: 'v1.p', fingerprint: '0123abcd' }],
      limits: {} as never,
      user_id: 'ada',
    })
    const key = { workspace_id: WORKSPACE, name: 'crm' }
    assert.equal(
      await store.reseal([{ table: 'connections', key, texts: [{ from: 'v1.p', to: 'v2.p' }] }]),
      1,
    )
    assert.equal((await store.getConnection(key))!.secrets[0]!.sealed, 'v2.p')
    const asked = { workspace_id: WORKSPACE, method: 'POST', path: '/v1alpha/jobs', key: 'k' }
    const start = { ...asked, body_hash: 'h', id: 'i', node_id: 'n' }
    await store.startIdempotent(start)
    await store.endIdempotent({ ...asked, answer: 'v1.answer' })
    const answer = {
      table: 'idempotency_keys' as const,
      key: asked,
      texts: [{ from: 'v1.answer', to: 'v2.answer' }],
    }
    assert.equal(await store.reseal([answer]), 1)
    assert.deepEqual(await store.startIdempotent(start), { state: 'replay', answer: 'v2.answer' })
  },
  'tells what the database takes on its disk': async ({ store }) => {
    assert.ok((await store.databaseBytes()) > 50_000)
  },
  'keeps the first value of a key until it is replaced': async ({ store }) => {
    assert.equal(await store.getKept('check'), null)
    assert.equal(await store.keepOnce('check', 'one'), 'one')
    assert.equal(await store.keepOnce('check', 'two'), 'one')
    await store.replaceKept({ key: 'check', value: 'two' })
    assert.equal(await store.getKept('check'), 'two')
  },
}
