/** The service below a path: behind a proxy that passes the path on, and behind one that takes it off. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureConsole } from '../../console/build.ts'
import { OWN_PATHS } from '../config/rules.ts'
import { SECTIONS } from './pages/console.ts'
import { ROUTES } from './routes.ts'
import { openTestServer, TEST_CONFIG } from './test-server.ts'

const PREFIX = '/tools/assay'
const HOST = 'https://intranet.example'
const config = { ...TEST_CONFIG, publicUrl: HOST + PREFIX }

test('answers with and without the path, and nothing that only begins like it', async (t) => {
  const { ask } = await openTestServer(t, { parts: { config } })
  for (const path of [
    '/healthz',
    '/v1alpha/jobs/templates',
    '/v1alpha/jobs/?limit=1',
    '/docs',
    '/openapi.json',
  ])
    for (const url of [path, PREFIX + path]) assert.equal((await ask('GET', url)).status, 200, url)
  for (const url of [PREFIX, `${PREFIX}/`, `${PREFIX}?a=1`])
    assert.match((await ask('GET', url, { token: null })).text, /<title>Assay/, url)
  for (const url of ['/tools/assays/healthz', '/tools/healthz', `${PREFIX}${PREFIX}/healthz`])
    assert.equal((await ask('GET', url)).status, 404, url)
})

test('what it answers bears the path: what was created, what is wrong, links, pages and the document', async (t) => {
  await ensureConsole()
  const { ask } = await openTestServer(t, { parts: { config } })
  const body = { username: 'ada', password: 'correct horse battery', scopes: ['viewer'] }
  const headers = { 'idempotency-key': 'ada' }
  const made = await ask('POST', `${PREFIX}/v1alpha/users`, { body, headers })
  const location = `${PREFIX}/v1alpha/users/${made.json().user_id}`
  assert.equal(made.headers.location, location)
  const again = await ask('POST', '/v1alpha/users', { body, headers })
  assert.deepEqual([again.headers['idempotency-replayed'], again.headers.location], ['true', location])
  const missing = await ask('GET', `${PREFIX}/nothing`)
  assert.equal(missing.json().type, `${PREFIX}/docs/errors#not_found`)
  assert.match(missing.json().detail, /no operation at \/nothing/)
  assert.deepEqual((await ask('GET', '/openapi.json')).json().servers, [{ url: PREFIX }])
  const page = await ask('GET', `${PREFIX}/insights/0198`, { token: null })
  const named = [...page.text.matchAll(/(?:href|src|data-base)="([^"]*)"/g)].map(([, address]) => address!)
  assert.ok(named.length > 4)
  for (const address of named) assert.ok(address.startsWith(PREFIX), address)
  for (const coding of ['br', 'gzip']) {
    const packed = await ask('GET', PREFIX, { token: null, headers: { 'accept-encoding': coding } })
    assert.equal(packed.headers['content-encoding'], coding)
  }
  const reference = await ask('GET', `${PREFIX}/docs`, { token: null })
  for (const [, address] of reference.text.matchAll(/(?:href|src)="([^"]*)"/g))
    assert.equal((await ask('GET', address!, { token: null })).status, 200, address)
})

test('its cookies are of the path, and the other programs of the host get none', async (t) => {
  const { ask, tokens } = await openTestServer(t, { parts: { config } })
  const own = { 'sec-fetch-site': 'same-origin' }
  const begun = await ask('POST', `${PREFIX}/v1alpha/auth/sign-ins`, {
    token: null,
    body: { token: tokens.viewer },
    headers: own,
  })
  const [cookie, ...rest] = String(begun.headers['set-cookie']).split('; ')
  assert.match(cookie!, /^__Secure-assay_sign_in=/)
  assert.deepEqual([rest[0], rest.at(-1)], [`Path=${PREFIX}/`, 'Secure'])
  const me = await ask('GET', `${PREFIX}/v1alpha/auth/me`, {
    token: null,
    headers: { ...own, cookie: cookie! },
  })
  assert.equal(me.status, 200)
})

test('agents find out how people sign in at the root of the host, where the standards put it', async (t) => {
  const { ask } = await openTestServer(t, { parts: { config } })
  const refused = await ask('POST', `${PREFIX}/mcp`, { token: null, body: {} })
  const at = `/.well-known/oauth-protected-resource${PREFIX}/mcp`
  assert.match(String(refused.headers['www-authenticate']), new RegExp(`resource_metadata="${HOST}${at}"`))
  const resource = (await ask('GET', at, { token: null })).json()
  assert.deepEqual(
    [resource.resource, resource.authorization_servers],
    [`${HOST}${PREFIX}/mcp`, [HOST + PREFIX]],
  )
  const server = await ask('GET', `/.well-known/oauth-authorization-server${PREFIX}`, { token: null })
  assert.equal(server.json().issuer, HOST + PREFIX)
  assert.equal(server.json().token_endpoint, `${HOST}${PREFIX}/oauth/token`)
})

test('no path of the service can be the path below which it is shown', () => {
  const firsts = ROUTES.map(({ path }) => path.split('/')[1]!).filter(
    (name) => !['', '.well-known'].includes(name),
  )
  const all = new Set([...firsts.filter((name) => !name.startsWith('{')), ...SECTIONS])
  assert.deepEqual([...all].toSorted(), [...OWN_PATHS].toSorted())
})
