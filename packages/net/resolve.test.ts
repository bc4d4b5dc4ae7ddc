import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResolver, REMEMBERED } from './resolve.ts'

/** A resolver that answers when the test tells it to. */
function system() {
  const asked: { host: string; answer(addresses: string[]): void; fail(): void }[] = []
  let time = 0
  const resolve = createResolver({
    now: () => time,
    ask: (host) => {
      const { promise, resolve, reject } = Promise.withResolvers<string[]>()
      asked.push({ host, answer: resolve, fail: () => reject(new Error('ENOTFOUND')) })
      return promise
    },
  })
  return {
    asked,
    resolve,
    pass(ms: number) {
      time += ms
    },
  }
}

const immediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('a name is asked for once at a time, and its answer is remembered for a few seconds', async () => {
  const { asked, resolve, pass } = system()
  const both = Promise.all([resolve('a.test'), resolve('a.test')])
  asked[0]!.answer(['192.0.2.1'])
  assert.deepEqual(await both, [['192.0.2.1'], ['192.0.2.1']])
  pass(REMEMBERED - 1)
  assert.deepEqual(await resolve('a.test'), ['192.0.2.1'])
  assert.equal(asked.length, 1)
  pass(1)
  const again = resolve('a.test')
  asked[1]!.answer(['192.0.2.2'])
  assert.deepEqual(await again, ['192.0.2.2'])
})

test('a failure is remembered as long', async () => {
  const { asked, resolve, pass } = system()
  const first = resolve('b.test')
  asked[0]!.fail()
  await assert.rejects(first)
  await assert.rejects(resolve('b.test'))
  assert.equal(asked.length, 1)
  pass(REMEMBERED)
  const again = resolve('b.test')
  asked[1]!.answer(['192.0.2.1'])
  assert.deepEqual(await again, ['192.0.2.1'])
})

test('names that failed or were slow wait for each other, others do not wait for them', async () => {
  const { asked, resolve, pass } = system()
  const names = ['one.test', 'two.test', 'three.test', 'four.test']
  const first = names.map((name) => resolve(name))
  assert.equal(asked.length, 4, 'at first sight nothing is known against them')
  for (const { fail } of asked.slice(0, 3)) fail()
  pass(2000)
  asked[3]!.answer(['192.0.2.4'])
  await Promise.allSettled(first)
  await immediate()
  pass(REMEMBERED)
  const second = names.map((name) => resolve(name))
  await immediate()
  assert.equal(asked.length, 6, 'two of the four')
  const good = resolve('good.test')
  asked[6]!.answer(['192.0.2.9'])
  assert.deepEqual(await good, ['192.0.2.9'])
  asked[4]!.fail()
  asked[5]!.fail()
  await immediate()
  assert.deepEqual(
    asked.slice(7).map(({ host }) => host),
    ['three.test', 'four.test'],
  )
  for (const { answer } of asked.slice(7)) answer(['192.0.2.1'])
  const ends = await Promise.allSettled(second)
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
  )
})

test('the system is asked unless told otherwise', async () => {
  const addresses = await createResolver()('localhost')
  assert.ok(addresses.includes('127.0.0.1') || addresses.includes('::1'))
})
