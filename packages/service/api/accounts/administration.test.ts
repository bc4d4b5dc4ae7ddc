import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock, iso } from '@assay/model/clock'
import { eventually } from '../../../../test/servers/service.ts'
import { describeConfig, resolveConfig } from '../../config/config.ts'
import { openTestServer } from '../test-server.ts'

test('shows a new token once, and takes it until it is revoked', async (t) => {
  const { ask } = await openTestServer(t)
  const made = await ask('POST', '/v1alpha/tokens', { body: { name: 'nightly', scopes: ['analyst'] } })
  assert.equal(made.status, 201)
  const { token, token_id, ...view } = made.json()
  assert.equal(made.headers.location, `/v1alpha/tokens/${token_id}`)
  assert.deepEqual([view.user_id, view.last_used_at], ['service:nightly', null])
  assert.equal(view.expires_at, null)
  const listed = await ask('GET', '/v1alpha/tokens')
  assert.equal(listed.json().items[0].token_id, token_id)
  assert.doesNotMatch(listed.text, new RegExp(token))
  assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 200)
  assert.equal((await ask('DELETE', `/v1alpha/tokens/"${token_id}"`)).status, 204)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 401)
  assert.equal((await ask('DELETE', `/v1alpha/tokens/${token_id}`)).status, 404)
})

test('a token is one of its maker or of a service account, never of another person', async (t) => {
  const clock = new FakeClock()
  const { ask, store } = await openTestServer(t, { clock })
  await store.createWorkspace({ workspace_id: 'second', name: 'Second', data_folder: null })
  const make = (over: Record<string, unknown>) =>
    ask('POST', '/v1alpha/tokens', { body: { name: 'nightly', scopes: ['viewer'], ...over } })
  assert.equal((await make({ user_id: 'ada' })).json().user_id, 'ada')
  const other = await make({ user_id: 'bob' })
  assert.equal(other.status, 403)
  assert.match(other.json().detail, /\(user_id ada\) or to a service account: leave user_id out/)
  assert.equal(
    (await make({ user_id: 'ada', workspace_id: 'second' })).status,
    403,
    'no user of that workspace',
  )
  const service = (await make({ workspace_id: 'second' })).json()
  assert.deepEqual([service.user_id, service.workspace_id], ['service:nightly', 'second'])
  const me = (await ask('GET', '/v1alpha/auth/me', { token: service.token })).json()
  assert.deepEqual([me.user_id, me.username], ['service:nightly', null])
  const lastUse = async () =>
    (await store.listTokens({ workspace_id: 'second', limit: 1 })).items[0]!.last_used_at
  assert.equal(await lastUse(), null)
  const used = iso(clock.now())
  clock.advance(60_000)
  await eventually(async () => (await lastUse()) === used, 'the use is noted')
})

test('changes the name and the end of a token, takes scopes away, and gives none', async (t) => {
  const clock = new FakeClock()
  const { ask, token } = await openTestServer(t, { clock })
  const end = iso(clock.now() + 60_000)
  const body = { name: 'nightly', scopes: ['analyst'], expires_at: end }
  const made = (await ask('POST', '/v1alpha/tokens', { body })).json()
  const at = `/v1alpha/tokens/${made.token_id}`
  const change = (patch: unknown, as?: string) =>
    ask('PATCH', at, { body: patch, ...(as ? { token: as } : {}) })
  const changed = await change({ name: 'weekly', expires_at: null })
  const { token: _, ...view } = made
  assert.deepEqual(changed.json(), { ...view, name: 'weekly', expires_at: null })
  const write = () =>
    ask('POST', '/v1alpha/jobs', {
      token: made.token,
      body: { payload: { type: 'template', template_id: 'hello' } },
    })
  assert.equal((await write()).status, 200)
  assert.equal((await change({ scopes: ['viewer'] })).status, 200)
  assert.equal((await write()).status, 403, 'at once')
  const wider = await change({ scopes: ['admin'] })
  assert.deepEqual([wider.status, wider.json().code], [409, 'conflict'])
  assert.match(wider.json().detail, /has the scopes viewer, which can only become fewer/)
  for (const patch of [
    { expires_at: iso(clock.now()) },
    { name: 'login' },
    { scopes: [] },
    { user_id: 'bob' },
  ])
    assert.equal((await change(patch)).status, 422, JSON.stringify(patch))
  assert.equal((await change({ name: 'x' }, await token('default', ['analyst']))).status, 403)
  assert.equal((await change({ expires_at: iso(clock.now() + 1000) })).status, 200)
  clock.advance(1001)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: made.token })).status, 401)
  const { items } = (await ask('GET', '/v1alpha/audit?action=token.change')).json()
  assert.deepEqual([items.at(-1).object_id, items.at(-1).fields], [made.token_id, ['expires_at', 'name']])
})

test('refuses tokens that make no sense', async (t) => {
  const { ask } = await openTestServer(t)
  for (const body of [
    { name: 'n', scopes: [] },
    { name: 'n', scopes: ['owner'] },
    { name: '', scopes: ['viewer'] },
    { name: 'n', scopes: ['viewer'], expires_at: '2020-01-01T00:00:00Z' },
    { name: 'n', scopes: ['viewer'], expires_at: 'tomorrow' },
  ])
    assert.equal((await ask('POST', '/v1alpha/tokens', { body })).status, 422, JSON.stringify(body))
})

test('creates users who log in, and takes their tokens away with them', async (t) => {
  const { ask } = await openTestServer(t)
  const body = { username: 'bob', password: 'a long enough password', scopes: ['analyst'] }
  const made = await ask('POST', '/v1alpha/users', { body })
  assert.equal(made.status, 201)
  assert.doesNotMatch(made.text, /password|scrypt/)
  const taken = await ask('POST', '/v1alpha/users', { body })
  assert.equal(taken.status, 409)
  assert.equal(taken.json().code, 'name_taken')
  const login = await ask('POST', '/v1alpha/auth/login', {
    token: null,
    body: new URLSearchParams({ username: 'bob', password: body.password }).toString(),
    type: 'application/x-www-form-urlencoded',
  })
  const token = login.json().access_token
  assert.equal((await ask('GET', '/v1alpha/auth/me', { token })).json().username, 'bob')
  assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 200)
  const listed = await ask('GET', '/v1alpha/users')
  assert.ok(listed.json().items.some((user: { username: string }) => user.username === 'bob'))
  assert.doesNotMatch(listed.text, /scrypt/)
  assert.equal((await ask('DELETE', `/v1alpha/users/${made.json().user_id}`)).status, 204)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 401)
  assert.equal((await ask('POST', '/v1alpha/users', { body: { ...body, password: 'short' } })).status, 422)
})

test('creates a workspace on a folder that exists, and removes it with all that is in it', async (t) => {
  const { ask, folder } = await openTestServer(t)
  for (const data_folder of ['relative/path', `${folder}/nothing`, `${folder}/assay.db`])
    assert.equal(
      (await ask('POST', '/v1alpha/workspaces', { body: { workspace_id: 'second', data_folder } })).status,
      422,
    )
  const made = await ask('POST', '/v1alpha/workspaces', {
    body: { workspace_id: 'second', name: 'Second', data_folder: folder },
  })
  assert.equal(made.status, 201)
  assert.equal(
    (await ask('POST', '/v1alpha/workspaces', { body: { workspace_id: 'second' } })).json().code,
    'name_taken',
  )
  const token = (
    await ask('POST', '/v1alpha/tokens', { body: { name: 'n', scopes: ['admin'], workspace_id: 'second' } })
  ).json().token
  assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 200)
  assert.equal((await ask('GET', '/v1alpha/tokens?workspace_id=second')).json().items.length, 1)
  assert.equal((await ask('DELETE', '/v1alpha/workspaces/second')).status, 204)
  assert.equal((await ask('GET', '/v1alpha/jobs', { token })).status, 401)
  assert.equal((await ask('DELETE', '/v1alpha/workspaces/second')).status, 404)
  assert.equal((await ask('DELETE', '/v1alpha/workspaces/default')).status, 409)
  assert.equal((await ask('GET', '/v1alpha/tokens?workspace_id=second')).status, 404)
})

test('changes what a workspace may take, and holds it to that at once', async (t) => {
  const { ask, token, folder } = await openTestServer(t)
  const body = { workspace_id: 'second', max_queued: 1 }
  assert.equal((await ask('POST', '/v1alpha/workspaces', { body })).json().max_queued, 1)
  const analyst = await token('second', ['analyst'])
  const run = async () => {
    const payload = { type: 'template', template_id: 'hello' }
    const made = await ask('POST', '/v1alpha/jobs', { token: analyst, body: { payload } })
    const assignment = { type: 'assignment', assignment_id: made.json() }
    return ask('POST', '/v1alpha/jobs/run', { token: analyst, body: { payload: assignment } })
  }
  assert.equal((await run()).status, 200)
  const full = await run()
  assert.deepEqual([full.status, full.json().code, full.headers['retry-after']], [429, 'queue_full', '10'])
  assert.match(full.json().detail, /1 jobs queued: wait until/)
  const change = (patch: unknown, as?: string) =>
    ask('PATCH', '/v1alpha/workspaces/second', { body: patch, ...(as ? { token: as } : {}) })
  const changed = await change({ max_queued: null, name: 'New', data_folder: folder })
  assert.deepEqual(
    [changed.status, changed.json().max_queued, changed.json().name, changed.json().data_folder],
    [200, null, 'New', folder],
  )
  assert.equal((await run()).status, 200)
  assert.equal((await change({ data_folder: null })).json().data_folder, null)
  for (const patch of [
    { max_queued: -1 },
    { max_running: 1.5 },
    { rate_limit: 0 },
    { max_processor_seconds: 0 },
    { max_spill_bytes: 10 },
    { max_stored_bytes: 10 },
    { data_folder: 'x' },
    { x: 1 },
  ])
    assert.equal((await change(patch)).status, 422, JSON.stringify(patch))
  assert.equal((await change({ max_queued: 5 }, await token('second', ['admin']))).status, 403)
  assert.equal((await ask('PATCH', '/v1alpha/workspaces/third', { body: {} })).status, 404)
})

test('keeps the admin of one workspace out of the others and of the service', async (t) => {
  const { ask, token } = await openTestServer(t)
  await ask('POST', '/v1alpha/workspaces', { body: { workspace_id: 'second' } })
  const admin = await token('second', ['admin'])
  const own = (await ask('GET', '/v1alpha/workspaces', { token: admin })).json()
  assert.deepEqual(
    own.items.map((one: { workspace_id: string }) => one.workspace_id),
    ['second'],
  )
  assert.equal((await ask('GET', '/v1alpha/tokens', { token: admin })).json().items.length, 1)
  const refused: [string, string, unknown?][] = [
    ['GET', '/v1alpha/nodes'],
    ['GET', '/v1alpha/settings'],
    ['GET', '/v1alpha/tokens?workspace_id=default'],
    ['GET', '/v1alpha/users?workspace_id=default'],
    ['POST', '/v1alpha/tokens', { name: 'n', scopes: ['admin'], workspace_id: 'default' }],
    ['POST', '/v1alpha/users', { username: 'eve', scopes: ['admin'], workspace_id: 'default' }],
    ['POST', '/v1alpha/workspaces', { workspace_id: 'third' }],
    ['DELETE', '/v1alpha/workspaces/second'],
  ]
  for (const [method, url, body] of refused)
    assert.equal(
      (await ask(method, url, { token: admin, ...(body ? { body } : {}) })).status,
      403,
      `${method} ${url}`,
    )
})

test('shows nodes, and settings without their secrets', async (t) => {
  const resolved = resolveConfig({ ASSAY_TOKEN: 'a-very-secret-admin-token' })
  const { ask, store } = await openTestServer(t, { parts: { settings: describeConfig(resolved) } })
  await store.registerNode({ node_id: 'n1', name: 'host:1', roles: ['api'], version: '1', lease_ms: 30_000 })
  assert.equal((await ask('GET', '/v1alpha/nodes')).json().items[0].node_id, 'n1')
  const settings = await ask('GET', '/v1alpha/settings')
  assert.ok(settings.json().items.some((setting: { env: string }) => setting.env === 'ASSAY_TOKEN'))
  assert.doesNotMatch(settings.text, /a-very-secret/)
})

test('tells whose token it is and what it may do', async (t) => {
  const { ask } = await openTestServer(t)
  const made = await ask('POST', '/v1alpha/tokens', { body: { name: 'reader', scopes: ['viewer'] } })
  const { token, token_id } = made.json()
  const { version, ...me } = (await ask('GET', '/v1alpha/auth/me', { token })).json()
  assert.deepEqual(me, {
    token_id,
    user_id: 'service:reader',
    username: null,
    display_name: null,
    by_password: false,
    by_provider: false,
    workspace_id: 'default',
    scopes: ['viewer'],
    templates: null,
    collections: null,
  })
  assert.equal(typeof version, 'string')
  assert.equal((await ask('GET', '/v1alpha/auth/me', { token: null })).status, 401)
})

test('counts what there is to do, for admins only', async (t) => {
  const { ask } = await openTestServer(t)
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const { jobs, deliveries } = (await ask('GET', '/v1alpha/queue')).json()
  assert.deepEqual(
    jobs.map(({ oldest_at, ...rest }: { oldest_at: string }) => ({ ...rest, dated: oldest_at !== null })),
    [{ workspace_id: 'default', job_status: 'queued', count: 1, dated: true }],
  )
  assert.deepEqual(deliveries, { due: 0, waiting: 0, oldest_at: null })
  const viewer = (await ask('POST', '/v1alpha/tokens', { body: { name: 'v', scopes: ['viewer'] } })).json()
  assert.equal((await ask('GET', '/v1alpha/queue', { token: viewer.token })).status, 403)
})

test('revokes the token of a request that logs out, and no other', async (t) => {
  const { ask } = await openTestServer(t)
  const made = (await ask('POST', '/v1alpha/tokens', { body: { name: 'v', scopes: ['viewer'] } })).json()
  assert.equal((await ask('POST', '/v1alpha/auth/logout', { token: made.token })).status, 204)
  assert.equal((await ask('GET', '/v1alpha/auth/me', { token: made.token })).status, 401)
  assert.equal((await ask('GET', '/v1alpha/auth/me')).status, 200)
})
