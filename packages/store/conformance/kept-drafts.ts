/** Kept drafts: their owners, their limits and their ends. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import { DRAFT_CHARACTERS, DRAFTS_KEPT, type DraftKind } from '@assay/model/kept-draft'
import type { Store } from '../store.ts'
import { type ConformanceTests, otherWorkspace, refuses, SECOND, WORKSPACE } from './given.ts'

const draft = (over: Partial<Parameters<Store['keepDraft']>[0]> = {}) => ({
  draft_id: uuidv7(),
  workspace_id: WORKSPACE,
  kind: 'template' as DraftKind,
  name: 'sales',
  user_id: 'ada',
  source: '# Sales',
  ...over,
})

async function names(store: Store, also: object = {}): Promise<string[]> {
  const { items } = await store.listKeptDrafts({ workspace_id: WORKSPACE, limit: 10, ...also })
  return items.map(({ kind, name, user_id }) => `${kind} ${name} ${user_id}`)
}

export const keptDraftTests: ConformanceTests = {
  'keeps one draft of each user for a template and a metric, for its workspace alone': async ({
    store,
    elapse,
  }) => {
    const { draft_id } = await store.keepDraft(draft())
    await elapse(SECOND)
    const again = await store.keepDraft(draft({ source: '# More' }))
    assert.equal(again.draft_id, draft_id)
    assert.ok(again.updated_at > again.created_at)
    await store.keepDraft(draft({ user_id: 'eve' }))
    await elapse(SECOND)
    await store.keepDraft(draft({ kind: 'metric', source: 'metric: sales' }))
    assert.deepEqual(await names(store, { user_id: 'ada' }), ['metric sales ada', 'template sales ada'])
    assert.deepEqual(await names(store, { kind: 'metric', name: 'sales' }), ['metric sales ada'])
    assert.equal((await names(store)).length, 3)
    const workspace_id = await otherWorkspace(store)
    assert.deepEqual(await names(store, { workspace_id }), [])
    const key = { workspace_id: WORKSPACE, draft_id }
    assert.equal((await store.getKeptDraft(key))?.source, '# More')
    assert.equal(await store.getKeptDraft({ ...key, workspace_id }), null)
    assert.equal(await store.deleteKeptDraft({ ...key, workspace_id }), false)
    assert.equal(await store.deleteKeptDraft(key), true)
    assert.equal(await store.deleteKeptDraft(key), false)
    assert.equal(await store.getKeptDraft(key), null)
  },

  'ends a draft once its text is published, and keeps one that was changed since': async ({ store }) => {
    await store.keepDraft(draft())
    await store.keepDraft(draft({ user_id: 'eve', source: '# Other' }))
    await store.keepDraft(draft({ name: 'costs' }))
    await store.keepDraft(draft({ kind: 'metric' }))
    const template = { workspace_id: WORKSPACE, template_id: 'sales', user_id: 'root' }
    await store.putTemplate({ ...template, source: '# Sales' })
    const left = ['metric sales ada', 'template costs ada', 'template sales eve']
    assert.deepEqual((await names(store)).toSorted(), left)
    const metric = { workspace_id: WORKSPACE, metric_id: 'sales', user_id: 'root' }
    await store.putMetric({ ...metric, source: '# Sales' })
    assert.deepEqual((await names(store)).toSorted(), left.slice(1))
  },

  'forgets the drafts of a user who is deleted': async ({ store }) => {
    const user = { user_id: 'u-1', workspace_id: WORKSPACE, username: 'ada', scopes: ['analyst' as const] }
    await store.createUser({ ...user, password_hash: null })
    await store.keepDraft(draft({ user_id: user.user_id }))
    await store.keepDraft(draft({ user_id: 'eve' }))
    await store.deleteUser(user)
    assert.deepEqual(await names(store), ['template sales eve'])
  },

  'keeps no more drafts of a workspace than it may have, nor longer ones': async ({ store }) => {
    const long = 'x'.repeat(DRAFT_CHARACTERS - 9)
    await store.keepDraft(draft({ source: long }))
    await refuses(store.keepDraft(draft({ name: 'more', source: '0123456789' })), 'conflict')
    await store.keepDraft(draft({ source: 'short' }))
    await Promise.all(
      Array.from({ length: DRAFTS_KEPT - 1 }, (_, nth) => store.keepDraft(draft({ name: `n${nth}` }))),
    )
    await refuses(store.keepDraft(draft({ name: 'more' })), 'conflict')
    await store.keepDraft(draft({ source: 'another' }))
  },
}
