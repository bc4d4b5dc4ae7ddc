import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_TYPES, type Event } from '@assay/model/event'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { type Json, openTestServer } from '../test-server.ts'
import { EXAMPLE_TIME } from './events.ts'

test('describes every type of event by a schema that its example fits', async (t) => {
  const { ask } = await openTestServer(t)
  const catalogue = (await ask('GET', '/v1alpha/events/types')).json()
  assert.deepEqual(
    catalogue.map((kind: { type: string }) => kind.type),
    [...EVENT_TYPES],
  )
  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  for (const { type, description, schema, example } of catalogue as Json[]) {
    assert.match(description, /\w.*\./)
    assert.equal(example.type, type)
    assert.ok(ajv.validate(schema, example), `${type}: ${ajv.errorsText()}`)
    assert.ok(!ajv.validate(schema, { ...(example as object), type: 'other' }))
  }
})

test('lists the events that happened, which fit the catalogue, in both directions', async (t) => {
  const { ask } = await openTestServer(t)
  const body = { payload: { type: 'template', template_id: 'hello', metadata: { a: 'b' } } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  const payload = { payload: { type: 'assignment', assignment_id } }
  await ask('POST', '/v1alpha/jobs/run', { body: payload })
  await ask('POST', '/v1alpha/jobs/cancel', { body: payload })
  const newest = (await ask('GET', '/v1alpha/events')).json()
  const types = newest.items.map((event: { type: string }) => event.type)
  assert.deepEqual(types, ['job.canceled', 'job.queued'])
  assert.equal(newest.next_cursor, null)
  const oldest = (await ask('GET', '/v1alpha/events?order=oldest&limit=1')).json()
  assert.equal(oldest.items[0].type, 'job.queued')
  const forward = async (cursor: string) =>
    (await ask('GET', `/v1alpha/events?order=oldest&cursor=${encodeURIComponent(cursor)}`)).json()
  const rest = await forward(oldest.next_cursor)
  assert.deepEqual(
    rest.items.map((event: { type: string }) => event.type),
    ['job.canceled'],
  )
  assert.deepEqual((await forward(rest.next_cursor)).items, [])
  assert.ok((await forward(rest.next_cursor)).next_cursor, 'never at an end')
  assert.equal((await ask('GET', '/v1alpha/events?type=job.canceled')).json().items.length, 1)

  const ajv = new Ajv2020({ strict: false })
  formats.default(ajv)
  const catalogue = (await ask('GET', '/v1alpha/events/types')).json()
  for (const { event_id, ...message } of newest.items) {
    const { schema } = catalogue.find((kind: { type: string }) => kind.type === message.type)
    assert.ok(ajv.validate(schema, message), ajv.errorsText())
    assert.match(event_id, /^[0-9a-f-]{36}$/)
  }
  assert.equal((await ask('GET', '/v1alpha/events?order=random')).status, 422)
})

test('a wait goes on behind what it has looked at', async (t) => {
  const { ask, store } = await openTestServer(t)
  const list = store.listEvents.bind(store)
  const cursors: (string | undefined)[] = []
  const pages = ['a', 'b', 'c', 'c', 'd', 'e'].map((next_cursor) => ({ items: [] as Event[], next_cursor }))
  const found = { event_id: 'e-1', type: 'job.queued' as const, timestamp: EXAMPLE_TIME, data: {} as never }
  pages.at(-1)!.items.push(found)
  store.listEvents = async ({ cursor }) => {
    cursors.push(cursor)
    return pages[cursors.length - 1]!
  }
  t.after(() => {
    store.listEvents = list
  })
  const page = (await ask('GET', '/v1alpha/events?order=oldest&type=job.queued&wait=50')).json()
  assert.deepEqual([page.items[0].event_id, page.next_cursor], ['e-1', 'e'])
  assert.deepEqual(cursors, [undefined, 'a', 'b', 'c', 'c', 'd'])
})

test('a list that goes forward waits for the next event, and answers what came with the time', async (t) => {
  const { ask, store, token } = await openTestServer(t)
  await store.createWorkspace({ workspace_id: 'other', name: 'Other', data_folder: null })
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  const forward = (more: string) => ask('GET', `/v1alpha/events?order=oldest&${more}`)
  const { next_cursor } = (await forward('limit=1')).json()
  const cursor = encodeURIComponent(next_cursor)
  const waiting = forward(`wait=50&cursor=${cursor}`)
  const elsewhere = await token('other', ['viewer'])
  const other = ask('GET', '/v1alpha/events?order=oldest&wait=1', { token: elsewhere })
  const payload = { payload: { type: 'assignment', assignment_id } }
  await ask('POST', '/v1alpha/jobs/run', { body: payload })
  const found = (await waiting).json()
  assert.deepEqual(
    found.items.map(({ type }: { type: string }) => type),
    ['job.queued'],
  )
  const late = (await other).json()
  assert.deepEqual(late.items, [], 'of its own workspace nothing has happened')
  assert.ok(late.next_cursor)
  assert.equal((await forward('wait=50')).json().items.length, 1, 'what is there is answered at once')
  for (const wrong of ['wait=5', 'order=newest&wait=5', 'order=oldest&wait=61'])
    assert.equal((await ask('GET', `/v1alpha/events?${wrong}`)).json().errors[0].path, 'wait', wrong)
})
