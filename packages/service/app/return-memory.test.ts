import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { FakeClock } from '@assay/model/clock'
import { createReturnMemory } from './return-memory.ts'

/** A process whose processor time the test sets. */
function startProcess() {
  const clock = new FakeClock()
  const stopping = new AbortController()
  const state = { used: 0, collections: 0 }
  const service = createReturnMemory({
    clock,
    used: () => state.used,
    collect() {
      state.collections += 1
      state.used += 60
    },
  })
  const done = service.run(stopping.signal)
  return {
    state,
    /** Lets five seconds pass in which the process uses this much processor time. */
    async pass(ms: number): Promise<number> {
      state.used += ms
      clock.advance(5000)
      await setImmediate()
      return state.collections
    },
    async stop() {
      stopping.abort()
      await done
    },
  }
}

test('memory is returned once when the process is idle after its start, and again after each spell of work', async () => {
  const { pass, stop } = startProcess()
  assert.equal(await pass(1200), 0)
  assert.equal(await pass(100), 1)
  assert.equal(await pass(100), 1)
  assert.equal(await pass(900), 1)
  assert.equal(await pass(900), 1)
  assert.equal(await pass(100), 2)
  assert.equal(await pass(100), 2)
  await stop()
})

test('nothing is collected while there is work, or after a little work', async () => {
  const { pass, stop } = startProcess()
  for (let time = 0; time < 10; time += 1) assert.equal(await pass(600), 0)
  assert.equal(await pass(100), 1)
  assert.equal(await pass(700), 1)
  assert.equal(await pass(100), 1)
  await stop()
})
