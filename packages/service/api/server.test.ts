import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { ERRORS } from '@assay/model/errors'
import { openTestServer, TEST_CONFIG } from './test-server.ts'

/** Sends bytes as they are. Resolves with all bytes that arrive until the connection ends. */
async function raw(address: string, text: string): Promise<string> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  socket.write(text)
  let answer = ''
  socket.on('data', (chunk) => (answer += chunk.toString('utf8')))
  await once(socket, 'close')
  return answer
}

function problemIn(answer: string): Record<string, unknown> {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as Record<string, unknown>
}

test('takes every path with and without a slash at its end, and never redirects', async (t) => {
  const { ask } = await openTestServer(t)
  for (const path of [
    '/v1alpha/jobs/templates',
    '/v1alpha/jobs',
    '/v1alpha/webhooks',
    '/v1alpha/events',
    '/healthz',
  ]) {
    assert.equal((await ask('GET', path)).status, 200)
    assert.equal((await ask('GET', `${path}/`)).status, 200)
  }
})

test('no answer may be kept by a cache unless it says so', async (t) => {
  const { ask } = await openTestServer(t)
  const token = await ask('POST', '/v1alpha/tokens', { body: { name: 'a', scopes: ['viewer'] } })
  assert.equal(token.status, 201)
  for (const answer of [token, await ask('GET', '/v1alpha/tokens'), await ask('GET', '/nowhere')])
    assert.equal(answer.headers['cache-control'], 'no-store')
})

test('lets pages of the listed sites call the API, and those alone', async (t) => {
  const corsOrigins = ['https://app.example', 'https://*.team.example', 'http://localhost:*']
  const plain = await openTestServer(t)
  const { ask, parts } = await openTestServer(t, {
    parts: { config: { ...plain.parts.config, corsOrigins } },
  })
  assert.deepEqual(parts.config.corsOrigins, corsOrigins)
  const from = async (origin: string, method = 'GET', path = '/v1alpha/jobs/templates') =>
    ask(method, path, {
      headers: { origin, ...(method === 'OPTIONS' && { 'access-control-request-method': 'POST' }) },
      ...(method === 'OPTIONS' && { token: null }),
    })
  const allowed = async (origin: string) => (await from(origin)).headers['access-control-allow-origin']
  for (const origin of ['https://app.example', 'https://a.b.team.example', 'http://localhost:5173'])
    assert.equal(await allowed(origin), origin)
  for (const origin of [
    'http://app.example',
    'https://app.example.evil.example',
    'https://team.example',
    'https://eviltteam.example',
    'https://app-example',
    'http://localhost:5173.evil.example',
    'null',
  ])
    assert.equal(await allowed(origin), undefined, origin)

  const preflight = await from('https://app.example', 'OPTIONS', '/v1alpha/jobs/run')
  assert.equal(preflight.status, 204)
  assert.match(String(preflight.headers['access-control-allow-methods']), /POST.*PATCH.*DELETE/)
  assert.ok(preflight.headers['x-request-id'])
  assert.equal(preflight.headers['access-control-allow-credentials'], undefined, 'no cookie is sent')

  const missing = await from('https://app.example', 'GET', '/v1alpha/nowhere')
  assert.equal(missing.status, 404)
  assert.equal(missing.headers['access-control-allow-origin'], 'https://app.example')
  assert.match(String(missing.headers['access-control-expose-headers']), /X-Request-Id.*ETag.*Retry-After/)
  assert.match(String(missing.headers.vary), /Origin/)
  const page = await from('https://app.example', 'GET', '/healthz')
  assert.equal(page.headers['access-control-allow-origin'], undefined, 'only the API is open')
  const closed = await plain.ask('OPTIONS', '/v1alpha/jobs', { headers: { origin: 'https://app.example' } })
  assert.equal(closed.headers['access-control-allow-origin'], undefined)
})

test('bears a request id on every answer, of whatever kind', async (t) => {
  const { ask } = await openTestServer(t)
  const answers = [
    await ask('GET', '/healthz'),
    await ask('GET', '/nowhere'),
    await ask('GET', '/v1alpha/jobs', { token: null }),
    await ask('GET', '/%zz'),
    await ask('POST', '/v1alpha/jobs', { body: '{', type: 'application/json' }),
  ]
  const ids = answers.map((answer) => answer.headers['x-request-id'])
  assert.equal(new Set(ids).size, answers.length)
  for (const [index, answer] of answers.entries())
    if (answer.status >= 400) assert.equal(answer.json().request_id, ids[index])
})

const REFUSALS: [string, string, string, Record<string, unknown>, string][] = [
  ['an unknown path', 'GET', '/v1alpha/nothing', {}, 'not_found'],
  [
    'an unknown path with a body of any kind',
    'POST',
    '/v1alpha/nothing',
    { body: '{', type: 'foo/bar' },
    'not_found',
  ],
  ['a method that the path does not have', 'PUT', '/v1alpha/jobs/status', {}, 'method_not_allowed'],
  ['an unusual method', 'OPTIONS', '/v1alpha/jobs/', {}, 'method_not_allowed'],
  ['a broken percent sign', 'GET', '/v1alpha/jobs/%zz', {}, 'bad_request'],
  [
    'a body that is not JSON',
    'POST',
    '/v1alpha/jobs/',
    { body: '{"a":', type: 'application/json' },
    'bad_json',
  ],
  [
    'another content type',
    'POST',
    '/v1alpha/jobs/',
    { body: 'a=1', type: 'text/plain' },
    'unsupported_media_type',
  ],
  [
    'Markdown where JSON is wanted',
    'POST',
    '/v1alpha/jobs/',
    { body: '# a', type: 'text/markdown' },
    'unsupported_media_type',
  ],
  [
    'a body that is packed',
    'POST',
    '/v1alpha/jobs/',
    { body: {}, headers: { 'content-encoding': 'gzip' } },
    'unsupported_media_type',
  ],
  [
    'a content type that is none',
    'POST',
    '/v1alpha/jobs/',
    { body: '{}', type: 'nonsense' },
    'unsupported_media_type',
  ],
  [
    'a body above 1 MiB',
    'POST',
    '/v1alpha/jobs/',
    { body: JSON.stringify('x'.repeat(1_048_576)), type: 'application/json' },
    'payload_too_large',
  ],
  ['no body', 'POST', '/v1alpha/jobs/', {}, 'invalid'],
  ['an unknown query parameter', 'GET', '/v1alpha/jobs?limitt=3', {}, 'invalid'],
  ['a limit beyond the most', 'GET', '/v1alpha/jobs?limit=201', {}, 'invalid'],
  ['a parameter that comes twice', 'GET', '/v1alpha/jobs?limit=1&limit=2', {}, 'invalid'],
  ['a prototype as a parameter', 'GET', '/v1alpha/jobs?__proto__=1', {}, 'invalid'],
  ['a cursor that nobody made', 'GET', '/v1alpha/jobs?cursor=abc', {}, 'invalid'],
  ['a NUL in a parameter', 'GET', '/v1alpha/webhooks?user_id=a%00', {}, 'invalid'],
  [
    'a prototype as a key',
    'POST',
    '/v1alpha/jobs/',
    { body: '{"__proto__": {"payload": 1}}', type: 'application/json' },
    'invalid',
  ],
  [
    'a hundred thousand brackets',
    'POST',
    '/v1alpha/jobs/',
    { body: '['.repeat(100_000) + ']'.repeat(100_000), type: 'application/json' },
    'invalid',
  ],
]

for (const [what, method, url, asked, code] of REFUSALS) {
  test(`answers ${what} with the problem ${code}`, async (t) => {
    const { ask } = await openTestServer(t)
    const answer = await ask(method, url, asked)
    assert.equal(answer.json().code, code)
    assert.equal(answer.status, ERRORS[code as keyof typeof ERRORS].status)
    assert.match(String(answer.headers['content-type']), /^application\/problem\+json/)
    const { type, title, status, detail } = answer.json()
    assert.equal(type, `/docs/errors#${code}`)
    assert.equal(title, ERRORS[code as keyof typeof ERRORS].title)
    assert.equal(status, answer.status)
    assert.match(detail, /\S.*[.:]?$/s)
    if (code === 'method_not_allowed') assert.ok(answer.headers.allow)
    if (code === 'invalid') assert.ok(answer.json().errors.length > 0)
  })
}

test('answers a HEAD as the GET without its body, but for streams', async (t) => {
  const { ask } = await openTestServer(t)
  const head = await ask('HEAD', '/v1alpha/jobs/templates')
  assert.equal(head.status, 200)
  assert.equal(head.text, '')
  const stream = await ask('HEAD', '/v1alpha/jobs/events?assignment_id=x')
  assert.equal(stream.status, 405)
  assert.equal(stream.headers.allow, 'GET')
})

test('is not held up by a body with very many faults', async (t) => {
  const { ask } = await openTestServer(t)
  const many = Array.from({ length: 80_000 }, (_, index) => [`k${index}`, 1])
  const begun = process.cpuUsage().user
  const told = async (keys: number): Promise<number> => {
    const answer = await ask('POST', '/v1alpha/jobs', { body: Object.fromEntries(many.slice(0, keys)) })
    return answer.json().errors.length
  }
  assert.deepEqual([await told(600), await told(25_000)], [100, 1])
  const more = await ask('POST', '/v1alpha/jobs', { body: Object.fromEntries(many) })
  assert.deepEqual([more.status, more.json().code], [413, 'payload_too_large'])
  const form = many.map(([name]) => `${name}=1`).join('&')
  const type = 'application/x-www-form-urlencoded'
  const login = (body: string) => ask('POST', '/v1alpha/auth/login', { token: null, body, type })
  assert.deepEqual([(await login(form)).status, (await login(form.slice(0, 15_000))).status], [413, 422])
  assert.ok(process.cpuUsage().user - begun < 10_000_000, 'microseconds of this process')
})

test('refuses a body that is not UTF-8', async (t) => {
  const { api, tokens } = await openTestServer(t)
  const answer = await api.inject({
    method: 'POST',
    url: '/v1alpha/jobs/',
    headers: { authorization: `Bearer ${tokens.admin}`, 'content-type': 'application/json' },
    payload: Buffer.from([0x22, 0xff, 0x22]),
  })
  assert.equal(answer.json().code, 'bad_json')
})

test('answers HTTP that cannot be read, and headers that are too large, as problems', async (t) => {
  const { api } = await openTestServer(t)
  const address = await api.listen()
  const broken = await raw(address, 'GET / HTTP/9.9\r\n\r\n')
  assert.match(broken, /^HTTP\/1\.1 400 /)
  assert.equal(problemIn(broken).code, 'bad_request')
  const hostless = await raw(address, 'GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n')
  assert.match(hostless, /^HTTP\/1.1 400 [^]*x-request-id: [^]*problem\+json[^]*"code":"bad_request"/i)
  assert.match(await raw(address, 'GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1.1 200 /)
  const twoHosts = await raw(
    address,
    'GET /healthz HTTP/1.1\r\nhost: a\r\nHost: b\r\nconnection: close\r\n\r\n',
  )
  assert.match(String(problemIn(twoHosts).detail), /Host came twice/)
  const large = await raw(address, `GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`)
  assert.match(large, /^HTTP\/1\.1 431 /)
  assert.equal(problemIn(large).code, 'header_too_large')
  const smuggled = await raw(
    address,
    'GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  assert.equal(problemIn(smuggled).code, 'bad_request')
})

test('answers a request with an expectation that it does not know', async (t) => {
  const { api } = await openTestServer(t)
  const address = await api.listen()
  const answer = await raw(
    address,
    'GET /healthz HTTP/1.1\r\nhost: a\r\nexpect: something\r\nconnection: close\r\n\r\n',
  )
  assert.match(answer, /^HTTP\/1\.1 200 /)
})

test('hides what nobody expected behind the code internal', async (t) => {
  const { ask, store } = await openTestServer(t)
  t.mock.method(store, 'listWebhooks', () => Promise.reject(new Error('secret inside')))
  const answer = await ask('GET', '/v1alpha/webhooks')
  assert.equal(answer.status, 500)
  assert.equal(answer.json().code, 'internal')
  assert.doesNotMatch(answer.text, /secret inside/)
})

test('says that the store is away, and when to come back', async (t) => {
  const { ask, store } = await openTestServer(t)
  await ask('GET', '/v1alpha/jobs')
  await store.close()
  for (const path of ['/v1alpha/jobs', '/readyz']) {
    const answer = await ask('GET', path)
    assert.equal(answer.status, 503)
    assert.equal(answer.json().code, 'store_unavailable')
    assert.ok(Number(answer.headers['retry-after']) > 0)
  }
  assert.equal((await ask('GET', '/healthz')).status, 200)
})

test('serves health alone on a node without the role api', async (t) => {
  const { ask } = await openTestServer(t, { parts: { roles: ['worker'], pool: null, catalog: null } })
  for (const path of ['/healthz', '/readyz'])
    assert.equal((await ask('GET', path, { token: null })).status, 200)
  assert.equal((await ask('GET', '/metrics')).status, 200)
  for (const path of ['/v1alpha/jobs', '/docs', '/openapi.json', '/'])
    assert.equal((await ask('GET', path)).status, 404)
})

test('asks for the metrics token where one is set', async (t) => {
  const config = { ...TEST_CONFIG, metricsToken: 'a-metrics-token-of-16' }
  const { ask } = await openTestServer(t, { parts: { config } })
  assert.equal((await ask('GET', '/metrics', { token: null })).status, 401)
  assert.equal((await ask('GET', '/metrics', { token: 'another' })).status, 401)
  const answer = await ask('GET', '/metrics', { token: 'a-metrics-token-of-16' })
  assert.equal(answer.status, 200)
  assert.match(answer.text, /^assay_queue_oldest_seconds 0$/m)
  assert.match(
    answer.text,
    /assay_http_request_duration_seconds_count\{method="GET",route="\/metrics",status="401"\} 2/,
  )
})

const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1']

test('without a token programs of the same machine alone read the metrics', async (t) => {
  const { api } = await openTestServer(t, { parts: { config: TEST_CONFIG } })
  const status = async (remoteAddress: string, headers: Record<string, string> = {}) =>
    (await api.inject({ url: '/metrics', remoteAddress, headers })).statusCode
  for (const own of LOOPBACK) assert.equal(await status(own), 200, own)
  for (const other of ['192.0.2.1', '10.0.0.7', '2001:db8::1', '::ffff:192.0.2.1'])
    assert.equal(await status(other), 401, other)
  const proxied = { 'x-forwarded-for': '192.0.2.1', 'x-real-ip': '192.0.2.1', 'x-forwarded-proto': 'https' }
  for (const [name, value] of Object.entries({ ...proxied, forwarded: 'for=192.0.2.1', via: '1.1 proxy' }))
    assert.equal(await status('127.0.0.1', { [name]: value }), 401, name)
  assert.equal(await status('127.0.0.1', { authorization: 'Bearer guessed' }), 401)
  for (const host of ['127.0.0.1:8080', 'localhost', '[::1]:8080'])
    assert.equal(await status('::1', { host }), 200, host)
  // The page of a site may have a name that leads to this machine.
  for (const host of ['page.example.com:8080', '127.0.0.1.example.com', 'localhost.example.com'])
    assert.equal(await status('127.0.0.1', { host }), 401, host)
})

test('on a node behind a proxy no address and no other token gets the metrics', async (t) => {
  const config = { ...TEST_CONFIG, publicUrl: 'https://assay.example.com' }
  const { api, ask, store, tokens, token } = await openTestServer(t, { parts: { config } })
  const status = async (given?: string, remoteAddress = '127.0.0.1') =>
    (
      await api.inject({
        url: '/metrics',
        remoteAddress,
        headers: given === undefined ? {} : { authorization: `Bearer ${given}` },
      })
    ).statusCode
  for (const own of LOOPBACK) assert.equal(await status(undefined, own), 401)
  await store.createWorkspace({ workspace_id: 'other', name: 'Other', data_folder: null })
  const other = await token('other', ['admin'])
  const narrow = { name: 'narrow', scopes: ['analyst'], templates: ['hello'] }
  const limited = (await ask('POST', '/v1alpha/tokens', { token: tokens.admin, body: narrow })).json().token
  assert.ok(limited)
  for (const given of [tokens.viewer, tokens.analyst, other, limited, 'guessed'])
    assert.equal(await status(given), 401)
  assert.equal(await status(tokens.admin), 200)
  assert.equal(await status(tokens.admin, '192.0.2.1'), 200)
  assert.match((await api.inject('/metrics')).payload, /Set ASSAY_METRICS_TOKEN/)
})

test('stops while a client waits: the client is answered', async (t) => {
  const { api, ask, tokens } = await openTestServer(t)
  const address = await api.listen()
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  const begun = performance.now()
  const waiting = fetch(`${address}/v1alpha/jobs/status?assignment_id=${id}&wait=60`, {
    headers: { authorization: `Bearer ${tokens.viewer}` },
  })
  const streaming = await fetch(`${address}/v1alpha/jobs/events?assignment_id=${id}`, {
    headers: { authorization: `Bearer ${tokens.viewer}` },
  })
  await api.close()
  assert.equal(((await (await waiting).json()) as { job_status: string }).job_status, 'draft')
  assert.match(await streaming.text(), /"job_status":"draft"/)
  assert.ok(performance.now() - begun < 9000, 'no connection had to be cut')
})

test('lingers before it closes: not ready, but it answers, and has each connection closed', async (t) => {
  const clock = new FakeClock()
  const { api, tokens } = await openTestServer(t, { clock, parts: { lingerMs: 5000 } })
  const address = await api.listen()
  const ask = (path: string) =>
    fetch(`${address}${path}`, { headers: { authorization: `Bearer ${tokens.viewer}` } })
  assert.equal((await ask('/readyz')).headers.get('connection'), 'keep-alive')
  const sleeping = clock.sleeping
  const closed = api.close()
  assert.equal(clock.sleeping, sleeping + 1)
  const unready = await ask('/readyz')
  assert.deepEqual([unready.status, ((await unready.json()) as { code: string }).code], [503, 'stopping'])
  const answer = await ask('/v1alpha/jobs')
  assert.deepEqual([answer.status, answer.headers.get('connection')], [200, 'close'])
  clock.advance(5000)
  await closed
  await assert.rejects(ask('/readyz'))
})

test('writes one line for each request, with the route and never the token', async (t) => {
  const { createLog } = await import('../runtime/log.ts')
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', stream: { write: (line) => lines.push(line) } })
  const { ask, tokens } = await openTestServer(t, { parts: { log } })
  await ask('GET', '/v1alpha/jobs/status?assignment_id=0198c0de-0000-7000-8000-00000000000a')
  assert.equal(lines.length, 1)
  const line = JSON.parse(lines[0]!) as Record<string, unknown>
  assert.equal(line.route, '/v1alpha/jobs/status')
  assert.equal(line.status, 404)
  assert.equal(line.workspace_id, 'default')
  assert.ok(line.request_id && line.token_id && line.ms !== undefined)
  assert.doesNotMatch(lines[0]!, new RegExp(tokens.admin))
})
