/** Collections, pins, their followers, and who read an insight, over HTTP. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuidv7 } from '@assay/model/ids'
import type { Scope } from '@assay/model/token'
import { hashToken, newToken } from '../../runtime/secrets.ts'
import { openTestServer, type TestServer } from '../test-server.ts'

const SLACK = 'https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXX'
const template = { type: 'template', template_id: 'hello' }

/** Makes a token of another user. */
async function tokenOfEve({ store }: TestServer, scope: Scope): Promise<string> {
  const secret = newToken()
  await store.createToken({
    token_id: uuidv7(),
    workspace_id: 'default',
    user_id: 'eve',
    name: 'eve',
    scopes: [scope],
    expires_at: null,
    token_hash: hashToken(secret),
  })
  return secret
}

async function insightOf({ ask, complete }: TestServer, title: string): Promise<string> {
  const assignment_id = (await ask('POST', '/v1alpha/jobs', { body: { payload: template } })).json()
  const run = { payload: { type: 'assignment', assignment_id } }
  assert.equal((await ask('POST', '/v1alpha/jobs/run', { body: run })).status, 200)
  return complete(assignment_id, { title, markdown: `# ${title}\n` })
}

test('a viewer pins what she alone sees pinned, and an analyst keeps a collection for all', async (t) => {
  const server = await openTestServer(t)
  const { ask, tokens } = server
  const [one, other] = [await insightOf(server, 'One'), await insightOf(server, 'Other')]
  const titles = async (query: string, token: string): Promise<string[]> => {
    const { items } = (await ask('GET', `/v1alpha/insights?${query}`, { token })).json()
    return items.map(({ title }: { title: string }) => title)
  }
  const eve = await tokenOfEve(server, 'viewer')
  const pin = `/v1alpha/insights/${one}/pin`
  for (let twice = 0; twice < 2; twice += 1)
    assert.equal((await ask('PUT', pin, { token: tokens.viewer, body: {} })).status, 204)
  assert.deepEqual(await titles('pinned_by=me', tokens.viewer), ['One'])
  assert.deepEqual(await titles('pinned_by=me', eve), [])
  assert.equal((await ask('DELETE', pin, { token: tokens.viewer })).status, 204)
  assert.equal((await ask('DELETE', pin, { token: tokens.viewer })).status, 404)

  const body = { name: ' Board ', description: 'Mondays' }
  const made = await ask('POST', '/v1alpha/collections', { token: tokens.analyst, body })
  assert.equal(made.status, 201, made.text)
  const { collection_id, name } = made.json()
  assert.equal(name, 'Board')
  const path = `/v1alpha/collections/${collection_id}`
  const held = `${path}/insights/${other}`
  assert.equal((await ask('PUT', held, { token: tokens.analyst, body: { newest: true } })).status, 204)
  assert.deepEqual(await titles(`collection_id=${collection_id}`, eve), ['Other'])
  const holding = await ask('GET', `/v1alpha/collections?insight_id=${other}`, { token: tokens.viewer })
  assert.deepEqual(holding.json().items, [made.json()])
  const both = await ask('GET', `/v1alpha/insights?pinned_by=me&collection_id=${collection_id}`)
  assert.deepEqual([both.status, both.json().errors[0].path], [422, 'pinned_by'])
  const changed = await ask('PATCH', path, { body: { description: null } })
  assert.deepEqual([changed.json().name, changed.json().description], ['Board', null])
  assert.equal((await ask('POST', '/v1alpha/collections', { body: { name: ' ' } })).status, 422)
  assert.equal((await ask('DELETE', held)).status, 204)
  assert.equal((await ask('DELETE', path)).status, 204)
  const gone = await ask('GET', `/v1alpha/insights?collection_id=${collection_id}`)
  assert.equal(gone.status, 404)

  const { items } = (await ask('GET', '/v1alpha/audit')).json() as { items: { action: string }[] }
  const told = items
    .map(({ action }) => action)
    .filter((action) => /^(?:collection|insight\.(?:un)?pin)/.test(action))
  assert.deepEqual(told, [
    'collection.delete',
    'collection.remove',
    'collection.change',
    'collection.add',
    'collection.create',
    'insight.unpin',
    'insight.pin',
    'insight.pin',
  ])
})

test('who follows a collection gets the runs of its series that are sent to followers or that a schedule makes', async (t) => {
  const server = await openTestServer(t, { pool: 'real' })
  const { ask } = server
  const insight_id = await insightOf(server, 'One')
  const { collection_id } = (await ask('POST', '/v1alpha/collections', { body: { name: 'Board' } })).json()
  const held = `/v1alpha/collections/${collection_id}/insights/${insight_id}`
  assert.equal((await ask('PUT', held, { body: { newest: true } })).status, 204)
  const follows = [`collection:${collection_id}`]
  const made = await ask('POST', '/v1alpha/subscriptions', { body: { kind: 'slack', url: SLACK, follows } })
  assert.equal(made.status, 201, made.text)
  const { subscription_id } = made.json()
  const told = async (more: object): Promise<string[]> => {
    const created = await ask('POST', '/v1alpha/jobs', { body: { payload: { ...template, ...more } } })
    assert.equal(created.status, 200, created.text)
    return (await ask('GET', `/v1alpha/jobs/status?assignment_id=${created.json()}`)).json().notify
  }
  assert.deepEqual(await told({}), [])
  assert.deepEqual(await told({ notify: ['followers'] }), [subscription_id])
  assert.deepEqual(await told({ notify: ['followers'], template_vars: { who: 'Bob' } }), [])
  const items = [{}, { template_vars: { who: 'Bob' } }]
  const bulk = { template_id: 'hello', notify: ['followers'], items }
  const batch = (await ask('POST', '/v1alpha/jobs/bulk', { body: bulk })).json()
  const jobs = (await ask('GET', `/v1alpha/jobs?batch_id=${batch.batch_id}`)).json().items
  assert.deepEqual(new Set(jobs.map(({ notify }: { notify: string[] }) => notify.length)), new Set([0, 1]))
  const cron = { name: 'Hello', template_id: 'hello', cron: '@daily' }
  const { schedule_id } = (await ask('POST', '/v1alpha/schedules', { body: cron })).json()
  const now = await ask('POST', `/v1alpha/schedules/${schedule_id}/run-now`)
  assert.deepEqual(now.json().notify, [subscription_id])
  const wrong = { kind: 'slack', url: SLACK, follows: [`collection:${crypto.randomUUID()}`] }
  const refused = await ask('POST', '/v1alpha/subscriptions', { body: wrong })
  assert.match(refused.json().errors[0].message, /^names no collection of this workspace/)
})

test('admins and who made an insight see who read it, and nobody else', async (t) => {
  const server = await openTestServer(t)
  const { ask, tokens } = server
  const insight_id = await insightOf(server, 'One')
  const eve = await tokenOfEve(server, 'analyst')
  const read = await ask('GET', `/v1alpha/jobs/result?insight_id=${insight_id}`, { token: eve })
  assert.equal(read.status, 200)
  const path = `/v1alpha/insights/${insight_id}/readings`
  for (const token of [tokens.admin, tokens.viewer]) {
    const [reading, ...others] = (await ask('GET', path, { token })).json().items
    assert.deepEqual([reading.user_id, reading.username, reading.count, others], ['eve', null, 1, []])
  }
  const refused = await ask('GET', path, { token: eve })
  assert.deepEqual([refused.status, refused.json().code], [403, 'forbidden'])
})
