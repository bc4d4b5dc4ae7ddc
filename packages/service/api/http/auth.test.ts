import assert from 'node:assert/strict'
import { randomBytes, scryptSync } from 'node:crypto'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import type { Principal } from '@assay/model/token'
import { parseProxies } from '@assay/net/proxies'
import { silentLog } from '../../runtime/log.ts'
import { hashToken } from '../../runtime/secrets.ts'
import { openTestServer, TEST_CAPS, TEST_CONFIG } from '../test-server.ts'
import { createRequestLimits, createTokenCache } from './auth.ts'

const FORM = 'application/x-www-form-urlencoded'

test('asks for a bearer token, and says when one is not good', async (t) => {
  const { ask, tokens } = await openTestServer(t)
  const none = await ask('GET', '/v1alpha/jobs', { token: null })
  assert.equal(none.status, 401)
  assert.equal(none.headers['www-authenticate'], 'Bearer')
  for (const authorization of [
    'Bearer nobody',
    'Basic YTpi',
    'Bearer',
    `Bearer ${tokens.admin} more`,
    `Token ${tokens.admin}`,
  ]) {
    const answer = await ask('GET', '/v1alpha/jobs', { token: null, headers: { authorization } })
    assert.equal(answer.status, 401, authorization)
    assert.match(String(answer.headers['www-authenticate']), /^Bearer error="invalid_token"/)
  }
  const lower = await ask('GET', '/v1alpha/jobs', {
    token: null,
    headers: { authorization: `bearer  ${tokens.viewer}` },
  })
  assert.equal(lower.status, 200)
})

test('lets a viewer read, an analyst run, and an admin administer', async (t) => {
  const { ask, tokens } = await openTestServer(t)
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const refused = await ask('POST', '/v1alpha/jobs', { token: tokens.viewer, body })
  assert.equal(refused.status, 403)
  assert.match(refused.json().detail, /scope analyst/)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: tokens.viewer })).status, 200)
  assert.equal((await ask('POST', '/v1alpha/jobs', { token: tokens.analyst, body })).status, 200)
  for (const path of [
    '/v1alpha/tokens',
    '/v1alpha/users',
    '/v1alpha/workspaces',
    '/v1alpha/nodes',
    '/v1alpha/settings',
  ]) {
    assert.equal((await ask('GET', path, { token: tokens.analyst })).status, 403, path)
    assert.equal((await ask('GET', path, { token: tokens.admin })).status, 200, path)
  }
})

test('forgets a token at once when it is revoked here', async (t) => {
  const { ask, token } = await openTestServer(t)
  const secret = await token('default', ['viewer'])
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: secret })).status, 200)
  const { token_id } = (await ask('GET', '/v1alpha/tokens?limit=1')).json().items[0]
  assert.equal((await ask('DELETE', `/v1alpha/tokens/${token_id}`)).status, 204)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: secret })).status, 401)
})

test('refuses a token that has expired, once it is looked up again', async (t) => {
  const clock = new FakeClock()
  const { ask, store } = await openTestServer(t, { clock })
  await store.createToken({
    token_id: uuidv7(),
    workspace_id: 'default',
    user_id: 'ada',
    name: 'short',
    scopes: ['viewer'],
    expires_at: new Date(clock.now() + 60_000).toISOString(),
    token_hash: hashToken('short-lived'),
  })
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: 'short-lived' })).status, 200)
  clock.advance(61_000)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: 'short-lived' })).status, 401)
})

const PRINCIPAL = {
  token_id: 't',
  workspace_id: 'default',
  user_id: 'ada',
  scopes: ['viewer' as const],
  templates: null,
  collections: null,
  rate_limit: null,
  reader_id: null,
}

const nothing = async (): Promise<void> => undefined
const OTHERS = { noteTokenUses: nothing, noteSignInUses: nothing, findSignIn: async () => null }

test('does not keep a token that was revoked while it was being looked up', async () => {
  const principal = PRINCIPAL
  let answer: (found: typeof principal) => void = () => undefined
  let lookups = 0
  const findToken = (): Promise<typeof principal> => {
    lookups += 1
    return new Promise((resolve) => (answer = resolve))
  }
  const cache = createTokenCache({ findToken, ...OTHERS }, new FakeClock(), silentLog, TEST_CAPS)
  const looking = cache.find('a')
  cache.forget()
  answer(principal)
  await looking
  const again = cache.find('a')
  answer(principal)
  await again
  assert.equal(lookups, 2)
})

test('keeps a found token for two seconds', async () => {
  const clock = new FakeClock()
  const principal = PRINCIPAL
  let lookups = 0
  const findToken = async (): Promise<typeof principal> => {
    lookups += 1
    return principal
  }
  const cache = createTokenCache({ findToken, ...OTHERS }, clock, silentLog, TEST_CAPS)
  for (let count = 0; count < 2; count += 1) assert.equal(await cache.find('a'), principal)
  clock.advance(2000)
  await cache.find('a')
  assert.equal(lookups, 1)
  clock.advance(1)
  await cache.find('a')
  assert.equal(lookups, 2)
})

test('limits the requests of each token where a limit is set', async (t) => {
  const clock = new FakeClock()
  const config = { ...TEST_CONFIG, rateLimit: 3 }
  const { ask, tokens } = await openTestServer(t, { clock, parts: { config } })
  for (let left = 2; left >= 0; left -= 1) {
    const answer = await ask('GET', '/v1alpha/jobs')
    assert.equal(answer.status, 200)
    assert.equal(answer.headers['ratelimit-remaining'], String(left))
  }
  const refused = await ask('GET', '/v1alpha/jobs')
  assert.equal(refused.status, 429)
  assert.equal(refused.json().code, 'rate_limited')
  assert.equal(refused.headers['retry-after'], '1')
  assert.equal(refused.headers['ratelimit-limit'], '3')
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: tokens.viewer })).status, 200)
  clock.advance(1000)
  assert.equal((await ask('GET', '/v1alpha/jobs')).status, 200)
})

/**
 * Hashes a password at a thirtieth of the usual cost. The hash names its cost as every hash does. The tests are about
 * the number of guesses.
 */
function quickHash(password: string): string {
  const salt = randomBytes(16)
  const hash = scryptSync(password, salt, 32, { N: 1024, r: 8, p: 1 })
  return ['scrypt', 1024, 8, 1, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

async function withUser(t: Parameters<typeof openTestServer>[0], clock = new FakeClock()) {
  const opened = await openTestServer(t, { clock })
  await opened.store.createUser({
    user_id: uuidv7(),
    workspace_id: 'default',
    username: 'ada',
    scopes: ['analyst'],
    password_hash: quickHash('correct horse'),
  })
  const login = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
    opened.ask('POST', '/v1alpha/auth/login', {
      token: null,
      body: new URLSearchParams(fields).toString(),
      type: FORM,
      headers,
    })
  return { ...opened, login, clock }
}

test('limits the requests of a workspace over all its tokens, by its own limit or that of the settings', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  const { ask, tokens, store } = opened
  const limit = (rate_limit: number | null) =>
    ask('PATCH', '/v1alpha/workspaces/default', { body: { rate_limit } })
  await limit(3)
  for (const token of [tokens.viewer, tokens.analyst, tokens.viewer])
    assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 200)
  const refused = await ask('GET', '/v1alpha/jobs', { token: tokens.analyst })
  assert.deepEqual(
    [refused.status, refused.headers['ratelimit-limit'], refused.headers['retry-after']],
    [429, '3', '1'],
  )
  await store.createWorkspace({ workspace_id: 'second', name: 'Second', data_folder: null })
  const other = await opened.token('second', ['viewer'])
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: other })).status, 200)
  clock.advance(1000)
  assert.equal((await limit(null)).status, 200)
  for (let count = 0; count < 9; count += 1) assert.equal((await ask('GET', '/v1alpha/jobs')).status, 200)
})

test('holds a workspace to the limit of the settings where it has none of its own', () => {
  const limits = createRequestLimits(new FakeClock(), { rateLimit: 2, workspaceRateLimit: 3 })
  const take = (token_id: string, over: Partial<Principal> = {}) =>
    limits({ ...PRINCIPAL, token_id, ...over })!.allowed
  assert.deepEqual([take('a'), take('a'), take('a')], [true, true, false], 'the token has had its share')
  assert.deepEqual([take('b'), take('b')], [true, false], 'the workspace has had its share')
  assert.equal(take('c', { workspace_id: 'other' }), true)
  assert.equal(take('d', { workspace_id: 'own', rate_limit: 1 }), true)
  assert.equal(take('e', { workspace_id: 'own', rate_limit: 1 }), false, 'its own limit counts')
})

test('logs in with a password, for as long as it says', async (t) => {
  const { ask, login, clock } = await withUser(t)
  const answer = await login({ grant_type: 'password', username: 'ada', password: 'correct horse' })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['cache-control'], 'no-store')
  const { access_token, token_type, expires_in, scope } = answer.json()
  assert.equal(token_type, 'bearer')
  assert.equal(scope, 'analyst')
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: access_token })).status, 200)
  clock.advance(expires_in * 1000 + 1)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: access_token })).status, 401)
})

test('gives less where less is asked for, and never more than the user has', async (t) => {
  const { login } = await withUser(t)
  const known = { username: 'ada', password: 'correct horse' }
  assert.equal((await login({ ...known, scope: 'viewer' })).json().scope, 'viewer')
  assert.equal((await login({ ...known, scope: 'viewer admin' })).status, 403)
  assert.equal((await login({ ...known, scope: 'owner' })).status, 422)
})

test('answers a wrong password and an unknown user alike, and limits both', async (t) => {
  const { login, clock } = await withUser(t)
  const wrong = await login({ username: 'ada', password: 'wrong' })
  const unknown = await login({ username: 'eve', password: 'wrong' })
  assert.equal(wrong.status, 401)
  assert.equal(wrong.json().detail, unknown.json().detail)
  for (let count = 0; count < 9; count += 1)
    assert.equal((await login({ username: 'ada', password: 'wrong' })).status, 401)
  const limited = await login({ username: 'ada', password: 'correct horse' })
  assert.equal(limited.status, 429)
  assert.equal(limited.headers['retry-after'], '30')
  clock.advance(30_000)
  assert.equal((await login({ username: 'ada', password: 'correct horse' })).status, 200)
})

test('wrong passwords of a stranger do not lock out a device that has logged in before', async (t) => {
  const { login, clock, store } = await withUser(t)
  const right = { username: 'ada', password: 'correct horse' }
  const wrong = { ...right, password: 'wrong' }
  const first = await login(right)
  const set = String(first.headers['set-cookie'])
  assert.match(
    set,
    /^assay_device=v1\.[^;]+; Path=\/v1alpha\/auth; Max-Age=31536000; HttpOnly; SameSite=Strict$/,
  )
  const cookie = set.split(';')[0]!
  for (let count = 0; count < 11; count += 1) await login(wrong)
  assert.equal((await login(right)).status, 429)
  const known = await login(right, { cookie: `theme=dark; ${cookie}` })
  assert.deepEqual([known.status, known.headers['set-cookie']], [200, undefined])
  // A known device has a limit of its own, which counts its own guesses.
  for (let count = 0; count < 10; count += 1) assert.equal((await login(wrong, { cookie })).status, 401)
  assert.equal((await login(right, { cookie })).headers['retry-after'], '30')
  // A forged device and the device of another user are unknown.
  clock.advance(3_600_000)
  await store.createUser({
    user_id: uuidv7(),
    workspace_id: 'default',
    username: 'bob',
    scopes: ['viewer'],
    password_hash: quickHash('battery staple'),
  })
  for (let count = 0; count < 11; count += 1)
    await login({ ...wrong, username: count % 2 === 0 ? 'bob' : 'bob@default' })
  const bob = { username: 'bob', password: 'battery staple' }
  const cut = cookie.split('.').with(3, 'AA').join('.')
  for (const given of [cookie, `${cookie.slice(0, -4)}AAAA`, cut, 'assay_device=x'])
    assert.equal((await login(bob, { cookie: given })).status, 429, given)
})

test('wrong passwords make longer and longer waits', async (t) => {
  const { login, clock } = await withUser(t)
  const waits: number[] = []
  for (let count = 0; count < 36; count += 1) {
    const answer = await login({ username: 'ada', password: 'wrong' })
    if (answer.status !== 429) continue
    const wait = Number(answer.headers['retry-after'])
    waits.push(wait)
    clock.advance(wait * 1000)
  }
  assert.deepEqual([waits[0], Math.max(...waits) > 300], [30, true], String(waits))
})

test('logs in by name@workspace, and by the name alone in the default workspace', async (t) => {
  const { login, ask, store } = await withUser(t)
  await store.createWorkspace({ workspace_id: 'acme', name: 'Acme', data_folder: null })
  const add = (workspace_id: string, username: string, password: string) =>
    ask('POST', '/v1alpha/users', { body: { workspace_id, username, password, scopes: ['viewer'] } })
  assert.equal((await add('acme', 'ada', 'another horse entirely')).status, 201)
  assert.equal((await add('acme', 'eve@example.com', 'a third horse entirely')).status, 201)
  assert.equal((await add('default', 'eve@acme.org', 'a fourth horse entirely')).status, 201)
  const workspaceOf = async (username: string, password: string) => {
    const { access_token } = (await login({ username, password })).json()
    return (await ask('GET', '/v1alpha/auth/me', { token: access_token })).json().workspace_id
  }
  assert.equal(await workspaceOf('ada', 'correct horse'), 'default')
  assert.equal(await workspaceOf('ada@acme', 'another horse entirely'), 'acme')
  assert.equal(await workspaceOf('eve@example.com@acme', 'a third horse entirely'), 'acme')
  assert.equal(await workspaceOf('eve@acme.org', 'a fourth horse entirely'), 'default')
  assert.equal((await login({ username: 'ada@acme', password: 'correct horse' })).status, 401)
  assert.equal((await login({ username: 'ada@nowhere', password: 'correct horse' })).status, 401)
  const weak = await add('default', 'kim', 'password123')
  assert.deepEqual([weak.status, weak.json().errors[0].path], [422, 'password'])
})

test('takes a form and nothing else to log in', async (t) => {
  const { ask, login } = await withUser(t)
  const json = await ask('POST', '/v1alpha/auth/login', {
    token: null,
    body: { username: 'ada', password: 'x' },
  })
  assert.equal(json.status, 415)
  assert.equal((await login({ username: 'ada' })).status, 422)
  assert.equal((await login({ username: 'ada', password: 'x', remember: 'me' })).status, 422)
  const twice = await ask('POST', '/v1alpha/auth/login', {
    token: null,
    body: 'username=a&username=b&password=c',
    type: FORM,
  })
  assert.equal(twice.status, 422)
})

test('counts logins by the last address of X-Forwarded-For behind a proxy, and never without one', async (t) => {
  for (const trustProxy of [parseProxies('true'), parseProxies('127.0.0.0/8'), null]) {
    const config = { ...TEST_CONFIG, trustProxy }
    const { ask, store } = await openTestServer(t, { clock: new FakeClock(), parts: { config } })
    const eve = { user_id: uuidv7(), workspace_id: 'default', username: 'eve', scopes: ['viewer' as const] }
    await store.createUser({ ...eve, password_hash: quickHash('correct horse') })
    const login = (name: string, forwarded: string) =>
      ask('POST', '/v1alpha/auth/login', {
        token: null,
        type: FORM,
        body: `username=${name}&password=wrong`,
        headers: { 'x-forwarded-for': forwarded },
      })
    for (let count = 0; count < 60; count += 1) await login('eve', `192.0.2.${count}, 203.0.113.9`)
    const same = await login('ada', '192.0.2.99, 203.0.113.9')
    assert.deepEqual([same.status, same.headers['ratelimit-limit']], [429, '60'])
    const other = await login('bob', '203.0.113.9, 198.51.100.7')
    assert.equal(other.status, trustProxy ? 401 : 429)
  }
})
