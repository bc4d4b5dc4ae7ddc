/** Runs the commands of keys, one after the other, on the home of a stopped service. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '@assay/model/clock'
import { headerContext, secretContext } from '@assay/model/webhook'
import { openStore } from '@assay/store/open'
import { resolveConfig } from '../../../service/config/config.ts'
import { openSecrets } from '../../../service/secrets/key-check.ts'
import { webhookInput } from '../../../store/conformance/given.ts'
import { findCommand, parseCall } from '../../command.ts'
import { ExitError } from '../../exit.ts'
import { SECRETS } from './secrets.ts'

const home = mkdtempSync(path.join(tmpdir(), 'assay-keys-'))
after(() => rmSync(home, { recursive: true, force: true }))
const file = path.join(home, 'secret.key')
const keys = (): string[] => readFileSync(file, 'utf8').trim().split('\n')

async function run(
  t: { mock: typeof import('node:test').mock },
  ...words: string[]
): Promise<[number, string]> {
  let said = ''
  const written = (text: unknown): boolean => {
    said += String(text)
    return true
  }
  const mocks = [
    t.mock.method(process.stdout, 'write', written),
    t.mock.method(process.stderr, 'write', written),
  ]
  try {
    const command = findCommand(SECRETS, words)!
    const call = parseCall(command, words.slice(2), { ASSAY_HOME: home }, new AbortController().signal)
    return [await command.run(call), said]
  } catch (error) {
    if (error instanceof ExitError) return [error.code, error.message]
    throw error
  } finally {
    for (const mocked of mocks) mocked.mock.restore()
  }
}

test('a key is rotated, the store resealed, the old one forgotten, and a lost one given up', async (t) => {
  const { config } = resolveConfig({ ASSAY_HOME: home })
  const store = await openStore({ url: '', home, clock: systemClock, publicUrl: null })
  const box = await openSecrets(config, store)
  const input = webhookInput()
  const id = input.webhook_id
  await store.createWebhook({
    ...input,
    headers: [{ name: 'x', sealed: box.seal('v', headerContext(id, 'x')), fingerprint: '' }],
    secrets: [{ sealed: box.seal('s', secretContext(id)), expires_at: null }],
  })
  const [known] = box.hashes('default\nann@example.com', 'mail address')
  await store.close()
  const [old] = keys()

  assert.match((await run(t, 'secrets', 'rotate'))[1], /seals from the next start on/)
  assert.deepEqual([keys().length, keys()[1]], [2, old])
  const [code, listed] = await run(t, 'secrets', 'list')
  assert.equal(code, 0)
  assert.match(listed, /seals +0\n.* opens +2\n/)
  assert.match(
    (await run(t, 'secrets', 'forget'))[1],
    /2 sealed texts need the older keys: run "assay secrets reseal" first/,
  )
  assert.match((await run(t, 'secrets', 'reseal'))[1], /^1\n1 rows were sealed anew/)
  assert.match((await run(t, 'secrets', 'forget'))[1], /is the only one that this store needs/)
  assert.equal(keys().length, 1)
  assert.notEqual(keys()[0], old)

  const between = await openStore({ url: '', home, clock: systemClock, publicUrl: null })
  const present = await openSecrets(config, between)
  await between.close()
  assert.ok(
    present.hashes('default\nann@example.com', 'mail address').includes(known!),
    'who has left stays known',
  )

  rmSync(file)
  assert.match((await run(t, 'secrets', 'list'))[1], /There is no key: put .*secret\.key back/)
  const [given, said] = await run(t, 'secrets', 'forget', '--lost')
  assert.equal(given, 0)
  assert.match(said, new RegExp(`webhook +default +${id} +the header x, the signing secret`))
  assert.equal((await run(t, 'secrets', 'list'))[0], 1, 'the webhook must be entered again')
  const again = await openStore({ url: '', home, clock: systemClock, publicUrl: null })
  assert.equal((await openSecrets(config, again)).locked, null)
  await again.close()
})
