import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import path from 'node:path'
import { after, test } from 'node:test'
import type { OpenConnection } from '@assay/model/connection'
import { CONNECTION_LIMITS, type ConnectionKind, type ConnectionOptions } from '@assay/model/connection-kinds'
import { createGuard } from '@assay/net/guard'
import { createBucket } from '@assay/net/s3'
import { parseTargets } from '@assay/net/target'
import { FORBIDDEN_URLS } from '../../../../test/hostile/ssrf-vectors.ts'
import { startTrap } from '../../../../test/servers/receiver.ts'
import { startBucket } from '../../../net/bucket-fixture.ts'
import type { ConnectionAccess } from '../../run/connection-requests.ts'
import type { Roots, RunResult } from '../../run/protocol.ts'
import { findingsOf, openTestPool, templateOf } from '../../run/test-pool.ts'

const CSV = 'day,n\n1,3\n2,5\n'
const bench = await openTestPool()
const bucketServer = await startBucket()
const guard = createGuard({ targets: parseTargets(['loopback']) })
const bucket = createBucket(bucketServer.config, guard)
const requests: IncomingMessage[] = []
const web = createServer((request, response) => {
  requests.push(request)
  const url = new URL(request.url!, 'http://x')
  if (url.pathname.startsWith('/secret/') && request.headers.authorization !== 'Bearer a-token')
    return response.writeHead(401).end()
  if (url.pathname === '/away.csv')
    return response.writeHead(302, { location: 'http://127.0.0.3/a.csv' }).end()
  if (url.pathname.endsWith('/export'))
    return response.setHeader('content-type', 'text/csv; charset=utf-8').end(CSV)
  if (!url.pathname.endsWith('a.csv')) return response.writeHead(404).end()
  if (request.headers['if-none-match'] === '"1"') return response.writeHead(304).end()
  return response.setHeader('etag', '"1"').end(CSV)
})
await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve))
const port = (web.address() as AddressInfo).port
after(async () => {
  web.closeAllConnections()
  web.close()
  await guard.close()
  await bucketServer.close()
  await bench.close()
})

const cache = path.join(bench.data, '..', 'cache')
const remote = { cache, cache_bytes: 1e8, file_bytes: 1e6, targets: [] as string[] }

function connectionOf(
  kind: ConnectionKind,
  options: ConnectionOptions,
  secrets: Record<string, string> = {},
  over: Partial<OpenConnection> = {},
): OpenConnection {
  return { name: 'there', kind, options, secrets, limits: CONNECTION_LIMITS, targets: ['loopback'], ...over }
}

function accessOf(connection: OpenConnection): ConnectionAccess {
  return {
    acquire: (name) =>
      Promise.resolve(
        name === connection.name ? { connection } : { refused: `There is no connection ${name}.` },
      ),
    release: () => undefined,
    end: () => undefined,
  }
}

function run(
  source: string,
  given: {
    connection?: OpenConnection
    roots?: Partial<Roots>
    variables?: Record<string, unknown>
    front?: string
  } = {},
): Promise<RunResult> {
  const { connection, roots = {}, variables = {}, front = '' } = given
  const template = templateOf(
    `---\n${front}sources:\n  s: ${source}\n---\n\`\`\`sql a\nselect sum(n) as n from s\n\`\`\`\n\n{{ a | first: "n" }}\n`,
  )
  return bench.pool.run(
    {
      kind: 'run',
      template,
      variables,
      started_at: '2026-01-01T00:00:00.000Z',
      roots: { ...bench.roots, remote, ...roots },
    },
    { workspace_id: 'test', ...(connection ? { connections: accessOf(connection) } : {}) },
  )
}

function refusalOf(result: RunResult): string {
  assert.equal(result.status, 'failed', JSON.stringify(result).slice(0, 300))
  assert.equal(result.status === 'failed' && result.error.code, 'source_unavailable')
  return result.status === 'failed' ? result.error.detail : ''
}

const webUrl = `http://127.0.0.1:${port}`

test('a file of a web server is read over a connection, fetched once, and its lineage holds no secret', async () => {
  const connection = connectionOf('http', { url: `${webUrl}/secret` }, { token: 'a-token' })
  const before = requests.length
  for (let time = 0; time < 3; time += 1) {
    const { tables, lineage } = findingsOf(await run('{ connection: there, file: x/a.csv }', { connection }))
    assert.deepEqual(tables.a!.rows, [[8]])
    const [file] = lineage.sources[0]!.files
    assert.equal(file!.path, `${webUrl}/secret/x/a.csv`)
    assert.equal(file!.etag, '"1"')
    assert.match(file!.fingerprint, /^sha256:[0-9a-f]{64}$/)
    assert.doesNotMatch(JSON.stringify(lineage), /a-token/)
  }
  const asked = requests.slice(before).map(({ headers }) => headers['if-none-match'])
  assert.deepEqual(asked, [undefined, '"1"', '"1"'])
  while ((await bench.leftovers()).length > 0) await new Promise((resolve) => setImmediate(resolve))
})

test('what a name does not say the media type does, and a query goes along but is not shown', async () => {
  const connection = connectionOf('http', { url: webUrl })
  const result = findingsOf(await run('{ connection: there, file: "export?key=hidden" }', { connection }))
  assert.equal(result.lineage.sources[0]!.files[0]!.path, `${webUrl}/export`)
  assert.equal(requests.at(-1)!.url, '/export?key=hidden')
})

test('a connection to a web server stays below its address, whatever a variable says', async () => {
  const connection = connectionOf('http', { url: `${webUrl}/below` })
  const front = 'variables: { f: { type: string } }\n'
  for (const f of [
    '../a.csv',
    '/a.csv',
    '//127.0.0.3/a.csv',
    'http://127.0.0.3/a.csv',
    '..%2fa.csv',
    'a\\\\b.csv',
    '*.csv',
  ]) {
    const before = requests.length
    await run('{ connection: there, file: "{{ vars.f }}" }', { connection, front, variables: { f } })
    for (const { url } of requests.slice(before)) assert.match(url!, /^\/below\//, f)
  }
  assert.match(
    refusalOf(
      await run('{ connection: there, file: away.csv }', {
        connection: connectionOf('http', { url: webUrl }),
      }),
    ),
    /not allowed/,
  )
})

test('limits of a connection hold for its files', async () => {
  const limits = { ...CONNECTION_LIMITS, bytes: 5 }
  const connection = connectionOf('http', { url: webUrl }, {}, { limits })
  assert.match(
    refusalOf(await run('{ connection: there, file: b/export }', { connection })),
    /larger than 5 bytes/,
  )
})

test('keys of a bucket are read one by one and by patterns, under the name of the connection', async () => {
  const file = path.join(bench.data, 'part.csv')
  for (const [key, n] of [
    ['in/2024/a.csv', 1],
    ['in/2024/b.csv', 2],
    ['in/2025/c.csv', 4],
    ['out/a.csv', 8],
  ] as const) {
    writeFileSync(file, `n\n${n}\n`)
    await bucket.write(key, file, 4, {})
  }
  const { endpoint, bucket: name, access_key, secret_key } = bucketServer.config
  const connection = connectionOf(
    's3',
    { endpoint: endpoint!, bucket: name, prefix: 'in' },
    { access_key: access_key!, secret_key: secret_key! },
  )
  const sum = async (source: string) => {
    const { tables, lineage } = findingsOf(await run(source, { connection }))
    return [Number(tables.a!.rows[0]![0]), lineage.sources[0]!.files.map((one) => one.path)]
  }
  assert.deepEqual(await sum('{ file: "s3://there/2024/a.csv" }'), [1, ['s3://there/2024/a.csv']])
  assert.deepEqual(await sum('{ connection: there, file: 2024/*.csv }'), [
    3,
    ['s3://there/2024/a.csv', 's3://there/2024/b.csv'],
  ])
  assert.equal((await sum('{ file: "s3://there/**/*.csv" }'))[0], 7)
  assert.match(refusalOf(await run('{ file: "s3://there/*.tsv" }', { connection })), /No key .* matches/)
  assert.match(refusalOf(await run('{ file: "s3://there/none.csv" }', { connection })), /not found \(404\)/)
  assert.match(
    refusalOf(await run('{ file: "s3://other/none.csv" }', { connection })),
    /There is no connection other/,
  )
})

test('a pattern with a variable brings the files of its partition alone, by the bytes that the bucket sends', async (t) => {
  const sizes: Record<string, number> = { '2024-01-01': 300_000, '2024-01-02': 40_000, '2024-01-03': 500_000 }
  for (const [day, bytes] of Object.entries(sizes)) {
    const file = path.join(bench.data, `${day}.csv`)
    writeFileSync(file, `n\n${'1\n'.repeat(bytes / 2 - 1)}`)
    await bucket.write(`days/day=${day}/part.csv`, file, bytes, {})
  }
  let sent = 0
  const counter = createTcpServer((near) => {
    const far = connect(Number(new URL(bucketServer.config.endpoint!).port), '127.0.0.1')
    far.on('data', (piece) => {
      sent += piece.length
    })
    for (const socket of [near, far]) socket.on('error', () => undefined)
    near.pipe(far).pipe(near)
  })
  counter.listen(0, '127.0.0.1')
  await once(counter, 'listening')
  t.after(() => counter.close())
  const connection = connectionOf(
    's3',
    { bucket: 'assay', endpoint: `http://127.0.0.1:${(counter.address() as AddressInfo).port}` },
    { access_key: 'S3RVER', secret_key: 'S3RVER' },
  )
  const source = '{ connection: there, file: "days/day={{ vars.day }}/*.csv" }'
  const front = 'variables:\n  day: { type: string }\n'
  for (const [day, bytes] of Object.entries(sizes)) {
    const before = sent
    const { tables } = findingsOf(await run(source, { connection, front, variables: { day } }))
    assert.deepEqual(tables.a!.rows, [[bytes / 2 - 1]])
    const moved = sent - before
    assert.ok(moved >= bytes && moved < bytes + 10_000, `${moved} bytes for a partition of ${bytes}`)
  }
})

test('plain addresses are read only where the operator allows their hosts, and never inside', async () => {
  const trap = await startTrap()
  try {
    assert.match(refusalOf(await run('{ file: "https://data.example.com/a.csv" }')), /ASSAY_SOURCE_TARGETS/)
    const roots = { remote: { ...remote, targets: ['public'] } }
    for (const text of FORBIDDEN_URLS.filter((url) => URL.canParse(url))) {
      const url = new URL(text)
      url.protocol = 'https:'
      url.port = String(trap.port)
      const result = await run(`{ file: ${JSON.stringify(`${url.href.replace(/\/$/, '')}/a.csv`)} }`, {
        roots,
      })
      assert.equal(result.status, 'failed', url.href)
    }
    const front = 'variables: { u: { type: string } }\n'
    const variables = { u: `https://127.0.0.1:${trap.port}/a.csv` }
    assert.equal((await run('{ file: "{{ vars.u }}" }', { roots, front, variables })).status, 'failed')
    assert.equal(
      (await run('{ file: "https://{{ vars.u }}/a.csv" }', { roots, front, variables })).status,
      'failed',
    )
    assert.equal(trap.connections(), 0)
  } finally {
    await trap.close()
  }
})

test('uploads that lie in a bucket are read by name and by pattern, and told of where it is away', async () => {
  const offered = ['2024/a.csv', '2024/b.csv'].map((name) => ({
    path: name,
    url: `${webUrl}/${name.replace('b', 'a')}`,
    bytes: 100,
  }))
  const uploads = { folder: null, offered, targets: [`127.0.0.1:${port}`] }
  const one = findingsOf(await run('{ file: uploads/2024/a.csv }', { roots: { uploads } }))
  assert.equal(one.lineage.sources[0]!.files[0]!.path, 'uploads/2024/a.csv')
  const all = findingsOf(await run('{ file: "uploads/2024/*.csv" }', { roots: { uploads } }))
  assert.equal(all.lineage.sources[0]!.rows, 4)
  assert.match(
    refusalOf(await run('{ file: uploads/none.csv }', { roots: { uploads } })),
    /There is no upload/,
  )
  const fault = 'The bucket of the files cannot be reached.'
  assert.match(
    refusalOf(await run('{ file: uploads/a.csv }', { roots: { uploads: { ...uploads, fault } } })),
    /cannot be reached/,
  )
  assert.ok(readdirSync(cache).length > 0)
})
