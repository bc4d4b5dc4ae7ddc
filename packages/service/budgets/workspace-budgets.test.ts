import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { silentLog } from '../runtime/log.ts'
import { createWorkspaceBudgets, type StoredBudgets } from './workspace-budgets.ts'

const GUESTS = 'guests'

interface Station {
  store: Store
  clock: FakeClock
  /** Returns the budgets of another node over the same store. */
  node(store?: Pick<Store, 'countProcessorUse' | 'readProcessorUse'>): StoredBudgets
}

async function opened(t: TestContext, most: number | null): Promise<Station> {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-budgets-'))
  const clock = new FakeClock(Date.parse('2026-03-04T10:59:00Z'))
  const store = await openStore({ url: '', home, clock, publicUrl: null })
  await store.createWorkspace({ workspace_id: GUESTS, name: 'Guests', data_folder: null })
  t.after(async () => {
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
  const caps = { max_processor_seconds: most, max_spill_bytes: 5_000_000 }
  return {
    store,
    clock,
    node: (own = store) => createWorkspaceBudgets({ store: own, caps, clock, log: silentLog }),
  }
}

async function refused(asked: Promise<unknown>): Promise<AppError> {
  const error: unknown = await asked.then(
    () => assert.fail('It was admitted.'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof AppError && error.code === 'workspace_busy', String(error))
  return error
}

test('nodes share a budget of processor seconds, which a refusal names and which begins anew each hour', async (t) => {
  const { node, clock, store } = await opened(t, 10)
  const [one, other] = [node(), node()]
  await one.admit(GUESTS, 'new')
  one.spend(GUESTS, 9_000, 'new')
  await one.admit(GUESTS, 'new')
  one.spend(GUESTS, 1_000, 'new')
  const error = await refused(one.admit(GUESTS, 'new'))
  assert.match(error.message, /its 10 processor seconds of this hour \(max_processor_seconds\).*11:00:00/)
  assert.equal(error.retryAfter, 60)
  await refused(other.admit(GUESTS, 'new'))
  await other.admit('default', 'new')
  assert.equal(await other.admit(GUESTS, 'accepted'), 5_000_000, 'what was accepted before is not refused')
  await store.updateWorkspace({
    workspace_id: GUESTS,
    patch: { max_processor_seconds: 11, max_spill_bytes: 2_000_000 },
  })
  assert.equal(await other.admit(GUESTS, 'new'), 2_000_000, 'a raised cap is seen before anything is refused')
  other.spend(GUESTS, 1_000, 'new')
  await refused(other.admit(GUESTS, 'new'))
  clock.advance(60_000)
  await one.admit(GUESTS, 'new')
  await Promise.all([one.close(), other.close()])
  const hour = '2026-03-04T10'
  const [used] = await store.readProcessorUse({ workspace_ids: [GUESTS], hour })
  assert.equal(used?.ms, 11_000)
})

test('while the store cannot be reached what is known stays in force, jobs go on, and no count is lost', async (t) => {
  const { node, clock, store } = await opened(t, 10)
  let away = true
  const unreached = async (): Promise<never> => {
    throw new AppError('store_unavailable', 'It is away.')
  }
  const budgets = node({
    countProcessorUse: (counts) => (away ? unreached() : store.countProcessorUse(counts)),
    readProcessorUse: (asked) => (away ? unreached() : store.readProcessorUse(asked)),
  })
  await assert.rejects(budgets.admit(GUESTS, 'new'), { code: 'store_unavailable' })
  assert.equal(await budgets.admit(GUESTS, 'accepted'), 5_000_000)
  away = false
  await budgets.admit(GUESTS, 'new')
  away = true
  budgets.spend(GUESTS, 4_000, 'new')
  budgets.spend(GUESTS, 6_000, 'new')
  clock.advance(5_000)
  await refused(budgets.admit(GUESTS, 'new'))
  away = false
  await refused(budgets.admit(GUESTS, 'new'))
  await budgets.close()
  const [used] = await store.readProcessorUse({ workspace_ids: [GUESTS], hour: '2026-03-04T10' })
  assert.equal(used?.ms, 10_000)
})

test("readers of links have a share of the hour that the workspace cannot use up, and cannot use up the workspace's", async (t) => {
  const { node, clock, store } = await opened(t, 1000)
  const budgets = node()
  await budgets.admit(GUESTS, 'new')
  budgets.spend(GUESTS, 1_000_000, 'new')
  await refused(budgets.admit(GUESTS, 'new'))
  await budgets.admit(GUESTS, 'reader')
  budgets.spend(GUESTS, 99_999, 'reader')
  await budgets.admit(GUESTS, 'reader')
  budgets.spend(GUESTS, 1, 'reader')
  assert.equal((await refused(budgets.admit(GUESTS, 'reader'))).retryAfter, 60)
  clock.advance(60_000)
  await budgets.admit(GUESTS, 'reader')
  budgets.spend(GUESTS, 100_000, 'reader')
  await refused(budgets.admit(GUESTS, 'reader'))
  await budgets.admit(GUESTS, 'new')
  await store.updateWorkspace({ workspace_id: GUESTS, patch: { max_processor_seconds: 10 } })
  clock.advance(3_600_000)
  budgets.spend(GUESTS, 9_999, 'reader')
  await budgets.admit(GUESTS, 'reader')
  budgets.spend(GUESTS, 1, 'reader')
  await refused(budgets.admit(GUESTS, 'reader'))
  await budgets.close()
})
