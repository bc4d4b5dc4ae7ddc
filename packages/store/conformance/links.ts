/** Links to the pages of insights. */
import assert from 'node:assert/strict'
import { uuidv7 } from '@assay/model/ids'
import { LINKS_MOST } from '@assay/model/link'
import type { NewLink } from '../contract/workspaces/links.ts'
import type { Store } from '../store.ts'
import {
  at,
  type ConformanceTests,
  completeNew,
  DAY,
  HOUR,
  otherWorkspace,
  refuses,
  register,
  WORKSPACE,
} from './given.ts'

function linkInput(insight_id: string, over: Partial<NewLink> = {}): NewLink {
  return {
    link_id: uuidv7(),
    workspace_id: WORKSPACE,
    insight_id,
    user_id: 'ada',
    label: null,
    newest: false,
    rows: false,
    lifetime_ms: HOUR,
    link_hash: `hash ${uuidv7()}`,
    ...over,
  }
}

async function insightOf(store: Store): Promise<string> {
  await register(store)
  return (await completeNew(store)).insight_id!
}

export const linkTests: ConformanceTests = {
  'finds a link by its hash until it expires': async ({ store, now, elapse }) => {
    const insight_id = await insightOf(store)
    const link = await store.createLink(
      linkInput(insight_id, { link_hash: 'h-1', label: 'for Bob', rows: true }),
    )
    assert.deepEqual([link.label, link.rows], ['for Bob', true])
    assert.equal(link.opened_count, 0)
    assert.ok(Math.abs(Date.parse(link.expires_at) - now() - HOUR) < 10_000)
    assert.deepEqual(await store.findLink('h-1'), { ...link, workspace_id: WORKSPACE, opens: insight_id })
    assert.equal(await store.findLink('h-2'), null)
    await elapse(HOUR)
    assert.equal(await store.findLink('h-1'), null)
    const { items } = await store.listLinks({ workspace_id: WORKSPACE, insight_id, limit: 10 })
    assert.deepEqual(
      items.map(({ link_id }) => link_id),
      [link.link_id],
    )
  },

  'opens a collection by its hash until it expires, is revoked or goes, counted apart from links of insights':
    async ({ store, elapse, now }) => {
      const [collection_id, other] = [uuidv7(), uuidv7()]
      for (const id of [collection_id, other])
        await store.createCollection({
          workspace_id: WORKSPACE,
          collection_id: id,
          user_id: 'ada',
          name: 'Board',
          description: null,
        })
      const { insight_id: _insight, newest: _newest, rows: _rows, ...plain } = linkInput('')
      const input = (link_hash: string, over = {}) => ({
        ...plain,
        link_id: uuidv7(),
        collection_id,
        link_hash,
        ...over,
      })
      const link = await store.createCollectionLink(input('h-1', { label: 'for Bob' }))
      assert.deepEqual(await store.findCollectionLink('h-1'), { ...link, workspace_id: WORKSPACE })
      assert.equal(await store.findLink('h-1'), null)
      assert.equal(await store.findCollectionLink('h-2'), null)
      await store.createCollectionLink(input('h-2', { collection_id: other }))
      const last = await store.createCollectionLink(input('h-3'))
      const at = new Date(now()).toISOString()
      await store.countOpenings([{ link_id: link.link_id, count: 3, at }])
      const of = { workspace_id: WORKSPACE, collection_id }
      const { items } = await store.listCollectionLinks({ ...of, limit: 10 })
      assert.deepEqual(
        items.map(({ link_id, opened_count, last_opened_at }) => [link_id, opened_count, last_opened_at]),
        [
          [last.link_id, 0, null],
          [link.link_id, 3, at],
        ],
      )
      const workspace_id = await otherWorkspace(store)
      await refuses(store.createCollectionLink(input('h-4', { workspace_id })), 'not_found')
      assert.equal(
        await store.deleteCollectionLink({ workspace_id, collection_id, link_id: last.link_id }),
        false,
      )
      assert.equal(await store.deleteCollectionLink({ ...of, link_id: last.link_id }), true)
      assert.equal(await store.findCollectionLink('h-3'), null)
      await store.deleteCollection({ workspace_id: WORKSPACE, collection_id: other })
      assert.equal(await store.findCollectionLink('h-2'), null)
      await elapse(HOUR)
      assert.equal(await store.findCollectionLink('h-1'), null)
    },

  'finds no link that was revoked, and none whose job was deleted': async ({ store }) => {
    await register(store)
    const job = await completeNew(store)
    const insight_id = job.insight_id!
    const one = await store.createLink(linkInput(insight_id, { link_hash: 'h-1' }))
    await store.createLink(linkInput(insight_id, { link_hash: 'h-2' }))
    const key = { workspace_id: WORKSPACE, insight_id, link_id: one.link_id }
    assert.equal(await store.deleteLink(key), true)
    assert.equal(await store.deleteLink(key), false)
    assert.equal(await store.findLink('h-1'), null)
    assert.ok(await store.findLink('h-2'))
    await store.deleteJob(job)
    assert.equal(await store.findLink('h-2'), null)
  },

  'opens the newest insight of the series where it is asked for, and goes on when the first one is deleted':
    async ({ store, elapse }) => {
      await register(store)
      const card = {
        headline: null,
        grade: null,
        figure: null,
        period: null,
        tags: [],
        series: 's',
        search: '',
      }
      const first = await completeNew(store, {}, { card })
      const insight_id = first.insight_id!
      const link = await store.createLink(linkInput(insight_id, { link_hash: 'h-1', newest: true }))
      await store.createLink(linkInput(insight_id, { link_hash: 'h-2' }))
      await elapse(1000)
      const later = (await completeNew(store, {}, { card })).insight_id!
      await completeNew(store, {}, { card: { ...card, series: 'another' } })
      assert.equal((await store.findLink('h-1'))?.opens, later)
      assert.equal((await store.findLink('h-2'))?.opens, insight_id)
      const moved = { workspace_id: WORKSPACE, link_id: link.link_id, insight_id: later }
      await store.moveLink({ ...moved, workspace_id: 'another' })
      assert.equal((await store.findLink('h-1'))?.insight_id, insight_id)
      await store.moveLink(moved)
      await store.deleteJob(first)
      assert.equal((await store.findLink('h-1'))?.insight_id, later)
      assert.equal(await store.findLink('h-2'), null)
      await store.moveLink({ ...moved, insight_id })
      assert.equal((await store.findLink('h-1'))?.insight_id, later)
    },

  'replaces the hash of a link that is made again, but of no other insight': async ({ store }) => {
    const insight_id = await insightOf(store)
    const link_id = uuidv7()
    await store.createLink(linkInput(insight_id, { link_id, link_hash: 'h-1' }))
    await store.createLink(linkInput(insight_id, { link_id, link_hash: 'h-2' }))
    assert.equal(await store.findLink('h-1'), null)
    assert.equal((await store.findLink('h-2'))?.link_id, link_id)
    const other = await insightOf(store)
    await refuses(store.createLink(linkInput(other, { link_id, link_hash: 'h-3' })), 'name_taken')
  },

  'makes, lists and revokes links in their own workspace only': async ({ store }) => {
    const insight_id = await insightOf(store)
    const workspace_id = await otherWorkspace(store)
    const { link_id } = await store.createLink(linkInput(insight_id, { link_hash: 'h-1' }))
    await refuses(store.createLink(linkInput(insight_id, { workspace_id })), 'not_found')
    await refuses(store.createLink(linkInput(uuidv7())), 'not_found')
    assert.deepEqual((await store.listLinks({ workspace_id, insight_id, limit: 10 })).items, [])
    assert.equal(await store.deleteLink({ workspace_id, insight_id, link_id }), false)
    const other = await insightOf(store)
    assert.equal(await store.deleteLink({ workspace_id: WORKSPACE, insight_id: other, link_id }), false)
    assert.ok(await store.findLink('h-1'))
  },

  'counts openings, and passes over those of links that are gone': async ({ store, now }) => {
    const insight_id = await insightOf(store)
    const { link_id } = await store.createLink(linkInput(insight_id, { link_hash: 'h-1' }))
    const [early, late] = [at(now()), at(now() + 1000)]
    await store.countOpenings([
      { link_id, count: 2, at: late },
      { link_id: uuidv7(), count: 1, at: late },
    ])
    await store.countOpenings([{ link_id, count: 3, at: early }])
    const link = await store.findLink('h-1')
    assert.deepEqual([link?.opened_count, link?.last_opened_at], [5, late])
  },

  'bounds the links of an insight, and forgets those that expired long ago': async ({ store, elapse }) => {
    const insight_id = await insightOf(store)
    const one = linkInput(insight_id)
    await store.createLink(one)
    // The links are made a few at a time, because they wait for each other and a busy database refuses long waits.
    for (let made = 1; made < LINKS_MOST; made += 9)
      await Promise.all(Array.from({ length: 9 }, () => store.createLink(linkInput(insight_id))))
    await refuses(store.createLink(linkInput(insight_id)), 'conflict')
    await store.createLink(one)
    await elapse(2 * HOUR)
    await store.createLink(linkInput(insight_id, { link_hash: 'h-1', lifetime_ms: 90 * DAY }))
    await elapse(40 * DAY)
    const pruned = await store.prune({
      keep: { jobs_ms: 1e300, drafts_ms: 1e300, events_ms: 30 * DAY, deliveries_ms: 30 * DAY },
      limit: 2 * LINKS_MOST,
    })
    assert.equal(pruned.other, LINKS_MOST)
    assert.ok(await store.findLink('h-1'))
  },
}
