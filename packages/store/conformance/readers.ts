/** Readers. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import type { NewReader, Store } from '../store.ts'
import {
  type ConformanceTests,
  execute,
  findings,
  jobInput,
  otherWorkspace,
  refuses,
  register,
  SECOND,
  WORKSPACE,
  webhookInput,
} from './given.ts'

export function readerInput(reader_id: string, over: Partial<NewReader> = {}): NewReader {
  return {
    reader_id,
    name: `The reader ${reader_id}`,
    email: `${reader_id}@example.com`,
    user_id: null,
    attributes: { region: 'north', level: 3, active: true, teams: ['sales', 'press'] },
    ...over,
  }
}

const put = (store: Store, ...readers: NewReader[]) => store.putReaders({ workspace_id: WORKSPACE, readers })
const get = (store: Store, reader_id: string) => store.getReader({ workspace_id: WORKSPACE, reader_id })

export const readerTests: ConformanceTests = {
  'puts readers, all or none, and gives each back as it was put': async ({ store, elapse }) => {
    const [ada, bob] = [readerInput('ada'), readerInput('bob', { email: null, attributes: {} })]
    assert.deepEqual(await put(store, bob, ada), { created: 2, replaced: 0 })
    const first = (await get(store, 'ada'))!
    const { created_at, updated_at, ...kept } = first
    assert.deepEqual(kept, { ...ada, workspace_id: WORKSPACE })
    assert.equal(created_at, updated_at)
    await elapse(SECOND)
    const moved = readerInput('ada', { attributes: { region: 'west' } })
    assert.deepEqual(await put(store, moved, readerInput('cleo')), { created: 1, replaced: 1 })
    const second = (await get(store, 'ada'))!
    assert.deepEqual(second.attributes, { region: 'west' })
    assert.ok(second.updated_at > second.created_at)
    assert.equal(await get(store, 'nobody'), null)
    const reader_ids = ['cleo', 'nobody', 'ada']
    const some = await store.findReaders({ workspace_id: WORKSPACE, reader_ids })
    assert.deepEqual(
      some.map(({ reader_id }) => reader_id),
      ['ada', 'cleo'],
    )
  },

  'lists readers by id, those of one workspace': async ({ store }) => {
    const ids = ['Zoe', 'ada', 'bob', 'ada@example.com', 'é']
    await put(store, ...ids.map((id) => readerInput(id)))
    const workspace_id = await otherWorkspace(store)
    await store.putReaders({ workspace_id, readers: [readerInput('ada')] })
    const found: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await store.listReaders({
        workspace_id: WORKSPACE,
        limit: 2,
        ...(cursor === undefined ? {} : { cursor }),
      })
      found.push(...page.items.map(({ reader_id }) => reader_id))
      cursor = page.next_cursor
    }
    assert.deepEqual(found, ids.toSorted())
    const key = { workspace_id, reader_id: 'ada' }
    assert.equal(await store.deleteReader({ workspace_id, reader_id: 'bob' }), false)
    assert.equal(await store.deleteReader(key), true)
    assert.equal(await store.deleteReader(key), false)
    assert.ok(await get(store, 'ada'))
    await store.putReaders({ workspace_id, readers: [readerInput('ada')] })
    assert.equal(await store.deleteWorkspace(workspace_id), true)
    assert.equal(await store.getReader(key), null)
  },

  'takes a user for one reader at most, who may hand it over, and loses it with the user': async ({
    store,
  }) => {
    const user = await store.createUser({
      user_id: 'u-1',
      workspace_id: WORKSPACE,
      username: 'ada',
      scopes: ['viewer'],
      password_hash: null,
    })
    const { user_id } = user
    const of = { workspace_id: WORKSPACE, user_id }
    assert.deepEqual(await store.findUsers({ workspace_id: WORKSPACE, user_ids: [user_id, 'u-2'] }), [
      user_id,
    ])
    await put(store, readerInput('ada', { user_id }), readerInput('bob'))
    assert.equal((await store.findReaderOf(of))?.reader_id, 'ada')
    await refuses(put(store, readerInput('new'), readerInput('bob', { user_id })), 'name_taken')
    assert.equal(await get(store, 'new'), null)
    await put(store, readerInput('bob', { user_id }), readerInput('ada'))
    assert.equal((await store.findReaderOf(of))?.reader_id, 'bob')
    await store.deleteUser(user)
    assert.equal(await store.findReaderOf(of), null)
    assert.equal((await get(store, 'bob'))?.user_id, null)
  },

  'keeps the reader of a job, and leaves it out of lists for others': async ({ store, elapse }) => {
    await register(store)
    const made: string[] = []
    for (const reader_id of [null, 'ada', 'bob']) {
      const lease = await execute(store, { reader_id })
      const insight_id = uuidv7()
      assert.ok(await store.completeJob({ ...lease, insight_id, findings: carded() }))
      assert.equal((await store.getJob({ workspace_id: WORKSPACE, ...lease }))?.reader_id, reader_id)
      const of = { workspace_id: WORKSPACE, insight_id }
      assert.deepEqual(await store.insightReader(of), { reader_id })
      made.push(insight_id)
    }
    const seen = async (query: { seen_by?: string; reader_id?: string }) => {
      const asked = { workspace_id: WORKSPACE, limit: 10, ...query }
      const cards = (await store.listInsights(asked)).items.map((card) => card.reader_id)
      const jobs = (await store.listJobs(asked)).items.map((job) => job.reader_id)
      assert.deepEqual(cards, jobs)
      return jobs
    }
    assert.deepEqual(await seen({}), ['bob', 'ada', null])
    assert.deepEqual(await seen({ seen_by: 'ada' }), ['ada', null])
    assert.deepEqual(await seen({ seen_by: '' }), [null])
    assert.deepEqual(await seen({ reader_id: 'bob' }), ['bob'])
    assert.deepEqual(await seen({ reader_id: 'bob', seen_by: 'ada' }), [])
    assert.equal(await store.insightReader({ workspace_id: WORKSPACE, insight_id: uuidv7() }), null)
    // The insights of one reader are neither history, earlier run nor last report of another.
    await elapse(SECOND)
    const later = uuidv7()
    const lease = await execute(store, { reader_id: 'ada' })
    assert.ok(await store.completeJob({ ...lease, insight_id: later, findings: carded(9) }))
    const cards = await store.listInsights({ workspace_id: WORKSPACE, limit: 1 })
    assert.deepEqual(
      cards.items[0]!.history.map(({ insight_id }) => insight_id),
      [made[1], later],
    )
    const earlier = await store.earlierInsights({ workspace_id: WORKSPACE, insight_id: later })
    assert.deepEqual(
      earlier!.map(({ insight_id }) => insight_id),
      [made[1]],
    )
    const { variables, presence_name } = jobInput()
    const of = { workspace_id: WORKSPACE, template_id: 'delays', schedule_id: null, variables, presence_name }
    assert.equal(await store.lastDelivered({ ...of, reader_id: 'cleo' }), null)
    assert.ok(await store.lastDelivered({ ...of, reader_id: 'bob' }))
  },

  'tells webhooks of a job of a reader without its reason, and no subscription by its name': async ({
    store,
  }) => {
    await register(store)
    const hook = await store.createWebhook(webhookInput({ presence_name: 'team', events: ['*'] }))
    const mail = await store.createWebhook(
      webhookInput({ kind: 'email', target: 'sealed', presence_name: 'team', events: ['*'] }),
    )
    const own = await store.createWebhook(
      webhookInput({ kind: 'email', target: 'sealed', presence_name: 'hers', events: ['*'] }),
    )
    const told = { presence_name: 'team', notify: [own.webhook_id], reader_id: 'ada' }
    const lease = await execute(store, told)
    const error = { code: 'analysis_failed', detail: "Could not convert 'secret'" } as const
    await store.failJob({ ...lease, error })
    const count = async ({ webhook_id }: { webhook_id: string }) =>
      (await store.listDeliveries({ workspace_id: WORKSPACE, webhook_id, limit: 10 })).items.length
    assert.deepEqual([await count(hook), await count(mail), await count(own)], [3, 0, 3])
    const events = await store.listEvents({ workspace_id: WORKSPACE, limit: 10, order: 'newest' })
    assert.ok(events.items.every(({ data }) => data.personal === true))
    assert.doesNotMatch(JSON.stringify(events), /secret/)
    const job = await store.getJob({ workspace_id: WORKSPACE, ...lease })
    assert.deepEqual(job?.error, error)
    const missed = { workspace_id: WORKSPACE, include_unsent: true, since: '2000-01-01T00:00:00.000Z' }
    const recoverable = async ({ webhook_id }: { webhook_id: string }) =>
      store.countRecoverable({ ...missed, webhook_id, until: null })
    assert.equal(await recoverable(mail), 0)
  },
}

/** Returns findings of one series with a figure. */
function carded(value = 1) {
  const figure = { label: 'late', value, unit: null, text: String(value) }
  const card = { headline: null, grade: null, figure, period: null, tags: [], series: 's', search: 'x' }
  return findings({ card })
}
