/** A client that knows only the address of the endpoint of agents signs a person in, by the official client of the protocol. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { auth } from '@modelcontextprotocol/client'
import { hashPassword } from '../../runtime/passwords.ts'
import { hashToken, SecretBox } from '../../runtime/secrets.ts'
import { createClients, documented, isDocumentAddress } from '../../sign-in/client.ts'
import { createRateLimiter } from '../http/rate-limiter.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { keeper, type Tokens } from './client-fixture.ts'

const PUBLIC = 'http://localhost:7777'
const BACK = 'http://127.0.0.1:4567/callback'
const PASSWORD = 'correct horse battery'
const FORM = 'application/x-www-form-urlencoded'

async function open(t: Parameters<typeof openTestServer>[0]) {
  const clock = new FakeClock(Date.now())
  const opened = await openTestServer(t, { clock })
  // Sets the public address of the tests.
  opened.parts.config.publicUrl = PUBLIC
  const user_id = uuidv7()
  const ada = { user_id, workspace_id: 'default', username: 'ada', scopes: ['analyst' as const] }
  await opened.store.createUser({ ...ada, password_hash: await hashPassword(PASSWORD) })
  const own = { 'sec-fetch-site': 'same-origin' }
  const signIn = async (body: object) => {
    const begun = await opened.ask('POST', '/v1alpha/auth/sign-ins', { token: null, body, headers: own })
    const cookie = [begun.headers['set-cookie']]
      .flat()
      .map((set) => String(set).split(';')[0])
      .join('; ')
    const headers = { ...own, cookie }
    const browser = (method: string, path: string, given?: object) =>
      opened.ask(method, path, { token: null, headers, ...(given ? { body: given } : {}) })
    return { begun, browser }
  }
  const { browser } = await signIn({ username: 'ada', password: PASSWORD })
  const form = (path: string, fields: Record<string, string>) =>
    opened.ask('POST', path, { token: null, body: new URLSearchParams(fields).toString(), type: FORM })
  return { ...opened, clock, user_id, signIn, browser, form }
}

/** Returns a `fetch` that answers from the API without a socket. */
const fetchOf = ({ api }: TestServer) =>
  (async (input: URL | string, init: RequestInit = {}) => {
    const url = new URL(input)
    const answer = await api.inject({
      method: (init.method ?? 'GET') as 'GET',
      url: `${url.pathname}${url.search}`,
      headers: { host: url.host, ...Object.fromEntries(new Headers(init.headers)) },
      ...(init.body ? { payload: String(init.body as URLSearchParams) } : {}),
    })
    return new Response(answer.rawPayload.length > 0 ? new Uint8Array(answer.rawPayload) : null, {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
    })
  }) as typeof fetch

/** Registers a client and leads it through every step to its tokens. */
async function letIn(opened: Awaited<ReturnType<typeof open>>, scope = 'analyst') {
  const { kept, provider } = keeper(BACK)
  const fetchFn = fetchOf(opened)
  const serverUrl = `${PUBLIC}/mcp`
  assert.equal(await auth(provider, { serverUrl, scope, fetchFn }), 'REDIRECT')
  const address = kept.address as URL
  const asked = Object.fromEntries(address.searchParams) as Record<string, string>
  const shown = await opened.browser('GET', `/v1alpha/auth/grants${address.search}`)
  assert.equal(shown.status, 200, shown.text)
  const answered = await opened.browser('POST', '/v1alpha/auth/grants', {
    ...asked,
    granted: shown.json().asked,
  })
  assert.equal(answered.status, 201, answered.text)
  const to = new URL(answered.json().redirect_to)
  const code = to.searchParams.get('code')!
  const redeem = () =>
    auth(provider, { serverUrl, scope, fetchFn, authorizationCode: code, iss: to.searchParams.get('iss')! })
  return { kept, provider, asked, shown: shown.json(), to, code, redeem, tokens: () => kept.tokens as Tokens }
}

const mcp = ({ ask }: TestServer, token: string | null) =>
  ask('POST', '/mcp', {
    token,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} },
    headers: { accept: 'application/json, text/event-stream' },
  })

test('a client that knows one address signs a person in, and its token is listed, refreshed and revoked', async (t) => {
  const opened = await open(t)
  const { ask, form, clock, browser } = opened
  const refused = await mcp(opened, null)
  assert.equal(refused.status, 401)
  assert.equal(
    refused.headers['www-authenticate'],
    `Bearer resource_metadata="${PUBLIC}/.well-known/oauth-protected-resource/mcp", scope="analyst"`,
  )
  const way = await letIn(opened)
  assert.deepEqual(
    [
      way.shown.client_name,
      way.shown.client_host,
      way.shown.redirect_host,
      way.shown.scopes,
      way.shown.asked,
    ],
    ['Lantern', null, '127.0.0.1:4567', ['viewer', 'analyst'], 'analyst'],
  )
  assert.deepEqual(
    [way.to.searchParams.get('state'), way.to.searchParams.get('iss')],
    ['12345678901234567890', PUBLIC],
  )
  assert.equal(way.asked.resource, `${PUBLIC}/mcp`)
  assert.equal(await way.redeem(), 'AUTHORIZED')
  const first = way.tokens()
  assert.deepEqual([first.scope, first.expires_in], ['analyst', 1800])
  assert.notEqual((await mcp(opened, first.access_token)).status, 401)
  const me = (await ask('GET', '/v1alpha/auth/me', { token: first.access_token })).json()
  assert.deepEqual([me.user_id, me.scopes], [opened.user_id, ['analyst']])
  const listed = (await ask('GET', '/v1alpha/tokens')).json().items[0]
  assert.deepEqual(
    [listed.name, listed.token_id, listed.user_id],
    ['agent: Lantern', me.token_id, opened.user_id],
  )

  const grants = (await browser('GET', '/v1alpha/auth/grants/own')).json().items
  assert.equal(grants.length, 1)
  assert.deepEqual(
    [grants[0].token_id, grants[0].name, grants[0].scopes, grants[0].redirect_host],
    [me.token_id, 'agent: Lantern', ['analyst'], '127.0.0.1:4567'],
  )
  assert.deepEqual((await ask('GET', '/v1alpha/auth/grants/own')).json().items, [], 'an admin sees her own')
  assert.equal((await ask('DELETE', `/v1alpha/auth/grants/${me.token_id}`)).status, 404)

  // The access token expires, and the refresh token gives another.
  clock.advance(1_800_001)
  assert.equal((await mcp(opened, first.access_token)).status, 401)
  assert.equal(
    await auth(way.provider, { serverUrl: `${PUBLIC}/mcp`, fetchFn: fetchOf(opened) }),
    'AUTHORIZED',
  )
  const second = way.tokens()
  assert.equal(
    (await ask('GET', '/v1alpha/auth/me', { token: second.access_token })).json().token_id,
    me.token_id,
  )

  // A second use of the first refresh token ends the grant.
  const client_id = way.asked.client_id!
  const again = await form('/oauth/token', {
    grant_type: 'refresh_token',
    client_id,
    refresh_token: first.refresh_token,
  })
  assert.deepEqual([again.status, again.json().error], [400, 'invalid_grant'])
  assert.equal((await mcp(opened, second.access_token)).status, 401)
  const late = await form('/oauth/token', {
    grant_type: 'refresh_token',
    client_id,
    refresh_token: second.refresh_token,
  })
  assert.equal(late.json().error, 'invalid_grant')

  // Deleting or revoking the token ends the grant.
  const other = await letIn(opened)
  await other.redeem()
  const { token_id } = (await ask('GET', '/v1alpha/auth/me', { token: other.tokens().access_token })).json()
  assert.equal((await ask('DELETE', `/v1alpha/tokens/${token_id}`)).status, 204)
  const { refresh_token } = other.tokens()
  const dead = { grant_type: 'refresh_token', client_id: other.asked.client_id!, refresh_token }
  assert.equal((await form('/oauth/token', dead)).status, 400)
  const third = await letIn(opened)
  await third.redeem()
  assert.equal((await form('/oauth/revoke', { token: third.tokens().refresh_token })).status, 200)
  assert.equal((await mcp(opened, third.tokens().access_token)).status, 401)
  const own = await letIn(opened)
  await own.redeem()
  const [listedOwn] = (await browser('GET', '/v1alpha/auth/grants/own')).json().items
  assert.equal((await browser('DELETE', `/v1alpha/auth/grants/${listedOwn.token_id}`)).status, 204)
  assert.equal((await browser('DELETE', `/v1alpha/auth/grants/${listedOwn.token_id}`)).status, 404)
  assert.equal((await mcp(opened, own.tokens().access_token)).status, 401)
  assert.deepEqual((await browser('GET', '/v1alpha/auth/grants/own')).json().items, [])
  // A changed password ends the grants of the user.
  const fourth = await letIn(opened)
  await fourth.redeem()
  assert.equal((await browser('DELETE', '/v1alpha/auth/sign-ins')).status, 200)
  assert.equal((await mcp(opened, fourth.tokens().access_token)).status, 401)
  const actions = (await ask('GET', '/v1alpha/audit?limit=100'))
    .json()
    .items.map((one: { action: string }) => one.action)
  for (const action of ['grant.create', 'token.create', 'token.delete'])
    assert.ok(actions.includes(action), action)
})

test('a client is refused what it may not do', async (t) => {
  const opened = await open(t)
  const { ask, form, browser, clock } = opened
  const way = await letIn(opened, 'viewer analyst admin')
  await way.redeem()
  assert.equal(way.shown.asked, 'analyst', 'no more than she holds, and never admin')
  const given = { ...way.asked, granted: 'viewer' }
  const verifier = way.kept.verifier as string
  const REFUSED: [string, object, number][] = [
    ['another host', { redirect_uri: 'https://evil.example/callback' }, 422],
    ['another path', { redirect_uri: 'http://127.0.0.1:4567/other' }, 422],
    ['a host that begins alike', { redirect_uri: 'http://127.0.0.1.evil.example/callback' }, 422],
    ['a name before the host', { redirect_uri: 'http://127.0.0.1@evil.example/callback' }, 422],
    ['a script', { redirect_uri: 'javascript:alert(1)' }, 422],
    ['a fragment', { redirect_uri: `${BACK}#x` }, 422],
    ['another resource', { resource: 'https://elsewhere.example/mcp' }, 422],
    ['no PKCE', { code_challenge: undefined }, 422],
    ['plain PKCE', { code_challenge_method: 'plain' }, 422],
    ['the implicit flow', { response_type: 'token' }, 422],
    ['an unknown client', { client_id: 'v1.aaaa.bbbb.cccc' }, 422],
    ['a document without https', { client_id: 'http://client.example/id.json' }, 422],
    ['more than she holds', { granted: 'admin' }, 403],
  ]
  for (const [what, over, status] of REFUSED)
    assert.equal((await browser('POST', '/v1alpha/auth/grants', { ...given, ...over })).status, status, what)
  const otherPort = await browser('POST', '/v1alpha/auth/grants', {
    ...given,
    redirect_uri: 'http://127.0.0.1:9999/callback',
  })
  assert.equal(otherPort.status, 201, 'a program on her machine listens where it can')
  assert.equal(
    (await ask('POST', '/v1alpha/auth/grants', { body: given })).status,
    403,
    'a token lets nobody in',
  )
  // A browser that was signed in by a token cannot consent, and the token of a grant signs no browser in.
  const secret = 't'.repeat(64)
  const of = { workspace_id: 'default', user_id: opened.user_id, name: 'own', scopes: ['analyst' as const] }
  const own = { ...of, token_id: uuidv7(), expires_at: null, token_hash: hashToken(secret) }
  await opened.store.createToken(own)
  const byToken = await opened.signIn({ token: secret })
  assert.equal(byToken.begun.status, 201, byToken.begun.text)
  for (const answer of [
    await byToken.browser('POST', '/v1alpha/auth/grants', given),
    await byToken.browser('GET', `/v1alpha/auth/grants?${new URLSearchParams(way.asked).toString()}`),
  ]) {
    assert.equal(answer.status, 403)
    assert.match(answer.text, /signed in by a token.*sign in by a password/)
  }
  const granted = await opened.signIn({ token: way.tokens().access_token })
  assert.equal(granted.begun.status, 403)
  assert.match(granted.begun.text, /given to a program/)
  // An admin can change only the name of the token, because a refresh would undo any other change.
  const { token_id } = (await ask('GET', '/v1alpha/auth/me', { token: way.tokens().access_token })).json()
  for (const [body, status] of [
    [{ scopes: ['viewer'] }, 409],
    [{ expires_at: null }, 409],
    [{ name: 'Lantern of Ada' }, 200],
  ] as const)
    assert.equal((await ask('PATCH', `/v1alpha/tokens/${token_id}`, { body })).status, status)

  const foreign = { 'sec-fetch-site': 'cross-site' }
  assert.equal(
    (await ask('POST', '/v1alpha/auth/grants', { token: null, body: given, headers: foreign })).status,
    401,
  )
  const denied = await browser('POST', '/v1alpha/auth/grants', { ...given, granted: null })
  assert.equal(new URL(denied.json().redirect_to).searchParams.get('error'), 'access_denied')

  const newCode = async () => {
    const answered = await browser('POST', '/v1alpha/auth/grants', given)
    return new URL(answered.json().redirect_to).searchParams.get('code')!
  }
  const right = async () => ({
    grant_type: 'authorization_code',
    client_id: way.asked.client_id!,
    redirect_uri: BACK,
    code: await newCode(),
    code_verifier: verifier,
  })
  const WRONG: [string, Record<string, string>, string][] = [
    ['another verifier', { code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['another client', { client_id: 'another' }, 'invalid_grant'],
    ['another redirect_uri', { redirect_uri: 'http://127.0.0.1:1/callback' }, 'invalid_grant'],
    ['another code', { code: 'x'.repeat(43) }, 'invalid_grant'],
    ['another resource', { resource: 'https://elsewhere.example' }, 'invalid_target'],
    ['a password', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['no client', { client_id: '' }, 'invalid_request'],
    [
      'a forged refresh token',
      { grant_type: 'refresh_token', refresh_token: 'v1.aaaa.bbbb.cccc' },
      'invalid_grant',
    ],
  ]
  for (const [what, over, error] of WRONG) {
    const answer = await form('/oauth/token', { ...(await right()), ...over })
    assert.deepEqual([answer.status, answer.json().error], [400, error], what)
  }
  // A code is redeemed once. A second use ends the grant and its tokens.
  const fields = await right()
  const tokens = (await form('/oauth/token', fields)).json()
  assert.equal(tokens.scope, 'viewer')
  assert.equal((await form('/oauth/token', fields)).json().error, 'invalid_grant')
  assert.equal((await mcp(opened, tokens.access_token)).status, 401)
  const replaced = await right()
  const late = await right()
  assert.equal((await form('/oauth/token', replaced)).json().error, 'invalid_grant', 'one code at a time')
  clock.advance(120_001)
  assert.equal((await form('/oauth/token', late)).json().error, 'invalid_grant')

  const register = (body: object) => ask('POST', '/oauth/register', { token: null, body })
  for (const [body, error] of [
    [{ redirect_uris: [] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['http://evil.example/'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['cursor://x/y'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: [BACK], token_endpoint_auth_method: 'client_secret_basic' }, 'invalid_client_metadata'],
    [
      { redirect_uris: [`https://a.example/${'x'.repeat(480)}`, `https://a.example/${'y'.repeat(480)}`] },
      'invalid_client_metadata',
    ],
  ] as const) {
    const answer = await register(body)
    assert.deepEqual([answer.status, answer.json().error], [400, error], JSON.stringify(body).slice(0, 80))
  }
  const large = await register({ redirect_uris: [BACK], client_name: 'x'.repeat(20_000) })
  assert.deepEqual([large.status, large.json().code], [413, 'payload_too_large'])
  assert.match(large.json().detail, /larger than 16 KiB/)
})

test('a document at the address of a client says who it is', async () => {
  const client_id = 'https://client.example/id.json'
  const document = { client_id, client_name: 'Lantern', redirect_uris: [BACK] }
  assert.deepEqual(documented(client_id, document), {
    client_id,
    name: 'Lantern',
    redirect_uris: [BACK],
    host: 'client.example',
  })
  assert.throws(
    () => documented(client_id, { ...document, client_id: 'https://other.example/id.json' }),
    /another address/,
  )
  assert.throws(() => documented(client_id, { ...document, client_name: undefined }), /client_name/)
  assert.deepEqual(
    [
      'https://a.example',
      'https://a.example/',
      'https://u@a.example/x',
      'https://a.example/x/../y',
      'https://a.example/x#y',
      'https://a.example/x',
    ].map(isDocumentAddress),
    [false, false, false, false, false, true],
  )
  const evil = documented(client_id, { ...document, client_name: 'A” of the operator “\u202e' })
  assert.equal(evil.name, 'A of the operator', 'it cannot leave its quotes')
})

test('a document of a client is fetched as any download of the workspace, once for all users, and a bounded number of times by one', async () => {
  const client_id = 'https://client.example/id.json'
  const document = { client_id, client_name: 'Lantern', redirect_uris: [BACK] }
  const asked: string[] = []
  const answers: Record<string, string> = {
    [client_id]: JSON.stringify(document),
    'https://a.example/x': '<html>',
  }
  const secrets = new SecretBox([Buffer.alloc(32, 7)])
  const clock = new FakeClock(0)
  const taken: string[] = []
  let stopped = false
  const refusal = (text: string) => ({ cause: 'stopped' as const, text })
  const ledger = {
    vetHost: (workspace: string, kind: string, host: string) =>
      Promise.resolve(workspace === 'closed' ? refusal(`${kind} from ${host} is not listed`) : null),
    take(workspace: string, kind: string) {
      if (stopped) return Promise.resolve(refusal('all is stopped'))
      taken.push(`${workspace} ${kind}`)
      return Promise.resolve(null)
    },
    addBytes: () => {},
  }
  const fetches = createRateLimiter(clock, { burst: 4, perSecond: 0.1 })
  const parts = { secrets, now: () => clock.monotonic(), ledger, fetches }
  const clients = createClients({
    ...parts,
    async fetchText(url) {
      asked.push(url)
      return answers[url] ?? Promise.reject(new Error('away'))
    },
  })
  const ada = { workspace_id: 'open', user_id: 'ada' }
  const both = await Promise.all([clients.read(client_id, ada), clients.read(client_id, ada)])
  assert.deepEqual(
    both.map(({ name }) => name),
    ['Lantern', 'Lantern'],
  )
  assert.equal((await clients.read(client_id, ada)).name, 'Lantern')
  assert.equal(asked.length, 1, 'it is shared, and kept for a while')
  assert.equal(taken[0], 'open download')
  const closed = { workspace_id: 'closed', user_id: 'bob' }
  await assert.rejects(clients.read(client_id, closed), /download from client.example is not listed/)
  stopped = true
  await assert.rejects(clients.read('https://a.example/x', ada), /all is stopped/)
  stopped = false
  clock.advance(60_000)
  await assert.rejects(clients.read('https://a.example/x', ada), /not JSON/)
  await assert.rejects(clients.read('https://a.example/x', ada), /not JSON/)
  assert.equal(asked.length, 2, 'a failure is kept, too')
  clock.advance(30_001)
  await assert.rejects(clients.read('https://a.example/x', ada), /not JSON/)
  assert.equal(asked.length, 3, 'for a short time')
  await assert.rejects(clients.read('https://a.example/z', ada), /cannot be reached/)
  for (const path of ['1', '2', '3']) await clients.read(`https://a.example/${path}`, ada).catch(() => {})
  await assert.rejects(clients.read('https://a.example/4', ada), /Too many programs/)
  await clients.close()
  // The guard lets the service reach neither this machine nor its network.
  const real = createClients(parts)
  const bob = { workspace_id: 'open', user_id: 'bob' }
  for (const url of ['https://127.0.0.1/id.json', 'https://169.254.169.254/id.json', 'https://[::1]/id.json'])
    await assert.rejects(real.read(url, bob), /cannot be reached/)
  await real.close()
})
