import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { createRateLimiter } from './rate-limiter.ts'

test('lets a burst through, then as many as come back in time', () => {
  const clock = new FakeClock()
  const limiter = createRateLimiter(clock, { burst: 3, perSecond: 2 })
  assert.deepEqual(
    [1, 2, 3, 4].map(() => limiter.take('ada').allowed),
    [true, true, true, false],
  )
  assert.ok(limiter.take('bob').allowed, 'another key has a bucket of its own')
  clock.advance(500)
  assert.equal(limiter.take('ada').allowed, true)
  assert.equal(limiter.take('ada').allowed, false)
})

test('says how long to wait in whole seconds', () => {
  const limiter = createRateLimiter(new FakeClock(), { burst: 1, perSecond: 1 / 30 })
  limiter.take('ada')
  const refused = limiter.take('ada')
  assert.deepEqual(refused, { allowed: false, limit: 1, remaining: 0, reset: 30 })
})

test('takes the rate of a key where it has one of its own', () => {
  const clock = new FakeClock()
  const limiter = createRateLimiter(clock, { burst: 1, perSecond: 1 })
  const rate = { burst: 3, perSecond: 3 }
  assert.deepEqual(
    [1, 2, 3, 4].map(() => limiter.take('team', rate).allowed),
    [true, true, true, false],
  )
  clock.advance(1000)
  assert.equal(limiter.take('team', rate).remaining, 2)
  assert.equal(limiter.take('team').limit, 1)
})

test('holds no more keys than it may, and forgets full buckets first', () => {
  const clock = new FakeClock()
  const limiter = createRateLimiter(clock, { burst: 2, perSecond: 1 })
  for (let count = 0; count < 30_000; count += 1) limiter.take(`key ${count}`)
  limiter.take('late')
  limiter.take('late')
  assert.equal(limiter.take('late').allowed, false)
})
