import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock, iso, systemClock } from './clock.ts'

test('a sleep ends at once when its signal is aborted, before or during', async () => {
  for (const clock of [systemClock, new FakeClock()]) {
    await clock.sleep(1e8, AbortSignal.abort())
    const control = new AbortController()
    const asleep = clock.sleep(1e8, control.signal)
    control.abort()
    await asleep
  }
})

test('a turned clock wakes its sleepers in the order in which they are due', async () => {
  const clock = new FakeClock(0)
  const woken: string[] = []
  const sleepers = [
    clock.sleep(30).then(() => woken.push('late')),
    clock.sleep(10).then(() => woken.push('early')),
  ]
  const never = new AbortController()
  const later = clock.sleep(31, never.signal).then(() => woken.push('never'))
  assert.equal(clock.sleeping, 3)
  clock.advance(9)
  assert.equal(clock.sleeping, 3)
  clock.advance(21)
  await Promise.all(sleepers)
  assert.deepEqual(woken, ['early', 'late'])
  assert.deepEqual([clock.sleeping, clock.now(), clock.monotonic()], [1, 30, 30])
  never.abort()
  await later
})

test('times are written in UTC with milliseconds', () => {
  assert.equal(iso(0), '1970-01-01T00:00:00.000Z')
  assert.equal(iso(1_767_225_600_001), '2026-01-01T00:00:00.001Z')
})
