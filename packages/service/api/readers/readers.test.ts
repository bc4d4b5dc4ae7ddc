import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestServer } from '../test-server.ts'

test('readers are put one by one and as a list, listed by id, and deleted, by admins alone', async (t) => {
  const { ask, token } = await openTestServer(t)
  const put = (path: string, body: object) => ask('PUT', `/v1alpha/readers${path}`, { body })
  const made = await put('/ada%40example.com', { name: 'Ada', attributes: { region: 'north' } })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.headers.location, '/v1alpha/readers/ada%40example.com')
  const { created_at: _, updated_at: _updated, ...ada } = made.json()
  assert.deepEqual(ada, {
    reader_id: 'ada@example.com',
    name: 'Ada',
    email: null,
    user_id: null,
    attributes: { region: 'north' },
  })
  const again = await put('/ada%40example.com', { name: 'Ada', email: 'ada@example.com' })
  assert.deepEqual([again.status, again.json().attributes], [200, {}])
  const many = Array.from({ length: 1000 }, (_, index) => ({
    reader_id: `r${index}`,
    name: `Reader ${index}`,
    attributes: { region: index % 2 ? 'north' : 'west', level: index, on: true, teams: ['a'] },
  }))
  assert.deepEqual((await put('', { readers: many })).json(), { created: 1000, replaced: 0 })
  assert.deepEqual((await put('', { readers: many.slice(0, 2) })).json(), { created: 0, replaced: 2 })
  const first = (await ask('GET', '/v1alpha/readers?limit=2')).json()
  assert.deepEqual(
    first.items.map(({ reader_id }: { reader_id: string }) => reader_id),
    ['ada@example.com', 'r0'],
  )
  const second = (await ask('GET', `/v1alpha/readers?limit=1&cursor=${first.next_cursor}`)).json()
  assert.deepEqual(second.items[0].attributes, { region: 'north', level: 1, on: true, teams: ['a'] })
  const audit = (await ask('GET', '/v1alpha/audit?action=reader.put')).json()
  assert.equal(audit.items[0].object_id, 'ada@example.com')
  const analyst = await token('default', ['analyst'])
  for (const [method, path] of [
    ['GET', '/v1alpha/readers'],
    ['GET', '/v1alpha/readers/r1'],
    ['DELETE', '/v1alpha/readers/r1'],
  ] as const)
    assert.equal((await ask(method, path, { token: analyst })).status, 403, path)
  assert.equal((await ask('DELETE', '/v1alpha/readers/r1')).status, 204)
  assert.equal((await ask('GET', '/v1alpha/readers/r1')).status, 404)
  assert.equal((await ask('DELETE', '/v1alpha/readers/r1')).status, 404)
})

test('a list of readers is refused whole, with every fault and its place', async (t) => {
  const { ask } = await openTestServer(t)
  const user = { username: 'ada', password: 'a long enough password', scopes: ['viewer'] }
  const { user_id } = (await ask('POST', '/v1alpha/users', { body: user })).json()
  const readers = [
    { reader_id: 'ok', name: 'Fine', user_id },
    { reader_id: 'ok', name: 'Twice', user_id },
    { reader_id: 'mail', name: 'x', email: 'Ada <ada@example.com>' },
    { reader_id: 'own', name: 'x', attributes: { email: 'x' } },
    { reader_id: 'long', name: 'x', attributes: { ...longAttributes() } },
    { reader_id: 'who', name: 'x', user_id: 'nobody' },
    { reader_id: 'robot', name: 'x', user_id: 'service:robot' },
  ]
  const refused = await ask('PUT', '/v1alpha/readers', { body: { readers } })
  assert.equal(refused.status, 422)
  const paths = refused.json().errors.map(({ path }: { path: string }) => path)
  assert.deepEqual(paths.toSorted(), [
    'readers.1.reader_id',
    'readers.1.user_id',
    'readers.2.email',
    'readers.3.attributes.email',
    'readers.4.attributes',
    'readers.5.user_id',
  ])
  assert.deepEqual((await ask('GET', '/v1alpha/readers')).json().items, [])
  const shape = { readers: [{ reader_id: 'a/b', name: 'x', attributes: { 'no name': 1 } }] }
  const shapes = (await ask('PUT', '/v1alpha/readers', { body: shape })).json().errors
  assert.deepEqual(
    shapes.map(({ path }: { path: string }) => path),
    ['readers.0.reader_id'],
  )
  const odd = { reader_id: 'a', name: 'x', attributes: { 'no name': 1, deep: { a: 1 }, none: null } }
  const odds = await ask('PUT', '/v1alpha/readers', { body: { readers: [odd] } })
  assert.match(odds.text, /not a name of an attribute.*must be a text .*none.*must be a text/)
  assert.equal((await ask('PUT', '/v1alpha/readers/ok', { body: readers[0]! })).status, 422)
  const { reader_id: _, ...fine } = readers[0]!
  assert.equal((await ask('PUT', '/v1alpha/readers/ok', { body: fine })).status, 201)
  const taken = await ask('PUT', '/v1alpha/readers/other', { body: fine })
  assert.deepEqual([taken.status, taken.json().code], [409, 'name_taken'])
  assert.match(taken.json().detail, /is the reader ok already/)
})

function longAttributes(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`a${index}`, 'x'.repeat(1000)]))
}
