import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../routes.ts'
import { type Answer, openTestServer } from '../test-server.ts'

/** Operations that a token with a limit may use. Each is tried below, or shows nothing of a template. */
const ALLOWED = [
  'cancelJob',
  'checkJobs',
  'createJob',
  'createJobs',
  'earlierInsights',
  'getJobTemplate',
  'getTemplate',
  'jobEvents',
  'jobStatus',
  'listChoices',
  'listInsights',
  'listJobs',
  'listTemplates',
  'logout',
  'mcp',
  'readBatch',
  'readResult',
  'runJob',
  'whoAmI',
]

test('a token that is limited to templates finds nothing of another, and does nothing else', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const { ask, complete } = opened
  await ask('PUT', '/v1alpha/jobs/templates/other', { type: 'text/markdown', body: '# Other\n' })
  const body = { name: 'dashboard', scopes: ['analyst'], templates: ['hello'] }
  const made = await ask('POST', '/v1alpha/tokens', { body })
  assert.deepEqual(made.json().templates, ['hello'], made.text)
  const { token } = made.json()
  const limited = (method: string, path: string, given?: object): Promise<Answer> =>
    ask(method, `/v1alpha${path}`, { token, ...(given ? { body: given } : {}) })

  const usable: string[] = []
  for (const { method, path, operation } of ROUTES.filter((route) => route.operation.scope !== null)) {
    const at = path.replaceAll(/\{[^}]+\}/g, '01a20774-3b32-750d-97e2-314a35e7c881')
    if (operation.name === 'logout') usable.push('logout')
    else if ((await ask(method, at, { token })).status !== 403) usable.push(operation.name)
  }
  assert.deepEqual(usable.toSorted(), ALLOWED)

  const ids: Record<string, { assignment_id: string; insight_id: string; batch_id: string }> = {}
  for (const template_id of ['hello', 'other']) {
    const assignment_id = (
      await ask('POST', '/v1alpha/jobs', { body: { payload: { type: 'template', template_id } } })
    ).json() as string
    await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
    const insight_id = await complete(assignment_id, { template_id, title: template_id })
    const batch = { body: { template_id, items: [{}] } }
    const { batch_id } = (await ask('POST', '/v1alpha/jobs/bulk', batch)).json()
    ids[template_id] = { assignment_id, insight_id, batch_id }
  }
  const asked = (template_id: string) => {
    const { assignment_id, insight_id, batch_id } = ids[template_id]!
    const assignment = { payload: { type: 'assignment', assignment_id } }
    return [
      ['GET', `/jobs/templates/${template_id}`],
      ['POST', '/jobs', { payload: { type: 'template', template_id } }],
      ['POST', '/jobs/bulk', { template_id, items: [{}] }],
      ['POST', '/jobs/bulk/check', { template_id, items: [{}] }],
      ['GET', `/jobs/batches/${batch_id}`],
      ['GET', `/jobs/status?assignment_id=${assignment_id}`],
      ['GET', `/jobs/events?assignment_id=${assignment_id}`],
      ['GET', `/jobs/${assignment_id}/template`],
      ['GET', `/jobs/result?insight_id=${insight_id}`],
      ['GET', `/insights/${insight_id}/earlier`],
      ['POST', '/jobs/run', assignment],
      ['POST', '/jobs/cancel', assignment],
    ] as const
  }
  for (const [method, path, given] of asked('other')) {
    const answer = await limited(method, path, given)
    assert.deepEqual([answer.status, answer.json().code], [404, 'not_found'], path)
  }
  for (const [method, path, given] of asked('hello')) {
    const answer = await limited(method, path, given)
    // A job that has ended is found, and answers 409 because it cannot run again.
    assert.ok(answer.status < 300 || answer.status === 409, `${path}: ${answer.text}`)
  }
  const choices = await limited('GET', '/jobs/templates/other/choices?variable=x')
  assert.equal(choices.status, 404)
  const templatesOf = (answer: Answer): string[] => {
    const found = answer.json()
    const items = (found.items ?? found) as { template_id: string }[]
    return [...new Set(items.map(({ template_id }) => template_id))]
  }
  for (const path of ['/jobs', '/insights', '/jobs/templates'])
    assert.deepEqual(templatesOf(await limited('GET', path)), ['hello'], path)
  assert.deepEqual(templatesOf(await limited('GET', '/insights?template_id=other')), [])
  assert.deepEqual((await limited('GET', '/auth/me')).json().templates, ['hello'])
})

test('a sign-in with a limited token is as limited, and a limit is refused that names no template', async (t) => {
  const { ask } = await openTestServer(t)
  const create = (body: object) => ask('POST', '/v1alpha/tokens', { body: { name: 'x', ...body } })
  const { token } = (await create({ scopes: ['viewer'], templates: ['hello', 'hello'] })).json()
  const begun = await ask('POST', '/v1alpha/auth/sign-ins', { token: null, body: { token } })
  const cookie = String(begun.headers['set-cookie']).split(';')[0]!
  const status = async (path: string) => (await ask('GET', path, { token: null, headers: { cookie } })).status
  assert.deepEqual(await Promise.all(['/v1alpha/jobs', '/v1alpha/files'].map(status)), [200, 403])
  const admin = await create({ scopes: ['admin'], templates: ['hello'] })
  assert.deepEqual([admin.status, admin.json().errors[0].path], [422, 'scopes'])
  const unknown = await create({ scopes: ['viewer'], templates: ['hello', 'nothing'] })
  assert.deepEqual([unknown.status, unknown.json().errors[0].path], [422, 'templates.1'])
  assert.equal((await create({ scopes: ['viewer'], templates: [] })).status, 422)
})
