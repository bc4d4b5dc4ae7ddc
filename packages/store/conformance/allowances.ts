/** Token buckets that all processes share. */
import assert from 'node:assert/strict'
import type { Bucket } from '../contract/workspaces/allowances.ts'
import { type ConformanceTests, DAY, SECOND } from './given.ts'

const bucket = (key: string, over: Partial<Bucket> = {}): Bucket => ({
  key,
  burst: 3,
  per_second: 0.1,
  ...over,
})
const KEEP = { jobs_ms: DAY, drafts_ms: DAY, events_ms: DAY, deliveries_ms: DAY }

export const allowanceTests: ConformanceTests = {
  'gives what a bucket holds, then as much as comes back in time': async ({ store, elapse }) => {
    for (const remaining of [2, 1, 0]) {
      const taken = await store.takeAllowances([bucket('a')])
      assert.deepEqual([taken.allowed, taken.limit, taken.remaining], [true, 3, remaining])
    }
    const refused = await store.takeAllowances([bucket('a')])
    assert.equal(refused.allowed, false)
    assert.ok(refused.reset >= 1 && refused.reset <= 10, `${refused.reset} s`)
    assert.equal((await store.takeAllowances([bucket('b')])).allowed, true, 'another key')
    await elapse(11 * SECOND)
    assert.equal((await store.takeAllowances([bucket('a')])).allowed, true)
    assert.equal((await store.takeAllowances([bucket('a')])).allowed, false)
  },

  'takes of several buckets as far as the first that is empty': async ({ store }) => {
    const narrow = bucket('narrow', { burst: 1 })
    assert.equal((await store.takeAllowances([bucket('wide'), narrow])).allowed, true)
    const refused = await store.takeAllowances([bucket('wide'), narrow])
    assert.deepEqual([refused.allowed, refused.limit], [false, 1])
    assert.equal((await store.takeAllowances([bucket('wide')])).remaining, 0)
  },

  'counts nothing that is put back, and never holds more than its burst': async ({ store }) => {
    for (let count = 0; count < 9; count += 1) {
      assert.ok((await store.takeAllowances([bucket('a')])).allowed)
      await store.returnAllowances([bucket('a')])
    }
    await store.returnAllowances([bucket('a')])
    assert.equal((await store.takeAllowances([bucket('a')])).remaining, 2)
  },

  'never gives more than there is, however many ask at once': async ({ store }) => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => store.takeAllowances([bucket('a', { per_second: 1e-6 })])),
    )
    assert.equal(answers.filter(({ allowed }) => allowed).length, 3)
  },

  'forgets a bucket that is full again': async ({ store, elapse }) => {
    await store.takeAllowances([bucket('a')])
    assert.equal((await store.prune({ keep: KEEP, limit: 100 })).other, 0)
    await elapse(11 * SECOND)
    assert.equal((await store.prune({ keep: KEEP, limit: 100 })).other, 1)
    assert.equal((await store.takeAllowances([bucket('a')])).remaining, 2)
  },
}
