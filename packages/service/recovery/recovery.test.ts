/** Backups and restores of a real SQLite store with uploads, in folders and in a bucket. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, suite, test } from 'node:test'
import { createGunzip, createGzip } from 'node:zlib'
import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { startBucket } from '../../net/bucket-fixture.ts'
import {
  addWebhook,
  completeNew,
  failAll,
  otherWorkspace,
  queueNew,
  register,
  send,
} from '../../store/conformance/given.ts'
import { type Config, resolveConfig } from '../config/config.ts'
import { silentLog } from '../runtime/log.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { SecretBox } from '../runtime/secrets.ts'
import { newIdentity, parseIdentities, parseRecipient } from './age.ts'
import { HEAD, type Head, MANIFEST } from './format.ts'
import { findBackup, type Location, nameAt, openLocation, prune } from './locations.ts'
import { restore } from './restore.ts'
import { createBackups } from './schedule.ts'
import { extract, pack } from './tar.ts'
import { verifyBackup } from './verify.ts'
import { makeBackup } from './write.ts'

const KEY = 'ab'.repeat(32)
const NO_KEYS = { endpoint: null, region: 'us-east-1', accessKey: null, secretKey: null }
const refused = (sentence: RegExp) => (error: Error & { code?: string }) => {
  assert.equal(error.code, 'conflict', String(error.stack))
  assert.match(error.message, sentence)
  return true
}

/** Returns the archive with some of its parts changed. */
async function changed(
  file: string,
  to: string,
  change: (name: string, text: string) => string | null,
): Promise<void> {
  const archive = extract()
  const out = pack()
  const packing = pipeline(out, createGzip(), async (bytes: AsyncIterable<Buffer>) => {
    const chunks: Buffer[] = []
    for await (const chunk of bytes) chunks.push(chunk)
    await writeFile(to, Buffer.concat(chunks))
  })
  const reading = pipeline(Readable.from(readFileSync(file)), createGunzip(), archive)
  for await (const entry of archive) {
    const chunks: Buffer[] = []
    for await (const chunk of entry as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = change(entry.header.name, Buffer.concat(chunks).toString())
    if (text === null) continue
    const bytes = Buffer.from(text)
    out.entry({ name: entry.header.name, size: bytes.length }, () => undefined).end(bytes)
  }
  out.finalize()
  await Promise.all([packing, reading])
}

suite('backup and restore', () => {
  let folder: string
  let config: Config
  let store: Store
  let location: Location
  let first: string
  const fresh = (name: string): Config => ({ ...config, home: path.join(folder, name), secretKey: [] })
  const at = (name: string): string => path.join(location.address, name)
  const restored = async (name: string, to: Config, key: string | null = null, from = location) =>
    restore({ config: to, name, stream: await from.read(name), identities: [], key })
  const make = (over: Partial<Parameters<typeof makeBackup>[0]> = {}) =>
    makeBackup({ config, location, now: new Date(), withKey: false, recipient: null, ...over })

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'assay-recovery-'))
    config = resolveConfig({ ASSAY_HOME: path.join(folder, 'home') }).config
    store = await openStore({ url: '', home: config.home, clock: systemClock, publicUrl: null })
    await writeFile(path.join(config.home, 'secret.key'), `${KEY}\n`)
    const box = new SecretBox([Buffer.from(KEY, 'hex')])
    await store.keepOnce('secret_key_check', box.seal('assay', 'secret_key_check'))
    await register(store)
    await otherWorkspace(store, 'team')
    const webhook = await addWebhook(store, { events: null, presence_name: 'ops' })
    await completeNew(store, { presence_name: 'ops' })
    await queueNew(store, { metadata: { text: 'ü \u2028 "quoted" \\ and\nlines' } })
    await send(store, webhook, 3)
    await failAll(store)
    await store.createRecovery({
      recovery_id: uuidv7(),
      workspace_id: webhook.workspace_id,
      webhook_id: webhook.webhook_id,
      since: new Date(0).toISOString(),
      until: null,
      include_unsent: true,
    })
    for (const [workspace, file, text] of [
      ['default', 'sales/2024 ü.csv', 'a,b\n1,2\n'],
      ['team', 'empty.csv', ''],
    ] as const) {
      const target = path.join(config.home, 'files', workspace, file)
      await mkdir(path.dirname(target), { recursive: true })
      await writeFile(target, text)
    }
    location = openLocation(path.join(folder, 'backups'), NO_KEYS)
    first = (await make()).name
  })
  after(async () => {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('a backup of a store in use is one file for its owner, which a restore into a scratch home proves', async () => {
    assert.deepEqual(await readdir(location.address), [first])
    const { tables, uploads } = await verifyBackup({ config, location, name: first, identities: [] })
    assert.equal(tables.jobs?.rows, 2)
    assert.equal(tables.insights?.rows, 1)
    assert.ok(tables.attempts!.rows >= 3 && tables.recoveries!.rows === 1)
    assert.deepEqual(uploads, { files: 2, bytes: 8 })
  })

  test('the restored home holds what the former one held, and goes on', async () => {
    const to = fresh('again')
    const { secrets } = await restored(first, to, `${KEY}\n`)
    assert.equal(secrets, 'readable')
    assert.deepEqual(readdirSync(to.home).toSorted(), ['assay.db', 'files', 'secret.key'])
    assert.equal(readFileSync(path.join(to.home, 'files/default/sales/2024 ü.csv'), 'utf8'), 'a,b\n1,2\n')
    assert.equal(readFileSync(path.join(to.home, 'secret.key'), 'utf8'), `${KEY}\n`)
    const other = await openStore({ url: '', home: to.home, clock: systemClock, publicUrl: null })
    try {
      await other.ping()
      const query = { workspace_id: 'default', limit: 50 }
      assert.deepEqual(await other.listJobs(query), await store.listJobs(query))
      const events = { workspace_id: 'default', limit: 50, order: 'oldest' as const }
      const former = await store.listEvents(events)
      assert.deepEqual(await other.listEvents(events), former)
      const { jobs } = await other.counts()
      assert.deepEqual(
        jobs.map(({ job_status, count }) => [job_status, count]),
        [['queued', 1]],
      )
      await other.reapNodes({ all: true })
      await register(other)
      await completeNew(other, { presence_name: 'ops' })
      const next = await other.listEvents({ ...events, cursor: former.next_cursor! })
      assert.ok(next.items.length >= 3, 'a reader of the events goes on where it was')
    } finally {
      await other.close()
    }
  })

  test('refuses a home that holds something, another key, and SQLite elsewhere', async () => {
    await assert.rejects(
      restored(first, config),
      refused(/home is not empty \(it holds .*name a new folder with --home/),
    )
    await assert.rejects(
      restored(first, fresh('key'), 'cd'.repeat(32)),
      refused(/The key does not open the secrets/),
    )
    await assert.rejects(
      restored(first, { ...fresh('x'), store: 'sqlite:/tmp/x.db' }),
      refused(/leave ASSAY_STORE out/),
    )
    assert.deepEqual(
      readdirSync(folder).filter((name) => /^(key|x)/.test(name)),
      [],
      'nothing is left',
    )
    const { secrets } = await restored(first, fresh('keyless'))
    assert.equal(secrets, 'no key')
  })

  test('refuses an older and a newer schema, a part that was changed, added or left out, and an end that is missing', async () => {
    const rewritten = async (
      name: string,
      change: (part: string, text: string) => string | null,
    ): Promise<void> => {
      await changed(at(first), at(name), change)
    }
    const headWith = (over: Partial<Head>) => (part: string, text: string) =>
      part === HEAD ? JSON.stringify({ ...(JSON.parse(text) as Head), ...over }) : text
    const cases: [string, (part: string, text: string) => string | null, RegExp][] = [
      ['older', headWith({ schema: '0000_before' }), /the older schema 0000_before, .*restore it with assay/],
      ['newer', headWith({ schema: '9999_later' }), /the newer schema 9999_later/],
      ['form', headWith({ format: 2 }), /has the form 2/],
      ['columns', headWith({ tables: { jobs: ['id'] } }), /other columns in the backup/],
      [
        'upload',
        (part, text) => (part.startsWith('uploads/default') ? 'a,b\n1,3\n' : text),
        /uploads\/default.* is not what the manifest says/,
      ],
      [
        'row',
        (part, text) => (part.startsWith('tables/jobs/') ? text.replace('T-1', 'T-2') : text),
        /tables\/jobs\/.* is not what the manifest says/,
      ],
      [
        'less',
        (part, text) => (part.startsWith('tables/audit') || part.startsWith('uploads/team') ? null : text),
        /is not what the manifest says/,
      ],
      ['cut', (part, text) => (part === MANIFEST ? null : text), /damaged, cut off, or not a backup/],
    ]
    for (const [name, change, sentence] of cases) {
      await rewritten(name, change)
      await assert.rejects(restored(name, fresh(`to-${name}`)), refused(sentence), name)
      await rm(at(name))
    }
    writeFileSync(at('half'), readFileSync(at(first)).subarray(0, 2000))
    writeFileSync(at('words'), 'no backup')
    for (const name of ['half', 'words']) {
      await assert.rejects(restored(name, fresh(`to-${name}`)), refused(/damaged, cut off, or not a backup/))
      await rm(at(name))
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('to-')),
      [],
    )
  })

  test('an encrypted backup is opened by its secret key alone, and its key may go with it', async () => {
    const { identity, recipient } = newIdentity()
    const { name } = await make({ recipient: parseRecipient(recipient), withKey: true })
    assert.match(name, /\.age$/)
    await assert.rejects(
      restored(name, fresh('sealed')),
      refused(/is encrypted: give the file of its secret key/),
    )
    const identities = parseIdentities(identity)
    const to = fresh('opened')
    const { secrets } = await restore({
      config: to,
      name,
      stream: await location.read(name),
      identities,
      key: null,
    })
    assert.equal(secrets, 'readable')
    assert.equal(readFileSync(path.join(to.home, 'secret.key'), 'utf8'), `${KEY}\n`)
    await verifyBackup({ config, location, name, identities })
  })

  test('keeps the newest, and finds them', async () => {
    const others = openLocation(path.join(folder, 'pruned'), NO_KEYS)
    await mkdir(others.address)
    await writeFile(path.join(others.address, 'notes.txt'), 'not ours')
    const names = [1, 2, 3].map((day) => nameAt(new Date(Date.UTC(2026, 0, day)), false))
    for (const name of names) await others.put(name, (file) => writeFile(file, 'x'))
    assert.equal((await findBackup(others.address, NO_KEYS)).name, names[2])
    assert.equal((await findBackup(path.join(others.address, names[0]!), NO_KEYS)).name, names[0])
    assert.deepEqual(await prune(others, 2), names.slice(0, 1))
    assert.deepEqual((await readdir(others.address)).toSorted(), [...names.slice(1), 'notes.txt'])
    await assert.rejects(findBackup(path.join(folder, 'nowhere'), NO_KEYS), /There is no backup in/)
  })

  test('a process that is killed at work leaves no backup and no home', async () => {
    const big = path.join(config.home, 'files/default/big.csv')
    await writeFile(big, '')
    await truncate(big, 3e9)
    const killed = path.join(folder, 'killed')
    const run = (...args: string[]) =>
      spawn(process.execPath, [path.join(import.meta.dirname, '../../cli/main.ts'), ...args], {
        env: { ...process.env, ASSAY_HOME: config.home },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
    const seen = async (child: ChildProcess, found: () => boolean): Promise<void> => {
      while (!found()) {
        assert.equal(child.exitCode, null, 'it ended before it was killed')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    const backing = run('backup', killed)
    await seen(backing, () => existsSync(killed) && readdirSync(killed).length > 0)
    backing.kill('SIGKILL')
    await once(backing, 'exit')
    await rm(big)
    assert.deepEqual(await openLocation(killed, NO_KEYS).list(), [])
    assert.match(readdirSync(killed).join(), /^\.assay-.*\.part$/)

    await writeFile(big, '')
    await truncate(big, 1e8)
    const { name } = await make()
    await rm(big)
    const to = fresh('killed-home')
    const beside = () => readdirSync(folder).filter((one) => one.startsWith('killed-home.restoring-'))
    const restoring = run('restore', at(name), '--home', to.home)
    await seen(restoring, () => beside().length > 0)
    restoring.kill('SIGKILL')
    await once(restoring, 'exit')
    assert.equal(existsSync(to.home), false)
    assert.equal(beside().length, 1)
    await restored(first, to)
    assert.deepEqual(beside(), [], 'what it has left is cleared by the next')
    await rm(at(name))
  })

  test('a node makes a backup when the newest is too old, in a thread, and deletes the oldest', async () => {
    const backup = path.join(folder, 'scheduled')
    await mkdir(backup)
    const old = [1, 2].map((day) => nameAt(new Date(Date.UTC(2026, 0, day)), false))
    for (const name of old) await writeFile(path.join(backup, name), 'x')
    const stop = new AbortController()
    const metrics = createMetrics()
    const done = Promise.withResolvers<void>()
    const log = { ...silentLog, info: () => done.resolve(), error: (about: unknown) => done.reject(about) }
    const service = createBackups({
      config: { ...config, backup, backupKeep: 2 },
      store,
      clock: systemClock,
      log: log as never,
      metrics,
    })!
    const running = service.run(stop.signal)
    await done.promise
    stop.abort()
    await running
    const names = (await openLocation(backup, NO_KEYS).list()).map(({ name }) => name)
    assert.equal(names.length, 2)
    assert.equal(names[0], old[1])
    assert.match(await metrics.registry.metrics(), /assay_backups_total\{outcome="made"\} 1/)
    await verifyBackup({ config, location: openLocation(backup, NO_KEYS), name: names[1]!, identities: [] })
  })

  test('keeps backups in a bucket, and restores uploads into one', async () => {
    const bucket = await startBucket()
    const { endpoint, access_key: accessKey, secret_key: secretKey, region } = bucket.config
    const keys = { endpoint, region, accessKey, secretKey }
    const kept = openLocation('s3://assay/nightly', keys)
    try {
      const { name } = await make({ location: kept })
      assert.deepEqual(
        (await kept.list()).map((one) => one.name),
        [name],
      )
      const found = await findBackup('s3://assay/nightly', keys)
      assert.equal(found.name, name)
      await found.location.close()
      const to: Config = {
        ...fresh('from-bucket'),
        files: 's3://assay/uploads',
        filesEndpoint: endpoint,
        filesAccessKey: accessKey,
        filesSecretKey: secretKey,
      }
      const { manifest } = await restored(name, to, null, kept)
      assert.equal(manifest.uploads.files, 2)
      await assert.rejects(
        restored(name, { ...to, home: `${to.home}-2` }, null, kept),
        refused(/s3:\/\/assay\/uploads is not empty/),
      )
      assert.equal((await prune(kept, 1)).length, 0)
      await kept.remove(name)
      assert.deepEqual(await kept.list(), [])
    } finally {
      await kept.close()
      await bucket.close()
    }
  })
})
