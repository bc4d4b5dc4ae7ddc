/** Sign-in by a real provider in this process (oidc-provider), and by one that sends wrong answers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { type Answer, openTestServer, TEST_CONFIG, type TestServer } from '../api/test-server.ts'
import { groupRules } from '../config/sign-in-values.ts'
import { createLog } from '../runtime/log.ts'
import { personOf } from './provider.ts'
import { CLIENT, openProvider, type TestProvider } from './provider-fixture.ts'
import { SignInRefusal } from './refusal.ts'
import { openRogue } from './rogue-fixture.ts'

/** The public address of the service. It has a path, which is the harder case. */
const PUBLIC = 'http://assay.test/tools'
const RULES = 'assay-admins=default:admin;cn=team,ou=x=team:analyst;staff=default:viewer'

interface Opened extends TestServer {
  /** The lines of the log. */
  logged: string[]
}

async function open(
  t: Parameters<typeof openTestServer>[0],
  issuer: string,
  {
    rules = RULES,
    over = {},
    clock = new FakeClock(Date.now()),
  }: { rules?: string; over?: object; clock?: FakeClock } = {},
): Promise<Opened> {
  const logged: string[] = []
  const log = createLog({ level: 'debug', format: 'json', stream: { write: (line) => logged.push(line) } })
  const oidc = {
    oidcIssuer: issuer,
    oidcClientId: CLIENT.client_id,
    oidcClientSecret: CLIENT.client_secret,
    oidcScopes: 'openid profile email groups',
    oidcGroups: groupRules(rules),
    publicUrl: PUBLIC,
  }
  const opened = await openTestServer(t, {
    clock,
    parts: { log, config: { ...TEST_CONFIG, ...oidc, ...over } },
  })
  await opened.store.createWorkspace({ workspace_id: 'team', name: 'Team', data_folder: null })
  return { ...opened, logged }
}

const cookieOf = ({ headers }: Answer, name: string): string =>
  [headers['set-cookie'] ?? []]
    .flat()
    .map((set) => String(set).split(';')[0]!)
    .find((set) => set.startsWith(`${name}=`) && !set.endsWith('=')) ?? ''

const begin = ({ ask }: TestServer, next = '/insights') =>
  ask('GET', `/auth/begin?next=${encodeURIComponent(next)}`, { token: null })
const comeBack = ({ ask }: TestServer, to: URL, cookie: string) =>
  ask('GET', `${to.pathname}${to.search}`, {
    token: null,
    headers: { cookie, 'sec-fetch-site': 'cross-site' },
  })

/** Signs in as a browser does, from the first redirect to the last. */
async function signIn(opened: TestServer, provider: TestProvider, next?: string) {
  const begun = await begin(opened, next)
  assert.equal(begun.status, 302, begun.text)
  const pending = cookieOf(begun, 'assay_begun')
  const to = await provider.walk(String(begun.headers.location))
  const answer = await comeBack(opened, to, pending)
  const cookie = cookieOf(answer, 'assay_sign_in')
  const me = async () => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin' }
    const told = await opened.ask('GET', '/v1alpha/auth/me', { token: null, headers })
    return told.status === 200 ? told.json() : told.status
  }
  return { answer, pending, to, cookie, me }
}

const audited = async ({ ask, parts }: TestServer, action: string) => {
  const { clock } = parts
  if (clock instanceof FakeClock) clock.advance(2000)
  for (;;) {
    const { items } = (await ask('GET', `/v1alpha/audit?action=${action}`)).json()
    if (items.length > 0) return items
    await nextPass()
  }
}

test('a provider signs a person in, her groups decide her rights, and a right that they no longer give ends at the next sign-in', async (t) => {
  const provider = await openProvider(t, PUBLIC)
  const opened = await open(t, provider.issuer)
  const { store } = opened
  // A user of the workspace has the same name and is another person.
  const taken = { user_id: uuidv7(), workspace_id: 'team', username: 'ada', scopes: ['admin' as const] }
  await store.createUser({ ...taken, password_hash: null })
  provider.person = {
    sub: 'id-of-ada',
    claims: {
      preferred_username: 'ada',
      name: 'Ada L.',
      email: 'ada@example.com',
      groups: ['cn=team,ou=x', 'staff'],
    },
  }
  const first = await signIn(opened, provider, '/jobs?status=queued')
  assert.equal(first.answer.status, 302, first.answer.text)
  assert.equal(first.answer.headers.location, `${PUBLIC}/sign-in?by=provider&next=%2Fjobs%3Fstatus%3Dqueued`)
  const me = await first.me()
  assert.deepEqual(
    [me.workspace_id, me.scopes, me.display_name, me.by_provider, me.by_password],
    ['team', ['analyst'], 'Ada L.', true, false],
  )
  assert.match(me.username, /^ada-[0-9a-f]{8}$/)
  assert.notEqual(me.user_id, taken.user_id)
  const session = [first.answer.headers['set-cookie']].flat().map(String)
  assert.ok(
    session.some((set) => /^assay_sign_in=[\w-]{43}; Path=\/tools\/; .*HttpOnly; SameSite=Strict$/.test(set)),
  )

  // With the same groups she is the same user, and the first browser stays signed in.
  const second = await signIn(opened, provider)
  assert.equal((await second.me()).user_id, me.user_id)
  assert.equal((await first.me()).user_id, me.user_id)

  // She has a token. With other groups she moves to another workspace and keeps nothing in the first.
  const hash = 'a'.repeat(64)
  const token = {
    token_id: uuidv7(),
    workspace_id: 'team',
    user_id: me.user_id,
    name: 'own',
    expires_at: null,
  }
  await store.createToken({ ...token, scopes: ['analyst'], token_hash: hash })
  assert.ok(await store.findToken(hash))
  provider.person.claims.groups = ['assay-admins']
  const third = await signIn(opened, provider)
  assert.deepEqual([(await third.me()).workspace_id, (await third.me()).scopes], ['default', ['admin']])
  assert.deepEqual([await first.me(), await second.me()], [401, 401])
  assert.equal(await store.findToken(hash), null)

  // Without a group she is refused with a page and signed out everywhere.
  provider.person.claims.groups = ['others']
  const fourth = await signIn(opened, provider)
  assert.equal(fourth.answer.status, 403)
  assert.match(fourth.answer.text, /You have no access to Assay/)
  assert.deepEqual([fourth.cookie, await third.me()], ['', 401])
  const refused = await audited(opened, 'session.refuse')
  assert.deepEqual(
    refused.map((one: { fields: string[] }) => one.fields),
    [['no_group']],
  )
  assert.equal((await audited(opened, 'user.admit')).length, 2)

  // Back in the group she is the same user as before.
  provider.person.claims.groups = ['cn=team,ou=x']
  const fifth = await signIn(opened, provider)
  assert.deepEqual([(await fifth.me()).user_id, (await fifth.me()).scopes], [me.user_id, ['analyst']])
  const admins = await opened.ask('PATCH', `/v1alpha/users/${me.user_id}?workspace_id=team`, {
    body: { scopes: ['admin'] },
  })
  assert.equal(admins.status, 409, 'the provider says what she may')
  await store.updateUser({ workspace_id: 'team', user_id: me.user_id, patch: { disabled: true } })
  const sixth = await signIn(opened, provider)
  assert.deepEqual([sixth.answer.status, sixth.cookie], [403, ''])
  assert.match(sixth.answer.text, /Your user is disabled/)
  const known = () => store.findIdentity({ issuer: provider.issuer, subject: 'id-of-ada' })
  assert.equal((await known()).length, 2)
  // She is disabled in the workspace of her groups. What she had elsewhere is gone too.
  await store.updateUser({ workspace_id: 'team', user_id: me.user_id, patch: { disabled: false } })
  provider.person.claims.groups = ['assay-admins']
  const seventh = await signIn(opened, provider)
  assert.equal((await seventh.me()).workspace_id, 'default')
  await store.updateUser({ workspace_id: 'team', user_id: me.user_id, patch: { disabled: true } })
  provider.person.claims.groups = ['cn=team,ou=x']
  assert.equal((await signIn(opened, provider)).answer.status, 403)
  assert.equal(await seventh.me(), 401)
  assert.deepEqual(
    (await known()).map(({ scopes }) => scopes),
    [[], []],
  )
  for (const secret of [CLIENT.client_secret, first.to.searchParams.get('code')!, 'Ada L.'])
    assert.ok(!opened.logged.join().includes(secret), 'the log holds no secret')
})

test('the provider may change its keys, be away, and end the session there', async (t) => {
  const provider = await openProvider(t, PUBLIC)
  const clock = new FakeClock(Date.now())
  const opened = await open(t, provider.issuer, {
    rules: '*=default:viewer',
    over: { passwordLogin: 'off' },
    clock,
  })
  const { ask } = opened
  provider.person = { sub: 'bob', claims: {} }
  assert.equal(
    (await (await signIn(opened, provider)).me()).username,
    'bob',
    'without a name it is the subject',
  )
  await provider.rotate()
  const unknown = await signIn(opened, provider)
  assert.equal(unknown.answer.status, 403, 'the library reads keys at most once a minute')
  assert.match(unknown.answer.text, /cannot be trusted/)
  assert.equal((await (await signIn(opened, provider)).me()).username, 'bob', 'then the keys are read anew')
  const ended = await ask('GET', '/auth/end', { token: null })
  const out = new URL(String(ended.headers.location))
  assert.equal(out.origin, provider.issuer)
  assert.equal(out.searchParams.get('post_logout_redirect_uri'), `${PUBLIC}/sign-in`)
  assert.deepEqual((await ask('GET', '/v1alpha/auth/ways', { token: null })).json(), {
    password: false,
    token: true,
    provider: { name: new URL(provider.issuer).host, url: `${PUBLIC}/auth/begin` },
  })
  const body = { username: 'admin', password: 'correct horse battery' }
  const own = { token: null, body, headers: { 'sec-fetch-site': 'same-origin' } }
  assert.equal((await ask('POST', '/v1alpha/auth/sign-ins', own)).status, 403)
  await provider.stop()
  clock.advance(3_600_001)
  const away = await begin(opened)
  assert.equal(away.status, 503)
  assert.match(away.text, /cannot be reached.*Try again in a minute/s)
  assert.match(opened.logged.join('\n'), /provider_unreachable.*ECONNREFUSED/)
})

test('an answer that is not from the provider to this browser is refused', async (t) => {
  const rogue = await openRogue(t)
  const clock = new FakeClock(Date.now())
  const opened = await open(t, rogue.issuer, { clock })
  const start = async () => {
    const begun = await begin(opened)
    const asked = new URL(String(begun.headers.location)).searchParams
    rogue.nonce = asked.get('nonce')!
    const to = new URL(`${PUBLIC}/auth/callback`)
    to.searchParams.set('code', 'of the provider')
    to.searchParams.set('state', asked.get('state')!)
    to.searchParams.set('iss', rogue.issuer)
    return { to, asked, cookie: cookieOf(begun, 'assay_begun') }
  }
  rogue.forged = {}
  const right = await start()
  assert.deepEqual(
    [
      right.asked.get('response_type'),
      right.asked.get('code_challenge_method'),
      right.asked.get('redirect_uri'),
    ],
    ['code', 'S256', `${PUBLIC}/auth/callback`],
  )
  const entered = await comeBack(opened, right.to, right.cookie)
  assert.equal(entered.status, 302, entered.text)
  assert.ok(cookieOf(entered, 'assay_sign_in'))
  assert.equal(rogue.redeemed[0]!.get('code_verifier')?.length, 43)

  const hour = 3600
  const now = Math.floor(Date.now() / 1000)
  const FORGED: [string, Parameters<typeof Object.assign>[1]][] = [
    ['alg none', { alg: 'none' }],
    ['the published key as a shared secret', { alg: 'HS256' }],
    ['a key that is not published', { alg: 'other key' }],
    ['another issuer', { claims: { iss: 'https://elsewhere.example' } }],
    ['for another client', { claims: { aud: 'another' } }],
    ['for several, without azp', { claims: { aud: ['assay', 'another'], azp: 'another' } }],
    ['another nonce', { claims: { nonce: 'of an earlier sign-in' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['over', { claims: { iat: now - 2 * hour, exp: now - 120 } }],
    ['no subject', { claims: { sub: undefined } }],
    ['a subject that is too long', { claims: { sub: 'x'.repeat(300) } }],
    ['a subject that is no text', { claims: { sub: 7 } }],
    ['no id token', { more: { id_token: undefined } }],
    ['an answer without end', { answer: JSON.stringify({ access_token: 'x'.repeat(600_000) }) }],
    ['no JSON', { answer: '<html>' }],
    ['a refusal', { answer: '{"error":"invalid_grant"}' }],
  ]
  for (const [what, forged] of FORGED) {
    const { to, cookie } = await start()
    rogue.forged = forged
    const answer = await comeBack(opened, to, cookie)
    assert.ok([403, 503].includes(answer.status), `${what}: ${answer.status} ${answer.text}`)
    assert.equal(cookieOf(answer, 'assay_sign_in'), '', what)
    assert.match(answer.text, /Sign in<\/a>/, what)
  }
  // The difference of the clocks is within the bound.
  rogue.forged = { claims: { exp: now - 20 } }
  const skewed = await start()
  assert.equal((await comeBack(opened, skewed.to, skewed.cookie)).status, 302)
  rogue.forged = {}

  const before = rogue.redeemed.length
  const one = await start()
  const other = await start()
  const changed = (to: URL, name: string, value: string | null): URL => {
    const copy = new URL(to)
    if (value === null) copy.searchParams.delete(name)
    else copy.searchParams.set(name, value)
    return copy
  }
  const ATTACKS: [string, URL, string][] = [
    ['no cookie: the login of another browser', one.to, ''],
    ['the cookie of another sign-in', one.to, other.cookie],
    ['no state', changed(one.to, 'state', null), one.cookie],
    ['a guessed state', changed(one.to, 'state', 'x'), one.cookie],
    ['a cookie that was made by hand', one.to, 'assay_begun=v1.aaaa.bbbb.cccc'],
    [
      'the iss of another provider (RFC 9207)',
      changed(one.to, 'iss', 'https://elsewhere.example'),
      one.cookie,
    ],
    ['no iss where the provider sends one', changed(one.to, 'iss', null), one.cookie],
    ['an answer that is too long', changed(one.to, 'code', 'x'.repeat(9000)), one.cookie],
    ['an error', changed(changed(one.to, 'code', null), 'error', 'access_denied'), one.cookie],
  ]
  for (const [what, to, cookie] of ATTACKS) {
    const answer = await comeBack(opened, to, cookie)
    assert.ok([400, 403].includes(answer.status), `${what}: ${answer.status}`)
    assert.equal(cookieOf(answer, 'assay_sign_in'), '', what)
  }
  const twice = new URL(one.to)
  twice.searchParams.append('state', 'x')
  assert.equal((await comeBack(opened, twice, one.cookie)).status, 422)
  assert.equal(rogue.redeemed.length, before, 'no code was given away')
  clock.advance(600_001)
  const late = await comeBack(opened, one.to, one.cookie)
  assert.equal(late.status, 400)
  assert.match(late.text, /longer than ten minutes/)

  for (const next of [
    '//evil.example',
    '/\\evil.example',
    'https://evil.example',
    '/\t/evil.example',
    '/a\nb',
    'javascript:x',
  ]) {
    const begun = await begin(opened, next)
    const asked = new URL(String(begun.headers.location)).searchParams
    rogue.nonce = asked.get('nonce')!
    const { to } = right
    const state = changed(to, 'state', asked.get('state'))
    const answer = await comeBack(opened, state, cookieOf(begun, 'assay_begun'))
    assert.equal(answer.headers.location, `${PUBLIC}/sign-in?by=provider&next=%2F`, next)
  }
  const causes = new Set(
    (await audited(opened, 'session.refuse')).flatMap((item: { fields: string[] }) => item.fields),
  )
  assert.deepEqual(
    [...causes].map(String).toSorted((a, b) => a.localeCompare(b)),
    ['answer_invalid', 'provider_refused', 'provider_unreachable'],
    'what anybody can bring about without the provider fills no trail',
  )
  // An issuer of many tenants accepts none of them by its pattern: a token of any tenant is refused.
  const tenants = 'https://login.microsoftonline.com/{tenantid}/v2.0'
  const claims = { iss: tenants.replace('{tenantid}', 'of-mallory'), sub: 'mallory' }
  assert.throws(() => personOf(claims, 'groups', tenants), SignInRefusal)
  assert.equal(personOf({ ...claims, name: 'M\u202eallory' }, 'groups', claims.iss).display_name, 'M allory')
  assert.doesNotMatch(opened.logged.join(), /of the provider/, 'neither a code nor a token is in the log')
})

test('strangers neither hold connections to a silent provider nor make it be asked again and again', async (t) => {
  const rogue = await openRogue(t)
  const clock = new FakeClock(Date.now())
  const opened = await open(t, rogue.issuer, { clock })
  const MOST = 100
  const start = async () => {
    const begun = await begin(opened)
    const asked = new URL(String(begun.headers.location)).searchParams
    const to = new URL(`${PUBLIC}/auth/callback?code=made-up&iss=${encodeURIComponent(rogue.issuer)}`)
    to.searchParams.set('state', asked.get('state')!)
    return { to, cookie: cookieOf(begun, 'assay_begun') }
  }
  for (let count = 0; count < 20; count += 1) {
    const { to, cookie } = await start()
    to.searchParams.set('iss', 'https://elsewhere.example')
    assert.equal((await comeBack(opened, to, cookie)).status, 403)
  }
  assert.ok(rogue.asked <= 6, `${rogue.asked} times`)
  clock.advance(60_000)
  const begun = []
  for (let count = 0; count <= MOST; count += 1) begun.push(await start())
  clock.advance(60_000)
  rogue.silent = true
  const waiting = begun.slice(0, MOST).map(({ to, cookie }) => comeBack(opened, to, cookie))
  while (rogue.redeemed.length < MOST) await nextPass()
  const { to, cookie } = begun[MOST]!
  const refused = await comeBack(opened, to, cookie)
  assert.equal(refused.status, 503)
  assert.match(refused.text, /cannot be reached.*Try again in a minute/s)
  rogue.cut()
  assert.deepEqual(new Set((await Promise.all(waiting)).map(({ status }) => status)), new Set([503]))
})
