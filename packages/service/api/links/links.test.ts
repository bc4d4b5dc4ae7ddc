import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import type { Answer, Json, TestServer } from '../test-server.ts'
import { openTestServer } from '../test-server.ts'

async function completed({ ask, complete }: TestServer, over = {}) {
  const body = { payload: { type: 'template', template_id: 'hello' } }
  const assignment_id: string = (await ask('POST', '/v1alpha/jobs', { body })).json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  return { assignment_id, insight_id: await complete(assignment_id, over) }
}

/** Completes a job for a reader and returns the id of its insight, which is personal. */
async function completedFor({ ask, complete, store }: TestServer, reader_id: string): Promise<string> {
  await ask('PUT', '/v1alpha/readers', {
    body: { readers: [{ reader_id, name: 'Ada', attributes: { region: 'north' } }] },
  })
  const source = '---\nsources: { sales: { file: sales.csv, rows: region = $reader.region } }\n---\n# Sales\n'
  await store.putTemplate({ workspace_id: 'default', template_id: 'mine', user_id: 'ada', source })
  const payload = { type: 'template', template_id: 'mine', reader_id }
  const made = await ask('POST', '/v1alpha/jobs', { body: { payload } })
  assert.equal(made.status, 200, made.text)
  const assignment_id: string = made.json()
  await ask('POST', '/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } })
  return complete(assignment_id, { title: 'Hers alone' })
}

async function makeLink({ ask }: TestServer, insight_id: string, body: Json = {}): Promise<Json> {
  const made = await ask('POST', `/v1alpha/insights/${insight_id}/links`, { body })
  assert.equal(made.status, 201, made.text)
  return made.json()
}

function open({ ask }: TestServer, url: string): Promise<Answer> {
  return ask('GET', url, { token: null })
}

/** Returns an answer without what identifies its request. */
function said({ status, text, headers }: Answer) {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  return { status, text, headers: rest }
}

test('opens the page of an insight without a token, for nobody else to keep or to find', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const { insight_id } = await completed(opened, { markdown: '# Hello\n\n[more](https://example.com)\n' })
  const link = await makeLink(opened, insight_id, { label: 'for Bob', expires_in: 3600 })
  assert.match(link.url, /^\/links\/[\w-]{43}$/)
  assert.equal(Date.parse(link.expires_at) - Date.parse(link.created_at), 3_600_000)
  const page = await open(opened, link.url)
  assert.equal(page.status, 200)
  assert.match(page.text, /<h1>Hello<\/h1>/)
  assert.match(page.text, /<meta name="robots" content="noindex">/)
  assert.match(page.text, /<meta name="referrer" content="no-referrer">/)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(String(page.headers['x-robots-tag']), /^noindex, nofollow/)
  assert.equal(page.headers['referrer-policy'], 'no-referrer')
  assert.equal(page.headers['cache-control'], 'private, no-store')
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe/)
  assert.equal(page.headers.etag, undefined)
})

test('readers who come while the page of a link is made read nothing of its insight', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const { insight_id } = await completed(opened, { markdown: '# Hello\n' })
  const { url } = await makeLink(opened, insight_id)
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const head = t.mock.method(opened.store, 'getInsightHead')
  const pool = opened.parts.pool!
  const { render } = pool
  t.mock.method(pool, 'render', (...given: Parameters<typeof render>) => {
    begin()
    return render.apply(pool, given)
  })
  const first = open(opened, url)
  await begun
  const pages = await Promise.all([first, open(opened, url), open(opened, url)])
  assert.deepEqual(
    pages.map(({ status }) => status),
    [200, 200, 200],
  )
  assert.equal(new Set(pages.map(({ text }) => text)).size, 1)
  assert.equal(head.mock.callCount(), 1)
})

test('shows the rows behind the numbers to the readers of a link that was made so, and to no other', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const table = {
    columns: [{ name: 'flights', type: 'integer', database_type: 'BIGINT' }],
    rows: [[7], [27]],
    total: 2,
  }
  const markdown = '# Late\n\nIt is 27 now.\n'
  const start = markdown.indexOf('27')
  const origin = { block: 'late', row: 1, column: 'flights' }
  const { insight_id } = await completed(opened, {
    markdown,
    tables: { late: table },
    provenance: [{ start, end: start + 2, from: [origin] }],
  })
  const [plain, whole] = [
    await makeLink(opened, insight_id),
    await makeLink(opened, insight_id, { rows: true }),
  ]
  assert.deepEqual([plain.rows, whole.rows], [false, true])
  for (const age of ['made', 'kept']) {
    const shown = await open(opened, whole.url)
    assert.match(
      shown.text,
      /<a class="number" href="#rows-late-2" title="flights, row 2 in late: 27">27<\/a>/,
      age,
    )
    assert.match(shown.text, /<tr id="rows-late-1">/)
    assert.doesNotMatch((await open(opened, plain.url)).text, /rows-late|class="number"/, age)
  }
})

test('opens a collection and the insights in it without a token, and no other insight', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const { ask, tokens } = opened
  const inside = await completed(opened, { title: 'Late <b>flights', markdown: '# Late flights\n\nFew.\n' })
  const outside = await completed(opened, { markdown: '# Secret\n' })
  const made = await ask('POST', '/v1alpha/collections', { body: { name: 'Board <1>' } })
  const { collection_id } = made.json()
  const at = `/v1alpha/collections/${collection_id}`
  await ask('PUT', `${at}/insights/${inside.insight_id}`, { body: {} })
  assert.equal((await ask('POST', `${at}/links`, { body: {}, token: tokens.viewer })).status, 403)
  const link = (await ask('POST', `${at}/links`, { body: { expires_in: 3600, label: 'intranet' } })).json()
  assert.match(link.url, /^\/links\/[\w-]{43}$/)
  const page = await open(opened, link.url)
  assert.equal(page.status, 200)
  assert.match(page.text, /<h1>Board &#60;1&#62;<\/h1>/)
  const address = `${link.url}/${inside.insight_id}`
  assert.ok(page.text.includes(`<h2><a href="${address}">Late &#60;b&#62;flights</a></h2>`), page.text)
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'/)
  assert.match(policy, /frame-ancestors 'none'/)
  assert.equal(page.headers['cache-control'], 'private, no-store')
  const read = await open(opened, address)
  assert.match(read.text, /<h1>Late flights<\/h1>/)
  assert.ok(read.text.includes(`<nav><a href="${link.url}">← Board &#60;1&#62;</a></nav>`))
  const reading = t.mock.method(opened.store, 'getInsightHead')
  assert.equal((await open(opened, address)).text, read.text)
  assert.equal(reading.mock.callCount(), 0, 'a page that is kept needs no read of its insight')
  const single = await makeLink(opened, inside.insight_id)
  const gone = said(await open(opened, '/links/x'))
  for (const url of [
    `${link.url}/${outside.insight_id}`,
    `${single.url}/${inside.insight_id}`,
    `${link.url}/x`,
  ])
    assert.deepEqual(said(await open(opened, url)), gone, url)
  const hers = await completedFor(opened, 'ada')
  const added = await ask('PUT', `${at}/insights/${hers}`, { body: {} })
  assert.equal(added.status, 204, added.text)
  assert.equal((await ask('GET', `/v1alpha/insights?collection_id=${collection_id}`)).json().items.length, 2)
  assert.equal((await open(opened, link.url)).text, page.text, "what is a reader's is left out")
  assert.deepEqual(said(await open(opened, `${link.url}/${hers}`)), gone)
  await ask('DELETE', `${at}/insights/${inside.insight_id}`)
  assert.match((await open(opened, link.url)).text, /There is no insight in it at present/)
  assert.deepEqual(said(await open(opened, address)), gone, 'it left the collection')
  assert.equal((await ask('GET', `${at}/links`)).json().items[0].label, 'intranet')
  assert.equal((await ask('DELETE', `${at}/links/${link.link_id}`)).status, 204)
  assert.deepEqual(said(await open(opened, link.url)), gone)
})

test('answers the same for a link that expired, was revoked, was never there, or whose job was deleted', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  const { ask } = opened
  const one = await completed(opened)
  const other = await completed(opened)
  const expired = await makeLink(opened, one.insight_id, { expires_in: 60 })
  const revoked = await makeLink(opened, one.insight_id)
  const orphan = await makeLink(opened, other.insight_id)
  for (const { url } of [expired, revoked, orphan]) assert.equal((await open(opened, url)).status, 200)
  clock.advance(59_999)
  assert.equal((await open(opened, expired.url)).status, 200)
  clock.advance(1)
  const path = `/v1alpha/insights/${one.insight_id}/links`
  assert.equal((await ask('DELETE', `${path}/${revoked.link_id}`)).status, 204)
  assert.equal((await ask('DELETE', `${path}/${revoked.link_id}`)).status, 404)
  assert.equal((await ask('DELETE', `/v1alpha/jobs/${other.assignment_id}`)).status, 204)
  const unknown = await open(opened, `/links/${'A'.repeat(43)}`)
  assert.equal(unknown.status, 404)
  assert.equal(unknown.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(unknown.text, /Ask the person who sent it/)
  for (const { url } of [expired, revoked, orphan, { url: '/links/x' }])
    assert.deepEqual(said(await open(opened, url)), said(unknown))
})

test('keeps no secret of a link: neither in the list nor in the database', async (t) => {
  const opened = await openTestServer(t)
  const { insight_id } = await completed(opened)
  const link = await makeLink(opened, insight_id)
  const secret = link.url.split('/').at(-1)
  const list = await opened.ask('GET', `/v1alpha/insights/${insight_id}/links`)
  assert.equal(list.json().items.length, 1)
  assert.doesNotMatch(list.text, new RegExp(secret))
  const { readdir, readFile } = await import('node:fs/promises')
  for (const name of await readdir(opened.folder))
    if (name.startsWith('assay.db'))
      assert.ok(!(await readFile(`${opened.folder}/${name}`)).includes(secret), name)
})

test('counts how often a link was opened, once for many openings', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  const { ask, store } = opened
  const { insight_id } = await completed(opened)
  const { url } = await makeLink(opened, insight_id)
  const written = t.mock.method(store, 'countOpenings')
  const asleep = clock.sleeping
  for (let count = 0; count < 5; count += 1) await open(opened, url)
  await ask('HEAD', url, { token: null })
  const count = async () => (await ask('GET', `/v1alpha/insights/${insight_id}/links`)).json().items[0]
  assert.equal((await count()).opened_count, 0)
  assert.ok(clock.sleeping > asleep)
  clock.advance(1000)
  while (written.mock.callCount() === 0) await new Promise((resolve) => setImmediate(resolve))
  for (const { result } of written.mock.calls) await result
  const { opened_count, last_opened_at } = await count()
  assert.deepEqual([opened_count, last_opened_at], [5, '2026-01-01T00:00:00.000Z'])
  await open(opened, url)
  await opened.api.close()
  assert.equal(written.mock.callCount(), 2)
})

test('each opening stands in the audit trail, by the link and from where', async (t) => {
  const opened = await openTestServer(t)
  const { insight_id } = await completed(opened)
  const { url, link_id } = await makeLink(opened, insight_id)
  await open(opened, url)
  await open(opened, `${url}x`)
  const { items } = (await opened.ask('GET', '/v1alpha/audit?action=link.open')).json()
  assert.deepEqual(
    items.map(({ object_id, user_id, address }: Json) => [object_id, user_id, address]),
    [[link_id, null, '127.0.0.1']],
  )
  const trail = (await opened.ask('GET', '/v1alpha/audit')).text
  assert.doesNotMatch(trail, new RegExp(url.split('/').at(-1)))
})

test('a link to the newest run opens it, and is then a link of that run', async (t) => {
  const opened = await openTestServer(t)
  const card = { headline: null, grade: null, figure: null, period: null, tags: [], series: 's', search: '' }
  const first = await completed(opened, { card, markdown: '# First' })
  const { url, newest } = await makeLink(opened, first.insight_id, { newest: true })
  assert.equal(newest, true)
  assert.match((await open(opened, url)).text, /# First/)
  const later = await completed(opened, { card, markdown: '# Later' })
  assert.match((await open(opened, url)).text, /# Later/)
  assert.equal((await opened.ask('DELETE', `/v1alpha/jobs/${first.assignment_id}`)).status, 204)
  assert.match((await open(opened, url)).text, /# Later/)
  const { items } = (await opened.ask('GET', `/v1alpha/insights/${later.insight_id}/links`)).json()
  assert.deepEqual(
    items.map((link: Json) => link.newest),
    [true],
  )
})

test('a page may stand in a frame of the sites that the operator names, and of no other', async (t) => {
  const first = await openTestServer(t)
  const frameParents = ['https://intranet.example', 'https://*.example.com']
  const opened = await openTestServer(t, { parts: { config: { ...first.parts.config, frameParents } } })
  const page = await open(opened, '/links/x')
  assert.match(
    String(page.headers['content-security-policy']),
    /; frame-ancestors https:\/\/intranet\.example https:\/\/\*\.example\.com$/,
  )
  const script = await open(opened, '/embed.js')
  assert.match(script.text, /customElements\.define\('assay-insight'/)
  assert.equal(script.headers['cross-origin-resource-policy'], 'cross-origin')
})

test('opens a page though its workspace has used up its hour, within a share that readers have', async (t) => {
  const opened = await openTestServer(t, { pool: 'real' })
  const { ask, budgets } = opened
  const { insight_id } = await completed(opened)
  const other = await completed(opened)
  const [link, later] = [await makeLink(opened, insight_id), await makeLink(opened, other.insight_id)]
  await opened.store.updateWorkspace({ workspace_id: 'default', patch: { max_processor_seconds: 1 } })
  budgets.spend('default', 1000, 'new')
  const own = await ask('GET', `/v1alpha/jobs/result?insight_id=${insight_id}`, {
    headers: { accept: 'text/html' },
  })
  assert.deepEqual([own.status, own.json().code], [429, 'workspace_busy'])
  assert.equal((await open(opened, link.url)).status, 200)
  budgets.spend('default', 1000, 'reader')
  const refused = await open(opened, later.url)
  assert.equal(refused.status, 429)
  assert.match(refused.text, /Too many pages/)
  assert.equal((await open(opened, link.url)).status, 200, 'it is kept')
})

test('bounds how many pages one address may open', async (t) => {
  const clock = new FakeClock()
  const opened = await openTestServer(t, { clock })
  const answers = []
  for (let count = 0; count < 121; count += 1) answers.push(await open(opened, '/links/x'))
  const refused = answers.at(-1)!
  assert.deepEqual([answers.at(-2)!.status, refused.status], [404, 429])
  assert.equal(refused.headers['content-type'], 'text/html; charset=utf-8')
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  clock.advance(1000)
  assert.equal((await open(opened, '/links/x')).status, 404)
})

test('makes links of the own workspace only, within bounds, and with a scope for it', async (t) => {
  const opened = await openTestServer(t)
  const { ask, tokens, store } = opened
  await store.createWorkspace({ workspace_id: 'other', name: 'Other', data_folder: null })
  const stranger = await opened.token('other', ['admin'])
  const { insight_id } = await completed(opened)
  const path = `/v1alpha/insights/${insight_id}/links`
  assert.equal((await ask('POST', path, { body: {}, token: stranger })).status, 404)
  assert.equal((await ask('GET', path, { token: stranger })).status, 404)
  assert.equal((await ask('POST', path, { body: {}, token: tokens.viewer })).status, 403)
  assert.equal((await ask('GET', path, { token: tokens.viewer })).status, 200)
  assert.equal((await ask('POST', `/v1alpha/insights/${uuidv7()}/links`, { body: {} })).status, 404)
  for (const body of [{ expires_in: 59 }, { expires_in: 400 * 86_400 }, { label: '' }, { days: 3 }])
    assert.equal((await ask('POST', path, { body })).status, 422, JSON.stringify(body))
  const made = await ask('POST', path, { token: tokens.analyst })
  assert.equal(made.status, 201)
  assert.equal(Date.parse(made.json().expires_at) - Date.parse(made.json().created_at), 7 * 86_400_000)
})

test('gives the whole address where the service knows its own', async (t) => {
  const publicUrl = 'https://reports.example/assay'
  const first = await openTestServer(t)
  const opened = await openTestServer(t, { parts: { config: { ...first.parts.config, publicUrl } } })
  const { insight_id } = await completed(opened)
  const { url } = await makeLink(opened, insight_id)
  assert.ok(url.startsWith(`${publicUrl}/links/`))
})
