import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { createClient } from '@assay/client'
import { type App, startApp } from './app.ts'
import { ConfigError, resolveConfig, type SettingName } from './config/config.ts'

const folders: string[] = []
const apps: App[] = []
after(async () => {
  for (const app of apps) await app.stop().catch(() => undefined)
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

async function newHome(): Promise<string> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-app-'))
  folders.push(home)
  return home
}

/** Starts a service with the role api, which starts fastest. The tests in test/ start every role. */
async function start(home: string, flags: Partial<Record<SettingName, string>> = {}): Promise<App> {
  const app = await startApp({
    config: resolveConfig({}, { home, port: '0', roles: 'api', ...flags }).config,
  })
  apps.push(app)
  return app
}

async function statusOf(app: App, token: string): Promise<number> {
  const response = await fetch(`${app.url}/v1alpha/jobs/templates`, {
    headers: { authorization: `Bearer ${token}` },
  })
  await response.arrayBuffer()
  return response.status
}

test('the first start makes an admin token and no later one does', async () => {
  const home = await newHome()
  const first = await start(home)
  assert.match(first.firstToken!, /^assay_/)
  assert.equal(await statusOf(first, first.firstToken!), 200)
  await first.stop()
  const second = await start(home)
  assert.equal(second.firstToken, null)
  assert.equal(await statusOf(second, first.firstToken!), 200)
  await second.stop()
})

test('ASSAY_TOKEN sets the admin token, and another value takes its place', async () => {
  const home = await newHome()
  const [old, young] = ['the-token-of-last-year', 'the-token-of-this-year']
  const first = await start(home, { token: old })
  assert.equal(first.firstToken, null)
  assert.equal(await statusOf(first, old), 200)
  await first.stop()
  const second = await start(home, { token: young })
  assert.deepEqual([await statusOf(second, young), await statusOf(second, old)], [200, 401])
  await second.stop()
  const third = await start(home)
  assert.equal(await statusOf(third, young), 200, 'without the setting the token stays')
  await third.stop()
})

test('neither tokens nor the key stand in the database in clear', async () => {
  const home = await newHome()
  const token = 'a-token-to-look-for-in-files'
  const app = await start(home, { token })
  await app.stop()
  const database = await readFile(path.join(home, 'assay.db'))
  const key = (await readFile(path.join(home, 'secret.key'), 'utf8')).trim()
  assert.ok(!database.includes(token) && !database.includes(key))
})

test('with another secret key jobs stay readable and nothing is done, and with a list that holds the first all goes on', async () => {
  const home = await newHome()
  const [a, b] = [randomBytes(32).toString('hex'), randomBytes(32).toString('base64')]
  await (await start(home, { secretKey: a })).stop()
  const token = 'a-token-of-another-key'
  const locked = await start(home, { secretKey: b, token })
  const ask = (path_: string, init: RequestInit = {}) =>
    fetch(`${locked.url}${path_}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    })
  assert.equal((await ask('/v1alpha/jobs/')).status, 200)
  const ready = await ask('/readyz')
  assert.equal(ready.status, 503)
  assert.match(await ready.text(), /The key of the secrets is missing on this node/)
  const { secrets } = (await (await ask('/v1alpha/queue')).json()) as { secrets: { missing_key: string } }
  assert.match(secrets.missing_key, /ASSAY_SECRET_KEY: .*another key/)
  const made = await ask('/v1alpha/webhooks/', {
    method: 'POST',
    body: JSON.stringify({ url: 'https://example.com/', headers: [], user_id: 'u', presence_name: 'p' }),
  })
  assert.equal(made.status, 503)
  assert.doesNotMatch(secrets.missing_key + (await made.text()), new RegExp(b.slice(0, 12)))
  const { items } = (await (await ask('/v1alpha/nodes')).json()) as { items: { roles: string[] }[] }
  assert.deepEqual(
    items.map(({ roles }) => roles),
    [['api']],
    'it claims nothing',
  )
  await locked.stop()
  await assert.rejects(start(home, { secretKey: b, roles: 'worker' }), (error: unknown) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, /ASSAY_SECRET_KEY: .*another key/)
    return true
  })
  await (await start(home, { secretKey: `${b},${a}` })).stop()
})

test('keeps the key of the home, and says so where the file is broken', async () => {
  const home = await newHome()
  const key = path.join(home, 'secret.key')
  await (await start(home)).stop()
  const made = await readFile(key, 'utf8')
  await (await start(home)).stop()
  assert.equal(await readFile(key, 'utf8'), made)
  await writeFile(key, 'half a k')
  await assert.rejects(start(home), /secret\.key does not hold 64 hex digits/)
})

test('says who holds the home when a second service wants it', async () => {
  const home = await newHome()
  const app = await start(home)
  await assert.rejects(start(home), new RegExp(`${process.pid}|another|holds`))
  await app.stop()
  await (await start(home)).stop()
})

test('a folder or a mail server that is not there stops the start', async () => {
  const home = await newHome()
  const wrong = (flags: Partial<Record<SettingName, string>>, message: RegExp) =>
    assert.rejects(start(home, flags), (error: unknown) => {
      assert.ok(error instanceof ConfigError)
      assert.match(error.message, message)
      return true
    })
  await wrong({ data: path.join(home, 'nowhere') }, /^ASSAY_DATA: .*nowhere is not a folder/)
  await wrong({ templates: path.join(home, 'nowhere') }, /^ASSAY_TEMPLATES: .*nowhere is not a folder/)
  const { TMPDIR: temporary } = process.env
  process.env.TMPDIR = path.join(home, 'nowhere')
  await wrong({}, /^TMPDIR: .*nowhere is not a folder; create it, or name another/)
  if (temporary === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = temporary
  await writeFile(path.join(home, 'file'), '')
  await wrong(
    { home: path.join(home, 'file') },
    /^ASSAY_HOME: .*file is not a folder .* can write to \(EEXIST\)/,
  )
  await wrong({ home: path.join(home, 'file', 'below') }, /^ASSAY_HOME: .*\(ENOTDIR\)/)
  await wrong(
    { home: '/proc/assay-home' },
    /^ASSAY_HOME: \/proc\/assay-home is not a folder that this process can write to/,
  )
  await wrong({ files: '/proc/assay-files' }, /^ASSAY_FILES: \/proc\/assay-files is not a folder/)
  await wrong({ store: 'sqlite:/proc/assay/a.db' }, /^ASSAY_STORE: \/proc\/assay is not a folder/)
  await wrong(
    { smtpUrl: 'smtp://mail.invalid', mailFrom: 'assay@example.com' },
    /^ASSAY_SMTP_URL: there is no host mail\.invalid; name the mail server\.$/,
  )
  // The start makes a folder whose parents are missing.
  await (await start(path.join(home, 'a', 'b', 'c'))).stop()
})

test('says that the port is taken', async (context) => {
  const home = await newHome()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => server.close())
  const { port } = server.address() as { port: number }
  await assert.rejects(start(home, { port: String(port) }), (error: unknown) => {
    assert.ok(error instanceof ConfigError)
    assert.match(error.message, new RegExp(`ASSAY_PORT: .*${port}.* taken`))
    return true
  })
  await (await start(home)).stop()
})

test('a node without the role api answers for its health and nothing else', async () => {
  const home = await newHome()
  const app = await start(home, { roles: 'dispatcher', token: 'a-token-for-the-roles' })
  assert.equal((await fetch(`${app.url}/readyz`)).status, 200)
  assert.equal(await statusOf(app, 'a-token-for-the-roles'), 404)
  await app.stop()
})

test('may send to loopback only where someone tries it out', async () => {
  const create = async (flags: Partial<Record<SettingName, string>>): Promise<number> => {
    const token = 'a-token-for-the-targets'
    const app = await start(await newHome(), {
      roles: 'api,worker,dispatcher',
      workers: '1',
      token,
      ...flags,
    })
    const response = await fetch(`${app.url}/v1alpha/webhooks/`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: 'http://127.0.0.1:9/', user_id: 'u', presence_name: 'p' }),
    })
    await response.arrayBuffer()
    await app.stop()
    return response.status
  }
  assert.ok((await create({})) < 300)
  assert.equal(await create({ publicUrl: 'https://assay.example.com' }), 422)
  assert.equal(await create({ host: '0.0.0.0' }), 422)
  assert.equal(await create({ webhookTargets: 'public' }), 422)
})

test('stops at once in spite of an open stream, and frees the home', async () => {
  const home = await newHome()
  const token = 'a-token-for-the-stream'
  const app = await start(home, { token })
  const client = createClient({ url: app.url, token, retries: 0 })
  const watching = client.jobs.watch(await client.jobs.create({ template_id: 'nile-flow' }))
  assert.equal((await watching.next()).value?.job_status, 'draft')
  assert.equal((await watching.next()).value?.job_status, 'draft', 'the stream says it, too')
  const cut = async (): Promise<void> => {
    for await (const _ of watching);
  }
  const next = assert.rejects(cut(), { code: 'unreachable' })
  await app.stop()
  await next
  await (await start(home)).stop()
})

test('what is loaded at the start brings neither the client of HTTP that Node keeps for browsers, 5 MB with what imports it, nor DuckDB', async () => {
  const parts = ['app.ts', '../cli/commands.ts'].map((file) =>
    pathToFileURL(path.join(import.meta.dirname, file)),
  )
  const program = `
    import Module from 'node:module'
    for (const part of ${JSON.stringify(parts)}) await import(part)
    const loaded = [...process.moduleLoadList, ...Object.keys(Module._cache)]
    console.log(loaded.length > 100, loaded.filter((name) => /deps.undici.undici$|@duckdb/.test(name)))`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program])
  assert.equal(stdout.trim(), 'true []')
})
