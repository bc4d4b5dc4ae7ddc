import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRuns } from './runs.ts'

const webhook_id = '0198a000-0000-7000-8000-000000000001'

/**
 * Returns the lengths of successive runs. Each run sends as many deliveries as it is given, and each delivery takes
 * `eachMs` milliseconds.
 */
function lengthsAt(eachMs: number, count = 6): number[] {
  const runs = createRuns()
  return Array.from({ length: count }, () => {
    const length = runs.lengths.get(webhook_id) ?? 1
    runs.ended({ webhook_id, length, whole: true, elapsedMs: length * eachMs })
    return length
  })
}

describe('a run', () => {
  test('grows to what goes out in a fifth of a second, and stays there', () => {
    assert.deepEqual(lengthsAt(0.1), [1, 8, 64, 128, 128, 128])
    assert.deepEqual(lengthsAt(2.5), [1, 8, 64, 80, 80, 80])
    assert.deepEqual(lengthsAt(30), [1, 6, 6, 6, 6, 6])
    assert.deepEqual(lengthsAt(300), [1, 1, 1, 1, 1, 1])
  })

  test('that failed is followed by single deliveries', () => {
    const runs = createRuns()
    runs.ended({ webhook_id, length: 1, whole: true, elapsedMs: 1 })
    assert.equal(runs.lengths.get(webhook_id), 8)
    runs.ended({ webhook_id, length: 8, whole: false, elapsedMs: 1 })
    assert.equal(runs.lengths.get(webhook_id), undefined)
  })

  test('that was short because no more waited says nothing of a longer one, unless it was slow', () => {
    const runs = createRuns()
    for (const length of [1, 8, 64]) runs.ended({ webhook_id, length, whole: true, elapsedMs: length / 10 })
    runs.ended({ webhook_id, length: 2, whole: true, elapsedMs: 90 })
    assert.equal(runs.lengths.get(webhook_id), 128)
    runs.ended({ webhook_id, length: 2, whole: true, elapsedMs: 200.5 })
    assert.equal(runs.lengths.get(webhook_id), undefined)
  })
})
