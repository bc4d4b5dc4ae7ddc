/** Readers. */
import assert from 'node:assert/strict'
import type { NewReader, Store } from '../store.ts'
import { type ConformanceTests, otherWorkspace, refuses, SECOND, WORKSPACE } from './given.ts'

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
}
