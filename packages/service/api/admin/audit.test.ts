import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock, systemClock } from '@assay/model/clock'
import { silentLog } from '../../runtime/log.ts'
import { hashPassword } from '../../runtime/passwords.ts'
import { ROUTES } from '../routes.ts'
import { openTestServer, type TestServer } from '../test-server.ts'
import { createAuditTrail } from './audit-trail.ts'

interface Shown {
  action: string
  object_id: string | null
  fields: string[]
  user_id: string | null
  token_id: string | null
  address: string | null
  request_id: string | null
}

async function trail({ ask }: TestServer, filter = ''): Promise<Shown[]> {
  const answer = await ask('GET', `/v1alpha/audit${filter}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json().items as Shown[]
}

test('every operation that changes something says what it is in the audit trail', () => {
  const silent = ROUTES.filter(
    ({ method, operation }) => method !== 'GET' && operation.scope !== null && operation.audit === undefined,
  )
  assert.deepEqual(
    silent.map(({ method, path }) => `${method} ${path}`),
    [],
    'give the operation `audit`: an action of packages/model/audit.ts, or null where there is nothing to record',
  )
})

/**
 * Operations that read without leaving a record, by what they show. Every other reading operation names its action.
 */
const UNRECORDED: Record<string, readonly string[]> = {
  'how work stands, as pollers ask for it: no value of an insight': [
    'readBatch',
    'listJobs',
    'jobStatus',
    'jobEvents',
    'listEvents',
    'listDeliveries',
    'getRecovery',
    'getWebhookStats',
    'listSubscriptionDeliveries',
    'getSubscriptionRecovery',
    'getSubscriptionStats',
    'readQueue',
    'listNodes',
  ],
  'what the workspace has set up: no row and no secret': [
    'listTemplates',
    'getTemplate',
    'getJobTemplate',
    'listMetrics',
    'getMetric',
    'getRepository',
    'listSchedules',
    'getSchedule',
    'previewSchedule',
    'listWebhooks',
    'getWebhook',
    'listConnections',
    'getConnection',
    'listCollections',
    'getCollection',
    'listLinks',
    'listCollectionLinks',
    'listFiles',
    'readOutgoing',
    'listSettings',
    'listKeptDrafts',
    'getKeptDraft',
    'listEventTypes',
  ],
  'accounts, and the trail itself': [
    'whoAmI',
    'listSignIns',
    'readGrantRequest',
    'listGrants',
    'listTokens',
    'getToken',
    'listUsers',
    'getUser',
    'listWorkspaces',
    'getWorkspace',
    'listAudit',
    'listReadings',
  ],
  'noted by hand in the operation, which tests of these show': ['listChoices', 'getFile'],
}

test('every operation that reads leaves a record, or stands here with what it shows', () => {
  const readings = ROUTES.filter(({ method, operation }) => method === 'GET' && operation.scope !== null)
  const unrecorded = readings
    .filter(({ operation }) => !operation.audit)
    .map(({ operation }) => operation.name)
  assert.deepEqual(unrecorded.toSorted(), Object.values(UNRECORDED).flat().toSorted())
})

test('a job is followed through the trail, by whom and from where, without its values', async (t) => {
  const opened = await openTestServer(t)
  const { ask, tokens, complete } = opened
  const payload = { type: 'template', template_id: 'hello', template_vars: { who: 'a secret name' } }
  const made = await ask('POST', '/v1alpha/jobs/', { body: { payload }, token: tokens.analyst })
  const assignment_id = made.json() as string
  const body = { payload: { type: 'assignment', assignment_id } }
  await ask('POST', '/v1alpha/jobs/run', { body })
  const insight_id = await complete(assignment_id)
  await ask('GET', `/v1alpha/jobs/status?assignment_id=${assignment_id}`)
  await ask('GET', `/v1alpha/jobs/result?insight_id=${insight_id}`, { token: tokens.viewer })
  await ask('DELETE', `/v1alpha/jobs/${assignment_id}`)
  const records = await trail(opened)
  assert.deepEqual(records.map(({ action, object_id }) => `${action} ${object_id}`).toSorted(), [
    `job.create ${assignment_id}`,
    `job.delete ${assignment_id}`,
    `job.run ${assignment_id}`,
    `result.read ${insight_id}`,
  ])
  const create = records.find(({ action }) => action === 'job.create')!
  assert.equal(create.request_id, made.headers['x-request-id'])
  assert.deepEqual([create.user_id, create.address], ['ada', '127.0.0.1'])
  assert.notEqual(create.token_id, records.find(({ action }) => action === 'job.run')!.token_id)
  assert.doesNotMatch(JSON.stringify(records), /secret name/)
  assert.deepEqual(
    (await trail(opened, `?object_id=${insight_id}`)).map(({ action }) => action),
    ['result.read'],
  )
})

test('readings of one thing within a second are one record, those of another thing or by another token their own', async (t) => {
  const opened = await openTestServer(t)
  const { ask, tokens, complete, store } = opened
  const payload = { type: 'template', template_id: 'hello', template_vars: { who: 'x' } }
  const insights: string[] = []
  for (let count = 0; count < 2; count += 1) {
    const id = (await ask('POST', '/v1alpha/jobs/', { body: { payload } })).json() as string
    await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id: id } } })
    insights.push(await complete(id))
  }
  const written: number[] = []
  const writeAudit = store.writeAudit.bind(store)
  store.writeAudit = (records) => {
    written.push(records.length)
    return writeAudit(records)
  }
  const read = (insight: string, token: string) =>
    ask('GET', `/v1alpha/jobs/result?insight_id=${insight}`, { token })
  await Promise.all(Array.from({ length: 50 }, () => read(insights[0]!, tokens.viewer)))
  await read(insights[1]!, tokens.viewer)
  await read(insights[1]!, tokens.analyst)
  const records = await trail(opened, '?action=result.read')
  assert.equal(
    records.length,
    written.reduce((sum, count) => sum + count, 0),
  )
  // Three records result if all reads came within one second. A slow machine may write more.
  assert.ok(
    records.length >= 3 && records.length <= 3 * written.length,
    `${records.length} in ${written.length}`,
  )
})

test('a look at insights or at the readers of subscriptions is recorded with its filters, once in ten minutes', async (t) => {
  const clock = new FakeClock(Date.now())
  const opened = await openTestServer(t, { clock })
  const { ask, tokens, complete } = opened
  const payload = { type: 'template', template_id: 'hello' }
  const assignment_id = (await ask('POST', '/v1alpha/jobs/', { body: { payload } })).json() as string
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const insight_id = await complete(assignment_id)
  const subscription = { kind: 'slack', url: 'https://chat.example.com/a-secret-path' }
  const made = await ask('POST', '/v1alpha/subscriptions', { body: subscription })
  const { subscription_id } = made.json()
  const { token_id } = (await ask('GET', '/v1alpha/auth/me', { token: tokens.viewer })).json()
  const look = async (path: string) => {
    const answer = await ask('GET', `/v1alpha${path}`, { token: tokens.viewer })
    assert.equal(answer.status, 200, answer.text)
  }
  const looks = [
    '/insights',
    '/insights?q=hidden&tag=greeting&limit=5',
    `/insights/${insight_id}/earlier`,
    '/subscriptions',
    '/subscriptions?kind=slack',
    `/subscriptions/${subscription_id}`,
  ]
  const ofReaders = ['/readers', '/readers/ada']
  await ask('PUT', '/v1alpha/readers/ada', { body: { name: 'Ada', attributes: { region: 'hidden' } } })
  for (const path of [...ofReaders, ...ofReaders])
    assert.equal((await ask('GET', `/v1alpha${path}`)).status, 200)
  const read = await trail(opened, '?action=reader.read')
  assert.deepEqual(new Set(read.map(({ object_id }) => object_id)), new Set(['ada', null]))
  assert.equal(read.length, 2)
  const seen = async () =>
    (await trail(opened))
      .filter((record) => record.token_id === token_id)
      .map(({ action, object_id, fields }) => `${action} ${object_id} ${fields.join()}`)
  for (const path of [...looks, ...looks]) await look(path)
  const expected = [
    'insight.list null ',
    'insight.list null q,tag',
    `insight.list ${insight_id} `,
    'subscription.read null ',
    'subscription.read null kind',
    `subscription.read ${subscription_id} `,
  ]
  assert.deepEqual((await seen()).toSorted(), expected.toSorted())
  assert.doesNotMatch(JSON.stringify(await trail(opened)), /hidden|secret-path/)
  clock.advance(600_000)
  await look('/subscriptions')
  assert.equal((await seen()).length, expected.length + 1)
})

test('a change names its fields and never what they hold', async (t) => {
  const opened = await openTestServer(t)
  const { ask } = opened
  const input = { url: 'https://example.com/a', user_id: 'u', presence_name: 'p' }
  const { webhook_id } = (await ask('POST', '/v1alpha/webhooks/', { body: input })).json()
  const patch = { url: 'https://example.com/b?key=hidden', headers: [{ name: 'x-key', value: 'hidden' }] }
  await ask('PATCH', `/v1alpha/webhooks/${webhook_id}`, { body: patch })
  const [record] = await trail(opened, '?action=webhook.change')
  assert.deepEqual([record?.object_id, record?.fields], [webhook_id, ['headers', 'url']])
  assert.doesNotMatch(JSON.stringify(await trail(opened)), /hidden/)
})

test('whoever reads data without a job is recorded, with the sources that were read', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const { ask, tokens } = opened
  const source =
    '---\nsources:\n  b: { file: sample/us-births.csv }\nvariables:\n  c: { type: column, of: b }\n---\n# A\n'
  const body = { source: source.replace(/variables:[^-]*/, ''), template_vars: {} }
  const token = tokens.analyst
  assert.equal((await ask('POST', '/v1alpha/jobs/templates/preview', { body, token })).status, 200)
  const drafted = { body: { file: 'sample/us-births.csv' }, token }
  assert.equal((await ask('POST', '/v1alpha/drafts', drafted)).status, 200)
  const markdown = { type: 'text/markdown', body: source }
  assert.equal((await ask('POST', '/v1alpha/jobs/templates/check', { ...markdown, token })).status, 200)
  assert.equal((await ask('PUT', '/v1alpha/jobs/templates/t', markdown)).status, 201)
  const choices = await ask('GET', '/v1alpha/jobs/templates/t/choices?variable=c', { token: tokens.viewer })
  assert.equal(choices.status, 200, choices.text)
  const records = (await trail(opened)).filter(({ action }) => /preview|draft|check|choices/.test(action))
  assert.deepEqual(
    records.map(({ action, user_id, fields }) => `${action} ${user_id} ${fields.join()}`).toSorted(),
    [
      'template.check ada file:sample/us-births.csv',
      'template.choices ada file:sample/us-births.csv',
      'template.draft ada file:sample/us-births.csv',
      'template.preview ada file:sample/us-births.csv',
    ],
  )
  assert.ok(records.every(({ object_id }) => object_id !== null))
})

test('whoever tries a connection is recorded with where it leads, however that ends, and never with a password', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const { ask } = opened
  const body = {
    name: 'crm',
    kind: 'postgresql',
    options: { host: '127.0.0.1', port: 1, database: 'd', user: 'u', tls: 'off' },
    secrets: { password: 'a hidden password' },
  }
  const tried = await ask('POST', '/v1alpha/connections/test', { body })
  assert.deepEqual([tried.status, tried.json().ok], [200, false])
  assert.equal((await ask('POST', '/v1alpha/connections', { body })).status, 201)
  assert.equal((await ask('POST', '/v1alpha/connections/crm/test')).status, 200)
  const change = { options: { ...body.options, port: 2 }, secrets: { password: 'b' } }
  assert.equal((await ask('POST', '/v1alpha/connections/crm/test', { body: change })).status, 200)
  const records = await trail(opened, '?action=connection.test')
  assert.deepEqual(records.map(({ object_id, fields }) => `${object_id} ${fields.join()}`).toSorted(), [
    'crm host:127.0.0.1:1',
    'crm host:127.0.0.1:1',
    'crm host:127.0.0.1:2',
  ])
  assert.doesNotMatch(JSON.stringify(await trail(opened)), /hidden/)
})

test('what is refused or not found leaves no record', async (t) => {
  const opened = await openTestServer(t)
  const { ask, tokens } = opened
  const stranger = '0198aaaa-0000-7000-8000-000000000000'
  await ask('POST', '/v1alpha/jobs/', { body: { payload: { type: 'template', template_id: 'none' } } })
  await ask('DELETE', `/v1alpha/webhooks/${stranger}`)
  await ask('GET', `/v1alpha/jobs/result?insight_id=${stranger}`)
  await ask('POST', '/v1alpha/tokens', { token: tokens.analyst, body: { name: 'x', scopes: ['viewer'] } })
  assert.deepEqual(await trail(opened), [])
})

test('sessions are recorded from their beginning to their end, and refused ones without the name', async (t) => {
  const opened = await openTestServer(t)
  const { ask, store } = opened
  const user = { user_id: 'grace', workspace_id: 'default', username: 'grace', scopes: ['viewer' as const] }
  await store.createUser({ ...user, password_hash: await hashPassword('a long password') })
  const form = { type: 'application/x-www-form-urlencoded', token: null }
  const login = (password: string) =>
    ask('POST', '/v1alpha/auth/login', { ...form, body: `username=grace&password=${password}` })
  assert.equal((await login('wrong')).status, 401)
  const { access_token } = (await login('a+long+password')).json()
  assert.equal((await ask('POST', '/v1alpha/auth/logout', { token: access_token })).status, 204)
  const records = await trail(opened)
  const sessions = records.filter(({ action }) => action.startsWith('session.'))
  assert.deepEqual(sessions.map(({ action, user_id }) => `${action} ${user_id}`).toSorted(), [
    'session.begin grace',
    'session.end grace',
    'session.refuse null',
  ])
  const of = (action: string) => sessions.find((one) => one.action === action)?.object_id
  assert.equal(of('session.begin'), of('session.end'))
  assert.doesNotMatch(JSON.stringify(sessions.filter(({ action }) => action === 'session.refuse')), /grace/)
})

test('who reads the trail also waits for the records that are being written', async () => {
  const written: string[] = []
  const gate = Promise.withResolvers<void>()
  const store = {
    async writeAudit(records: readonly { action: string }[]) {
      await gate.promise
      written.push(...records.map(({ action }) => action))
    },
  }
  const audit = createAuditTrail(store, { clock: systemClock, log: silentLog })
  const nobody = { workspace_id: 'default', user_id: null, token_id: null, object_id: null }
  audit.note({ ...nobody, fields: [], address: '', request_id: 'r', action: 'session.refuse' })
  void audit.flush()
  const reader = audit.flush().then(() => written.length)
  gate.resolve()
  assert.equal(await reader, 1)
})

test('the trail is for admins, and an operator reads that of another workspace', async (t) => {
  const opened = await openTestServer(t)
  const { ask, tokens, token, store } = opened
  await store.createWorkspace({ workspace_id: 'other', name: 'Other', data_folder: null })
  for (const scope of ['viewer', 'analyst'] as const)
    assert.equal((await ask('GET', '/v1alpha/audit', { token: tokens[scope] })).status, 403)
  const body = { name: 'made by the operator', scopes: ['viewer'], workspace_id: 'other' }
  assert.equal((await ask('POST', '/v1alpha/tokens', { body })).status, 201)
  assert.deepEqual((await trail(opened)).length, 0)
  assert.deepEqual(
    (await trail(opened, '?workspace_id=other')).map(({ action }) => action),
    ['token.create'],
  )
  const stranger = await token('other', ['admin'])
  assert.equal((await ask('GET', '/v1alpha/audit?workspace_id=default', { token: stranger })).status, 403)
})
