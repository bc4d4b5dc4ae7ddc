import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestServer } from '../test-server.ts'

test('all jobs of a user are erased step by step, by an admin alone, and the trail says so', async (t) => {
  const { ask, tokens, complete } = await openTestServer(t)
  const body = { template_id: 'hello', items: Array.from({ length: 600 }, () => ({})), run: false }
  assert.equal((await ask('POST', '/v1alpha/jobs/bulk', { body })).json().created, 600)
  const payload = { type: 'template', template_id: 'hello' }
  const assignment_id = (await ask('POST', '/v1alpha/jobs/', { body: { payload } })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  const insight_id = await complete(assignment_id)
  const at = '/v1alpha/users/ada/jobs'
  assert.equal((await ask('DELETE', at, { token: tokens.analyst })).status, 403)
  assert.equal((await ask('DELETE', `${at}?cursor=nonsense`)).status, 422)
  const total = { jobs: 0, events: 0, steps: 0 }
  for (let cursor: string | null = ''; cursor !== null; total.steps += 1) {
    const answer = await ask('DELETE', cursor === '' ? at : `${at}?cursor=${cursor}`)
    assert.equal(answer.status, 200, answer.text)
    total.jobs += answer.json().jobs
    total.events += answer.json().events
    cursor = answer.json().next_cursor
  }
  assert.ok(total.steps >= 3)
  assert.equal(total.jobs, 601)
  assert.ok(total.events >= 600 + 3, 'each draft was canceled first')
  assert.deepEqual((await ask('GET', '/v1alpha/jobs/')).json().items, [])
  assert.deepEqual((await ask('GET', '/v1alpha/events')).json().items, [])
  assert.equal((await ask('GET', `/v1alpha/jobs/result?insight_id=${insight_id}`)).status, 404)
  const { items } = (await ask('GET', '/v1alpha/audit?action=user.erase')).json()
  assert.equal(items.length, total.steps)
  assert.equal(items[0].object_id, 'ada')
})
