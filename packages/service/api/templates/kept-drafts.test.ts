/**
 * Kept drafts. An analyst keeps one with faults. A user who may publish sees and publishes it. Nobody else finds it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestServer } from '../test-server.ts'

const DRAFTS = '/v1alpha/drafts'
const MARKDOWN = 'text/markdown'

test('an analyst keeps a draft with faults, which a publisher sees, and publishes once it has none', async (t) => {
  const { ask, token, store } = await openTestServer(t)
  const [ada, eve, viewer] = await Promise.all([
    token('default', ['analyst']),
    token('default', ['publisher'], 'eve'),
    token('default', ['viewer'], 'vic'),
  ])
  const keep = (source: string, by = ada, name = 'template/sales') =>
    ask('PUT', `${DRAFTS}/${name}`, { token: by, body: { source } })
  assert.equal((await keep('# x', viewer)).status, 403)
  const kept = await keep('---\ntitel: x\n---\n# Sales')
  assert.equal(kept.status, 200, kept.text)
  const { draft_id, user_id } = kept.json()
  const ids = async (by: string, query = ''): Promise<string[]> =>
    (await ask('GET', `${DRAFTS}${query}`, { token: by }))
      .json()
      .items.map((one: { draft_id: string }) => one.draft_id)
  assert.deepEqual(await ids(ada), [draft_id])
  assert.deepEqual(await ids(eve), [draft_id])
  assert.deepEqual(await ids(eve, '?user_id=me'), [])
  assert.deepEqual(await ids(eve, `?kind=template&name=sales&user_id=${user_id}`), [draft_id])
  const url = '/v1alpha/jobs/templates/sales'
  const publish = (by: string, body: string) => ask('PUT', url, { token: by, body, type: MARKDOWN })
  const [mended, read] = ['# Sales', await ask('GET', `${DRAFTS}/${draft_id}`, { token: eve })]
  assert.equal((await publish(ada, mended)).status, 403)
  assert.equal((await publish(eve, read.json().source)).status, 422)
  assert.equal((await ask('GET', url)).status, 404, 'a draft is no template')
  assert.equal((await keep(mended)).json().draft_id, draft_id)
  assert.equal((await publish(eve, mended)).status, 201)
  assert.deepEqual(await ids(ada), [])
  const { items: events } = await store.listEvents({ workspace_id: 'default', limit: 10, order: 'oldest' })
  assert.deepEqual(events, [], 'nobody is told')
  const { items: records } = await store.listAudit({ workspace_id: 'default', limit: 50 })
  const made = records.map(({ action, object_id }) => `${action} ${object_id}`)
  assert.deepEqual(
    made.filter((one) => /draft\.|template\.put/.test(one)),
    ['template.put sales', 'draft.keep sales', 'draft.keep sales'],
  )
})

test('a draft is found and deleted by its author and by who may publish it alone', async (t) => {
  const { ask, token } = await openTestServer(t)
  const [ada, bob, eve] = await Promise.all([
    token('default', ['analyst']),
    token('default', ['analyst'], 'bob'),
    token('default', ['publisher'], 'eve'),
  ])
  const keep = async (by: string): Promise<string> =>
    (
      await ask('PUT', `${DRAFTS}/metric/late_share`, { token: by, body: { source: 'metric: late_share' } })
    ).json().draft_id
  const draft_id = await keep(ada)
  const of = (method: string, by: string) => ask(method, `${DRAFTS}/${draft_id}`, { token: by })
  assert.equal((await of('GET', bob)).status, 404)
  assert.equal((await of('DELETE', bob)).status, 404)
  assert.equal((await of('GET', ada)).json().source, 'metric: late_share')
  assert.notEqual(await keep(bob), draft_id, 'each user has a draft of her own')
  assert.equal((await of('DELETE', eve)).status, 204)
  assert.equal((await of('GET', ada)).status, 404)
})

test('no draft is kept under a name that can never be published', async (t) => {
  const { ask, token } = await openTestServer(t)
  const ada = await token('default', ['analyst'])
  const body = { source: '# x' }
  const keep = (name: string) => ask('PUT', `${DRAFTS}/${name}`, { token: ada, body })
  const taken = await keep('template/hello')
  assert.deepEqual([taken.status, taken.json().code], [409, 'template_read_only'])
  assert.match(taken.json().detail, /keep the draft under another id/)
  for (const name of ['template/Sales', 'metric/late-share', 'report/sales'])
    assert.equal((await keep(name)).status, 422, name)
})
