import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startBucket } from '../../../net/bucket-fixture.ts'
import { openConnections } from '../../connections/connection-registry.ts'
import { openTestServer } from '../test-server.ts'

const PASSWORD = 'correct horse battery staple'
const WAREHOUSE = {
  name: 'warehouse',
  kind: 'postgresql',
  options: { host: 'db.example.com', database: 'shop', user: 'reader' },
  secrets: { password: PASSWORD },
}

test('a connection is added, listed, changed and removed, and its secret never leaves', async (t) => {
  const { ask, store, secrets } = await openTestServer(t)
  const created = await ask('POST', '/v1alpha/connections', { body: WAREHOUSE })
  assert.equal(created.status, 201, created.text)
  assert.equal(created.headers.location, '/v1alpha/connections/warehouse')
  assert.match(created.json().secrets.password, /^•••• [0-9a-f]{8}$/)
  assert.deepEqual(created.json().options, {
    ...WAREHOUSE.options,
    port: 5432,
    tls: 'verify',
    privileged: 'refused',
  })
  assert.equal(created.json().limits.concurrent, 4)
  const again = await ask('POST', '/v1alpha/connections', { body: WAREHOUSE })
  assert.deepEqual([again.status, again.json().code], [409, 'name_taken'])

  const limits = await ask('PATCH', '/v1alpha/connections/warehouse', {
    body: { limits: { rows: 7 }, description: 'Orders' },
  })
  assert.deepEqual([limits.json().limits.rows, limits.json().limits.concurrent], [7, 4])
  const listed = await ask('GET', '/v1alpha/connections')
  assert.deepEqual(listed.json().items, [limits.json()])
  for (const { text } of [created, limits, listed]) assert.ok(!text.includes(PASSWORD))
  const kept = await store.getConnection({ workspace_id: 'default', name: 'warehouse' })
  assert.ok(!JSON.stringify(kept).includes(PASSWORD))
  assert.equal(secrets.open(kept!.secrets[0]!.sealed, 'connection:default:warehouse:password'), PASSWORD)

  assert.equal((await ask('DELETE', '/v1alpha/connections/warehouse')).status, 204)
  assert.equal((await ask('DELETE', '/v1alpha/connections/warehouse')).status, 404)
  assert.equal((await ask('POST', '/v1alpha/connections/warehouse/test')).status, 404)
})

test('every fault of a connection is named at once', async (t) => {
  const { ask } = await openTestServer(t)
  const answer = await ask('POST', '/v1alpha/connections', {
    body: {
      name: 'warehouse',
      kind: 'postgresql',
      options: { host: '169.254.169.254', port: 0, hots: 'a', tls: 'maybe' },
      secrets: { pass: 'a', password: '' },
      limits: { rows: 0, cows: 1 },
    },
  })
  assert.equal(answer.status, 422)
  const paths = answer.json().errors.map((fault: { path: string }) => fault.path)
  assert.deepEqual(paths.toSorted(), [
    'limits.cows',
    'limits.rows',
    'options.database',
    'options.host',
    'options.hots',
    'options.port',
    'options.tls',
    'options.user',
    'secrets.pass',
    'secrets.password',
  ])
})

test('a file outside the data folder and an address that is closed are refused as they are given, with what opens them', async (t) => {
  const { ask } = await openTestServer(t)
  const faultOf = async (kind: string, options: Record<string, string>) => {
    const answer = await ask('POST', '/v1alpha/connections', { body: { name: 'shop', kind, options } })
    assert.equal(answer.status, 422)
    return answer.json().errors
  }
  for (const file of ['../../etc/passwd', '/etc/passwd', 'a/../../b.db', 'C:\\shop.db', '..\\shop.db'])
    assert.deepEqual(await faultOf('sqlite', { file }), [
      { path: 'options.file', message: 'must be a path below the data folder, such as shop/orders.db' },
    ])
  const [closed] = await faultOf('http', { url: 'http://169.254.169.254/' })
  assert.match(closed.message, /an operator can open others with ASSAY_CONNECTION_TARGETS/)
})

test('a secret is not sent to another address than it was given for', async (t) => {
  const { ask } = await openTestServer(t)
  await ask('POST', '/v1alpha/connections', { body: WAREHOUSE })
  const moved = { options: { host: 'elsewhere.example.com' } }
  const refused = await ask('PATCH', '/v1alpha/connections/warehouse', { body: moved })
  assert.deepEqual([refused.status, refused.json().errors[0].path], [422, 'secrets.password'])
  const body = { ...moved, secrets: { password: 'another' } }
  assert.equal((await ask('PATCH', '/v1alpha/connections/warehouse', { body })).status, 200)
})

test('only admins see where connections lead, publishers their names; those of a guest may not go inside', async (t) => {
  const { ask, token, tokens, store } = await openTestServer(t)
  for (const scope of ['viewer', 'analyst'] as const)
    assert.equal((await ask('GET', '/v1alpha/connections', { token: tokens[scope] })).status, 403)
  await store.createWorkspace({ workspace_id: 'guests', name: 'Guests', data_folder: null })
  const guest = await token('guests', ['admin'])
  const inside = { ...WAREHOUSE, options: { ...WAREHOUSE.options, host: '10.0.0.5' } }
  const refused = await ask('POST', '/v1alpha/connections', { body: inside, token: guest })
  assert.deepEqual([refused.status, refused.json().errors[0].path], [422, 'options.host'])
  assert.equal((await ask('POST', '/v1alpha/connections', { body: inside })).status, 201)
  assert.deepEqual((await ask('GET', '/v1alpha/connections', { token: guest })).json().items, [])
  const publisher = await token('default', ['publisher'])
  const [seen] = (await ask('GET', '/v1alpha/connections', { token: publisher })).json().items
  assert.deepEqual([seen.name, seen.kind, seen.options, seen.secrets], ['warehouse', 'postgresql', {}, {}])
  const other = '/v1alpha/connections?workspace_id=guests'
  assert.equal((await ask('GET', other, { token: publisher })).status, 403)
  assert.equal((await ask('GET', other)).status, 200)
})

test('connections of a file are shown, follow their references and refuse changes', async (t) => {
  const { folder } = await openTestServer(t)
  const file = path.join(folder, 'connections.yaml')
  await writeFile(
    file,
    'connections:\n  warehouse:\n    kind: postgresql\n    options: { host: localhost, port: 1, database: a, user: b, tls: "off" }\n    secrets: { password: env:SHOP_PASSWORD }\n',
  )
  const book = (environment: NodeJS.ProcessEnv) =>
    openConnections({ store: null, secrets: null, file, targets: null, environment })
  const { ask } = await openTestServer(t, {
    parts: { connections: await book({ SHOP_PASSWORD: PASSWORD }) },
    pool: 'real',
  })
  const listed = await ask('GET', '/v1alpha/connections')
  assert.deepEqual(
    listed
      .json()
      .items.map(({ name, origin, secrets }: { name: string; origin: string; secrets: object }) => ({
        name,
        origin,
        secrets,
      })),
    [{ name: 'warehouse', origin: 'file', secrets: { password: 'env:SHOP_PASSWORD' } }],
  )
  for (const [method, url] of [
    ['POST', ''],
    ['PATCH', '/warehouse'],
    ['DELETE', '/warehouse'],
  ] as const) {
    const answer = await ask(
      method,
      `/v1alpha/connections${url}`,
      method === 'DELETE' ? {} : { body: method === 'POST' ? WAREHOUSE : {} },
    )
    assert.deepEqual([answer.status, answer.json().code], [409, 'conflict'])
  }
  const tested = (await ask('POST', '/v1alpha/connections/warehouse/test')).json()
  assert.equal(tested.ok, false)
  assert.match(tested.detail, /ECONNREFUSED/)
  assert.equal(
    (await (await book({ SHOP_PASSWORD: PASSWORD })).open('default', 'warehouse'))?.secrets.password,
    PASSWORD,
  )
  await assert.rejects((await book({})).open('default', 'warehouse'), /SHOP_PASSWORD is not set/)
})

test('a file with a secret in it is refused without saying the secret', async (t) => {
  const { folder } = await openTestServer(t)
  const file = path.join(folder, 'connections.yaml')
  await writeFile(
    file,
    `connections:\n  Bad: {}\n  a:\n    kind: postgresql\n    options: { host: h, database: d, user: u }\n    secrets: { password: "${PASSWORD}" }\n    more: 1\n`,
  )
  await assert.rejects(
    openConnections({ store: null, secrets: null, file, targets: null, environment: {} }),
    (error: Error) => {
      assert.match(error.message, /connections\.Bad/)
      assert.match(error.message, /more is not a key/)
      assert.ok(!error.message.includes(PASSWORD))
      return true
    },
  )
})

test('a preview reads over a connection only for a token that may publish', async (t) => {
  const { ask, parts, folder, tokens } = await openTestServer(t, { pool: 'real' })
  parts.config.data = folder
  const database = new DatabaseSync(path.join(folder, 'shop.db'))
  database.exec('create table orders (amount integer)')
  database.exec('insert into orders values (4), (5)')
  database.close()
  const made = await ask('POST', '/v1alpha/connections', {
    body: { name: 'shop', kind: 'sqlite', options: { file: 'shop.db' } },
  })
  assert.equal(made.status, 201, made.text)
  const tested = (await ask('POST', '/v1alpha/connections/shop/test')).json()
  assert.deepEqual([tested.ok, tested.detail], [true, null])
  const source =
    '---\nsources:\n  orders: { connection: shop, query: select * from orders }\n---\n```sql s\nselect sum(amount) as s from orders\n```\n# {{ s | first: "s" }}\n'
  const asPublisher = await ask('POST', '/v1alpha/jobs/templates/preview', {
    body: { source },
    token: tokens.publisher,
  })
  assert.equal(asPublisher.status, 200, asPublisher.text)
  assert.match(asPublisher.text, /# 9/)
  const asAnalyst = await ask('POST', '/v1alpha/jobs/templates/preview', {
    body: { source },
    token: tokens.analyst,
  })
  assert.equal(asAnalyst.status, 422)
  assert.match(asAnalyst.json().detail, /only with a token of the scope publisher: use one/)
  const checked = await ask('POST', '/v1alpha/jobs/templates/check', {
    body: source.replace('shop, query', 'nowhere, query'),
    type: 'text/markdown',
  })
  assert.match(checked.json().faults[0].message, /no connection "nowhere"/)
})

test('a web server and a bucket are tried for real, and say what is wrong', async (t) => {
  const { ask } = await openTestServer(t, { pool: 'real' })
  const web = createServer(({ headers }, response) =>
    response.writeHead(headers.authorization === 'Bearer a-token' ? 200 : 401).end(),
  )
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  const bucket = await startBucket()
  t.after(async () => {
    web.close()
    await bucket.close()
  })
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/files`
  const options = { bucket: 'assay', region: 'us-east-1', endpoint: bucket.config.endpoint }
  const keys = { access_key: 'S3RVER', secret_key: 'S3RVER' }
  const cases = [
    { kind: 'http', options: { url }, secrets: { token: 'a-token' }, says: 'HTTP server that answers 200' },
    {
      kind: 'http',
      options: { url },
      secrets: { token: 'another' },
      says: /refused these secrets \(401\)/,
    },
    { kind: 'http', options: { url: 'http://127.0.0.1:9/' }, secrets: {}, says: /ECONNREFUSED/ },
    { kind: 's3', options, secrets: keys, says: 'Bucket assay' },
    { kind: 's3', options: { ...options, bucket: 'nowhere' }, secrets: keys, says: /NoSuchBucket|404/ },
    {
      kind: 's3',
      options,
      secrets: { ...keys, access_key: 'NOBODYS' },
      says: /InvalidAccessKeyId|403/,
    },
  ]
  for (const [index, { says, ...connection }] of cases.entries()) {
    const name = `files-${index}`
    const before = (await ask('POST', '/v1alpha/connections/test', { body: { name, ...connection } })).json()
    assert.equal((await ask('GET', `/v1alpha/connections/${name}`)).status, 404, 'a test keeps nothing')
    const made = await ask('POST', '/v1alpha/connections', { body: { name, ...connection } })
    assert.equal(made.status, 201, made.text)
    const tested = (await ask('POST', `/v1alpha/connections/${name}/test`)).json()
    const { elapsed_ms: _then, ...first } = before
    const { elapsed_ms: _now, ...second } = tested
    assert.deepEqual(first, second)
    const { ok, server, detail } = tested as { ok: boolean; server: string | null; detail: string | null }
    if (typeof says === 'string') assert.deepEqual([ok, server, detail], [true, says, null])
    else {
      assert.deepEqual([ok, server], [false, null])
      assert.match(detail!, says)
      for (const secret of Object.values(connection.secrets)) assert.ok(!detail!.includes(secret))
    }
  }
})

test('a change is tried with the secrets that stay, before it is kept', async (t) => {
  const { ask } = await openTestServer(t, { pool: 'real' })
  const web = createServer(({ headers, url }, response) =>
    response.writeHead(headers.authorization === 'Bearer a-token' && url === '/new/' ? 200 : 401).end(),
  )
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  t.after(() => web.close())
  const host = `http://127.0.0.1:${(web.address() as AddressInfo).port}`
  const connection = {
    name: 'web',
    kind: 'http',
    options: { url: `${host}/old/` },
    secrets: { token: 'a-token' },
  }
  await ask('POST', '/v1alpha/connections', { body: connection })
  const present = (await ask('GET', '/v1alpha/connections/web')).json()
  const tried = (body?: object) => ask('POST', '/v1alpha/connections/web/test', body ? { body } : {})
  assert.equal((await tried()).json().ok, false)
  const moved = await tried({ options: { url: `${host}/new/` } })
  assert.deepEqual([moved.status, moved.json().errors[0].path], [422, 'secrets.token'])
  const both = { options: { url: `${host}/new/` }, secrets: { token: 'a-token' } }
  assert.equal((await tried(both)).json().ok, true)
  assert.equal((await tried({ secrets: { token: 'another' } })).json().ok, false)
  assert.deepEqual((await ask('GET', '/v1alpha/connections/web')).json(), present, 'a test keeps nothing')
})

test('a connection and a download to a host that is not on the list of the workspace are refused, named and audited', async (t) => {
  const { ask, parts } = await openTestServer(t, { pool: 'real', sourceTargets: ['loopback'] })
  let dialed = 0
  const web = createServer((_, response) => response.end('n\n4\n5\n')).on('connection', () => (dialed += 1))
  web.listen(0, '127.0.0.1')
  await once(web, 'listening')
  t.after(() => web.close())
  const { port } = web.address() as AddressInfo
  const options = { url: `http://127.0.0.1:${port}/` }
  const made = await ask('POST', '/v1alpha/connections', { body: { name: 'web', kind: 'http', options } })
  assert.equal(made.status, 201, made.text)
  const [download, query] = [
    `{ file: "https://127.0.0.1:${port}/a.csv" }`,
    '{ connection: web, file: a.csv }',
  ]
  const preview = (table: string) => {
    const source = `---\nsources:\n  a: ${table}\n---\n\`\`\`sql s\nselect sum(n) as s from a\n\`\`\`\n# {{ s | first: "s" }}\n`
    return ask('POST', '/v1alpha/jobs/templates/preview', { body: { source } })
  }
  const rule = (hosts: string[] | null) => ask('PATCH', '/v1alpha/outgoing', { body: { hosts } })
  const told = /may not reach the host 127\.0\.0\.1: the operator can add it/

  await rule(['127.0.0.1'])
  assert.match((await preview(query)).text, /# 9/)
  // The server speaks no TLS, but it is dialed.
  const before = dialed
  assert.doesNotMatch((await preview(download)).json().detail, told)
  assert.ok(dialed > before)
  assert.equal((await ask('POST', '/v1alpha/connections/web/test')).json().ok, true)

  const far = `---\nsources:\n  a: ${download}\n---\n\`\`\`sql s\nselect count(*) as n from a\n\`\`\`\n# A\n`
  assert.equal(
    (await ask('PUT', '/v1alpha/jobs/templates/known', { body: far, type: 'text/markdown' })).status,
    201,
  )

  await rule(['db.example.com'])
  const last = dialed
  const bucket = { kind: 's3', options: { bucket: 'reports', region: 'eu-west-1' } }
  const put = `---\nsources:\n  a: ${download}\n---\n# A\n`
  const metric = `metric: far\nlabel: Far\nsource: ${download}\ntime: { column: day }\nvalue: count(*)\n`
  const YAML = 'application/yaml'
  const registered = [
    [
      'POST',
      '/connections',
      { ...bucket, name: 'c' },
      'options.bucket',
      'reports.s3.eu-west-1.amazonaws.com',
    ],
    ['PATCH', '/connections/web', { options }, 'options.url', '127.0.0.1'],
    ['PUT', '/jobs/templates/far', put, 'template', '127.0.0.1'],
    ['PUT', '/metrics/far', metric, 'metric', '127.0.0.1'],
  ] as const
  for (const [method, at, body, field, host] of registered) {
    const type = typeof body === 'string' ? { type: field === 'metric' ? YAML : 'text/markdown' } : {}
    const answer = await ask(method, `/v1alpha${at}`, { body, ...type })
    assert.deepEqual([answer.status, answer.json().errors[0].path], [422, field], answer.text)
    assert.ok(answer.json().errors[0].message.includes(`may not reach the host ${host}: `), answer.text)
  }
  const nightly = { cron: '0 6 * * *', time_zone: 'UTC', template_id: 'known', name: 'n' }
  for (const [at, body, field] of [
    ['/jobs/', { payload: { type: 'template', template_id: 'known' } }, 'payload.template_id'],
    ['/jobs/bulk', { template_id: 'known', items: [{}] }, 'template_id'],
    ['/jobs/bulk/check', { template_id: 'known', items: [{}] }, 'template_id'],
    ['/schedules', nightly, 'template_id'],
  ] as const) {
    const answer = await ask('POST', `/v1alpha${at}`, { body })
    assert.deepEqual([answer.status, answer.json().errors[0].path], [422, field], answer.text)
    assert.match(answer.json().errors[0].message, /may not reach .* which holds db\.example\.com\.$/)
  }
  const described = { body: { description: 'The same address' } }
  assert.equal((await ask('PATCH', '/v1alpha/connections/web', described)).status, 200)
  const { ok, detail } = (await ask('POST', '/v1alpha/connections/web/test')).json()
  assert.equal(ok, false)
  assert.match(detail, told)
  for (const table of [download, query]) {
    const refused = await preview(table)
    assert.match(refused.json().detail, told, refused.text)
    assert.match(refused.json().detail, /^source_unavailable: /)
  }
  assert.equal(dialed, last, 'nobody was dialed')
  await parts.ledger.refresh('default')
  const { items } = (await ask('GET', '/v1alpha/audit?action=outgoing.refuse')).json()
  const refusals = items.map(
    ({ object_id, fields }: { object_id: string; fields: string[] }) => `${object_id} ${fields.join()}`,
  )
  assert.deepEqual(refusals.toSorted(), ['download host', 'query host'])
})
