import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestServer } from '../test-server.ts'

const AT = '/v1alpha/jobs/bulk'

test('each item of a bulk creation gets its id or its own faults', async (t) => {
  const { ask, tokens } = await openTestServer(t)
  const body = {
    template_id: 'hello',
    items: [
      { template_vars: { who: 'Ada' }, metadata: { own: '1' } },
      { template_vars: { times: 99, whom: 'x' } },
      { template_vars: { times: '2' }, priority: 9, presence_name: 'ops' },
    ],
    metadata: { all: 'of them' },
    run: true,
  }
  const answer = await ask('POST', AT, { body, token: tokens.analyst })
  assert.equal(answer.status, 200, answer.text)
  const { batch_id, created, refused, items } = answer.json()
  assert.deepEqual([created, refused], [2, 1])
  assert.deepEqual(
    items.map((item: { index: number }) => item.index),
    [0, 1, 2],
  )
  assert.equal(items[1].assignment_id, null)
  assert.deepEqual(
    items[1].errors.map((error: { path: string }) => error.path),
    ['items.1.template_vars.whom', 'items.1.template_vars.times'],
  )
  const page = (await ask('GET', `/v1alpha/jobs/?batch_id=${batch_id}`)).json()
  assert.deepEqual(
    page.items.map((job: { assignment_id: string }) => job.assignment_id),
    [items[2].assignment_id, items[0].assignment_id],
    'newest first: the last item before the first',
  )
  assert.deepEqual(page.items[1].metadata, { all: 'of them', own: '1' })
  assert.equal(page.items[0].presence_name, 'ops')
  const progress = (await ask('GET', `/v1alpha/jobs/batches/${batch_id}`)).json()
  assert.deepEqual([progress.total, progress.ended, progress.counts.queued], [2, 0, 2])
})

test('what a bulk creation would refuse is told beforehand, and no job is made', async (t) => {
  const { ask, tokens } = await openTestServer(t)
  const items = [{ template_vars: { who: 'Ada' } }, { template_vars: { times: 99, whom: 'x' } }, {}]
  const body = { template_id: 'hello', items }
  const checked = await ask('POST', `${AT}/check`, { body, token: tokens.analyst })
  assert.equal(checked.status, 200, checked.text)
  assert.deepEqual([checked.json().accepted, checked.json().refused], [2, 1])
  assert.deepEqual((await ask('GET', '/v1alpha/jobs/')).json().items, [])
  const made = (await ask('POST', AT, { body })).json()
  const faultsOf = ({ errors }: { errors: unknown }) => errors
  assert.deepEqual(checked.json().items.map(faultsOf), made.items.map(faultsOf), 'the same faults')
  assert.equal((await ask('POST', `${AT}/check`, { body: { ...body, items: [] } })).status, 422)
  assert.equal((await ask('POST', `${AT}/check`, { body: { ...body, template_id: 'none' } })).status, 404)
  assert.equal((await ask('POST', `${AT}/check`, { token: tokens.viewer, body })).status, 403)
})

test('a bulk creation is repeated under its key without a second job', async (t) => {
  const { ask } = await openTestServer(t)
  const body = { template_id: 'hello', items: Array.from({ length: 1000 }, () => ({})) }
  const headers = { 'idempotency-key': 'once' }
  const first = await ask('POST', AT, { body, headers })
  assert.equal(first.json().created, 1000)
  assert.equal((await ask('POST', AT, { body, headers })).text, first.text)
  const progress = await ask('GET', `/v1alpha/jobs/batches/${first.json().batch_id}`)
  assert.equal(progress.json().counts.draft, 1000)
})

test('a bulk creation has its bounds, in items and in bytes', async (t) => {
  const { ask, tokens } = await openTestServer(t)
  const post = (items: unknown[]) => ask('POST', AT, { body: { template_id: 'hello', items } })
  assert.equal((await post([])).status, 422)
  assert.equal((await post(Array.from({ length: 1001 }, () => ({})))).status, 422)
  const wide = { metadata: { note: 'x'.repeat(1000) } }
  assert.equal((await post(Array.from({ length: 1000 }, () => wide))).status, 200, 'a megabyte and more')
  const tooMuch = { template_vars: { who: 'z'.repeat(9000) } }
  assert.equal((await post(Array.from({ length: 1000 }, () => tooMuch))).status, 413)
  assert.equal((await ask('POST', AT, { body: { template_id: 'none', items: [{}] } })).status, 404)
  assert.equal((await ask('POST', AT, { token: tokens.viewer, body: {} })).status, 403)
  const stranger = '0198aaaa-0000-7000-8000-000000000000'
  assert.equal((await ask('GET', `/v1alpha/jobs/batches/${stranger}`)).status, 404)
})

test('of a bulk creation that does not fit into the queue no job is made', async (t) => {
  const { ask, store } = await openTestServer(t)
  await store.updateWorkspace({ workspace_id: 'default', patch: { max_queued: 2 } })
  const answer = await ask('POST', AT, { body: { template_id: 'hello', items: [{}, {}, {}], run: true } })
  assert.equal(answer.status, 429, answer.text)
  assert.deepEqual((await ask('GET', '/v1alpha/jobs/')).json().items, [])
})
