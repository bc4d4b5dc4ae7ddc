/** Collections of insights, and the pins of users. */
import assert from 'node:assert/strict'
import { HELD_MOST, pinsId } from '@assay/model/collection'
import { uuidv7 } from '@assay/model/ids'
import type { NewJob, Store } from '../store.ts'
import {
  addWebhook,
  type ConformanceTests,
  execute,
  findings,
  otherWorkspace,
  refuses,
  register,
  sorted,
  WORKSPACE,
} from './given.ts'

const PERIOD = { start: '2001-06-18', end: '2001-06-24', label: 'a week' }

/** Makes an insight of the series, from a job with a period. */
async function made(store: Store, series: string, over: Partial<NewJob> = {}): Promise<string> {
  const insight_id = uuidv7()
  const lease = await execute(store, { variables: { origin: 'ORD', week: 'last' }, ...over })
  const card = {
    headline: null,
    grade: null,
    figure: null,
    period: null,
    tags: [],
    metrics: ['late_share'],
    series,
    search: 'x',
  }
  const found = findings({ card })
  found.lineage.variables = { origin: 'ORD', week: PERIOD }
  assert.ok(await store.completeJob({ ...lease, insight_id, findings: found }))
  return insight_id
}

const of = (collection_id: string) => ({ workspace_id: WORKSPACE, collection_id })

async function create(store: Store, name = 'Board'): Promise<string> {
  const collection_id = uuidv7()
  await store.createCollection({ ...of(collection_id), user_id: 'ada', name, description: null })
  return collection_id
}

async function held(store: Store, collection_id: string, also: object = {}): Promise<string[]> {
  const query = { workspace_id: WORKSPACE, collection_id, limit: 10, ...also }
  return (await store.listInsights(query)).items.map(({ insight_id }) => insight_id)
}

/** Fills a collection with as many runs as it may hold, each of a series of its own. */
async function filled(store: Store, collection_id: string) {
  const put = (insight_id: string) =>
    store.addToCollection({ ...of(collection_id), insight_id, newest: true, user_id: 'ada', pins: false })
  const insights: string[] = []
  for (let nth = 0; nth < HELD_MOST; nth += 1) insights.push(await made(store, `series-${nth}`))
  for (const insight_id of insights) await put(insight_id)
  return { insight_id: insights[0]!, put }
}

export const collectionTests: ConformanceTests = {
  'makes room for another where an insight, or all runs of a series, are gone': async ({ store }) => {
    await register(store)
    const collection_id = await create(store)
    const { insight_id, put } = await filled(store, collection_id)
    const next = await made(store, 'next')
    await refuses(put(next), 'conflict')
    const { assignment_id } = (await store.getInsightHead({ workspace_id: WORKSPACE, insight_id }))!
    await store.deleteJob({ workspace_id: WORKSPACE, assignment_id })
    await put(next)
    assert.ok((await held(store, collection_id)).includes(next))
  },

  'shows the insights that a collection holds, and of a series the newest': async ({ store }) => {
    await register(store)
    const collection_id = await create(store)
    const one = await made(store, 'a')
    const old = await made(store, 'b')
    await made(store, 'c')
    const put = (insight_id: string, newest: boolean) =>
      store.addToCollection({ ...of(collection_id), insight_id, newest, user_id: 'ada', pins: false })
    await put(one, false)
    await put(one, false)
    await put(old, true)
    assert.deepEqual(await held(store, collection_id), [old, one])
    const next = await made(store, 'b')
    assert.deepEqual(await held(store, collection_id), [next, one])
    assert.deepEqual(await held(store, collection_id, { limit: 1 }), [next])
    assert.deepEqual(await held(store, collection_id, { insight_id: one, with_history: false }), [one])
    assert.deepEqual(
      await held(store, collection_id, { insight_id: old }),
      [],
      'the newest is shown in its place',
    )
    assert.deepEqual(await held(store, collection_id, { metric_id: 'late_share' }), [next, one])
    assert.deepEqual(await held(store, collection_id, { metric_id: 'late' }), [])
    assert.deepEqual(await held(store, collection_id, { template_id: 'other' }), [])
    const remove = (insight_id: string) =>
      store.removeFromCollection({ ...of(collection_id), insight_id, pins: false })
    assert.equal(await remove(next), true, 'any run of the series takes it out')
    assert.equal(await remove(next), false)
    assert.deepEqual(await held(store, collection_id), [one])
    const { assignment_id } = (await store.getInsightHead({ workspace_id: WORKSPACE, insight_id: one }))!
    await store.deleteJob({ workspace_id: WORKSPACE, assignment_id })
    assert.deepEqual(await held(store, collection_id), [])
  },

  'lists, changes and deletes collections, of one workspace, and finds those that hold an insight': async ({
    store,
  }) => {
    await register(store)
    const workspace_id = await otherWorkspace(store)
    const first = await create(store)
    const second = await create(store, 'Sales')
    const insight_id = await made(store, 'a')
    await store.addToCollection({ ...of(second), insight_id, newest: true, user_id: 'ada', pins: false })
    const ids = async (query: object = {}) =>
      (await store.listCollections({ workspace_id: WORKSPACE, limit: 10, ...query })).items.map(
        (one) => one.collection_id,
      )
    const again = { ...of(first), user_id: 'eve', name: 'Another', description: null }
    assert.equal((await store.createCollection(again)).name, 'Board', 'it is answered as it is')
    assert.deepEqual(sorted(await ids()), sorted([first, second]))
    assert.deepEqual(await ids({ workspace_id }), [])
    assert.deepEqual(await ids({ insight_id: await made(store, 'a') }), [second])
    assert.deepEqual(await ids({ insight_id: await made(store, 'b') }), [])
    const changed = await store.updateCollection({ ...of(first), patch: { description: 'Mondays' } })
    assert.deepEqual([changed?.name, changed?.description], ['Board', 'Mondays'])
    const foreign = { workspace_id, collection_id: first }
    assert.equal(await store.updateCollection({ ...foreign, patch: { name: 'x' } }), null)
    assert.equal(await store.getCollection(foreign), null)
    assert.equal(await store.deleteCollection(foreign), false)
    const theirs = { ...foreign, insight_id, newest: false, user_id: 'eve', pins: false }
    await refuses(store.addToCollection(theirs), 'not_found')
    await refuses(store.addToCollection({ ...theirs, ...of(first), insight_id: uuidv7() }), 'not_found')
    assert.equal(await store.deleteCollection(of(first)), true)
    assert.deepEqual(await ids(), [second])
    await store.createCollection({ ...foreign, user_id: 'eve', name: 'Theirs', description: null })
    assert.equal(await store.deleteWorkspace(workspace_id), true)
    assert.equal(await store.getCollection(foreign), null)
  },

  'keeps what a user pins apart, until she is deleted': async ({ store }) => {
    await register(store)
    const user = { user_id: 'u-1', workspace_id: WORKSPACE, username: 'ada', scopes: ['viewer' as const] }
    await store.createUser({ ...user, password_hash: null })
    const insight_id = await made(store, 'a')
    const collection_id = pinsId(WORKSPACE, user.user_id)
    const pin = { ...of(collection_id), insight_id, newest: false, user_id: user.user_id }
    await refuses(store.addToCollection({ ...pin, pins: false }), 'not_found')
    await store.addToCollection({ ...pin, pins: true })
    await store.addToCollection({ ...pin, pins: true })
    assert.deepEqual(await held(store, collection_id), [insight_id])
    const all = { workspace_id: WORKSPACE, limit: 10 }
    assert.deepEqual((await store.listCollections(all)).items, [])
    assert.equal(await store.getCollection(of(collection_id)), null)
    assert.equal(await store.deleteCollection(of(collection_id)), false)
    await refuses(store.addToCollection({ ...pin, pins: false }), 'not_found')
    assert.equal(await store.removeFromCollection({ ...pin, pins: false }), false, 'it is no collection')
    assert.deepEqual(await held(store, collection_id), [insight_id])
    const shared = { ...of(await create(store)), insight_id }
    await store.addToCollection({ ...shared, newest: false, user_id: user.user_id, pins: false })
    assert.equal(await store.removeFromCollection({ ...shared, pins: true }), false, 'it is not pinned')
    assert.equal(await store.removeFromCollection({ ...pin, pins: true }), true)
    await store.addToCollection({ ...pin, pins: true })
    await store.deleteUser(user)
    assert.deepEqual(await held(store, collection_id), [])
  },

  'tells who follows a run by a collection, with the variables that all runs of the series have': async ({
    store,
  }) => {
    await register(store)
    const collection_id = await create(store)
    const insight_id = await made(store, 'a')
    const people = { kind: 'email' as const, target: 'v1.target', follows: [`collection:${collection_id}`] }
    const { webhook_id } = await addWebhook(store, people)
    const asked = { workspace_id: WORKSPACE, template_id: 'delays' }
    assert.deepEqual(await store.collectionFollowers(asked), [])
    const put = { ...of(collection_id), insight_id, user_id: 'ada', pins: false }
    await store.addToCollection({ ...put, newest: false })
    assert.deepEqual(await store.collectionFollowers(asked), [])
    await store.addToCollection({ ...put, newest: true })
    assert.deepEqual(await store.collectionFollowers(asked), [{ webhook_id, variables: { origin: 'ORD' } }])
    assert.deepEqual(await store.collectionFollowers({ ...asked, template_id: 'other' }), [])
    const workspace_id = await otherWorkspace(store)
    assert.deepEqual(await store.collectionFollowers({ ...asked, workspace_id }), [])
    await store.updateWebhook({ workspace_id: WORKSPACE, webhook_id, patch: { status: 'disabled' } })
    assert.deepEqual(await store.collectionFollowers(asked), [])
  },
}
