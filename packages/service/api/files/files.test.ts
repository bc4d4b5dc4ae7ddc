import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import path from 'node:path'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createClient } from '@assay/client'
import { TaskError } from '@assay/engine/run/pool'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { openTestServer, type TestServer } from '../test-server.ts'

const AT = '/v1alpha/files'
const TABLE = 'day,n\n2024-01-01,3\n2024-01-02,5\n'

const put = (
  h: TestServer,
  file: string,
  body: string,
  headers: Record<string, string> = {},
  token?: string,
) =>
  h.ask('PUT', `${AT}/${file}`, {
    body,
    headers,
    type: 'application/octet-stream',
    ...(token ? { token } : {}),
  })

function incoming(h: TestServer): string[] {
  const folder = path.join(h.folder, 'files/.incoming')
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true })
        .map(String)
        .filter((name) => name.includes('.'))
    : []
}

test('a file that is put can be listed, read, replaced and deleted', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const created = await put(h, 'sales/K%C3%A4ufe.csv', TABLE)
  assert.equal(created.status, 201)
  const { sha256, columns, dialect, list, readings, ...file } = created.json()
  assert.deepEqual(columns, [
    { name: 'day', type: 'DATE' },
    { name: 'n', type: 'BIGINT' },
  ])
  assert.deepEqual([dialect.separator, list, readings], [{ is: ',', sure: 'settled' }, null, []])
  assert.match(sha256, /^[0-9a-f]{64}$/)
  assert.equal(file.file, 'uploads/sales/Käufe.csv')
  assert.equal(created.headers.etag, file.etag)
  assert.equal(created.headers.location, `${AT}/sales/K%C3%A4ufe.csv`)
  assert.deepEqual((await h.ask('GET', AT)).json(), { items: [file], next_cursor: null })

  const read = await h.ask('GET', `${AT}/sales/Ka%CC%88ufe.csv`, { token: h.tokens.viewer })
  assert.equal(read.text, TABLE, 'names that look alike are the same')
  assert.equal(read.headers['content-type'], 'text/csv; charset=utf-8')
  assert.match(String(read.headers['content-disposition']), /^attachment; .*UTF-8''K%C3%A4ufe\.csv$/)
  const head = await h.ask('HEAD', `${AT}/sales/K%C3%A4ufe.csv`)
  assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', String(TABLE.length)])

  const replaced = await put(h, 'sales/K%C3%A4ufe.csv', `${TABLE}2024-01-03,1\n`)
  assert.equal(replaced.status, 200)
  assert.notEqual(replaced.json().etag, file.etag)
  assert.equal((await h.ask('DELETE', `${AT}/sales/K%C3%A4ufe.csv`)).status, 204)
  const trail = (await h.ask('GET', '/v1alpha/audit')).json().items as { action: string; object_id: string }[]
  assert.deepEqual(
    trail.filter(({ action }) => action === 'file.read').map(({ object_id }) => object_id),
    ['sales/Käufe.csv'],
  )
  assert.equal((await h.ask('GET', `${AT}/sales/K%C3%A4ufe.csv`)).json().code, 'not_found')
  assert.equal((await h.ask('DELETE', `${AT}/sales/K%C3%A4ufe.csv`)).json().code, 'not_found')
})

test('the answer tells how the file was read, and which column can be read in two ways', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const client = createClient({ url: await h.api.listen(), token: h.tokens.analyst })
  const text = Buffer.from(
    'Stand: heute\nDatum;Preis;K\xfcrzel\n01/02/2023;1,5;a\n03/02/2023;n/a;b\n',
    'latin1',
  )
  const made = await client.files.put('preise.csv', new Uint8Array(text))
  assert.deepEqual(made.dialect, {
    encoding: { is: 'windows-1252', sure: 'likely' },
    separator: { is: ';', sure: 'settled' },
    quote: { is: '"', sure: 'likely' },
    header: { is: true, sure: 'settled' },
    skipped: 1,
  })
  const [day, price, ...others] = made.readings
  assert.deepEqual(others, [])
  assert.equal(day!.name, 'Datum')
  assert.equal(day!.doubt!.kind, 'two_readings')
  assert.deepEqual(
    day!.doubt!.readings.map(({ write }) => write),
    ['dates: dmy', 'dates: mdy'],
  )
  assert.deepEqual([price!.name, price!.decimal], ['Preis', { is: ',', sure: 'settled' }])
  assert.deepEqual(price!.missing, [{ mark: 'n/a', n: 1 }])

  const dates = await client.files.put('days.json', '[{"day": "13/02/2023"}, {"day": "01/02/2023"}]')
  assert.equal(dates.dialect, null)
  assert.deepEqual(dates.readings, [{ name: 'day', dates: { is: 'dmy', sure: 'settled' } }])
})

test('viewers read and analysts write', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  assert.equal((await put(h, 'a.csv', TABLE, {}, h.tokens.viewer)).json().code, 'forbidden')
  assert.equal((await put(h, 'a.csv', TABLE, {}, h.tokens.analyst)).status, 201)
  assert.equal((await h.ask('DELETE', `${AT}/a.csv`, { token: h.tokens.viewer })).json().code, 'forbidden')
  assert.equal((await h.ask('GET', `${AT}/a.csv`, { token: null })).json().code, 'unauthorized')
})

test('workspaces see their own files only, and a deleted one leaves none to its successor', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const create = () => h.ask('POST', '/v1alpha/workspaces', { body: { workspace_id: 'sales' } })
  await create()
  const other = await h.token('sales', ['admin'])
  await put(h, 'a.csv', TABLE, {}, other)
  assert.equal((await h.ask('GET', AT)).json().items.length, 0)
  assert.equal((await h.ask('GET', `${AT}/a.csv`)).status, 404)
  assert.equal((await h.ask('GET', `${AT}/../sales/a.csv`)).status, 404)
  assert.equal((await h.ask('DELETE', '/v1alpha/workspaces/sales')).status, 204)
  await create()
  assert.deepEqual((await h.ask('GET', AT, { token: await h.token('sales', ['viewer']) })).json().items, [])
})

test('a list comes in pages, by path, below a prefix', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  for (const name of ['b/2.csv', 'b/1.csv', 'a.csv', 'c.csv']) await put(h, name, TABLE)
  const first = (await h.ask('GET', `${AT}?limit=3`)).json()
  assert.deepEqual(
    first.items.map((file: { path: string }) => file.path),
    ['a.csv', 'b/1.csv', 'b/2.csv'],
  )
  const rest = (await h.ask('GET', `${AT}?limit=3&cursor=${first.next_cursor}`)).json()
  assert.deepEqual([rest.items.length, rest.next_cursor], [1, null])
  for (const cursor of ['AAAA', Buffer.from('["jobs","2026-01-01",1]').toString('base64url')]) {
    const refused = await h.ask('GET', `${AT}?cursor=${cursor}`)
    assert.deepEqual([refused.status, refused.json().errors[0].path], [422, 'cursor'])
  }
  assert.equal((await h.ask('GET', `${AT}?prefix=b/`)).json().items.length, 2)
})

const BAD: [string, string, string | Buffer, RegExp, number | undefined][] = [
  ['a row of numbers for a header', 'a.csv', '1,2\n3,4\n', /no header/, 1],
  ['rows of several lengths', 'a.csv', 'a,b\n1,2\n1,2,3,4\n"x', /line 3, column 5 has more than 2 values/, 3],
  ['JSON that is not UTF-8', 'a.json', Buffer.from('[\n"\xe4"]', 'latin1'), /not UTF-8/, 2],
  ['no JSON', 'a.json', '[1,\n2,\n]', /not JSON: a value/, 3],
  ['no NDJSON', 'a.ndjson', '{"a":1}\n{"a":1', /cut off/, 2],
  ['no Parquet', 'a.parquet', TABLE, /PAR1/, undefined],
  [
    'a footer that is none',
    'a.parquet',
    `PAR1${'\x08'.repeat(20)}\x08\0\0\0PAR1`,
    /cannot be read/,
    undefined,
  ],
  ['what is packed badly', 'a.csv.gz', gzipSync(TABLE).subarray(0, -3), /gzip/, undefined],
  ['an empty file', 'a.csv', '', /empty/, 1],
]
for (const [what, file, body, message, line] of BAD) {
  test(`refuses ${what} with its place, and keeps the file that was there`, async (t) => {
    const h = await openTestServer(t, { pool: 'real' })
    const address = await h.api.listen()
    const send = (content: string | Buffer) =>
      fetch(`${address}${AT}/${file}`, {
        method: 'PUT',
        body: Buffer.from(content) as Uint8Array<ArrayBuffer>,
        headers: { authorization: `Bearer ${h.tokens.analyst}` },
      })
    const answer = await send(body)
    const problem = (await answer.json()) as { errors: { message: string; line?: number }[] }
    assert.equal(answer.status, 422)
    assert.match(problem.errors[0]!.message, message)
    assert.equal(problem.errors[0]!.line, line)
    assert.ok(!JSON.stringify(problem).includes(h.folder), 'no path of the service')
    assert.deepEqual((await h.ask('GET', AT)).json().items, [])
    assert.deepEqual(incoming(h), [])
  })
}

test('a file with a broken row or without names is taken with a line that the refusal offers, which drafts keep', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const offered = async (file: string, body: string): Promise<string[]> => {
    const answer = await put(h, file, body)
    assert.equal(answer.status, 422)
    return answer.json().errors[0].write
  }
  const ragged = 'day,n\n2024-01-01,3\n2024-01-02\n2024-01-03,5\n'
  const [skip] = await offered('a.csv', ragged)
  assert.equal(skip, 'bad_rows: skip')
  const taken = await put(h, `a.csv?dialect=${encodeURIComponent(skip)}`, ragged)
  assert.deepEqual([taken.status, taken.json().columns[1]], [201, { name: 'n', type: 'BIGINT' }])
  const draft = await h.ask('POST', '/v1alpha/drafts', { body: { file: 'uploads/a.csv' } })
  assert.deepEqual([draft.json().dialect, draft.json().rows], [[skip], 2])
  assert.match(draft.json().source, /bad_rows: skip/)
  // The kept line also serves a draft with an open question, although the file is unreadable without the line.
  const open = 'due,n\n01/02/2024,3\n02/03/2024\n03/04/2024,5\n'
  await put(h, `d.csv?dialect=${encodeURIComponent(skip)}`, open)
  const asked = await h.ask('POST', '/v1alpha/drafts', { body: { file: 'uploads/d.csv' } })
  assert.deepEqual([asked.json().dialect, asked.json().questions[0]?.column], [[skip], 'due'])
  assert.equal(
    (await put(h, 'a.csv', ragged)).status,
    200,
    'the kept line counts for the next file of the path',
  )
  assert.equal((await put(h, 'a.csv?dialect=', ragged)).status, 422, 'no line at all')
  assert.deepEqual(await offered('b.csv', '1,2\n3,4\n'), ['header: false', 'header: true'])
  const unnamed = await put(h, 'b.csv?dialect=header:%20false', '1,2\n3,4\n')
  assert.deepEqual(unnamed.json().columns[0], { name: 'column0', type: 'BIGINT' })
  const wrong = await put(h, 'c.csv?dialect=colour:%20red', TABLE)
  assert.deepEqual([wrong.status, wrong.json().errors[0].path], [422, 'dialect.0'])
})

test('paths that no upload may bear are a 422 to put and a 404 to read', async (t) => {
  const h = await openTestServer(t)
  for (const file of [
    'a.txt',
    '.a.csv',
    '%2e%2e%2fa.csv',
    'a%2F..%2Fb.csv',
    'a%5Cb.csv',
    'a%0A.csv',
    'a//b.csv',
    '%00.csv',
  ]) {
    const answer = await put(h, file, TABLE)
    assert.equal(answer.status, 422, file)
    const read = await h.ask('GET', `${AT}/${file}`)
    assert.ok(read.status === 404 || read.status === 422, file)
  }
})

test('conditions are kept: nothing is replaced or deleted that the client has not seen', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const { etag } = (await put(h, 'a.csv', TABLE, { 'if-none-match': '*' })).json()
  assert.equal((await put(h, 'a.csv', TABLE, { 'if-none-match': '*' })).json().code, 'precondition_failed')
  assert.equal((await put(h, 'a.csv', TABLE, { 'if-match': '"other"' })).status, 412)
  assert.equal((await put(h, 'b.csv', TABLE, { 'if-match': etag })).status, 412)
  const next = (await put(h, 'a.csv', TABLE, { 'if-match': `"other", ${etag}` })).json()
  assert.equal((await h.ask('DELETE', `${AT}/a.csv`, { headers: { 'if-match': etag } })).status, 412)
  assert.equal((await h.ask('GET', `${AT}/a.csv`, { headers: { 'if-none-match': next.etag } })).status, 304)
  assert.equal((await h.ask('DELETE', `${AT}/a.csv`, { headers: { 'if-match': next.etag } })).status, 204)
})

test('parts of a file are read by ranges', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const { etag } = (await put(h, 'a.csv', TABLE)).json()
  const part = async (range: string, more: Record<string, string> = {}) => {
    const { status, text, headers } = await h.ask('GET', `${AT}/a.csv`, { headers: { range, ...more } })
    return [status, text, headers['content-range']]
  }
  assert.deepEqual(await part('bytes=0-2'), [206, 'day', `bytes 0-2/${TABLE.length}`])
  assert.deepEqual(await part('bytes=-3'), [
    206,
    ',5\n',
    `bytes ${TABLE.length - 3}-${TABLE.length - 1}/${TABLE.length}`,
  ])
  assert.equal((await part('bytes=4-'))[1], TABLE.slice(4))
  assert.equal((await part('bytes=4-9999'))[1], TABLE.slice(4))
  for (const all of ['bytes=2-1', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=-'])
    assert.deepEqual(await part(all), [200, TABLE, undefined], all)
  assert.deepEqual(await part('bytes=0-2', { 'if-range': '"other"' }), [200, TABLE, undefined])
  assert.equal((await part('bytes=0-2', { 'if-range': etag }))[0], 206)
  const [status, , length] = await part('bytes=99-')
  assert.deepEqual([status, length], [416, `bytes */${TABLE.length}`])
  assert.equal((await part('bytes=-0'))[0], 416)
})

test('what is too large is refused before it is sent, and as it comes', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const address = new URL(await h.api.listen())
  const headers = { authorization: `Bearer ${h.tokens.analyst}` }
  const announced = httpRequest(new URL(`${AT}/a.csv`, address), {
    method: 'PUT',
    headers: { ...headers, 'content-length': 2e6 },
  })
  announced.on('error', () => undefined).flushHeaders()
  const [early] = await once(announced, 'response')
  assert.equal(early.statusCode, 413)
  announced.destroy()
  const endless = httpRequest(new URL(`${AT}/a.csv`, address), { method: 'PUT', headers })
  endless.on('error', () => undefined)
  const answered = once(endless, 'response')
  const line = Buffer.from(`${'x'.repeat(999)}\n`)
  endless.write('name\n')
  const over = new AbortController()
  void answered.then(() => over.abort())
  while (!over.signal.aborted && endless.write(line)) await new Promise((resolve) => setImmediate(resolve))
  const [late] = await answered
  assert.equal(late.statusCode, 413)
  late.resume()
  endless.destroy()
  assert.deepEqual((await h.ask('GET', AT)).json().items, [])
  assert.deepEqual(incoming(h), [])
})

test('more than the quota of the workspace is refused, ahead where the length is said', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const large = `name\n${'x'.repeat(899_000)}\n`
  for (const name of ['a.csv', 'b.csv', 'c.csv']) assert.equal((await put(h, name, large)).status, 201)
  assert.equal((await put(h, 'd.csv', large)).json().code, 'quota_exceeded')
  assert.equal((await put(h, 'a.csv', large)).status, 200, 'in the place of another it fits')
})

/** Begins a PUT whose body the test writes piece by piece. */
function slowly(h: TestServer, address: URL, file: string) {
  const headers = { authorization: `Bearer ${h.tokens.analyst}` }
  const upload = httpRequest(new URL(`${AT}/${file}`, address), { method: 'PUT', headers })
  upload.on('error', () => undefined)
  const answered = (async () => {
    const [response] = (await once(upload, 'response')) as [IncomingMessage]
    return { status: response.statusCode, body: (await json(response)) as { code?: string } }
  })()
  return { upload, answered }
}

test('a workspace may have caps of its own, which files keep that come in at once', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const address = new URL(await h.api.listen())
  const table = (bytes: number): string => `name\n${'x'.repeat(bytes - 6)}\n`
  const caps = (own: object) => h.ask('PATCH', '/v1alpha/workspaces/default', { body: own })
  assert.equal((await caps({ max_file_bytes: 3000, max_files_bytes: 5000 })).json().max_files_bytes, 5000)
  assert.equal((await put(h, 'a.csv', table(3001))).json().code, 'payload_too_large')
  assert.equal((await put(h, 'a.csv', table(2000))).status, 201)

  const first = slowly(h, address, 'b.csv')
  first.upload.write(table(1900))
  const folder = path.join(h.folder, 'files/.incoming')
  const come = (): number =>
    incoming(h).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0)
  while (come() < 1900) await new Promise((resolve) => setImmediate(resolve))
  const second = slowly(h, address, 'c.csv')
  second.upload.write(table(1900))
  const refused = await second.answered
  assert.deepEqual([refused.status, refused.body.code], [413, 'quota_exceeded'], 'while it comes')
  second.upload.destroy()
  const same = slowly(h, address, 'b.csv')
  same.upload.write(table(2500))
  same.upload.end()
  assert.equal((await same.answered).status, 201, 'of two at one path one will stay')
  first.upload.end()
  assert.equal((await first.answered).status, 200)

  assert.equal((await put(h, 'a.csv', table(2900))).status, 200, 'in the place of what was there')
  assert.equal((await put(h, 'c.csv', table(300))).json().code, 'quota_exceeded')
  assert.equal((await h.ask('DELETE', `${AT}/b.csv`)).status, 204)
  assert.equal((await put(h, 'c.csv', table(2000))).status, 201)
  await caps({ max_file_bytes: null, max_files_bytes: null })
  assert.equal((await put(h, 'd.csv', table(9000))).status, 201, 'the settings hold again')
  assert.equal((await caps({ max_file_bytes: -1 })).status, 422)
})

test('an upload that is cut off in the middle leaves what was there, and nothing else', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const { etag } = (await put(h, 'a.csv', TABLE)).json()
  const address = new URL(await h.api.listen())
  for (const head of ['content-length: 100000', 'transfer-encoding: chunked']) {
    const socket = connect(Number(address.port), address.hostname)
    socket.on('error', () => undefined)
    const body = head.startsWith('c') ? TABLE : `${TABLE.length.toString(16)}\r\n${TABLE}\r\n`
    socket.write(
      `PUT ${AT}/a.csv HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${h.tokens.analyst}\r\n${head}\r\n\r\n${body}`,
    )
    while (incoming(h).length === 0) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual((await h.ask('GET', AT)).json().items.length, 1, 'nothing is seen of it')
    socket.destroy()
    while (incoming(h).length > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.equal((await h.ask('GET', `${AT}/a.csv`)).headers.etag, etag)
  }
})

test('a file that was put is a choice for file variables, and read by the templates that name it', async (t) => {
  const h = await openTestServer(t, { pool: 'real' })
  const client = createClient({ url: await h.api.listen(), token: h.tokens.admin })
  const source = [
    '---',
    'variables:',
    '  f: { type: file, required: true }',
    'sources:',
    '  t: { file: "{{ vars.f }}" }',
    '---',
    '```sql total',
    'select sum(n) as n, count(*) as days from t',
    '```',
    'Sum {{ total | first: "n" }} of {{ total | first: "days" }}',
  ].join('\n')
  await client.templates.put('totals', source)
  for (const name of ['2024/a.csv', '2024/b.csv']) await client.files.put(name, TABLE)
  const { choices } = await client.templates.choices('totals', { variable: 'f' })
  assert.ok(choices.includes('uploads/2024/a.csv'))
  const one = await client.templates.preview({ source, template_vars: { f: 'uploads/2024/a.csv' } })
  assert.match(one.markdown, /Sum 8 of 2/)
  const all = await client.templates.preview({ source, template_vars: { f: 'uploads/2024/*.csv' } })
  assert.match(all.markdown, /Sum 16 of 4/)
  assert.match(all.markdown, /uploads\/2024\/b\.csv/, 'the lineage names it as the template does')
  await assert.rejects(
    client.templates.preview({ source, template_vars: { f: 'uploads/none.csv' } }),
    /There is no upload "uploads\/none\.csv"/,
  )
  assert.equal((await client.files.list({ prefix: '2024/' })).items.length, 2)
  assert.equal(await (await client.files.read('2024/a.csv', { range: [0, 2] })).text(), 'day')
  await client.files.delete('2024/a.csv')
  assert.equal((await h.parts.files.list(DEFAULT_WORKSPACE)).length, 1)
})

test('an upload that takes more time or memory to read than any may is refused as such, and what ends otherwise may be sent again', async (t) => {
  const { ask, parts } = await openTestServer(t, { pool: 'real' })
  const put = async (ended: TaskError) => {
    const mocked = t.mock.method(parts.pool!, 'describe', () => Promise.reject(ended))
    const answer = await ask('PUT', `${AT}/small.csv`, { body: 'a,b\n1,2\n', type: 'text/csv' })
    mocked.mock.restore()
    return answer
  }
  const late = await put(TaskError.of('describe', { kind: 'timed_out', after_ms: 30_000 }))
  assert.deepEqual([late.status, late.json().code], [422, 'invalid'])
  assert.match(late.json().detail, /more time or memory to read than an upload may \(30 s\): divide it/)
  assert.equal((await put(TaskError.of('describe', { kind: 'died', memory: true, detail: 'x' }))).status, 422)
  assert.equal((await put(TaskError.of('describe', { kind: 'stopped' }))).status, 503)
  assert.equal((await ask('GET', `${AT}/small.csv`)).status, 404, 'nothing of it is kept')
})

test('an upload waits for one of the checks that another workspace has in line, and no more', async (t) => {
  const { ask, parts, store, token } = await openTestServer(t, { pool: 'real' })
  await store.createWorkspace({ workspace_id: 'guests', name: 'Guests', data_folder: null })
  const guest = await token('guests', ['analyst'])
  const body = Array.from({ length: 40 }, (_, index) => `\`\`\`sql b${index}\nselect 1 as a\n\`\`\`\n`).join(
    '',
  )
  const waiting = (owner: string): number =>
    parts.pool!.stats().usage.find((one) => one.owner === owner && one.state === 'waiting')?.count ?? 0
  const submitted = Promise.withResolvers<void>()
  const describe = parts.pool!.describe.bind(parts.pool!)
  const asked = Promise.withResolvers<void>()
  t.mock.method(parts.pool!, 'describe', async (...given: Parameters<typeof describe>) => {
    asked.resolve()
    await submitted.promise
    return describe(...given)
  })
  const check = parts.pool!.check.bind(parts.pool!)
  let count = 0
  /** The number of waiting checks at each end of a check while the upload waited. */
  const ahead: number[] = []
  t.mock.method(parts.pool!, 'check', (...given: Parameters<typeof check>) => {
    const checked = check(...given)
    count += 1
    if (count === 8) submitted.resolve()
    return checked.finally(() => waiting(DEFAULT_WORKSPACE) > 0 && ahead.push(waiting('guests')))
  })
  const put = ask('PUT', `${AT}/small.csv`, { body: 'a,b\n1,2\n', type: 'text/csv' })
  await asked.promise
  const checks = Array.from({ length: 8 }, () =>
    ask('POST', '/v1alpha/jobs/templates/check', { token: guest, body, type: 'text/markdown' }),
  )
  await submitted.promise
  while (waiting(DEFAULT_WORKSPACE) === 0) await new Promise((resolve) => setImmediate(resolve))
  const before = waiting('guests')
  assert.ok(before > 1)
  assert.equal((await put).status, 201)
  assert.ok(Math.min(before, ...ahead) >= before - 1, `${before} waited, then ${ahead.join()}`)
  for (const { status } of await Promise.all(checks)) assert.equal(status, 200)
})
