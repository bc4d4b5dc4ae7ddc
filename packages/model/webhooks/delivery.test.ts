import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type AttemptCount, latencyBucket, webhookStats } from './delivery.ts'

const HOUR = '2026-01-01T00:00:00.000Z'

/** Returns the value at the given share of the sorted list (nearest rank). */
function exact(durations: number[], share: number): number {
  const sorted = durations.toSorted((a, b) => a - b)
  return sorted[Math.ceil(share * sorted.length) - 1]!
}

test('percentiles of the counts are those of the durations within five percent', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 2, max: 15_000, noNaN: true }), { minLength: 1, maxLength: 400 }),
      (durations) => {
        const counts: AttemptCount[] = durations.map((duration) => ({
          hour: HOUR,
          bucket: latencyBucket(duration),
          count: 1,
        }))
        const stats = webhookStats(counts)
        for (const [found, share] of [
          [stats.p50_ms, 0.5],
          [stats.p95_ms, 0.95],
          [stats.p99_ms, 0.99],
        ] as const) {
          const right = exact(durations, share)
          assert.ok(Math.abs(found! - right) <= 0.05 * right + 0.1, `${found} for ${right}`)
        }
      },
    ),
  )
})

test('sums up by hour, oldest first, failures apart', () => {
  const stats = webhookStats([
    { hour: '2026-01-01T02:00:00.000Z', bucket: 10, count: 3 },
    { hour: '2026-01-01T01:00:00.000Z', bucket: null, count: 2 },
    { hour: '2026-01-01T02:00:00.000Z', bucket: null, count: 1 },
    { hour: '2026-01-01T02:00:00.000Z', bucket: 4, count: 1 },
  ])
  assert.deepEqual([stats.sent, stats.failed], [4, 3])
  assert.deepEqual(stats.hours, [
    { hour: '2026-01-01T01:00:00.000Z', sent: 0, failed: 2 },
    { hour: '2026-01-01T02:00:00.000Z', sent: 4, failed: 1 },
  ])
})

test('knows no percentile where nothing was delivered', () => {
  const stats = webhookStats([{ hour: HOUR, bucket: null, count: 2 }])
  assert.deepEqual([stats.p50_ms, stats.p95_ms, stats.p99_ms], [null, null, null])
})
