import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureConsole } from '../../../console/build.ts'
import { openTestServer } from '../test-server.ts'

test('answers every address of the console by the same page, and shadows nothing', async (t) => {
  await ensureConsole()
  const { ask } = await openTestServer(t)
  const page = await ask('GET', '/', { token: null })
  assert.match(page.text, /<div id="root" data-base=""><\/div>/)
  for (const path of [
    '/templates',
    '/jobs/0198',
    '/webhooks/a/deliveries/b',
    '/subscriptions/a/deliveries/b',
    '/system/tokens?x=1',
    '/sign-in',
  ])
    assert.equal((await ask('GET', path, { token: null })).text, page.text, path)
  assert.equal((await ask('GET', '/nothing', { token: null })).status, 404)
  assert.equal((await ask('POST', '/jobs/x', { token: null, body: {} })).headers.allow, 'GET, HEAD')
  assert.equal((await ask('GET', '/v1alpha/jobs', { token: null })).status, 401)
  assert.equal((await ask('GET', '/healthz', { token: null })).json().status, 'ok')
})

test('a client with a wrong base address is told so, and gets no page', async (t) => {
  const { ask } = await openTestServer(t)
  const answers = [
    await ask('GET', '/jobs/templates'),
    await ask('GET', '/jobs/status?assignment_id=0198', {
      token: null,
      headers: { accept: 'application/json' },
    }),
  ]
  for (const answer of answers) {
    assert.deepEqual([answer.status, answer.json().code], [404, 'not_found'])
    assert.match(answer.json().detail, /below \/v1alpha: check the base address/)
  }
  const browser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  assert.equal((await ask('GET', '/jobs/0198', { token: null, headers: browser })).status, 200)
})

test('serves the files of the console packed, tagged by their bytes, and for ever', async (t) => {
  const { ask } = await openTestServer(t)
  const page = await ask('GET', '/', { token: null })
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(page.text)![1]!
  const tags = new Set<string>()
  for (const [accept, coding] of [
    ['br, gzip', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, identity', undefined],
  ] as const) {
    const headers = { 'accept-encoding': accept }
    const file = await ask('GET', script, { token: null, headers })
    assert.equal(file.headers['content-encoding'], coding)
    assert.equal(file.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(file.headers['content-type'], 'text/javascript; charset=utf-8')
    const tag = String(file.headers.etag)
    tags.add(tag)
    const again = await ask('GET', script, { token: null, headers: { ...headers, 'if-none-match': tag } })
    assert.equal(again.status, 304)
  }
  assert.equal(tags.size, 3)
  assert.equal(page.headers['cache-control'], 'no-cache')
  for (const file of ['..%2findex.html', '__proto__', 'x.js', 'x.map'])
    assert.equal((await ask('GET', `/assets/${file}`, { token: null })).status, 404, file)
})
