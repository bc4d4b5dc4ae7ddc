import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { OutgoingRules } from '@assay/model/outgoing'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { vetDialOf } from '../app/pool.ts'
import { silentLog } from '../runtime/log.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { createLedger, type Ledger } from './ledger.ts'

const workspace_id = 'guests'
const NONE = { mail: null, chat: null, model: null, webhook: null, download: null, query: null }

interface Station {
  store: Store
  clock: FakeClock
  /** Returns the ledger of another node over the same store. */
  node(store?: Store): Ledger
  change(patch: Partial<OutgoingRules>): Promise<unknown>
}

async function opened(
  t: TestContext,
  budgets: Partial<typeof NONE> | Record<string, number>,
): Promise<Station> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-ledger-'))
  const clock = new FakeClock(Date.parse('2026-03-04T10:00:00Z'))
  const store = await openStore({ url: '', home, clock, publicUrl: null })
  await store.createWorkspace({ workspace_id, name: 'Guests', data_folder: null })
  t.after(async () => {
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
  return {
    store,
    clock,
    node: (own = store) =>
      createLedger({
        store: own,
        budgets: { ...NONE, ...budgets },
        clock,
        log: silentLog,
        metrics: createMetrics(),
      }),
    change: (patch) => store.changeOutgoing({ workspace_id, patch }),
  }
}

test('nodes share a budget, which a refusal names and which begins anew at midnight', async (t) => {
  const { node, clock, change } = await opened(t, { model: 3 })
  const [one, other] = [node(), node()]
  assert.equal(await one.take(workspace_id, 'model'), null)
  assert.equal(await one.take(workspace_id, 'model', 2), null)
  await one.refresh(workspace_id)
  const refused = await other.take(workspace_id, 'model')
  assert.equal(refused?.cause, 'budget')
  assert.match(refused.text, /budget of 3 questions to the language model a day \(ASSAY_BUDGET_MODEL\)/)
  assert.equal(await other.take(workspace_id, 'query'), null, 'of each kind by itself')
  await change({ budgets: { model: 4 } })
  assert.equal(
    await other.take(workspace_id, 'model'),
    null,
    'a raised one is seen before anything is refused',
  )
  await other.refresh(workspace_id)
  assert.match((await one.take(workspace_id, 'model'))!.text, /its own budget "model"/)
  clock.advance(14 * 3_600_000)
  assert.equal(await one.take(workspace_id, 'model'), null)
  await Promise.all([one.close(), other.close()])
})

test('what was taken at once counts before it is written, and what did not leave is given back', async (t) => {
  const { node, store } = await opened(t, { mail: 4 })
  const ledger = node()
  const answers = await Promise.all(Array.from({ length: 6 }, () => ledger.take(workspace_id, 'mail')))
  assert.equal(answers.filter((answer) => answer === null).length, 4)
  ledger.untake(workspace_id, 'mail', 1)
  ledger.addBytes(workspace_id, 'mail', 700)
  assert.equal(
    await ledger.take(workspace_id, 'mail', 50),
    null,
    'what is left lets the whole of a delivery pass',
  )
  await ledger.close()
  assert.deepEqual(await store.listOutgoing({ workspace_id, since: '2026-03-04' }), [
    { day: '2026-03-04', kind: 'mail', count: 53, refused: 2, bytes: 700 },
  ])
})

test('the stop, the switch of the model and the hosts refuse, each with one audit record a minute', async (t) => {
  const { node, store, clock, change } = await opened(t, {})
  const ledger = node()
  const vet = vetDialOf(ledger)
  const reach = (host: string, connection: string | null = null) => vet({ workspace_id, connection, host })
  await change({ model: false, hosts: ['db.example.com', '*.files.example'] })
  assert.match((await ledger.take(workspace_id, 'model'))!.text, /may not ask the language model/)
  assert.deepEqual(await Promise.all([reach('db.example.com', 'shop'), reach('a.files.example')]), [
    null,
    null,
  ])
  assert.match((await reach('files.example', 'shop'))!, /may not reach the host files\.example/)
  assert.match((await reach('evil.example'))!, /the operator can add it/)
  const stopped = { at: '2026-03-04T09:00:00Z', user_id: 'ada', by_operator: false, reason: 'a leak' }
  await change({ stopped })
  await ledger.refresh(workspace_id)
  for (const _ of [1, 2, 3]) {
    const refused = await ledger.take(workspace_id, 'webhook')
    assert.match(refused!.text, /^An admin has stopped all that leaves this workspace, .*\(a leak\)/)
  }
  clock.advance(61_000)
  assert.equal((await ledger.take(workspace_id, 'webhook'))?.cause, 'stopped')
  await change({ stopped: null })
  assert.equal(await ledger.take(workspace_id, 'webhook'), null)
  await ledger.close()
  const { items } = await store.listAudit({ workspace_id, limit: 20 })
  assert.deepEqual(
    items
      .map(({ action, object_id, fields }) => `${action} ${object_id} ${fields[0]}`)
      .toSorted((a, b) => (a < b ? -1 : 1)),
    [
      'outgoing.refuse download host',
      'outgoing.refuse model model',
      'outgoing.refuse query host',
      'outgoing.refuse webhook stopped',
      'outgoing.refuse webhook stopped',
    ],
  )
  const { [1]: counted } = await store.listOutgoing({ workspace_id, since: '2026-03-04' })
  assert.deepEqual([counted?.kind, counted?.refused], ['model', 1])
})

test('while the store is away what is known stays in force, nothing counted is lost, and the unknown is not let out', async (t) => {
  const { node, store } = await opened(t, { mail: 3 })
  let away = false
  const failing = new Proxy(store, {
    get: (real, name: keyof Store) =>
      away && (name === 'countOutgoing' || name === 'readOutgoing')
        ? () => Promise.reject(new AppError('store_unavailable', 'away'))
        : real[name],
  })
  const ledger = node(failing)
  assert.equal(await ledger.take(workspace_id, 'mail', 2), null)
  away = true
  assert.equal(await ledger.take(workspace_id, 'mail'), null)
  assert.equal((await ledger.take(workspace_id, 'mail'))?.cause, 'budget')
  await assert.rejects(ledger.take('default', 'mail'), { code: 'store_unavailable' })
  away = false
  await ledger.close()
  const [counted] = await store.listOutgoing({ workspace_id, since: '2026-03-04' })
  assert.deepEqual([counted?.count, counted?.refused], [3, 1])
})
