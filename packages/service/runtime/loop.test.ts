import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { type LoopOptions, runLoop } from './loop.ts'

const POLL_MS = 1000

/** Opens a loop over a queue of names. The test ends the work on each name. */
function bench(over: Partial<LoopOptions<string>> = {}) {
  const clock = new FakeClock()
  const queue: string[] = []
  const claims: number[] = []
  const running = new Map<string, () => void>()
  const errors: unknown[] = []
  let wake: () => void = () => undefined
  const control = new AbortController()
  const options: LoopOptions<string> = {
    concurrency: 2,
    pollMs: POLL_MS,
    clock,
    async claim(limit) {
      claims.push(limit)
      return queue.splice(0, limit)
    },
    work: (item) => new Promise((resolve) => running.set(item, resolve)),
    subscribe(listener) {
      wake = listener
      return () => {
        wake = () => undefined
      }
    },
    onError: (error) => errors.push(error),
    ...over,
  }
  const done = runLoop(options, control.signal)
  return { clock, queue, claims, running, errors, control, done, wake: () => wake() }
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}

test('works on as many at a time as it may, and claims for a slot that came free', async () => {
  const { queue, running, claims, wake, control, done, clock } = bench()
  await until(() => clock.sleeping === 1)
  queue.push('a', 'b', 'c')
  wake()
  await until(() => running.size === 2)
  assert.deepEqual([...running.keys()], ['a', 'b'])
  running.get('a')!()
  await until(() => running.has('c'))
  assert.equal(claims.at(-1), 1)
  control.abort()
  for (const end of running.values()) end()
  await done
})

test('a lost wake costs at most the poll', async () => {
  const { queue, running, clock, control, done } = bench()
  await until(() => clock.sleeping === 1)
  queue.push('a')
  clock.advance(POLL_MS)
  await until(() => running.has('a'))
  control.abort()
  running.get('a')!()
  await done
})

test('once told to stop it claims no more and waits for what is under way', async () => {
  const { queue, running, wake, clock, control, claims, done } = bench()
  await until(() => clock.sleeping === 1)
  queue.push('a')
  wake()
  await until(() => running.has('a') && clock.sleeping === 1)
  const before = claims.length
  queue.push('b')
  control.abort()
  wake()
  let ended = false
  const ending = done.then(() => {
    ended = true
  })
  for (let pass = 0; pass < 5; pass += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(ended, false)
  running.get('a')!()
  await ending
  assert.equal(claims.length, before)
  assert.deepEqual(queue, ['b'])
})

test('a failed claim is reported, and tried again after the poll', async () => {
  let fails = true
  const taken: string[] = []
  const { clock, errors, control, done } = bench({
    async claim() {
      if (fails) throw new Error('no store')
      return taken.length === 0 ? ['a'] : []
    },
    async work(item) {
      taken.push(item)
    },
  })
  await until(() => errors.length === 1 && clock.sleeping === 1)
  fails = false
  clock.advance(POLL_MS)
  await until(() => taken.length === 1)
  control.abort()
  await done
  assert.equal(errors.length, 1)
})

test('failed work is reported and takes no slot with it', async () => {
  const worked: string[] = []
  const { queue, errors, control, done, clock, wake } = bench({
    concurrency: 1,
    async work(item) {
      worked.push(item)
      throw new Error(`cannot ${item}`)
    },
  })
  await until(() => clock.sleeping === 1)
  queue.push('a', 'b', 'c')
  wake()
  await until(() => worked.length === 3)
  control.abort()
  await done
  assert.deepEqual(worked, ['a', 'b', 'c'])
  assert.equal(errors.length, 3)
})
