import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFence } from './fence.ts'

/** The memory in bytes with which the fence stands 50 MB above zero. Any process of Node is larger. */
const HARDLY_ANY = -650_000_000

test('without prlimit the process watches itself, and reports once that it grew too large', async () => {
  let breaches = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  const fence = createFence(() => {
    breaches += 1
    resolve()
  }, null)
  await fence.set(HARDLY_ANY)
  const alive = setInterval(() => undefined, 1_000)
  await promise
  clearInterval(alive)
  assert.equal(breaches, 1)
})

test('a prlimit that fails is made up for by watching', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const fence = createFence(resolve, '/bin/false')
  await fence.set(HARDLY_ANY)
  const alive = setInterval(() => undefined, 1_000)
  await promise
  clearInterval(alive)
})

test('a process within its fence is left alone, and the fence can be moved', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let breached = false
  const fence = createFence(() => {
    breached = true
    resolve()
  }, null)
  await fence.set(8_000_000_000)
  // Waits for two looks of the watcher, by timers that were set after its own.
  for (let look = 0; look < 2; look += 1) await new Promise((done) => setTimeout(done, 60))
  assert.equal(breached, false)
  await fence.set(HARDLY_ANY)
  const alive = setInterval(() => undefined, 1_000)
  await promise
  clearInterval(alive)
})
