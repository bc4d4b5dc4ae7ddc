/** Rotated, retired and lost keys of secrets, on a real SQLite store. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { systemClock } from '@assay/model/clock'
import { connectionContext } from '@assay/model/connection'
import { headerContext, secretContext } from '@assay/model/webhook'
import { openSqliteSource } from '@assay/store/copy'
import { openStore } from '@assay/store/open'
import { webhookInput } from '../../store/conformance/given.ts'
import { ConfigError, resolveConfig } from '../config/config.ts'
import { silentLog } from '../runtime/log.ts'
import { SecretBox } from '../runtime/secrets.ts'
import { openSecrets, opensCheck } from './key-check.ts'
import { createLostSecrets } from './lost.ts'
import { countSecrets, resealAll } from './reseal.ts'

const [OLD, NEW, OTHER] = ['aa', 'bb', 'cc'].map((byte) => Buffer.from(byte.repeat(32), 'hex')) as [
  Buffer,
  Buffer,
  Buffer,
]

async function opened(t: TestContext) {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-secrets-'))
  const { config } = resolveConfig({ ASSAY_HOME: home })
  const store = await openStore({ url: '', home, clock: systemClock, publicUrl: null })
  t.after(async () => {
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
  const source = () => openSqliteSource(path.join(home, 'assay.db'))
  const counted = async (box: SecretBox) => {
    const from = await source()
    try {
      return await countSecrets(from, box)
    } finally {
      await from.close()
    }
  }
  return { home, config, store, source, counted, file: path.join(home, 'secret.key') }
}

type Opened = Awaited<ReturnType<typeof opened>>

/** Fills the store with webhooks and a connection, sealed by the box. */
async function filled({ store }: Opened, box: SecretBox, webhooks: number): Promise<string[]> {
  const ids: string[] = []
  for (let count = 0; count < webhooks; count += 1) {
    const input = webhookInput()
    const { webhook_id } = input
    const headers = [
      { name: 'x-key', sealed: box.seal('a value', headerContext(webhook_id, 'x-key')), fingerprint: '' },
    ]
    const secrets = [{ sealed: box.seal('a secret', secretContext(webhook_id)), expires_at: null }]
    await store.createWebhook({ ...input, headers, secrets })
    ids.push(webhook_id)
  }
  const sealed = box.seal('a password', connectionContext('default', 'crm', 'password'))
  await store.createConnection({
    workspace_id: 'default',
    name: 'crm',
    kind: 'postgresql',
    description: null,
    options: {},
    secrets: [{ name: 'password', sealed, fingerprint: '' }],
    limits: {} as never,
    user_id: 'ada',
  })
  return ids
}

test('what an older key sealed is sealed by the first, also where a run was cut off, and opens as before', async (t) => {
  const of = await opened(t)
  const { store, source, counted } = of
  const ids = await filled(of, new SecretBox([OLD]), 450)
  const box = new SecretBox([NEW, OLD])
  assert.equal((await counted(box)).older, 901)
  let calls = 0
  const cutOff: typeof store = Object.assign(Object.create(store) as typeof store, {
    reseal: (rows: Parameters<typeof store.reseal>[0]) => {
      calls += 1
      if (calls > 2) throw new Error('cut off')
      return store.reseal(rows)
    },
  })
  const first = await source()
  await assert.rejects(resealAll(cutOff, first, box), /cut off/)
  await first.close()
  assert.equal((await counted(box)).older, 901 - 800)
  const second = await source()
  assert.equal(await resealAll(store, second, box), 51)
  await second.close()
  assert.deepEqual((await counted(box)).keys, { [box.first]: 901 })
  const alone = new SecretBox([NEW])
  assert.ok(opensCheck(alone, (await store.getKept('secret_key_check'))!))
  const kept = (await store.getWebhook({ workspace_id: 'default', webhook_id: ids.at(-1)! }))!
  assert.equal(alone.open(kept.headers[0]!.sealed, headerContext(ids.at(-1)!, 'x-key')), 'a value')
})

test('a node without the key of its store seals nothing and says what to do; one without the role api does not start', async (t) => {
  const { config, store, file } = await opened(t)
  const box = await openSecrets(config, store)
  assert.equal(box.locked, null)
  const key = readFileSync(file, 'utf8')
  rmSync(file)
  const without = await openSecrets(config, store)
  assert.match(
    without.locked!,
    /secret\.key: the file with the key of the secrets is gone; put that key back.*forget --lost/,
  )
  assert.equal(existsSync(file), false, 'no other key is put in its place')
  assert.throws(() => without.seal('x', 'y'), { code: 'store_unavailable' })
  const sealed = without.sealForOthers('x', 'y')
  assert.equal(without.open(sealed, 'y'), 'x')
  writeFileSync(file, `${'cc'.repeat(32)}\n`)
  assert.match((await openSecrets(config, store)).locked!, /were sealed with another key/)
  await assert.rejects(openSecrets({ ...config, roles: ['worker'] }, store), ConfigError)
  writeFileSync(file, `${'cc'.repeat(32)}\n${key}`)
  assert.equal((await openSecrets(config, store)).locked, null)
})

test('lists what must be entered again, until it is', async (t) => {
  const of = await opened(t)
  const { config, store } = of
  const [first, second] = await filled(of, new SecretBox([OLD]), 2)
  const box = new SecretBox([OTHER])
  const logged: { count?: number }[] = []
  const log = { ...silentLog, error: (about: { count?: number }) => logged.push(about) }
  const lost = createLostSecrets({ config, store, secrets: box, log: log as never })
  const stop = new AbortController()
  const running = lost.run(stop.signal)
  while (logged.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(logged[0]!.count, 3)
  const named = async () => (await lost.list()).map(({ kind, id, what }) => [kind, id, what.join(', ')])
  assert.deepEqual(await named(), [
    ['webhook', first, 'the header x-key, the signing secret'],
    ['webhook', second, 'the header x-key, the signing secret'],
    ['connection', 'crm', 'the secret password'],
  ])
  await store.deleteWebhook({ workspace_id: 'default', webhook_id: second! })
  await store.updateConnection({
    workspace_id: 'default',
    name: 'crm',
    patch: {
      secrets: [
        { name: 'password', sealed: { name: 'password', sealed: box.seal('p', 'c'), fingerprint: '' } },
      ],
    },
  })
  assert.deepEqual(
    (await named()).map(([, id]) => id),
    [first],
  )
  stop.abort()
  await running
})
