import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { hashToken, newToken } from '../../runtime/secrets.ts'
import { openTestServer } from '../test-server.ts'

const JOB = { payload: { type: 'template', template_id: 'hello', template_vars: { who: 'Ada' } } }
const key = (value: string) => ({ 'idempotency-key': value })

test('gives the first answer again, to the byte, and makes one job', async (t) => {
  const { ask } = await openTestServer(t)
  const first = await ask('POST', '/v1alpha/jobs/', { body: JOB, headers: key('order-17') })
  const again = await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('order-17') })
  assert.equal(again.status, first.status)
  assert.equal(again.text, first.text)
  assert.equal(again.headers['content-type'], first.headers['content-type'])
  assert.equal(again.headers['idempotency-replayed'], 'true')
  assert.equal((await ask('GET', '/v1alpha/jobs')).json().items.length, 1)
})

test('refuses the key with another body, and takes it in another workspace or for another path', async (t) => {
  const { ask, store, token } = await openTestServer(t)
  await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('a') })
  const other = { payload: { ...JOB.payload, template_vars: { who: 'Bob' } } }
  const refused = await ask('POST', '/v1alpha/jobs', { body: other, headers: key('a') })
  assert.equal(refused.status, 409)
  assert.equal(refused.json().code, 'idempotency_mismatch')
  await store.createWorkspace({ workspace_id: 'second', name: 'Second', data_folder: null })
  const elsewhere = await token('second', ['analyst'])
  assert.equal(
    (await ask('POST', '/v1alpha/jobs', { token: elsewhere, body: other, headers: key('a') })).status,
    200,
  )
  const check = await ask('POST', '/v1alpha/tokens', {
    body: { name: 'n', scopes: ['viewer'] },
    headers: key('a'),
  })
  assert.equal(check.status, 201)
})

test('a key of one user is not that of another, who gets no answer of theirs', async (t) => {
  const { ask, tokens, store } = await openTestServer(t)
  const body = { url: 'http://127.0.0.1:1/', user_id: 'a', presence_name: 'b' }
  const first = await ask('POST', '/v1alpha/webhooks/', { body, headers: key('same') })
  const secret = newToken()
  await store.createToken({
    token_id: uuidv7(),
    workspace_id: 'default',
    user_id: 'mallory',
    name: 'n',
    scopes: ['analyst'],
    expires_at: null,
    token_hash: hashToken(secret),
  })
  const other = await ask('POST', '/v1alpha/webhooks/', { body, headers: key('same'), token: secret })
  assert.notEqual(other.json().webhook_id, first.json().webhook_id)
  assert.notEqual(other.json().signing_secret, first.json().signing_secret)
  const again = await ask('POST', '/v1alpha/webhooks/', { body, headers: key('same'), token: tokens.analyst })
  assert.equal(again.text, first.text, 'the same user with another token')
})

test('replays secrets, locations and refusals, which the store keeps sealed', async (t) => {
  const { ask } = await openTestServer(t)
  const token = { body: { name: 'nightly', scopes: ['viewer'] }, headers: key('t') }
  const first = await ask('POST', '/v1alpha/tokens', token)
  const again = await ask('POST', '/v1alpha/tokens', token)
  assert.equal(again.status, 201)
  assert.equal(again.json().token, first.json().token)
  assert.equal(again.headers.location, first.headers.location)
  const wrong = { body: { name: 'nightly' }, headers: key('w') }
  const refused = await ask('POST', '/v1alpha/tokens', wrong)
  assert.equal(refused.status, 422)
  assert.equal((await ask('POST', '/v1alpha/tokens', wrong)).text, refused.text)
})

test('creates a job under the id that the key reserved', async (t) => {
  const { ask, store, parts } = await openTestServer(t)
  const reserved = uuidv7()
  t.mock.method(store, 'startIdempotent', () => Promise.resolve({ state: 'new', id: reserved }))
  const made = await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })
  assert.equal(made.json(), reserved)
  const repeated = await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })
  assert.equal(repeated.json(), reserved, 'a repeat after a crash before the answer was kept')
  assert.equal((await ask('GET', '/v1alpha/jobs')).json().items.length, 1)
  assert.ok(parts.node_id)
})

test('makes a token or a user anew after a crash, not twice', async (t) => {
  const { ask, store } = await openTestServer(t)
  const reserved = uuidv7()
  t.mock.method(store, 'startIdempotent', () => Promise.resolve({ state: 'new', id: reserved }))
  for (const [path, body] of [
    ['/v1alpha/tokens', { name: 'nightly', scopes: ['viewer'] }],
    ['/v1alpha/users', { username: 'bob', scopes: ['viewer'] }],
    ['/v1alpha/webhooks', { url: 'http://127.0.0.1:1/', user_id: 'a', presence_name: 'b' }],
  ] as const) {
    const first = await ask('POST', path, { body, headers: key('k') })
    const second = await ask('POST', path, { body, headers: key('k') })
    assert.equal(second.status, first.status, path)
    const listed = (await ask('GET', path)).text
    assert.equal(listed.split(reserved).length - 1, 1, path)
  }
})

test('asks the second of two at the same time to wait', async (t) => {
  const { ask, store } = await openTestServer(t)
  const createJob = store.createJob.bind(store)
  let begin: () => void = () => undefined
  const begun = new Promise<void>((resolve) => (begin = resolve))
  let go: () => void = () => undefined
  const held = new Promise<void>((resolve) => (go = resolve))
  t.mock.method(store, 'audited', () => store)
  t.mock.method(store, 'createJob', async (input: Parameters<typeof createJob>[0]) => {
    begin()
    await held
    return createJob(input)
  })
  const first = ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })
  await begun
  const second = await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })
  assert.equal(second.status, 409)
  assert.equal(second.json().code, 'idempotency_in_progress')
  assert.ok(Number(second.headers['retry-after']) > 0)
  go()
  assert.equal((await first).status, 200)
})

test('keeps no fault of the service: a repeat tries again', async (t) => {
  const { ask, store } = await openTestServer(t)
  t.mock.method(store, 'audited', () => store)
  const away = t.mock.method(store, 'createJob', () =>
    Promise.reject(new AppError('store_unavailable', 'Away.')),
  )
  assert.equal((await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })).status, 503)
  away.mock.restore()
  assert.equal((await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })).status, 200)
})

test('makes no second job where the first was made and the answer to it was lost on the way', async (t) => {
  const { ask, store } = await openTestServer(t)
  const createJob = store.createJob.bind(store)
  t.mock.method(store, 'audited', () => store)
  const unsure = t.mock.method(store, 'createJob', async (input: Parameters<typeof createJob>[0]) => {
    await createJob(input)
    throw new AppError('store_unavailable', 'The connection broke at COMMIT.')
  })
  assert.equal((await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })).status, 503)
  unsure.mock.restore()
  assert.equal((await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })).status, 200)
  assert.equal((await ask('GET', '/v1alpha/jobs')).json().items.length, 1)
})

test('answers although the answer could not be kept at once, and keeps it later', async (t) => {
  const { ask, store } = await openTestServer(t)
  const end = store.endIdempotent.bind(store)
  let kept: () => void = () => undefined
  const later = new Promise<void>((resolve) => (kept = resolve))
  let tries = 0
  t.mock.method(store, 'endIdempotent', async (input: Parameters<typeof end>[0]) => {
    tries += 1
    if (tries === 1) throw new AppError('store_unavailable', 'Away.')
    await end(input)
    kept()
  })
  const first = await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })
  assert.equal(first.status, 200)
  await later
  assert.equal((await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key('k') })).text, first.text)
})

test('refuses a key that is no visible ASCII or too long', async (t) => {
  const { ask } = await openTestServer(t)
  for (const bad of ['', 'a b', 'k'.repeat(256), 'schlüssel']) {
    const answer = await ask('POST', '/v1alpha/jobs', { body: JOB, headers: key(bad) })
    assert.equal(answer.status, 422, JSON.stringify(bad))
    assert.equal(answer.json().errors[0].path, 'Idempotency-Key')
  }
})

test('an operation that changes nothing ignores the key, and none of its answers is kept', async (t) => {
  const { ask, store } = await openTestServer(t, { pool: 'real' })
  const kept = t.mock.method(store, 'startIdempotent')
  const path = '/v1alpha/jobs/templates/preview'
  const preview = (words: string, accept: string) =>
    ask('POST', path, { body: { source: `# ${words}\n` }, headers: { ...key('same'), accept } })
  const first = await preview('One', 'application/json')
  assert.match(first.json().markdown, /# One/)
  assert.equal((await preview('One', 'application/json')).json().markdown, first.json().markdown)
  assert.match((await preview('Two', 'text/markdown')).text, /# Two/)
  assert.equal(kept.mock.callCount(), 0)
})
