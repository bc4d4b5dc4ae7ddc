import assert from 'node:assert/strict'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { Type } from '@assay/model/schema'
import { fastify } from 'fastify'
import { handlerOf, operation } from '../http/operation.ts'
import { ROUTES } from '../routes.ts'
import { type Answer, openTestServer } from '../test-server.ts'
import { compress, isCompressed } from './compression.ts'
import { isConditional } from './versions.ts'

const SOURCE = '---\ntitle: Own\n---\n# Own\n'
const METRIC =
  'metric: revenue\nlabel: Revenue\nsource: { file: sample/nile.csv }\ntime: { column: year, grain: year }\nvalue: sum(flow)\n'

test('a change is refused where another has changed the object since it was read, and nothing is lost', async (t) => {
  const { ask, store } = await openTestServer(t, { pool: 'real' })
  const made = async (method: string, path: string, body: unknown, type?: string): Promise<string> => {
    const answer = await ask(method, path, { body, ...(type ? { type } : {}) })
    assert.ok(answer.status < 300, answer.text)
    return answer.text
  }
  const webhook = JSON.parse(
    await made('POST', '/v1alpha/webhooks', {
      url: 'http://127.0.0.1:9/x',
      user_id: 'ada',
      presence_name: 'a',
    }),
  ) as { webhook_id: string }
  const schedule = JSON.parse(
    await made('POST', '/v1alpha/schedules', { name: 'Daily', template_id: 'hello', cron: '0 6 * * *' }),
  ) as { schedule_id: string }
  const subscription = JSON.parse(
    await made('POST', '/v1alpha/subscriptions', { kind: 'slack', url: 'http://127.0.0.1:9/x' }),
  ) as { subscription_id: string }
  const options = { host: '127.0.0.1', database: 'd', user: 'u' }
  await made('POST', '/v1alpha/connections', { name: 'sales', kind: 'postgresql', options })
  await made('PUT', '/v1alpha/jobs/templates/own', SOURCE, 'text/markdown')
  await made('PUT', '/v1alpha/metrics/revenue', METRIC, 'application/yaml')
  const idOf = async (method: string, path: string, body: unknown, name: string): Promise<string> =>
    (JSON.parse(await made(method, path, body)) as Record<string, string>)[name]!
  const collection = await idOf('POST', '/v1alpha/collections', { name: 'Board' }, 'collection_id')
  const user = await idOf('POST', '/v1alpha/users', { username: 'eve', scopes: ['viewer'] }, 'user_id')
  const tokenBody = { name: 'nightly', scopes: ['viewer', 'analyst'] }
  const token = await idOf('POST', '/v1alpha/tokens', tokenBody, 'token_id')
  await made('POST', '/v1alpha/workspaces', { workspace_id: 'second' })
  await made('PUT', '/v1alpha/readers/ada', { name: 'Ada' })
  const cases: [path: string, method: string, changes: unknown[], type?: string][] = [
    [`webhooks/${webhook.webhook_id}`, 'PATCH', [{ description: 'one' }, { description: 'two' }]],
    [`schedules/${schedule.schedule_id}`, 'PATCH', [{ priority: 1 }, { paused: true }]],
    [
      `subscriptions/${subscription.subscription_id}`,
      'PATCH',
      [{ description: 'one' }, { status: 'disabled' }],
    ],
    ['connections/sales', 'PATCH', [{ description: 'one' }, { limits: { rows: 7 } }]],
    ['jobs/templates/own', 'PUT', [`${SOURCE}one\n`, `${SOURCE}two\n`], 'text/markdown'],
    ['metrics/revenue', 'PUT', [`${METRIC}unit: m3\n`, `${METRIC}good: up\n`], 'application/yaml'],
    [`collections/${collection}`, 'PATCH', [{ name: 'Directors' }, { description: 'weekly' }]],
    [`users/${user}`, 'PATCH', [{ scopes: ['analyst'] }, { disabled: true }]],
    [`tokens/${token}`, 'PATCH', [{ name: 'weekly' }, { scopes: ['viewer'] }]],
    ['workspaces/second', 'PATCH', [{ name: 'Two' }, { max_queued: 7 }]],
    ['readers/ada', 'PUT', [{ name: 'Ada L.' }, { name: 'Ada', attributes: { region: 'North' } }]],
  ]
  for (const [at, method, [first, second], type] of cases) {
    const path = `/v1alpha/${at}`
    const send = (how: string, body: unknown, headers: Record<string, string>): Promise<Answer> =>
      ask(how, path, { headers, ...(body === undefined ? {} : { body }), ...(type && body ? { type } : {}) })
    const read = await ask('GET', path)
    const etag = String(read.headers.etag)
    assert.match(etag, /^"[0-9a-f]{20}"$/, at)
    assert.equal((await ask('GET', path)).headers.etag, etag, `${at}: what is read is not changed`)
    const changed = await send(method, first, { 'if-match': `"other", ${etag}` })
    assert.equal(changed.status, 200, changed.text)
    const next = String(changed.headers.etag)
    assert.equal(
      (await ask('GET', path)).headers.etag,
      next,
      `${at}: a change answers the tag of what it made`,
    )
    const before = (await ask('GET', path)).text
    for (const [how, body] of [
      [method, second],
      ['DELETE', undefined],
    ] as const) {
      const refused = await send(how, body, { 'if-match': etag })
      assert.equal(refused.status, 412, `${at} ${how} ${refused.text}`)
      assert.equal(refused.json().code, 'precondition_failed')
      assert.match(refused.json().detail, new RegExp(next))
    }
    assert.equal((await ask('GET', path)).text, before, at)
    const weak = await send(method, second, { 'if-match': `W/${next}` })
    assert.equal(weak.status, 412, 'a weak tag names nothing')
    const coded = await send(method, second, { 'if-match': next.replace(/"$/, '.gzip"') })
    assert.equal(coded.status, 200, coded.text)
    assert.equal((await send('DELETE', undefined, { 'if-match': '*' })).status, 204)
    const gone = await send('DELETE', undefined, { 'if-match': '*' })
    assert.ok([404, 412].includes(gone.status), gone.text)
  }
  const { items } = await store.listAudit({ workspace_id: 'default', limit: 100 })
  const deleted = items.filter(({ action }) => action.endsWith('.delete'))
  assert.equal(deleted.length, cases.length, 'what was refused is not told as done')
})

test('of two changes at once that read the same, one is made', async (t) => {
  const { ask } = await openTestServer(t, { pool: 'real' })
  const path = '/v1alpha/jobs/templates/own'
  const put = (body: string, headers: Record<string, string>): Promise<Answer> =>
    ask('PUT', path, { body, type: 'text/markdown', headers })
  const made = await Promise.all([1, 2, 3].map((n) => put(`${SOURCE}${n}\n`, { 'if-none-match': '*' })))
  assert.deepEqual(
    made.map(({ status }) => status).toSorted((a, b) => a - b),
    [201, 412, 412],
  )
  const etag = String((await ask('GET', path)).headers.etag)
  const changed = await Promise.all([4, 5, 6].map((n) => put(`${SOURCE}${n}\n`, { 'if-match': etag })))
  assert.deepEqual(
    changed.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 412, 412],
  )
})

test('a repeat of a creation has the tag of the first answer, and a rotation changes it', async (t) => {
  const { ask } = await openTestServer(t)
  const body = { url: 'http://127.0.0.1:9/x', user_id: 'ada', presence_name: 'a' }
  const create = () => ask('POST', '/v1alpha/webhooks', { body, headers: { 'idempotency-key': 'k' } })
  const first = await create()
  const again = await create()
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.ok(first.headers.etag)
  assert.equal(again.headers.etag, first.headers.etag)
  const path = `/v1alpha/webhooks/${String(first.json().webhook_id)}/rotate-secret`
  const headers = { 'if-match': String(first.headers.etag) }
  const rotate = () => ask('POST', path, { body: { overlap_seconds: 0 }, headers })
  assert.deepEqual([(await rotate()).status, (await rotate()).status], [200, 412])
})

test('a draft, the rules of what leaves and a job are changed as they were read, or not at all', async (t) => {
  const { ask, token, complete } = await openTestServer(t)
  const ada = await token('default', ['analyst'])
  const draft = '/v1alpha/drafts/template/sales'
  const keep = (source: string, headers = {}) => ask('PUT', draft, { token: ada, body: { source }, headers })
  const first = await keep('# One', { 'if-none-match': '*' })
  const { draft_id } = first.json()
  const at = `/v1alpha/drafts/${String(draft_id)}`
  const etag = String((await ask('GET', at, { token: ada })).headers.etag)
  assert.equal(etag, first.headers.etag)
  assert.equal((await keep('# Two', { 'if-match': etag })).status, 200)
  for (const refused of [
    await keep('# Three', { 'if-match': etag }),
    await keep('# Three', { 'if-none-match': '*' }),
    await ask('DELETE', at, { token: ada, headers: { 'if-match': etag } }),
  ])
    assert.equal(refused.status, 412, refused.text)
  assert.equal((await ask('GET', at, { token: ada })).json().source, '# Two')

  const rules = await ask('GET', '/v1alpha/outgoing')
  const change = (body: unknown) =>
    ask('PATCH', '/v1alpha/outgoing', { body, headers: { 'if-match': String(rules.headers.etag) } })
  assert.equal((await change({ model: false })).status, 200)
  assert.equal((await change({ hosts: [] })).status, 412)
  const now = await ask('GET', '/v1alpha/outgoing')
  assert.deepEqual([now.json().model, now.json().hosts], [false, null])

  const payload = { type: 'template', template_id: 'hello' }
  const assignment_id = (await ask('POST', '/v1alpha/jobs/', { body: { payload } })).json() as string
  const body = { payload: { type: 'assignment', assignment_id } }
  const status = () => ask('GET', `/v1alpha/jobs/status?assignment_id=${assignment_id}`)
  const made = String((await status()).headers.etag)
  const send = (what: string, match: string) =>
    ask('POST', `/v1alpha/jobs/${what}`, { body, headers: { 'if-match': match } })
  const queued = await send('run', made)
  assert.deepEqual([made, queued.status, queued.headers.etag], ['"draft.0"', 200, '"queued.0"'])
  assert.equal((await send('cancel', made)).status, 412)
  await complete(assignment_id)
  const gone = (match: string) =>
    ask('DELETE', `/v1alpha/jobs/${assignment_id}`, { headers: { 'if-match': match } })
  assert.equal((await gone('"queued.0"')).status, 412)
  assert.equal((await gone(String((await status()).headers.etag))).status, 204)
})

/** Changes of what is made and deleted and never changed, and of many things at once. */
const UNTAGGED = [
  'pinInsight',
  'unpinInsight',
  'deleteLink',
  'deleteCollectionLink',
  'endSignIn',
  'endSignIns',
  'endUserSignIns',
  'endGrant',
  'putReaders',
  'eraseUserJobs',
]

test('every change of one thing takes conditions, or refuses those that it would ignore', async (t) => {
  const { ask } = await openTestServer(t)
  const changes = ROUTES.filter(({ method }) => ['PUT', 'PATCH', 'DELETE'].includes(method))
  const untagged = changes.filter(
    ({ operation: one }) => !isConditional(one.name) && !['putFile', 'deleteFile'].includes(one.name),
  )
  assert.deepEqual(untagged.map(({ operation: one }) => one.name).toSorted(), UNTAGGED.toSorted())
  for (const { method, path, operation: one } of untagged) {
    const id = '0198aaaa-0000-7000-8000-000000000000'
    const body = one.name === 'putReaders' ? { readers: [{ reader_id: 'ada', name: 'Ada' }] } : {}
    const refused = await ask(method, path.replaceAll(/\{\w+\}/g, id), {
      headers: { 'if-match': '"other"' },
      ...(one.body === null ? {} : { body }),
    })
    assert.deepEqual([refused.status, refused.json().code], [412, 'precondition_failed'], one.name)
    assert.match(refused.json().detail, /without it/)
  }
})

test('long answers to reads come in the coding that the client wants most, and secrets in none', async (t) => {
  const { api, ask, tokens } = await openTestServer(t)
  const path = '/openapi.json'
  const plain = await ask('GET', path)
  assert.equal(plain.headers['content-encoding'], undefined)
  assert.match(String(plain.headers.vary), /Accept-Encoding/)
  const unpack = { zstd: zstdDecompressSync, br: brotliDecompressSync, gzip: gunzipSync }
  for (const [header, coding] of [
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip, deflate, br', 'br'],
    ['gzip;q=1.0, br;q=0.5', 'gzip'],
    ['*', 'zstd'],
    ['zstd;q=0, br;q=0, *', 'gzip'],
  ] as const) {
    const answer = await api.inject({ method: 'GET', url: path, headers: { 'accept-encoding': header } })
    assert.equal(answer.headers['content-encoding'], coding, header)
    assert.equal(unpack[coding](answer.rawPayload).toString(), plain.text)
    assert.ok(answer.rawPayload.length * 5 < plain.text.length)
  }
  for (const header of ['identity', 'identity, gzip;q=0.5', 'deflate', 'gzip;q=0', ''])
    assert.equal(
      (await ask('GET', path, { headers: { 'accept-encoding': header } })).text,
      plain.text,
      header,
    )
  const source = `---\ntitle: Long\n---\n# Long\n${'words '.repeat(2000)}\n`
  const headers = { 'accept-encoding': 'gzip', authorization: `Bearer ${tokens.admin}` }
  const made = await api.inject({
    method: 'POST',
    url: '/v1alpha/tokens',
    headers,
    payload: { name: 'x'.repeat(200), scopes: ['viewer'] },
  })
  assert.equal(made.headers['content-encoding'], undefined)
  const checked = await api.inject({
    method: 'POST',
    url: '/v1alpha/jobs/templates/check',
    headers,
    payload: source,
  })
  assert.equal(checked.headers['content-encoding'], undefined)
  const short = await api.inject({ method: 'GET', url: '/v1alpha/auth/me', headers })
  assert.equal(short.headers['content-encoding'], undefined)
})

test('no answer that may hold a secret is compressed, however long it is', async () => {
  const app = fastify()
  app.route({
    method: ['GET', 'POST'],
    url: '/',
    onSend: compress,
    handler: () => ({ text: 'words '.repeat(2000) }),
  })
  const coding = async (method: 'GET' | 'POST') =>
    (await app.inject({ method, url: '/', headers: { 'accept-encoding': 'gzip' } })).headers[
      'content-encoding'
    ]
  assert.deepEqual([await coding('GET'), await coding('POST')], ['gzip', undefined])
  assert.deepEqual(
    ROUTES.map(({ operation: one }) => one.name).filter((name) => !isCompressed(name)),
    ['getDelivery'],
  )
  await app.close()
})

test('events of a job come at once, whatever codings the client takes', async (t) => {
  const { api, ask, tokens } = await openTestServer(t)
  const created = await ask('POST', '/v1alpha/jobs/', {
    body: { payload: { type: 'template', template_id: 'hello' } },
  })
  const address = await api.listen()
  const leaving = new AbortController()
  const response = await fetch(`${address}/v1alpha/jobs/events?assignment_id=${String(created.json())}`, {
    headers: { authorization: `Bearer ${tokens.admin}`, 'accept-encoding': 'gzip, br, zstd' },
    signal: leaving.signal,
  })
  assert.equal(response.headers.get('content-encoding'), null)
  const reader = response.body!.getReader()
  let seen = ''
  while (!seen.includes('event: status')) seen += new TextDecoder().decode((await reader.read()).value)
  leaving.abort()
})

test('an operation that will go says so in every answer, after a notice of a year', async () => {
  const app = fastify()
  const leaving = { since: '2027-03-01', until: '2028-03-01', instead: '/docs/new' }
  const old = (deprecated: typeof leaving) =>
    operation({
      name: 'old',
      tag: 'Jobs',
      summary: 'An old one',
      scope: null,
      query: Type.Object({ n: Type.Optional(Type.Integer()) }),
      deprecated,
      replies: { 200: { description: 'Nothing', schema: Type.Object({}) } },
      handle: () => ({}),
    })
  const services = { stopping: new AbortController().signal } as never
  app.decorateRequest('principal', null)
  app.decorateRequest('idempotent', null)
  app.get('/old', handlerOf({ operation: old(leaving), path: '/old' }, services))
  for (const url of ['/old', '/old?n=x']) {
    const { headers } = await app.inject({ method: 'GET', url })
    // RFC 9745, section 2.1, and RFC 8594, section 3.
    assert.equal(headers.deprecation, '@1803859200')
    assert.equal(headers.sunset, 'Wed, 01 Mar 2028 00:00:00 GMT')
    assert.equal(headers.link, '</docs/new>; rel="deprecation"; type="text/html"')
  }
  await app.close()
  const soon = old({ ...leaving, until: '2028-02-29' })
  assert.throws(() => handlerOf({ operation: soon, path: '/old' }, services), RangeError)
})
