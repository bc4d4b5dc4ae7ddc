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

const SERVER = { host: 'mail.example', port: 587, secure: false, tls: true, user: null, password: '' }
const ADA = { reader_id: 'ada', name: 'Ada', email: 'ada@example.com', attributes: { region: 'north' } }
const BOB = { reader_id: 'bob', name: 'Bob', attributes: { region: 'west' } }
const EVE = { reader_id: 'eve', name: 'Eve', email: 'eve@example.com', attributes: {} }

function personal(rows = 'region = $reader.region'): string {
  return `---\nsources: { sales: { file: sales.csv, rows: ${rows} } }\n---\n# Sales\n`
}

/** Opens a server with three readers and a template with a rule. */
async function withReaders(t: Parameters<typeof openTestServer>[0]) {
  const server = await openTestServer(t, { smtpUrl: SERVER })
  const put = (source: string) =>
    server.store.putTemplate({ workspace_id: 'default', template_id: 'mine', user_id: 'ada', source })
  await put('# Sales\n')
  await server.ask('PUT', '/v1alpha/readers', { body: { readers: [ADA, BOB, EVE] } })
  const create = (payload: object) =>
    server.ask('POST', '/v1alpha/jobs/', {
      body: { payload: { type: 'template', template_id: 'mine', ...payload } },
    })
  const run = (assignment_id: string) =>
    server.ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  return { ...server, put, create, run }
}

test('a run for a reader is sent to her where notify says so, and to nobody else', async (t) => {
  const { put, create, ask } = await withReaders(t)
  assert.match((await create({ notify: ['reader'] })).text, /the run is of no reader/)
  await put(personal())
  const made = await create({ reader_id: 'ada', notify: ['reader'] })
  assert.equal(made.status, 200, made.text)
  const job = (await ask('GET', `/v1alpha/jobs/status?assignment_id=${made.json()}`)).json()
  assert.equal(job.notify.length, 1)
  const refused: [payload: object, path: string, message: RegExp][] = [
    [{ reader_id: 'bob', notify: ['reader'] }, 'payload.notify.0', /bob, who has no address/],
    [{ reader_id: 'ada', notify: ['followers'] }, 'payload.notify', /must be \["reader"\] or left out/],
    [{ reader_id: 'zoe' }, 'payload.reader_id', /names no reader of this workspace: zoe/],
  ]
  for (const [payload, path, message] of refused) {
    const { errors } = (await create(payload)).json()
    assert.equal(errors[0].path, path)
    assert.match(errors[0].message, message)
  }
  assert.equal((await create({ reader_id: 'eve' })).json().code, 'reader_missing')
})

test('runs for many readers are made, and each that cannot be is told with its row', async (t) => {
  const { put, ask } = await withReaders(t)
  await put(personal())
  const items = ['ada', 'zoe', 'eve', 'bob'].map((reader_id) => ({ reader_id }))
  const body = { template_id: 'mine', items }
  const pathsOf = (answer: { json(): { items: { errors: { path: string }[] }[] } }) =>
    answer.json().items.map(({ errors }) => errors.map(({ path }) => path))
  const checked = await ask('POST', '/v1alpha/jobs/bulk/check', { body })
  const wrong = [[], ['items.1.reader_id'], ['items.2.reader_id'], []]
  assert.deepEqual(pathsOf(checked), wrong, checked.text)
  const made = await ask('POST', '/v1alpha/jobs/bulk', { body: { ...body, notify: ['reader'] } })
  assert.deepEqual(pathsOf(made), [...wrong.slice(0, 3), ['notify']])
  const unknown = { template_id: 'mine', items: [{ reader_id: 'zoe' }], notify: ['reader'] }
  const none = await ask('POST', '/v1alpha/jobs/bulk', { body: unknown })
  assert.deepEqual(pathsOf(none), [['items.0.reader_id']], none.text)
  const { items: jobs } = (await ask('GET', '/v1alpha/jobs/')).json()
  assert.deepEqual(
    jobs.map((job: { reader_id: string; notify: string[] }) => [job.reader_id, job.notify.length]),
    [['ada', 1]],
  )
})

test('a draft from before a rule is not run', async (t) => {
  const { put, create, run } = await withReaders(t)
  const [everybody, still] = [await create({}), await create({})]
  assert.equal((await run(still.json())).status, 200)
  await put(personal())
  const refused = await run(everybody.json())
  assert.deepEqual([refused.status, refused.json().code], [409, 'conflict'])
  assert.match(refused.json().detail, /create the job again/)
  const hers = await create({ reader_id: 'ada' })
  await put(personal('region = $reader.region and open = true'))
  assert.equal((await run(hers.json())).status, 409, 'the rule has changed')
  const now = await create({ reader_id: 'ada' })
  assert.equal((await run(now.json())).status, 200)
})
