import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { EVENT_TYPES } from '@assay/model/event'
import { verify } from '@assay/model/signature'
import { headerContext, secretContext, WEBHOOKS_MOST } from '@assay/model/webhook'
import { webhookInput } from '../../../store/conformance/given.ts'
import { createDispatcher } from '../../webhooks/dispatcher.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const HOOK = { url: 'http://127.0.0.1:9/hook', user_id: 'ada', presence_name: 'reports' }
const UNKNOWN = '0198c0de-0000-7000-8000-00000000000a'

async function register({ ask }: TestServer, more: Record<string, unknown> = {}) {
  const answer = await ask('POST', '/v1alpha/webhooks/', { body: { ...HOOK, ...more } })
  assert.equal(answer.status, 200, answer.text)
  return answer.json()
}

test('registers a webhook and shows its secret once', async (t) => {
  const api = await openTestServer(t)
  const { ask, store, secrets } = api
  const made = await register(api, {
    headers: [{ name: 'X-Secret', value: 's3cret' }],
    description: 'Nightly',
  })
  assert.match(made.signing_secret, /^whsec_/)
  assert.deepEqual(made.events, ['job.completed', 'job.failed', 'job.canceled'])
  assert.equal(made.status, 'enabled')
  assert.match(made.headers[0].value, /^•••• [0-9a-f]{8}$/)
  const { signing_secret, ...view } = made
  assert.deepEqual((await ask('GET', `/v1alpha/webhooks/"${made.webhook_id}"`)).json(), view)
  const kept = (await store.getWebhook({ workspace_id: 'default', webhook_id: made.webhook_id }))!
  assert.doesNotMatch(JSON.stringify(kept), /s3cret|whsec_/)
  assert.equal(secrets.open(kept.headers[0]!.sealed, headerContext(made.webhook_id, 'x-secret')), 's3cret')
  assert.equal(secrets.open(kept.secrets[0]!.sealed, secretContext(made.webhook_id)), signing_secret)
})

test('a workspace has a bounded number of webhooks, and another one is refused with that number', async (t) => {
  const { ask, store } = await openTestServer(t)
  const made = Array.from({ length: WEBHOOKS_MOST }, () => store.createWebhook(webhookInput()))
  await Promise.all(made)
  const refused = await ask('POST', '/v1alpha/webhooks/', { body: HOOK })
  assert.deepEqual([refused.status, refused.json().code], [409, 'conflict'])
  assert.match(refused.json().detail, /has 500 webhooks: delete some first/)
})

test('gives a public key where asymmetric signatures are asked for', async (t) => {
  const api = await openTestServer(t)
  const made = await register(api, {
    signature: 'v1a',
    events: ['*'],
    retry_schedule: [],
    max_in_flight: 2,
    rate_per_second: 0.5,
  })
  assert.equal(made.signing_secret, null)
  assert.match(made.public_key, /^whpk_/)
  assert.deepEqual(made.retry_schedule, [])
  assert.deepEqual(made.events, [...EVENT_TYPES])
  const path = `/v1alpha/webhooks/${made.webhook_id}/rotate-secret`
  const rotated = (await api.ask('POST', path)).json()
  assert.equal(rotated.signing_secret, null)
  assert.match(rotated.public_key, /^whpk_/)
  assert.notEqual(rotated.public_key, made.public_key)
})

const BAD_URLS = [
  'ftp://example.com/',
  'http:/example.com',
  'http://user:pw@example.com/',
  'http://a..b/',
  ' http://example.com',
  'http://exa\nmple.com/',
  'http://10.0.0.1/',
  'http://169.254.169.254/',
  'http://2852039166/',
  'http://[::ffff:10.0.0.1]/',
  'http://0xA9FEA9FE/',
  'nonsense',
  '',
]

test('refuses an address that may not be reached, in any spelling, when made and when changed', async (t) => {
  const api = await openTestServer(t)
  const { webhook_id } = await register(api)
  for (const url of BAD_URLS) {
    const made = await api.ask('POST', '/v1alpha/webhooks', { body: { ...HOOK, url } })
    const changed = await api.ask('PATCH', `/v1alpha/webhooks/${webhook_id}`, { body: { url } })
    for (const answer of [made, changed]) {
      assert.equal(answer.status, 422, JSON.stringify(url))
      assert.equal(answer.json().errors[0].path, 'url')
    }
  }
})

const BAD_HEADERS: [string, string][] = [
  ...[
    'Host',
    'content-type',
    'Content-Length',
    'connection',
    'keep-alive',
    'te',
    'trailer',
    'Transfer-Encoding',
    'upgrade',
  ].map((name) => [name, 'x'] as [string, string]),
  ...['expect', 'proxy-authorization', 'User-Agent', 'webhook-id', 'a b', 'ä', 'a:', '', 'a\nb'].map(
    (name) => [name, 'x'] as [string, string],
  ),
  ['x', 'a\r\nb: c'],
  ['x', '€'],
  ['x', 'tab\there'],
  ['x', 'y'.repeat(4097)],
  ['x', '\u0000'],
]

test('refuses an address that the workspace may not reach, at once and in its trail, and says which hosts it may', async (t) => {
  const { ask, parts } = await openTestServer(t)
  const url = 'https://hooks.example.com/a'
  const { webhook_id } = (await ask('POST', '/v1alpha/webhooks/', { body: { ...HOOK, url } })).json()
  await ask('PATCH', '/v1alpha/outgoing', { body: { hosts: ['*.example.com', 'db.example.org'] } })
  const elsewhere = 'https://elsewhere.example.net/a'
  const refused = await Promise.all([
    ask('POST', '/v1alpha/webhooks/', { body: { ...HOOK, url: elsewhere } }),
    ask('PATCH', `/v1alpha/webhooks/${webhook_id}`, { body: { url: elsewhere } }),
    ask('POST', '/v1alpha/subscriptions', { body: { kind: 'slack', url: elsewhere } }),
  ])
  for (const answer of refused) {
    const { code, errors } = answer.json()
    assert.deepEqual([answer.status, code, errors[0].path], [422, 'invalid', 'url'], answer.text)
    assert.match(
      errors[0].message,
      /may not reach the host elsewhere\.example\.net: .* list "hosts" .* holds \*\.example\.com, db\.example\.org\.$/,
    )
  }
  assert.equal((await ask('POST', '/v1alpha/webhooks/', { body: { ...HOOK, url } })).status, 200)
  const changed = await ask('PATCH', `/v1alpha/webhooks/${webhook_id}`, { body: { url: `${url}b` } })
  assert.equal(changed.status, 200)
  await parts.ledger.refresh('default')
  const { items } = (await ask('GET', '/v1alpha/audit?action=outgoing.refuse')).json()
  const told = items.map(({ object_id, fields }: { object_id: string; fields: string[] }) => [
    object_id,
    ...fields,
  ])
  assert.deepEqual(told.toSorted(), [
    ['chat', 'host'],
    ['webhook', 'host'],
  ])
})

test('refuses headers that could not be sent or are not a client’s to set', async (t) => {
  const { ask } = await openTestServer(t)
  for (const [name, value] of BAD_HEADERS) {
    const answer = await ask('POST', '/v1alpha/webhooks', { body: { ...HOOK, headers: [{ name, value }] } })
    assert.equal(answer.status, 422, `${name}: ${value.slice(0, 20)}`)
    assert.match(answer.json().errors[0].path, /^headers\.0\.(name|value)/)
  }
  const twice = [
    { name: 'X-A', value: '1' },
    { name: 'x-a', value: '2' },
  ]
  assert.equal((await ask('POST', '/v1alpha/webhooks', { body: { ...HOOK, headers: twice } })).status, 422)
  const many = Array.from({ length: 51 }, (_, index) => ({ name: `x-${index}`, value: '' }))
  assert.equal((await ask('POST', '/v1alpha/webhooks', { body: { ...HOOK, headers: many } })).status, 422)
  const fine = [
    { name: 'Authorization', value: 'Basic abc' },
    { name: 'Cookie', value: 'a=é ÿ' },
    ...many.slice(0, 48),
  ]
  assert.equal((await ask('POST', '/v1alpha/webhooks', { body: { ...HOOK, headers: fine } })).status, 200)
})

test('tells every fault of a webhook at once', async (t) => {
  const { ask } = await openTestServer(t)
  const answer = await ask('POST', '/v1alpha/webhooks', {
    body: {
      url: 'http://127.0.0.1/',
      presence_name: '',
      events: ['job.done'],
      retry_schedule: [-1],
      header: [],
    },
  })
  const paths = answer
    .json()
    .errors.map((fault: { path: string }) => fault.path)
    .toSorted()
  assert.deepEqual(paths, ['events.0', 'header', 'presence_name', 'retry_schedule.0', 'user_id'])
})

test('changes only what is given, and headers by name', async (t) => {
  const api = await openTestServer(t)
  const headers = [
    { name: 'X-A', value: '1' },
    { name: 'X-B', value: '2' },
    { name: 'X-C', value: '3' },
  ]
  const made = await register(api, { headers, description: 'old' })
  const patch = (body: unknown) => api.ask('PATCH', `/v1alpha/webhooks/${made.webhook_id}`, { body })
  const changed = (
    await patch({
      headers: [
        { name: 'x-a', value: null },
        { name: 'x-b', value: 'new' },
        { name: 'X-D', value: '4' },
      ],
    })
  ).json()
  assert.deepEqual(
    changed.headers.map((header: { name: string }) => header.name),
    ['x-b', 'X-C', 'X-D'],
  )
  assert.equal(changed.headers[1].value, made.headers[2].value)
  assert.notEqual(changed.headers[0].value, made.headers[1].value)
  assert.equal(changed.description, 'old')
  assert.deepEqual(
    (await patch({ headers: null, description: null, events: ['job.failed'] })).json().headers,
    [],
  )
  assert.equal(
    (await patch({ headers: [] })).status,
    422,
    'neither nothing nor all: it is asked what is meant',
  )
  assert.equal((await patch({ signature: 'v1a' })).status, 422)
  const many = Array.from({ length: 50 }, (_, index) => ({ name: `x-${index}`, value: '' }))
  assert.equal((await patch({ headers: many })).status, 200)
  assert.equal((await patch({ headers: [{ name: 'one-more', value: '' }] })).status, 422)
})

test('turns a webhook off and on again, with the reason', async (t) => {
  const api = await openTestServer(t)
  const { webhook_id } = await register(api)
  const patch = async (status: string) =>
    (await api.ask('PATCH', `/v1alpha/webhooks/${webhook_id}`, { body: { status } })).json()
  const off = await patch('disabled')
  assert.equal(off.status, 'disabled')
  assert.equal(off.disabled_reason, 'Turned off by ada.')
  const refused = await api.ask('POST', `/v1alpha/webhooks/${webhook_id}/test`)
  assert.equal(refused.status, 409)
  const on = await patch('enabled')
  assert.equal(on.disabled_reason, null)
  assert.equal(on.status, 'enabled')
  assert.deepEqual(on.breaker, { state: 'closed', failures: 0, until: null })
})

test('lists webhooks by user, presence name and status, and deletes them', async (t) => {
  const api = await openTestServer(t)
  const first = await register(api)
  await register(api, { user_id: 'bob', presence_name: 'job.completed' })
  const count = async (query: string): Promise<number> =>
    (await api.ask('GET', `/v1alpha/webhooks?${query}`)).json().items.length
  assert.equal(await count(''), 2)
  assert.equal(await count('user_id=bob'), 1)
  assert.equal(await count('presence_name=reports'), 1)
  assert.equal(await count('status=disabled'), 0)
  const page = (await api.ask('GET', '/v1alpha/webhooks?limit=1')).json()
  assert.equal(page.items[0].user_id, 'bob')
  const next = (
    await api.ask('GET', `/v1alpha/webhooks?limit=1&cursor=${encodeURIComponent(page.next_cursor)}`)
  ).json()
  assert.equal(next.items[0].webhook_id, first.webhook_id)
  assert.equal((await api.ask('DELETE', `/v1alpha/webhooks/${first.webhook_id}`)).status, 204)
  assert.equal((await api.ask('GET', `/v1alpha/webhooks/${first.webhook_id}`)).status, 404)
})

test('replaces the signing secret, while the old one signs on', async (t) => {
  const api = await openTestServer(t)
  const made = await register(api)
  const rotate = (asked = {}) => api.ask('POST', `/v1alpha/webhooks/${made.webhook_id}/rotate-secret`, asked)
  const rotated = (await rotate()).json()
  assert.notEqual(rotated.signing_secret, made.signing_secret)
  const kept = (await api.store.getWebhook({ workspace_id: 'default', webhook_id: made.webhook_id }))!
  const opened = kept.secrets.map((secret) => api.secrets.open(secret.sealed, secretContext(made.webhook_id)))
  assert.deepEqual(opened, [rotated.signing_secret, made.signing_secret])
  assert.equal((await rotate({ body: { overlap_seconds: 0 } })).status, 200)
  assert.equal((await rotate({ body: { overlap_seconds: -1 } })).status, 422)
  assert.equal((await rotate({ body: '', type: 'application/json' })).status, 200)
})

interface Receiver {
  url: string
  next(): Promise<{ request: IncomingMessage; body: Buffer }>
}

async function openReceiver(t: TestContext, status: () => number): Promise<Receiver> {
  const received: { request: IncomingMessage; body: Buffer }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ request, body: Buffer.concat(chunks) })
      response.writeHead(status()).end('thanks')
      server.emit('received')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async next() {
      if (received.length === 0) await once(server, 'received')
      return received.shift()!
    },
  }
}

/** Delivers as the role dispatcher does, until the test has ended. */
async function dispatch(t: TestContext, { parts }: TestServer): Promise<void> {
  const { store, node_id, version } = parts
  await store.registerNode({ node_id, name: 'test', roles: ['dispatcher'], version, lease_ms: 600_000 })
  const stop = new AbortController()
  const running = createDispatcher({ ...parts, drainMs: 1000, holds: () => true }).run(stop.signal)
  t.after(async () => {
    stop.abort()
    await running
  })
}

test('shows the value of a header that is declared public, in answers and attempts, and of no other', async (t) => {
  const api = await openTestServer(t)
  const receiver = await openReceiver(t, () => 200)
  const made = await register(api, {
    url: receiver.url,
    headers: [
      { name: 'X-Team', value: 'reports', public: true },
      { name: 'X-Secret', value: 's3cret', public: false },
    ],
  })
  const [team, secret] = made.headers
  assert.deepEqual(team, { name: 'X-Team', value: 'reports', public: true })
  assert.match(secret.value, /^•••• [0-9a-f]{8}$/)
  assert.equal(secret.public, false)
  await dispatch(t, api)
  const sent = await api.ask('POST', `/v1alpha/webhooks/${made.webhook_id}/test`)
  const { request } = sent.json()
  assert.equal(request.headers['X-Team'], 'reports')
  assert.match(request.headers['X-Secret'], /^••••/)
  const got = (await receiver.next()).request.headers
  assert.deepEqual([got['x-team'], got['x-secret']], ['reports', 's3cret'])
  const patch = (headers: object[]) =>
    api.ask('PATCH', `/v1alpha/webhooks/${made.webhook_id}`, { body: { headers } })
  const hidden = (await patch([{ name: 'X-Team', value: 'reports' }])).json()
  assert.equal(hidden.headers[0].public, false)
  assert.match(hidden.headers[0].value, /^••••/)
  assert.equal((await patch([{ name: 'X-Team', value: 'a', public: 'yes' }])).status, 422)
})

test('sends a test at once and answers with the attempt, whatever became of it', async (t) => {
  const api = await openTestServer(t)
  let status = 200
  const receiver = await openReceiver(t, () => status)
  const made = await register(api, {
    url: receiver.url,
    headers: [{ name: 'X-Secret', value: 's3cret' }],
  })
  await dispatch(t, api)
  const answer = await api.ask('POST', `/v1alpha/webhooks/${made.webhook_id}/test`)
  assert.equal(answer.status, 200)
  const attempt = answer.json()
  assert.equal(attempt.status_code, 200)
  assert.equal(attempt.error, null)
  assert.doesNotMatch(answer.text, /s3cret/)
  const { request, body } = await receiver.next()
  assert.equal(request.headers['x-secret'], 's3cret')
  assert.equal(verify({ headers: request.headers, body, secret: made.signing_secret }).id, attempt.event_id)
  assert.equal((JSON.parse(body.toString()) as { type: string }).type, 'webhook.test')

  status = 500
  const failed = (await api.ask('POST', `/v1alpha/webhooks/${made.webhook_id}/test`)).json()
  assert.equal(failed.error.class, 'http_status')
  const delivery = (await api.ask('GET', `/v1alpha/webhooks/deliveries/${failed.delivery_id}`)).json()
  assert.equal(delivery.attempts.length, 1)
  assert.equal('workspace_id' in delivery, false)
})

test('shows the deliveries of a job and sends one again under the same id', async (t) => {
  const api = await openTestServer(t)
  const { ask, complete } = api
  const receiver = await openReceiver(t, () => 200)
  const { webhook_id } = await register(api, { url: receiver.url })
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  await complete(assignment_id)
  const list = async (query = '') =>
    (await ask('GET', `/v1alpha/webhooks/${webhook_id}/deliveries?${query}`)).json().items
  const [delivery] = await list()
  assert.equal(delivery.event_type, 'job.completed')
  assert.equal(delivery.assignment_id, assignment_id)
  assert.equal((await list('status=pending&event_type=job.completed')).length, 1)
  assert.equal((await list('status=failed')).length, 0)
  assert.equal((await list(`assignment_id=${assignment_id}`)).length, 1)
  assert.equal((await list(`assignment_id=${webhook_id}`)).length, 0)
  assert.equal(
    (await list('created_after=2020-01-01T00:00:00Z&created_before=2020-01-02T00:00:00Z')).length,
    0,
  )

  const again = await ask('POST', `/v1alpha/webhooks/deliveries/${delivery.delivery_id}/redeliver`)
  assert.equal(again.status, 202)
  assert.equal(again.headers.location, `/v1alpha/webhooks/deliveries/${again.json().delivery_id}`)
  assert.equal(again.json().event_id, delivery.event_id)
  await dispatch(t, api)
  const received = [await receiver.next(), await receiver.next()].map(
    ({ request }) => request.headers['webhook-id'],
  )
  assert.deepEqual(received, [delivery.event_id, delivery.event_id])
})

test('counts, recovers and cancels what was not delivered', async (t) => {
  const api = await openTestServer(t)
  const { ask } = api
  const body = { payload: { type: 'template', template_id: 'hello' } }
  for (let count = 0; count < 3; count += 1) {
    const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
    await ask('POST', '/v1alpha/jobs/cancel', { body: { payload: { type: 'assignment', assignment_id } } })
  }
  const { webhook_id } = await register(api)
  const url = `/v1alpha/webhooks/${webhook_id}`
  const since = '2020-01-01T00:00:00Z'
  const recover = (more: Record<string, unknown>) =>
    ask('POST', `${url}/recover`, { body: { since, ...more } })
  assert.deepEqual((await recover({ dry_run: true })).json(), { count: 0 })
  const dry = await recover({ dry_run: true, include_unsent: true })
  assert.equal(dry.status, 200)
  assert.deepEqual(dry.json(), { count: 3 })
  const begun = await recover({ include_unsent: true })
  assert.equal(begun.status, 202)
  assert.equal(begun.json().count, 3)
  assert.equal(begun.headers.location, `${url}/recoveries/${begun.json().recovery_id}`)
  let running = true
  while (running) running = await api.store.advanceRecoveries({ limit: 100 })
  const recovery = (await ask('GET', `${url}/recoveries/${begun.json().recovery_id}`)).json()
  assert.deepEqual([recovery.status, recovery.done, recovery.count], ['completed', 3, 3])
  assert.deepEqual((await ask('POST', `${url}/cancel-pending`)).json(), { count: 3 })
  assert.deepEqual((await ask('POST', `${url}/cancel-pending`)).json(), { count: 0 })
  const stats = (await ask('GET', `${url}/stats?since=${since}`)).json()
  assert.deepEqual(stats, { sent: 0, failed: 0, p50_ms: null, p95_ms: null, p99_ms: null, hours: [] })
  assert.equal((await ask('GET', `${url}/stats`)).status, 200)
  assert.equal((await recover({ until: '2019-01-01T00:00:00Z' })).status, 422)
  assert.equal((await ask('GET', `${url}/recoveries/${UNKNOWN}`)).status, 404)
})

test('answers what is unknown, and what is another workspace’s, alike', async (t) => {
  const api = await openTestServer(t)
  const { webhook_id } = await register(api)
  await api.store.createWorkspace({ workspace_id: 'second', name: 'Second', data_folder: null })
  const stranger = await api.token('second', ['admin'])
  const requests: [string, string, unknown?][] = [
    ['GET', ''],
    ['PATCH', '', { description: 'x' }],
    ['DELETE', ''],
    ['POST', '/test'],
    ['POST', '/rotate-secret'],
    ['GET', '/deliveries'],
    ['POST', '/recover', { since: '2020-01-01T00:00:00Z' }],
    ['POST', '/recover', { since: '2020-01-01T00:00:00Z', dry_run: true }],
    ['POST', '/cancel-pending'],
    ['GET', '/stats'],
    ['GET', `/recoveries/${UNKNOWN}`],
  ]
  for (const [method, rest, body] of requests) {
    const asked = { token: stranger, ...(body === undefined ? {} : { body }) }
    for (const id of [webhook_id, UNKNOWN])
      assert.equal(
        (await api.ask(method, `/v1alpha/webhooks/${id}${rest}`, asked)).status,
        404,
        method + rest,
      )
    assert.equal((await api.ask(method, `/v1alpha/webhooks/nope${rest}`, asked)).status, 422, method + rest)
  }
  assert.equal((await api.ask('GET', `/v1alpha/webhooks/deliveries/${UNKNOWN}`)).status, 404)
  assert.equal((await api.ask('POST', `/v1alpha/webhooks/deliveries/${UNKNOWN}/redeliver`)).status, 404)
  assert.equal((await api.ask('GET', `/v1alpha/webhooks/${webhook_id}`)).status, 200)
})
