import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { endPasswords } from '../../app/accounts.ts'
import { silentLog } from '../../runtime/log.ts'
import { hashPassword } from '../../runtime/passwords.ts'
import { type Answer, openTestServer, TEST_CAPS, type TestServer } from '../test-server.ts'
import { deviceName } from './device-name.ts'

const PASSWORD = 'correct horse battery'
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
/** The header that a browser sends with a request of a page of the service itself. */
const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }

async function addUser({ store }: TestServer, username = 'bob'): Promise<string> {
  const user_id = uuidv7()
  const user = { user_id, workspace_id: 'default', username, scopes: ['analyst' as const] }
  await store.createUser({ ...user, password_hash: await hashPassword(PASSWORD) })
  return user_id
}

const signInCookies = ({ headers }: Answer): string[] =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map(String)
    .filter((cookie) => /assay_sign_in=/.test(cookie))

/** Behaves as a browser: it keeps the cookie of a sign-in and sends it with each request. */
function browser({ ask }: TestServer) {
  let cookie = ''
  return {
    cookie: () => cookie,
    async begin(body: object, headers: Record<string, string> = OWN_PAGE): Promise<Answer> {
      const asked = { token: null, body, headers: { 'user-agent': FIREFOX, ...headers } }
      const answer = await ask('POST', '/v1alpha/auth/sign-ins', asked)
      cookie = signInCookies(answer)[0]?.split(';')[0] ?? ''
      return answer
    },
    ask: (method: string, path: string, body?: object, headers: Record<string, string> = OWN_PAGE) =>
      ask(method, `/v1alpha${path}`, {
        token: null,
        ...(body === undefined ? {} : { body }),
        headers: { cookie: `theme=dark; ${cookie}`, ...headers },
      }),
  }
}

const status = async (asked: Promise<Answer>): Promise<number> => (await asked).status

test('a browser is signed in by a cookie that scripts cannot read, with a password or a token', async (t) => {
  const opened = await openTestServer(t)
  await addUser(opened)
  const bob = browser(opened)
  const begun = await bob.begin({ username: 'bob', password: PASSWORD })
  assert.equal(begun.status, 201, begun.text)
  const [set] = signInCookies(begun)
  assert.match(set!, /^assay_sign_in=[\w-]{43}; Path=\/; Max-Age=86[34]\d\d; HttpOnly; SameSite=Strict$/)
  assert.ok(!begun.text.includes(bob.cookie().split('=')[1]!), 'the secret is in the cookie alone')
  assert.equal(begun.json().device, 'Firefox on Linux')
  const me = (await bob.ask('GET', '/auth/me')).json()
  assert.deepEqual(
    [me.username, me.scopes, me.token_id, me.by_password],
    ['bob', ['analyst'], begun.json().sign_in_id, true],
  )
  const body = { payload: { type: 'template', template_id: 'hello' } }
  assert.equal(await status(bob.ask('POST', '/jobs', body)), 200)
  assert.equal(await status(bob.ask('GET', '/tokens')), 403, 'the scopes are those of the user')
  const admin = browser(opened)
  assert.equal(await status(admin.begin({ token: opened.tokens.admin })), 201)
  assert.equal(await status(admin.ask('GET', '/tokens')), 200)
  for (const [given, expected] of [
    [{ username: 'bob', password: 'wrong' }, 401],
    [{ token: 'wrong' }, 401],
    [{ username: 'bob' }, 422],
    [{ token: opened.tokens.admin, username: 'bob' }, 422],
  ] as const)
    assert.equal(await status(browser(opened).begin(given)), expected, JSON.stringify(given))
  const actions = (await opened.ask('GET', '/v1alpha/audit?action=session.begin')).json().items
  assert.equal(actions.length, 2)
  assert.doesNotMatch(JSON.stringify(actions), new RegExp(bob.cookie().split('=')[1]!))
})

test('the cookie is bound to this host behind https, and one from a lesser place is not taken', async (t) => {
  const server = await openTestServer(t)
  const config = { ...server.parts.config, publicUrl: 'https://assay.example.com' }
  const opened = await openTestServer(t, { parts: { config } })
  const secure = browser(opened)
  const begun = await secure.begin({ token: opened.tokens.viewer }, { origin: 'https://assay.example.com' })
  assert.match(signInCookies(begun)[0]!, /^__Host-assay_sign_in=.*; Secure$/)
  assert.equal(await status(secure.ask('GET', '/jobs')), 200)
  const plain = secure.cookie().replace('__Host-', '')
  const taken = await opened.ask('GET', '/v1alpha/jobs', { token: null, headers: { cookie: plain } })
  assert.equal(taken.status, 401)
})

test('a page of another site can use no sign-in, neither to read nor to change', async (t) => {
  const opened = await openTestServer(t)
  const ada = browser(opened)
  await ada.begin({ token: opened.tokens.admin })
  const body = { name: 'x', scopes: ['viewer'] }
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    // The page comes from another port of this host.
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    // A request that changes something must name the page that it comes from.
    {},
  ]
  for (const headers of foreign) {
    const answer = await ada.ask('POST', '/tokens', body, headers)
    assert.deepEqual([answer.status, answer.json().code], [403, 'forbidden'], JSON.stringify(headers))
  }
  for (const headers of foreign.filter((one) => 'origin' in one || /site/.test(one['sec-fetch-site'] ?? '')))
    assert.equal(await status(ada.ask('GET', '/jobs', undefined, headers)), 403, JSON.stringify(headers))
  // A person who types an address sends `none`. A browser without Fetch Metadata sends only Origin.
  assert.equal(await status(ada.ask('GET', '/jobs', undefined, { 'sec-fetch-site': 'none' })), 200)
  const host = { host: 'assay.lan:8080', origin: 'http://assay.lan:8080' }
  assert.equal(await status(ada.ask('POST', '/tokens', body, host)), 201)
  // The page of another site cannot sign a person in as somebody else.
  const lured = await browser(opened).begin(
    { token: opened.tokens.admin },
    { 'sec-fetch-site': 'cross-site' },
  )
  assert.deepEqual([lured.status, lured.headers['set-cookie']], [403, undefined])
  // A request with a token needs no proof of its page, and the token wins over the cookie.
  const headers = { cookie: ada.cookie(), 'sec-fetch-site': 'cross-site' }
  assert.equal((await opened.ask('GET', '/v1alpha/jobs', { headers })).status, 200)
  const wrong = { token: 'wrong', headers: { cookie: ada.cookie(), ...OWN_PAGE } }
  assert.equal((await opened.ask('GET', '/v1alpha/jobs', wrong)).status, 401)
  // The endpoint of agents takes a token and no cookie.
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const agent = { token: null, body: call, headers: { cookie: ada.cookie(), ...OWN_PAGE } }
  assert.equal((await opened.ask('POST', '/mcp', agent)).status, 401)
})

test('a sign-in lasts while it is used, and ends at the latest when its life is over', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  const ada = browser(opened)
  await ada.begin({ token: opened.tokens.viewer })
  const unused = browser(opened)
  await unused.begin({ token: opened.tokens.viewer })
  const lastUse = async (): Promise<string> => {
    const { items } = await opened.store.listSignIns({ workspace_id: 'default', user_id: 'ada', limit: 9 })
    return (
      items
        .map(({ last_used_at }) => last_used_at)
        .toSorted()
        .at(-1) ?? ''
    )
  }
  // The use of a sign-in is written one minute after it happens.
  const use = async (minutes: number): Promise<number> => {
    clock.advance(minutes * 60_000)
    const answer = await status(ada.ask('GET', '/jobs'))
    const before = await lastUse()
    clock.advance(61_000)
    if (answer === 200)
      while ((await lastUse()) <= before) await new Promise((resolve) => setImmediate(resolve))
    return answer
  }
  for (let hour = 0; hour < 23; hour += 1) assert.equal(await use(58), 200, `hour ${hour}`)
  assert.equal(await status(unused.ask('GET', '/jobs')), 401)
  assert.ok(TEST_CAPS.signInLife < 24.5 * 3_600_000)
  assert.equal(await use(58), 200)
  assert.equal(await use(30), 401)
})

test('a person sees where they are signed in, and signs out there, here or everywhere', async (t) => {
  const opened = await openTestServer(t)
  await addUser(opened)
  const [here, there, third] = [browser(opened), browser(opened), browser(opened)]
  const right = { username: 'bob', password: PASSWORD }
  for (const one of [here, there, third]) await one.begin(right)
  const login = `username=bob&password=${encodeURIComponent(PASSWORD)}`
  const form = { token: null, body: login, type: 'application/x-www-form-urlencoded' }
  const { access_token } = (await opened.ask('POST', '/v1alpha/auth/login', form)).json()
  const present = (await here.ask('GET', '/auth/me')).json().token_id
  const listed = (await here.ask('GET', '/auth/sign-ins')).json().items as {
    sign_in_id: string
    address: string
  }[]
  assert.deepEqual([listed.length, listed[0]!.address], [3, '127.0.0.1'])
  const other = (await there.ask('GET', '/auth/me')).json().token_id
  assert.notEqual(present, other)
  assert.equal(await status(here.ask('DELETE', `/auth/sign-ins/${other}`)), 204)
  assert.equal(await status(here.ask('DELETE', `/auth/sign-ins/${other}`)), 404)
  assert.equal(await status(there.ask('GET', '/jobs')), 401)
  const out = await third.ask('POST', '/auth/logout')
  assert.equal(out.status, 204)
  assert.match(String(out.headers['set-cookie']), /^assay_sign_in=; Path=\/; Max-Age=0/)
  assert.equal(await status(third.ask('GET', '/jobs')), 401)
  assert.equal(await status(here.ask('GET', '/jobs')), 200)
  await there.begin(right)
  assert.deepEqual((await there.ask('DELETE', '/auth/sign-ins')).json(), { ended: 2 })
  assert.equal(await status(here.ask('GET', '/jobs')), 401)
  assert.equal((await opened.ask('GET', '/v1alpha/jobs', { token: access_token })).status, 401)
  const actions = (await opened.ask('GET', '/v1alpha/audit')).json().items as { action: string }[]
  assert.deepEqual(
    actions.map(({ action }) => action).filter((action) => action.startsWith('sign_in')),
    ['sign_in.end_all', 'sign_in.end'],
  )
})

test('a changed password, a disabled and a deleted user and a revoked token end sign-ins at once', async (t) => {
  const opened = await openTestServer(t)
  const { ask } = opened
  const user_id = await addUser(opened)
  const [here, there] = [browser(opened), browser(opened)]
  for (const one of [here, there]) await one.begin({ username: 'bob', password: PASSWORD })
  const works = (one: typeof here): Promise<number> => status(one.ask('GET', '/jobs'))
  const next = 'another horse entirely'
  const wrong = await here.ask('POST', '/auth/password', { present: 'wrong', password: next })
  assert.deepEqual([wrong.status, wrong.json().errors[0].path], [422, 'present'])
  const weak = await here.ask('POST', '/auth/password', { present: PASSWORD, password: 'password1' })
  assert.deepEqual([weak.status, weak.json().errors[0].path], [422, 'password'])
  assert.deepEqual([await works(here), await works(there)], [200, 200])
  assert.equal(await status(here.ask('POST', '/auth/password', { present: PASSWORD, password: next })), 204)
  assert.deepEqual([await works(here), await works(there)], [200, 401])
  assert.equal(await status(there.begin({ username: 'bob', password: PASSWORD })), 401)
  assert.equal(await status(there.begin({ username: 'bob', password: next })), 201)
  const change = (body: object) => ask('PATCH', `/v1alpha/users/${user_id}`, { body })
  assert.equal((await change({ disabled: true })).json().disabled, true)
  assert.deepEqual([await works(here), await works(there)], [401, 401])
  assert.equal(await status(here.begin({ username: 'bob', password: next })), 401)
  await change({ disabled: false, password: PASSWORD })
  assert.equal(await status(here.begin({ username: 'bob', password: PASSWORD })), 201)
  const record = (await ask('GET', '/v1alpha/audit?action=user.change')).json().items[0]
  assert.deepEqual([record.object_id, record.fields], [user_id, ['disabled', 'password']])
  await ask('DELETE', `/v1alpha/users/${user_id}`)
  assert.equal(await works(here), 401)
  const { token, token_id } = (
    await ask('POST', '/v1alpha/tokens', { body: { name: 'mine', scopes: ['viewer'] } })
  ).json()
  assert.equal(await status(here.begin({ token })), 201)
  await ask('DELETE', `/v1alpha/tokens/${token_id}`)
  assert.equal(await works(here), 401)
  const own = (await ask('POST', '/v1alpha/tokens', { body: { name: 'login', scopes: ['viewer'] } })).json()
  assert.equal(own.errors[0].path, 'name')
})

test('an admin signs another user out everywhere, and only those of the own workspace', async (t) => {
  const opened = await openTestServer(t)
  const { ask, store, tokens } = opened
  const user_id = await addUser(opened)
  const [here, there, other] = [browser(opened), browser(opened), browser(opened)]
  for (const one of [here, there]) await one.begin({ username: 'bob', password: PASSWORD })
  await other.begin({ token: tokens.admin })
  const works = (one: typeof here): Promise<number> => status(one.ask('GET', '/jobs'))
  const path = `/v1alpha/users/${user_id}/sign-ins`
  for (const token of [tokens.analyst, tokens.viewer])
    assert.equal((await ask('DELETE', path, { token })).status, 403)
  await store.createWorkspace({ workspace_id: 'guests', name: 'Guests', data_folder: null })
  const guest = await opened.token('guests', ['admin'])
  assert.equal((await ask('DELETE', path, { token: guest })).status, 404)
  assert.deepEqual([await works(here), await works(there)], [200, 200])
  assert.deepEqual((await ask('DELETE', path)).json(), { ended: 2 })
  assert.deepEqual([await works(here), await works(there), await works(other)], [401, 401, 200])
  assert.deepEqual((await ask('DELETE', path)).json(), { ended: 0 })
  assert.equal(await status(here.begin({ username: 'bob', password: PASSWORD })), 201)
  assert.equal((await ask('DELETE', '/v1alpha/users/nobody/sign-ins')).status, 404)
  const { items } = (await ask('GET', '/v1alpha/audit?action=user.sign_out')).json()
  assert.deepEqual(
    items.map((record: { object_id: string; user_id: string }) => [record.object_id, record.user_id]),
    [
      [user_id, 'ada'],
      [user_id, 'ada'],
    ],
  )
})

test('live events and downloads work by the cookie', async (t) => {
  const opened = await openTestServer(t)
  const ada = browser(opened)
  await ada.begin({ token: opened.tokens.analyst })
  const payload = { type: 'template', template_id: 'hello' }
  const assignment_id = (await ada.ask('POST', '/jobs', { payload })).json() as string
  await ada.ask('POST', '/jobs/run', { payload: { type: 'assignment', assignment_id } })
  const insight_id = await opened.complete(assignment_id)
  const events = await ada.ask('GET', `/jobs/events?assignment_id=${assignment_id}`)
  assert.equal(events.status, 200)
  assert.match(events.text, /event: status[\s\S]*completed/)
  const accept = { accept: 'text/markdown', ...OWN_PAGE }
  const result = await ada.ask('GET', `/jobs/result?insight_id=${insight_id}`, undefined, accept)
  assert.match(result.text, /# Hello world/)
})

test('devices are named by their browser and system', () => {
  const chrome =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36'
  const iphone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1'
  assert.deepEqual(
    [chrome, `${chrome} Edg/140.0`, iphone, FIREFOX, 'curl/8.5.0', '', '<script>'].map(deviceName),
    [
      'Chrome on Windows',
      'Edge on Windows',
      'Safari on iPhone',
      'Firefox on Linux',
      'curl',
      'an unknown browser',
      'an unknown browser',
    ],
  )
})

test('a start without passwords ends what a password began, and leaves what a token began', async (t) => {
  const clock = new FakeClock(Date.now())
  const opened = await openTestServer(t, { clock })
  await addUser(opened)
  const bob = browser(opened)
  await bob.begin({ username: 'bob', password: PASSWORD })
  const admin = browser(opened)
  await admin.begin({ token: opened.tokens.admin })
  await endPasswords(opened.store, { passwordLogin: 'on' }, silentLog)
  clock.advance(3000)
  assert.equal(await status(bob.ask('GET', '/auth/me')), 200)
  await endPasswords(opened.store, { passwordLogin: 'off' }, silentLog)
  clock.advance(3000)
  assert.deepEqual(
    [await status(bob.ask('GET', '/auth/me')), await status(admin.ask('GET', '/auth/me'))],
    [401, 200],
  )
})
