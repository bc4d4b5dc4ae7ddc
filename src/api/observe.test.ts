import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../runtime/log.ts'
import { openHarness } from './harness.ts'

test('logs one wide line for each finished request, with whose token it was and never the token', async (t) => {
  const written: string[] = []
  const log = createLog({ level: 'info', format: 'json', stream: { write: (line) => written.push(line) } })
  const { ask, tokens } = await openHarness(t, { parts: { log } })
  const answer = await ask('GET', '/v1alpha/jobs/?limit=1')
  await ask('GET', '/v1alpha/jobs/status?assignment_id=%22%0a', { token: tokens.viewer })
  await ask('GET', '/nothing"here', { token: null })
  await ask('GET', '/healthz', { token: null })
  assert.doesNotMatch(written.join(''), /assay_/)
  const [listed, refused, nowhere, ...others] = written.map(
    (line) => JSON.parse(line) as Record<string, unknown>,
  )
  assert.deepEqual(others, [])
  assert.deepEqual(Object.keys(listed!), [
    'level',
    'time',
    'method',
    'route',
    'status',
    'ms',
    'request_id',
    'token_id',
    'workspace_id',
    'msg',
  ])
  assert.equal(listed?.request_id, answer.headers['x-request-id'])
  assert.deepEqual([listed?.method, listed?.route, listed?.status], ['GET', '/v1alpha/jobs/', 200])
  assert.deepEqual([refused?.status, refused?.workspace_id], [422, 'default'])
  assert.notEqual(refused?.token_id, listed?.token_id)
  assert.deepEqual([nowhere?.route, nowhere?.status, nowhere?.token_id], ['none', 404, undefined])
  assert.equal(typeof listed?.ms, 'number')
})
