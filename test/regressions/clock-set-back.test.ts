/** A machine started with a wrong clock; when that was set right, every webhook waited until the wrong time came again. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { FakeClock } from '../../src/runtime/clock.ts'
import { addWebhook, claimAll, outcome, register, send } from '../../src/store/conformance/given.ts'
import { openStore } from '../../src/store/open.ts'

const YEAR = 365 * 86_400_000

test('delivers at once after the clock was set back', async (t) => {
  const home = await mkdtemp(path.join(tmpdir(), 'assay-clock-'))
  const clock = new FakeClock()
  const store = await openStore({ url: '', home, clock, publicUrl: null })
  t.after(async () => {
    await store.close()
    await rm(home, { recursive: true, force: true })
  })
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
