import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { openTestServer } from '../test-server.ts'
import { hasTooMany } from './body.ts'

const tooMany = (text: string): boolean => hasTooMany(Buffer.from(text))

test('bodies that people and programs send pass: texts of any length, and a thousand items of thirty values', () => {
  const item = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`v${index}`, index]))
  assert.equal(tooMany(JSON.stringify({ items: Array.from({ length: 900 }, () => item) })), false)
  for (const text of [',', '"', '\\', '{', ':', '9', '\\"'])
    assert.equal(tooMany(JSON.stringify({ source: text.repeat(900_000) })), false, text)
})

test('a body of very many values, keys or digits is too much, wherever they stand', () => {
  assert.equal(tooMany(`[${'1,'.repeat(200_001)}1]`), true)
  assert.equal(tooMany(`{"a":"\\\\","b":[${'{},'.repeat(110_000)}1]}`), true)
  assert.equal(tooMany('{"a":'.repeat(40_000)), true)
  assert.equal(tooMany(`[${'9'.repeat(1001)}]`), true)
})

test('large bodies that end in one moment are read one at a time, and other requests are answered between them', async (t) => {
  const { ask } = await openTestServer(t)
  const body = { template_id: 'hello', items: Array.from({ length: 20_000 }, () => ({})) }
  let pass = 0
  let counting: NodeJS.Immediate
  const count = (): void => {
    pass += 1
    counting = setImmediate(count)
  }
  count()
  t.after(() => clearImmediate(counting))
  const passes = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const { status } = await ask('POST', '/v1alpha/jobs/bulk', { body })
      assert.equal(status, 422)
      return pass
    }),
  )
  assert.equal(new Set(passes).size, 20, `passes of the event loop: ${passes.join()}`)
})

test('few large bodies are in memory while the store looks up their idempotency keys', async (t) => {
  const { ask, store } = await openTestServer(t)
  const body = { template_id: 'hello', items: Array.from({ length: 20_000 }, () => ({})) }
  let [open, most] = [0, 0]
  const start = store.startIdempotent.bind(store)
  store.startIdempotent = async (key) => {
    open += 1
    most = Math.max(most, open)
    // A slow store: the other bodies have time to come.
    for (let passes = 0; passes < 100; passes += 1) await nextPass()
    return start(key).finally(() => (open -= 1))
  }
  await Promise.all(
    Array.from({ length: 30 }, async (_, index) => {
      const headers = { 'idempotency-key': `large-${index}` }
      assert.equal((await ask('POST', '/v1alpha/jobs/bulk', { body, headers })).status, 422)
    }),
  )
  assert.ok(most <= 8, `${most} at once`)
  const again = { headers: { 'idempotency-key': 'large-1' }, body }
  const wrong = { ...again, body: `[${'1,'.repeat(8000)}`, type: 'application/json' }
  for (let repeats = 0; repeats < 10; repeats += 1) {
    const { headers } = await ask('POST', '/v1alpha/jobs/bulk', again)
    assert.equal(headers['idempotency-replayed'], 'true', 'an answered repeat leaves its place')
    assert.equal((await ask('POST', '/v1alpha/jobs/bulk', wrong)).status, 400)
  }
})
