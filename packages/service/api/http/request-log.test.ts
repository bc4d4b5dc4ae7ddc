import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../runtime/log.ts'
import { openTestServer } from '../test-server.ts'

test('logs one wide line for each finished request, with whose token it was and never the token', async (t) => {
  const written: string[] = []
  const log = createLog({ level: 'info', format: 'json', stream: { write: (line) => written.push(line) } })
  const { ask, tokens } = await openTestServer(t, { parts: { log } })
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

test('logs a stream when it ends, once, also where the client goes away', async (t) => {
  const lines: Record<string, unknown>[] = []
  let told: (line: Record<string, unknown>) => void = () => undefined
  const write = (text: string): void => {
    const line = JSON.parse(text) as Record<string, unknown>
    lines.push(line)
    told(line)
  }
  const log = createLog({ level: 'info', format: 'json', stream: { write } })
  const { api, ask, parts, tokens } = await openTestServer(t, { parts: { log } })
  const url = await api.listen()
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const id = (await ask('POST', '/v1alpha/jobs', { body })).json()
  const before = lines.length
  const logged = new Promise<Record<string, unknown>>((resolve) => (told = resolve))
  const gone = new AbortController()
  const stream = await fetch(`${url}/v1alpha/jobs/events?assignment_id=${id}`, {
    headers: { authorization: `Bearer ${tokens.viewer}` },
    signal: gone.signal,
  })
  await stream.body!.getReader().read()
  assert.equal(lines.length, before, 'nothing is told of it while it goes on')
  gone.abort()
  const { route, status, workspace_id, request_id } = await logged
  assert.deepEqual([route, status, workspace_id], ['/v1alpha/jobs/events', 200, 'default'])
  assert.equal(request_id, stream.headers.get('x-request-id'))
  assert.equal(lines.length, before + 1)
  assert.match(
    await parts.metrics.registry.metrics(),
    /duration_seconds_count\{method="GET",route="\/v1alpha\/jobs\/events",status="200"\} 1\n/,
  )
})
