/**
 * Checks a machine that starts with a clock that is ahead and is then corrected. Webhooks must not wait until the
 * wrong time is reached.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { openStore } from '@assay/store/open'
import {
  addWebhook,
  claimAll,
  execute,
  findings,
  outcome,
  register,
  send,
} from '../../packages/store/conformance/given.ts'

const YEAR = 365 * 86_400_000

async function setUp(t: TestContext) {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-clock-'))
  const clock = new FakeClock()
  const store = await openStore({ url: '', home, clock, publicUrl: null })
  t.after(async () => {
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
  return { store, clock }
}

test('delivers at once after the clock was set back', async (t) => {
  const { store, clock } = await setUp(t)
  const webhook = await addWebhook(store, { rate_per_second: 1 })
  for (const jump of [0, YEAR, -YEAR, -60_000]) {
    clock.advance(jump)
    await register(store)
    await send(store, webhook)
    clock.advance(3000)
    const claimed = await claimAll(store)
    assert.equal(claimed.length, 1, `after ${jump} ms`)
    assert.equal(await store.recordAttempt(outcome(claimed[0]!)), true)
  }
})

test('delivers at once the end of a job during which the clock was set back', async (t) => {
  const { store, clock } = await setUp(t)
  await addWebhook(store)
  await register(store)
  const lease = await execute(store)
  clock.advance(-170_000)
  assert.ok(await store.completeJob({ ...lease, insight_id: uuidv7(), findings: findings() }))
  clock.advance(1000)
  const [claimed, ...more] = await claimAll(store)
  assert.equal(claimed?.event.type, 'job.completed')
  assert.deepEqual(more, [])
})
