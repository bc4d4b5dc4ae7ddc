/**
 * Tries every operation with the ids of a reader's job, as another reader and as a user who is no reader. What names
 * her job, insight, links and deliveries must not exist for them, and no list and no page of the others may show
 * them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuidv7 } from '@assay/model/ids'
import type { Scope } from '@assay/model/token'
import { hashToken, newToken } from '../../runtime/secrets.ts'
import { ROUTES, type Route } from '../routes.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const MARK = 'of-ada-alone'
/** The parameters that lead to an insight. */
const NAMES = ['assignment_id', 'insight_id', 'delivery_id', 'link_id'] as const
type Ids = Record<(typeof NAMES)[number], string>

/** Makes a token of the user. */
async function tokenOf({ store }: TestServer, user_id: string, scopes: Scope[]): Promise<string> {
  const secret = newToken()
  await store.createToken({
    token_id: uuidv7(),
    workspace_id: 'default',
    user_id,
    name: user_id,
    scopes,
    expires_at: null,
    token_hash: hashToken(secret),
  })
  return secret
}

/** Makes a job of the reader ada that has ended, with an insight, a link and a delivery. */
async function fill(server: TestServer): Promise<Ids> {
  const { ask, store, complete } = server
  const readers = ['ada', 'bob'].map((id) => ({ reader_id: id, name: id, user_id: `service:${id}` }))
  assert.equal((await ask('PUT', '/v1alpha/readers', { body: { readers } })).status, 200)
  const hook = { url: 'http://127.0.0.1:9/x', user_id: 'ops', presence_name: 'ops', events: ['*'] }
  const { webhook_id } = (await ask('POST', '/v1alpha/webhooks', { body: hook })).json()
  const assignment_id = uuidv7()
  await store.createJob({
    assignment_id,
    workspace_id: 'default',
    user_id: 'ada',
    template: { template_id: 'hello', version: 'v', source: '# Hello\n', partials: {} },
    variables: { who: MARK },
    presence_name: null,
    priority: 0,
    metadata: {},
    reader_id: 'ada',
  })
  await store.queueJob({ workspace_id: 'default', assignment_id })
  const insight_id = await complete(assignment_id, { title: MARK, markdown: `# ${MARK}\n` })
  const { link_id } = (await ask('POST', `/v1alpha/insights/${insight_id}/links`, { body: {} })).json()
  const { items } = await store.listDeliveries({ workspace_id: 'default', webhook_id, limit: 9 })
  return { assignment_id, insight_id, link_id, delivery_id: items[0]!.delivery_id }
}

function propertiesOf(schema: unknown): Record<string, unknown> {
  return (schema as { properties?: Record<string, unknown> } | null)?.properties ?? {}
}

/** Returns a request with her ids for an operation that takes one; null for other operations. */
function requestOf({ method, path, operation }: Route, ids: Ids): { url: string; body?: object } | null {
  const inPath = NAMES.filter((name) => path.includes(`{${name}}`))
  const inQuery = NAMES.filter((name) => Object.hasOwn(propertiesOf(operation.query), name))
  const payload = propertiesOf(propertiesOf(operation.body).payload)
  const inBody = NAMES.filter((name) => Object.hasOwn(payload, name))
  if (inPath.length + inQuery.length + inBody.length === 0) return null
  const at = path.replaceAll(/\{(\w+)\}/g, (_, name: keyof Ids) => ids[name] ?? uuidv7())
  const search = new URLSearchParams(pick(ids, inQuery)).toString()
  const url = search === '' ? at : `${at}?${search}`
  if (method === 'GET' || method === 'DELETE') return { url }
  return { url, body: inBody.length > 0 ? { payload: { type: 'assignment', ...pick(ids, inBody) } } : {} }
}

const pick = (ids: Ids, names: readonly (keyof Ids)[]) =>
  Object.fromEntries(names.map((name) => [name, ids[name]]))

const OPERATIONS = ROUTES.filter(({ operation }) => operation.scope !== null && operation.scope !== 'admin')

test('only its reader and admins find an insight, by any operation', async (t) => {
  const server = await openTestServer(t)
  const { ask, tokens } = server
  const ids = await fill(server)
  const bob = await tokenOf(server, 'service:bob', ['analyst'])
  const named = OPERATIONS.flatMap((route) => {
    const request = requestOf(route, ids)
    return request === null ? [] : [{ route, ...request }]
  })
  // Deliveries of a webhook are listed by job, with ids, times and states only.
  const lists = named.filter(({ route }) => route.operation.name.endsWith('Deliveries'))
  const leading = named.filter((one) => !lists.includes(one))
  assert.ok(leading.length >= 12, String(leading.length))
  for (const { route, url, body } of leading)
    for (const token of [bob, tokens.analyst]) {
      const answer = await ask(route.method, url, { token, ...(body ? { body } : {}) })
      assert.deepEqual([answer.status, answer.json().code], [404, 'not_found'], `${route.method} ${url}`)
      assert.ok(!answer.text.includes(MARK))
    }
  const plain = OPERATIONS.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
  for (const { path, operation } of plain) {
    const answer = await ask('GET', path, { token: bob })
    assert.ok(!answer.text.includes(MARK), `${operation.name} shows it`)
  }
  for (const path of ['/v1alpha/jobs', '/v1alpha/insights', '/v1alpha/jobs?reader_id=ada'])
    assert.deepEqual((await ask('GET', path, { token: bob })).json().items, [], path)
})

test('a reader finds her insights as others find theirs, and so does an admin', async (t) => {
  const server = await openTestServer(t)
  const { ask, tokens } = server
  const ids = await fill(server)
  const ada = await tokenOf(server, 'service:ada', ['analyst'])
  for (const token of [ada, tokens.admin]) {
    const get = async (path: string) => (await ask('GET', `/v1alpha${path}`, { token })).json()
    assert.equal((await get('/jobs')).items[0].reader_id, 'ada')
    assert.equal((await get('/insights?reader_id=ada')).items[0].title, MARK)
    assert.equal((await get(`/jobs/status?assignment_id=${ids.assignment_id}`)).reader_id, 'ada')
    const result = await ask('GET', `/v1alpha/jobs/result?insight_id=${ids.insight_id}`, { token })
    assert.match(result.text, new RegExp(MARK))
    const links = `/v1alpha/insights/${ids.insight_id}/links`
    assert.equal((await ask('POST', links, { token, body: {} })).status, 201)
  }
  assert.equal((await ask('DELETE', '/v1alpha/readers/ada')).status, 204)
  const gone = await ask('GET', `/v1alpha/jobs/result?insight_id=${ids.insight_id}`, { token: ada })
  assert.equal(gone.status, 404, 'she is no reader any more')
})

test('a user runs a personal template as the reader who he is, and sees the insight', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask, tokens, complete } = server
  await fill(server)
  const source = '---\ntitle: Of {{ reader.name }}\n---\n# Of {{ reader.name }}\n'
  const path = '/v1alpha/jobs/templates/mine'
  const put = await ask('PUT', path, { body: source, type: 'text/markdown' })
  assert.deepEqual([put.status, put.json().personal], [201, true], put.text)
  const payload = { type: 'template', template_id: 'mine' }
  const create = (token: string, reader_id?: string) =>
    ask('POST', '/v1alpha/jobs', { token, body: { payload: { ...payload, reader_id } } })
  const bob = await tokenOf(server, 'service:bob', ['analyst'])
  const made = await create(bob)
  assert.equal(made.status, 200, made.text)
  const assignment_id = made.json()
  assert.equal((await create(bob, 'bob')).status, 200)
  assert.equal((await create(bob, 'ada')).status, 403)
  const nobody = await create(tokens.analyst)
  assert.deepEqual([nobody.status, nobody.json().code], [422, 'reader_missing'])

  const run = { payload: { type: 'assignment', assignment_id } }
  assert.equal((await ask('POST', '/v1alpha/jobs/run', { token: bob, body: run })).status, 200)
  const insight_id = await complete(assignment_id, { title: 'Of bob', markdown: '# Of bob\n' })
  const [card] = (await ask('GET', '/v1alpha/insights', { token: bob })).json().items
  assert.deepEqual([card.insight_id, card.reader_id], [insight_id, 'bob'])
  const read = (token: string) => ask('GET', `/v1alpha/jobs/result?insight_id=${insight_id}`, { token })
  assert.match((await read(bob)).text, /^# Of bob/)
  const ada = await tokenOf(server, 'service:ada', ['analyst'])
  for (const token of [ada, tokens.analyst]) assert.equal((await read(token)).status, 404)

  const preview = (token: string, reader?: object) =>
    ask('POST', '/v1alpha/jobs/templates/preview', { token, body: { source, reader } })
  assert.match((await preview(tokens.admin, { id: 'bob' })).text, /# Of bob/)
  assert.match((await preview(bob, { id: 'any', name: 'Eve' })).text, /# Of Eve/)
  for (const reader of [{ name: 'Eve' }, { id: 'any', name: { deep: 1 } }, { id: 'any', 'No name': 1 }]) {
    const refused = await preview(bob, reader)
    assert.deepEqual([refused.status, refused.json().errors?.[0].path], [422, 'reader'], refused.text)
  }
})

test('a user runs a template whose variable names a metric with a rule as the reader who he is', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask, tokens } = server
  await fill(server)
  const metric = (name: string, rows = '') =>
    `metric: ${name}\nsource: { file: sample/us-births.csv }\ntime: { column: date }\nvalue: sum(births)\n${rows}`
  const put = (name: string, rows?: string) =>
    ask('PUT', `/v1alpha/metrics/${name}`, { body: metric(name, rows), type: 'application/yaml' })
  const first = await put('mine', 'rows: births = $reader.least\n')
  assert.equal(first.status, 201, first.text)
  assert.equal((await put('everyones')).status, 201)
  const attributes = { least: 5 }
  const readers = [{ reader_id: 'bob', name: 'bob', user_id: 'service:bob', attributes }]
  assert.equal((await ask('PUT', '/v1alpha/readers', { body: { readers } })).status, 200)
  const bob = await tokenOf(server, 'service:bob', ['analyst'])
  const source =
    '---\nvariables: { metrics: { type: list } }\n---\n```metric daily\nmetric: $metrics\n```\n# Of {{ daily.size }}\n'
  const path = '/v1alpha/jobs/templates/review'
  assert.equal((await ask('PUT', path, { body: source, type: 'text/markdown' })).json().personal, false)
  const create = (token: string, ...metrics: string[]) =>
    ask('POST', '/v1alpha/jobs', {
      token,
      body: { payload: { type: 'template', template_id: 'review', template_vars: { metrics } } },
    })
  const whose = async (...metrics: string[]) => {
    const made = await create(bob, ...metrics)
    assert.equal(made.status, 200, made.text)
    const at = `/v1alpha/jobs/status?assignment_id=${made.json()}`
    return (await ask('GET', at, { token: bob })).json().reader_id
  }
  assert.equal(await whose('mine'), 'bob')
  assert.equal(await whose('everyones', 'mine'), 'bob')
  assert.equal(await whose('everyones'), null)
  const nobody = await create(tokens.analyst, 'mine')
  assert.deepEqual([nobody.status, nobody.json().code], [422, 'reader_missing'])
})

test('what follows a job ends when its caller is its reader no more', async (t) => {
  const server = await openTestServer(t)
  const { ask, store, api } = server
  await fill(server)
  const assignment_id = uuidv7()
  const template = { template_id: 'hello', version: 'v', source: '# Hello\n', partials: {} }
  const job = { assignment_id, workspace_id: 'default', user_id: 'ada', template, variables: {} }
  await store.createJob({ ...job, presence_name: null, priority: 0, metadata: {}, reader_id: 'ada' })
  const token = await tokenOf(server, 'service:ada', ['viewer'])
  const address = await api.listen()
  const stream = await fetch(`${address}/v1alpha/jobs/events?assignment_id=${assignment_id}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const parts = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('draft')) text += (await parts.read()).value ?? ''
  const status = ask('GET', `/v1alpha/jobs/status?assignment_id=${assignment_id}&wait=20`, { token })
  // A request in between gives the waiting request time to begin its wait.
  assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 200)
  assert.equal((await ask('DELETE', '/v1alpha/readers/ada')).status, 204)
  await store.cancelJob(job)
  assert.equal((await status).status, 404)
  for (let part = await parts.read(); !part.done; part = await parts.read()) text += part.value
  assert.ok(!text.includes('canceled'), text)
})

test('nobody but her and admins reads the question whether a reader wants her mail', async (t) => {
  const server = await openTestServer(t)
  const { ask, store, tokens } = server
  await fill(server)
  const webhook_id = uuidv7()
  const of = { webhook_id, workspace_id: 'default' }
  await store.createWebhook({
    ...of,
    kind: 'reader',
    target: 'sealed',
    url: 'mailto:••••',
    headers: [],
    user_id: 'ada',
    presence_name: '',
    events: ['job.completed'],
    description: null,
    signature: 'v1',
    secrets: [],
    public_key: null,
    retry_schedule: null,
    max_in_flight: null,
    rate_per_second: null,
  })
  const ids = { event_id: uuidv7(), delivery_id: uuidv7() }
  await store.sendEvent({ ...of, ...ids, type: 'subscription.confirm', data: { webhook_id } })
  const ada = await tokenOf(server, 'service:ada', ['viewer'])
  const read = async (token: string) =>
    (await ask('GET', `/v1alpha/webhooks/deliveries/${ids.delivery_id}`, { token })).status
  assert.deepEqual([await read(tokens.analyst), await read(ada), await read(tokens.admin)], [404, 200, 200])
})

test('a delivery bears the title of its job for her and admins only', async (t) => {
  const server = await openTestServer(t)
  const { ask, store, tokens } = server
  const { delivery_id } = await fill(server)
  const delivery = await store.getDelivery({ workspace_id: 'default', delivery_id })
  const ada = await tokenOf(server, 'service:ada', ['viewer'])
  const titles = async (token: string): Promise<(string | null)[]> => {
    const { items } = (
      await ask('GET', `/v1alpha/webhooks/${delivery!.webhook_id}/deliveries`, { token })
    ).json()
    return [...new Set((items as { title: string | null }[]).map(({ title }) => title))]
  }
  assert.deepEqual(await titles(tokens.admin), [MARK])
  assert.deepEqual(await titles(ada), [MARK])
  assert.ok(!(await titles(tokens.analyst)).includes(MARK))
  const read = await ask('GET', `/v1alpha/webhooks/deliveries/${delivery_id}`, { token: tokens.admin })
  assert.equal(read.json().title, MARK)
})

test('only an admin runs a template for another, and no template without a use for a reader', async (t) => {
  const server = await openTestServer(t)
  const { ask, tokens } = server
  await fill(server)
  const create = (token: string, reader_id: string | null) =>
    ask('POST', '/v1alpha/jobs', {
      token,
      body: { payload: { type: 'template', template_id: 'hello', reader_id } },
    })
  const foreign = await create(tokens.analyst, 'ada')
  assert.deepEqual([foreign.status, foreign.json().code], [403, 'forbidden'])
  const useless = await create(tokens.admin, 'ada')
  assert.deepEqual([useless.status, useless.json().errors[0].path], [422, 'payload.reader_id'])
  assert.equal((await create(tokens.analyst, null)).status, 200)
  const items = [{}, { reader_id: 'ada' }]
  const many = await ask('POST', '/v1alpha/jobs/bulk', { body: { template_id: 'hello', items } })
  assert.deepEqual([many.status, many.json().errors[0].path], [422, 'items.1.reader_id'])
})
