import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyedSemaphore } from './semaphore.ts'

const aborted = AbortSignal.abort()

test('as many as there are permits go at once, the others in their order', async () => {
  const semaphore = new KeyedSemaphore()
  const order: string[] = []
  const first = await semaphore.acquire('a', 2)
  const second = await semaphore.acquire('a', 2)
  const waiting = async (name: string) => {
    const release = await semaphore.acquire('a', 2)
    order.push(name)
    return release
  }
  const [third, fourth] = [waiting('third'), waiting('fourth')]
  assert.ok(await semaphore.acquire('b', 1), 'another key has permits of its own')
  first!()
  first!()
  ;(await third)!()
  ;(await fourth)!()
  second!()
  assert.deepEqual(order, ['third', 'fourth'])
  assert.ok(await semaphore.acquire('a', 1, aborted), 'all are free again')
})

test('a caller that waits too long, or is called off, gets none and takes none away', async () => {
  const semaphore = new KeyedSemaphore()
  const release = await semaphore.acquire('a', 1)
  // The timer of a timeout signal keeps no process alive.
  const alive = setTimeout(() => undefined, 60_000)
  assert.equal(await semaphore.acquire('a', 1, AbortSignal.timeout(1)), null)
  clearTimeout(alive)
  const stop = new AbortController()
  const waiting = semaphore.acquire('a', 1, stop.signal)
  stop.abort()
  assert.equal(await waiting, null)
  release!()
  assert.ok(await semaphore.acquire('a', 1, aborted))
})

test('work that fails gives its permit back', async () => {
  const semaphore = new KeyedSemaphore()
  const failing = semaphore.run('a', 1, () => Promise.reject(new Error('it failed')))
  const next = semaphore.run('a', 1, () => Promise.resolve('done'))
  await assert.rejects(failing, /it failed/)
  assert.equal(await next, 'done')
})
