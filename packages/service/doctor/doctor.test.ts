/** Checks what the doctor finds in a sound service, and in one with a fault in each part. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@assay/model/clock'
import { openStore } from '@assay/store/open'
import { resolveConfig } from '../config/config.ts'
import { nameAt } from '../recovery/locations.ts'
import { openSecrets } from '../secrets/key-check.ts'
import { CLIENT, openProvider } from '../sign-in/provider-fixture.ts'
import { examine } from './doctor.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'assay-doctor-test-'))
const servers: Server[] = []
after(() => {
  for (const server of servers) server.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a server. It answers paths that begin with `only`, and answers others with 404. */
async function listening(status: number, body: string, only = '/'): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    response.writeHead(url.startsWith(only) ? status : 404).end(body)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const home = path.join(folder, 'home')

async function found(environment: Record<string, string>, runs = false) {
  const findings = await examine(resolveConfig({ ASSAY_HOME: home, ...environment }).config, runs)
  for (const { state, says, remedy, part } of findings) {
    assert.match(says, /[.!?]$/, `${part}: ${says}`)
    assert.equal(
      remedy === null,
      state === 'ok' || state === 'unused',
      `${part} says what to do if something is wrong`,
    )
  }
  return Object.fromEntries(findings.map((finding) => [finding.part, finding]))
}

test('finds nothing wrong where nothing is, before the first start and after it', async () => {
  const before = await found({})
  assert.equal(before.home?.state, 'warning')
  assert.equal(before.store?.state, 'unused')
  const { config } = resolveConfig({ ASSAY_HOME: home })
  const store = await openStore({ url: '', home, clock: systemClock, publicUrl: null })
  await openSecrets(config, store)
  const url = await listening(200, '{"status":"ok"}')
  const backup = path.join(folder, 'backups')
  mkdirSync(backup)
  writeFileSync(path.join(backup, nameAt(new Date(), false)), 'x')
  const parts = await found(
    {
      ASSAY_PUBLIC_URL: url,
      ASSAY_TRACES: url,
      ASSAY_NARRATE_URL: url,
      ASSAY_NARRATE_MODEL: 'm',
      ASSAY_BACKUP: backup,
    },
    true,
  )
  await store.close()
  const wrong = Object.values(parts).filter(
    ({ state, part }) => !['ok', 'unused'].includes(state) && !['jail', 'disk'].includes(part),
  )
  assert.deepEqual(wrong, [])
  for (const part of [
    'home',
    'store',
    'clock',
    'key',
    'templates',
    'backups',
    'public address',
    'traces',
    'language model',
  ])
    assert.equal(parts[part]?.state, 'ok', part)
  assert.match(parts.store!.says, /^SQLite 3\.\d+\.\d+, /)
})

test('names what is wrong in each part, and what to do', async () => {
  const templates = path.join(folder, 'templates')
  mkdirSync(templates)
  writeFileSync(path.join(templates, 'broken.md'), '---\nvariables: 7\n---\n')
  const old = path.join(folder, 'old')
  mkdirSync(old)
  writeFileSync(path.join(old, nameAt(new Date(0), false)), 'x')
  const html = await listening(200, '<html>')
  const refusing = await listening(401, '')
  const parts = await found(
    {
      ASSAY_SECRET_KEY: 'ab'.repeat(32),
      ASSAY_TEMPLATES: templates,
      ASSAY_BACKUP: old,
      ASSAY_DATA: path.join(folder, 'nowhere'),
      ASSAY_FILES: path.join(folder, 'no-uploads'),
      ASSAY_SMTP_URL: 'smtp://127.0.0.1:1',
      ASSAY_MAIL_FROM: 'a@example.com',
      ASSAY_PUBLIC_URL: `${html}/assay`,
      ASSAY_TRACES: refusing,
      ASSAY_NARRATE_URL: refusing,
      ASSAY_NARRATE_MODEL: 'm',
    },
    true,
  )
  const expected: Record<string, RegExp> = {
    key: /ASSAY_SECRET_KEY holds another key than the store's/,
    templates: /1 of the files cannot be used: .*broken\.md/,
    backups: /is of 1970-01-01/,
    data: /nowhere is not a folder that can be read/,
    uploads: /No file can be written to .*no-uploads \(ENOENT\)/,
    mail: /127\.0\.0\.1:1: The mail server refused the connection/,
    'public address': /assay\/healthz answers 200, and not as a service does/,
    traces: /answers 401/,
    'language model': /refuses the key \(401\)/,
  }
  for (const [part, sentence] of Object.entries(expected)) {
    assert.equal(parts[part]?.state, 'failed', part)
    assert.match(parts[part].says, sentence)
  }
})

test('tells of a place in which no backup can be made, and leaves nothing in one that can', async () => {
  const file = path.join(folder, 'no-folder')
  writeFileSync(file, 'x')
  const { backups: broken } = await found({ ASSAY_BACKUP: path.join(file, 'backups') })
  assert.equal(broken?.state, 'failed')
  assert.match(broken.says, /no-folder/)
  const empty = path.join(folder, 'not-there-yet')
  const { backups: fresh } = await found({ ASSAY_BACKUP: empty })
  assert.match(fresh!.says, /There is no backup in .* yet/)
  assert.ok(!existsSync(empty))
})

test('says of a proxy that leads to the service below a path, and not to what agents read at the root', async () => {
  const proxy = await listening(200, '{"status":"ok"}', '/assay/')
  const { 'public address': address } = await found({ ASSAY_PUBLIC_URL: `${proxy}/assay` }, true)
  assert.equal(address?.state, 'failed')
  assert.match(address.says, /\.well-known\/oauth-authorization-server\/assay does not: agents cannot/)
  assert.match(address.remedy!, /deploy\/proxies/)
})

test('tells a database that cannot be reached, and a home that is another one', async () => {
  const parts = await found({
    ASSAY_STORE: 'postgres://ada:hidden-word@127.0.0.1:1/assay',
    ASSAY_SECRET_KEY: 'ab'.repeat(32),
  })
  assert.equal(parts.store?.state, 'failed')
  assert.match(parts.store.says, /The database cannot be reached.*ECONNREFUSED/)
  assert.doesNotMatch(JSON.stringify(parts), /hidden-word/)
  const file = path.join(folder, 'a-file')
  writeFileSync(file, 'x')
  assert.match((await found({ ASSAY_HOME: file })).home!.says, /is not a folder/)
  const nowhere = await found({ ASSAY_HOME: '/proc/assay/home', ASSAY_BACKUP: '/proc/assay/backups' })
  assert.match(nowhere.home!.says, /^\/proc\/assay\/home cannot be made in \/proc\.$/)
  assert.match(
    nowhere.backups!.says,
    /cannot be used \(ENOENT\); name a folder that this process can write to/,
  )
  chmodSync(home, 0o755)
  assert.match((await found({})).home!.remedy!, /chmod 700/)
})

test('asks the sign-in provider as a browser would, and says what it does not take', async (t) => {
  assert.equal((await found({}))['sign-in provider']?.state, 'unused')
  const back = 'http://assay.test'
  const provider = await openProvider(t, back)
  const ask = async (over: Record<string, string> = {}) => {
    const parts = await found({
      ASSAY_PUBLIC_URL: back,
      ASSAY_OIDC_ISSUER: provider.issuer,
      ASSAY_OIDC_CLIENT_ID: CLIENT.client_id,
      ASSAY_OIDC_CLIENT_SECRET: CLIENT.client_secret,
      ASSAY_OIDC_GROUPS: '*=default:viewer',
      ...over,
    })
    return parts['sign-in provider']!
  }
  const sound = await ask()
  assert.deepEqual([sound.state, sound.remedy], ['ok', null], sound.says)
  const moved = await ask({ ASSAY_PUBLIC_URL: 'http://elsewhere.test' })
  assert.equal(moved.state, 'failed')
  assert.match(
    moved.says,
    /refuses the client assay with the redirect address http:\/\/elsewhere\.test\/auth\/callback/,
  )
  assert.equal((await ask({ ASSAY_OIDC_CLIENT_ID: 'another' })).state, 'failed')
  const late = createServer((request, response) => {
    const base = `http://${request.headers.host}`
    response.setHeader('date', new Date(Date.now() - 120_000).toUTCString())
    response.setHeader('content-type', 'application/json')
    response.end(
      JSON.stringify({ issuer: base, authorization_endpoint: `${base}/in`, token_endpoint: `${base}/t` }),
    )
  })
  servers.push(late)
  await new Promise<void>((resolve) => late.listen(0, '127.0.0.1', resolve))
  const behind = await ask({ ASSAY_OIDC_ISSUER: `http://127.0.0.1:${(late.address() as AddressInfo).port}` })
  assert.deepEqual([behind.state, /The clock of/.test(behind.says)], ['warning', true], behind.says)
  await provider.stop()
  const away = await ask()
  assert.match(away.says, /cannot be used: The sign-in provider cannot be reached/)
  assert.match(away.remedy!, /ASSAY_OIDC_ISSUER/)
})
