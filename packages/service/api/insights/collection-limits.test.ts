/** A token that is limited to collections reads what they show, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROUTES } from '../routes.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

async function insightOf({ ask, complete }: TestServer, title: string): Promise<string> {
  const payload = { type: 'template', template_id: 'hello' }
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body: { payload } })).json()
  const run = { payload: { type: 'assignment', assignment_id } }
  assert.equal((await ask('POST', '/v1alpha/jobs/run', { body: run })).status, 200)
  return complete(assignment_id, { title, markdown: `# ${title}\n` })
}

test('a token with collections reads the insights that they show, and nothing else', async (t) => {
  const server = await openTestServer(t)
  const { ask } = server
  const [shown, hidden] = [await insightOf(server, 'Shown'), await insightOf(server, 'Hidden')]
  const collection = async (name: string): Promise<string> =>
    (await ask('POST', '/v1alpha/collections', { body: { name } })).json().collection_id
  const [wall, other] = [await collection('Wall'), await collection('Other')]
  await ask('PUT', `/v1alpha/collections/${wall}/insights/${shown}`, { body: {} })
  await ask('PUT', `/v1alpha/collections/${other}/insights/${hidden}`, { body: {} })
  const create = (given: object) => ask('POST', '/v1alpha/tokens', { body: { name: 'wall', ...given } })
  const made = await create({ scopes: ['viewer'], collections: [wall] })
  assert.deepEqual(made.json().collections, [wall], made.text)
  const { token } = made.json()
  const get = (path: string) => ask('GET', `/v1alpha${path}`, { token })

  const titles = async (path: string): Promise<string[]> =>
    (await get(path)).json().items.map(({ title, name }: { title?: string; name?: string }) => title ?? name)
  assert.deepEqual(await titles('/insights'), ['Shown'], 'its only collection is meant')
  assert.deepEqual(await titles(`/insights?collection_id=${wall}`), ['Shown'])
  assert.deepEqual(await titles('/collections'), ['Wall'])
  assert.equal((await get(`/jobs/result?insight_id=${shown}`)).status, 200)
  assert.deepEqual((await get('/auth/me')).json().collections, [wall])
  for (const path of [
    `/insights?collection_id=${other}`,
    `/collections/${other}`,
    `/jobs/result?insight_id=${hidden}`,
  ])
    assert.deepEqual([(await get(path)).status, (await get(path)).json().code], [404, 'not_found'], path)

  const usable: string[] = []
  for (const { method, path, operation } of ROUTES.filter((route) => route.operation.scope !== null)) {
    const at = path.replaceAll(/\{[^}]+\}/g, '01a20774-3b32-750d-97e2-314a35e7c881')
    if (operation.name === 'logout') usable.push('logout')
    else if ((await ask(method, at, { token })).status !== 403) usable.push(operation.name)
  }
  assert.deepEqual(usable.toSorted(), [
    'getCollection',
    'listCollections',
    'listInsights',
    'logout',
    'readResult',
    'whoAmI',
  ])

  await ask('DELETE', `/v1alpha/collections/${wall}/insights/${shown}`)
  assert.equal((await get(`/jobs/result?insight_id=${shown}`)).status, 404, 'what is taken out is not read')
  const signIn = await ask('POST', '/v1alpha/auth/sign-ins', { body: { token }, token: null })
  assert.equal(signIn.status, 403, signIn.text)

  const both = await create({ scopes: ['viewer'], collections: [wall, other] })
  const list = await ask('GET', '/v1alpha/insights', { token: both.json().token })
  assert.equal(list.status, 422, 'of two collections one must be named')
  assert.match(list.text, new RegExp(`must be one of ${wall}, ${other}`))
  const refused = async (given: object): Promise<string> => {
    const answer = await create(given)
    assert.equal(answer.status, 422, answer.text)
    return answer.json().errors[0].path
  }
  const nobody = '0198aaaa-0000-7000-8000-000000000000'
  assert.equal(await refused({ scopes: ['viewer'], collections: [nobody] }), 'collections.0')
  assert.equal(await refused({ scopes: ['analyst'], collections: [wall] }), 'scopes')
  const two = { scopes: ['viewer'], collections: [wall], templates: ['hello'] }
  assert.equal(await refused(two), 'collections')
})
