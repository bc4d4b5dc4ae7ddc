import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RETRY_SCHEDULE } from '@assay/model/webhook'
import * as fc from 'fast-check'
import {
  HOLD_MOST,
  nextStep,
  nextWait,
  parseHttpDate,
  parseRetryAfter,
  RETRY_AFTER_MOST,
  type RetryInput,
} from './retry.ts'

const NOW = Date.parse('2026-03-01T12:00:00.000Z')
const HTTP_ERROR = { class: 'http_status' as const, detail: 'x' }

function input(change: {
  number?: number
  status?: number | null
  retryAfter?: string | null
  control?: string | null
  schedule?: number[] | null
  failing_since?: string | null
  warned_at?: string | null
  random?: number
}): RetryInput {
  const { number = 1, status = 500, retryAfter = null, control = null, schedule = null } = change
  const delivered = status !== null && status >= 200 && status < 300
  return {
    webhook: {
      retry_schedule: schedule,
      failing_since: change.failing_since ?? null,
      warned_at: change.warned_at ?? null,
    },
    record: { number, status_code: status, error: delivered ? null : HTTP_ERROR },
    directives: { retryAfter, control },
    now: NOW,
    random: () => change.random ?? 0.5,
  }
}

const after = (seconds: number): string => new Date(NOW + seconds * 1000).toUTCString()

test('the schedule is that of Standard Webhooks: ten tries over three days', () => {
  const waits = Array.from({ length: 10 }, (_, index) => nextWait(input({ number: index + 1 })))
  assert.deepEqual(waits, [...RETRY_SCHEDULE.map((seconds) => seconds * 1000), null])
  const total = RETRY_SCHEDULE.reduce((sum, seconds) => sum + seconds, 0)
  assert.equal(total, 75 * 3600 + 35 * 60 + 5)
})

test('a webhook may bring its own schedule', () => {
  assert.equal(nextWait(input({ schedule: [1, 7], number: 2 })), 7000)
  assert.equal(nextWait(input({ schedule: [1, 7], number: 3 })), null)
  assert.deepEqual(nextStep(input({ schedule: [] })), { next: { status: 'failed' } })
})

test('every wait lies within a fifth of its step', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (number, random) => {
        const planned = RETRY_SCHEDULE[number - 1]! * 1000
        const wait = nextWait(input({ number, random }))!
        assert.ok(Math.abs(wait - planned) <= planned * 0.2 + 1)
      },
    ),
  )
  assert.equal(nextWait(input({ number: 2, random: 0 })), 240_000)
  assert.equal(nextWait(input({ number: 2, random: 1 })), 360_000)
})

test('never earlier than the receiver asks, never earlier than the schedule, never more than a day for the asking', () => {
  const status = fc.constantFrom(429, 500, 502, 503, 404)
  const asked = fc.integer({ min: 0, max: 400_000 })
  const draw = fc.double({ min: 0, max: 1, noNaN: true })
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      status,
      asked,
      fc.boolean(),
      draw,
      (number, status, seconds, dated, random) => {
        const retryAfter = dated ? after(seconds) : String(seconds)
        const wait = nextWait(input({ number, status, retryAfter, random }))!
        const planned = RETRY_SCHEDULE[number - 1]! * 1000
        const honoured = Math.min(seconds * 1000, RETRY_AFTER_MOST)
        assert.ok(wait >= honoured - 1)
        assert.ok(wait >= planned * 0.8 - 1)
        assert.ok(wait <= Math.max(honoured, planned) * 1.2 + 1)
      },
    ),
  )
})

test('a receiver that is overloaded and does not say for how long gets a minute', () => {
  for (const status of [429, 503]) assert.equal(nextWait(input({ status, random: 0 })), 60_000)
  assert.equal(nextWait(input({ status: 429, retryAfter: 'soon', random: 0 })), 60_000)
  assert.equal(nextWait(input({ status: 429, retryAfter: '10', random: 0 })), 10_000)
  assert.equal(nextWait(input({ status: 500, random: 0.5 })), 5000)
})

test('a receiver that is overloaded and says for how long is left alone by all deliveries, at most for an hour', () => {
  const held = (status: number, retryAfter: string | null) => nextStep(input({ status, retryAfter })).hold_ms
  assert.deepEqual([held(429, '90'), held(503, after(120)), held(429, '86400')], [90_000, 120_000, HOLD_MOST])
  assert.deepEqual(
    [held(429, null), held(429, '0'), held(500, '90'), held(200, '90')],
    Array(4).fill(undefined),
  )
  assert.equal(nextStep(input({ status: 429, retryAfter: '90', schedule: [] })).hold_ms, 90_000)
})

test('every form of Retry-After is read', () => {
  const forms: [string, number | null][] = [
    ['0', 0],
    ['120', 120_000],
    [' 120 ', 120_000],
    ['1.5', 1500],
    ['99999999999', RETRY_AFTER_MOST],
    ['Sun, 01 Mar 2026 12:02:00 GMT', 120_000],
    ['Sunday, 01-Mar-26 12:02:00 GMT', 120_000],
    ['Sun Mar  1 12:02:00 2026', 120_000],
    ['Sun, 01 Mar 2026 12:02:00 +0000', 120_000],
    ['Sun, 01 Mar 2026 14:02:00 +0200', 120_000],
    ['Sun, 01 Mar 2026 06:32:00 -0530', 120_000],
    ['1 Mar 2026 12:02 UTC', 120_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['Sun, 01 Mar 2076 12:00:00 GMT', RETRY_AFTER_MOST],
    ['', null],
    ['-5', null],
    ['1e3', null],
    ['soon', null],
    ['2026', 2_026_000],
    ['2026-03-01T12:02:00Z', null],
    ['Sun, 01 Foo 2026 12:02:00 GMT', null],
    ['Sun, 01 Mar 2026 25:02:00 GMT', null],
    ['120, 240', null],
  ]
  for (const [text, wanted] of forms) assert.equal(parseRetryAfter(text, NOW), wanted, text)
  assert.equal(parseRetryAfter(null, NOW), null)
})

test('reads the three forms of RFC 9110 as the same moment', () => {
  const texts = [
    'Sun, 06 Nov 1994 08:49:37 GMT',
    'Sunday, 06-Nov-94 08:49:37 GMT',
    'Sun Nov  6 08:49:37 1994',
  ]
  for (const text of texts) assert.equal(parseHttpDate(text, NOW), Date.UTC(1994, 10, 6, 8, 49, 37), text)
})

test('every date that JavaScript writes is read back to the second', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('1970-01-01'), max: new Date('2090-01-01'), noInvalidDate: true }),
      (date) => {
        assert.equal(parseHttpDate(date.toUTCString(), NOW), Math.floor(date.getTime() / 1000) * 1000)
      },
    ),
  )
})

test('a 2xx delivers, the last try fails', () => {
  assert.deepEqual(nextStep(input({ status: 204 })), { next: { status: 'delivered' } })
  assert.deepEqual(nextStep(input({})), { next: { status: 'pending', wait_ms: 5000 } })
  assert.deepEqual(nextStep(input({ status: null })), { next: { status: 'pending', wait_ms: 5000 } })
  assert.deepEqual(nextStep(input({ number: 10 })), { next: { status: 'failed' } })
})

test('410 and the control header disable, abort-message gives this one up', () => {
  const gone = nextStep(input({ status: 410 }))
  assert.equal(gone.next.status, 'failed')
  assert.match(gone.disable!.reason, /410/)
  for (const control of ['disable', ' Disable ']) {
    const step = nextStep(input({ control }))
    assert.equal(step.next.status, 'failed')
    assert.match(step.disable!.reason, /webhook-delivery: disable/)
  }
  const kind = nextStep(input({ status: 200, control: 'disable' }))
  assert.equal(kind.next.status, 'delivered')
  assert.ok(kind.disable)
  assert.deepEqual(nextStep(input({ control: 'abort-message' })), { next: { status: 'failed' } })
  assert.deepEqual(nextStep(input({ status: 200, control: 'abort-message' })), {
    next: { status: 'delivered' },
  })
  assert.deepEqual(nextStep(input({ control: 'other' })).next.status, 'pending')
})

test('a day of nothing but failures is told, once, and not of what is disabled anyway', () => {
  const days = (count: number): string => new Date(NOW - count * 86_400_000).toISOString()
  assert.equal(nextStep(input({ failing_since: days(0.99) })).warn, undefined)
  assert.equal(nextStep(input({ failing_since: days(1) })).warn, true)
  assert.equal(nextStep(input({ failing_since: days(2), warned_at: days(1) })).warn, undefined)
  assert.equal(nextStep(input({ failing_since: days(5) })).warn, undefined)
  assert.equal(nextStep(input({ failing_since: days(1), status: 410 })).warn, undefined)
  assert.equal(nextStep(input({ failing_since: days(1), status: 200 })).warn, undefined)
})

test('five days of nothing but failures disable, and what waits keeps waiting', () => {
  const days = (count: number): string => new Date(NOW - count * 86_400_000).toISOString()
  assert.equal(nextStep(input({ failing_since: days(4.99) })).disable, undefined)
  const step = nextStep(input({ failing_since: days(5) }))
  assert.equal(step.next.status, 'pending')
  assert.equal(step.disable?.reason, `Every attempt has failed since ${days(5)}.`)
  assert.equal(nextStep(input({ failing_since: days(6), status: 200 })).disable, undefined)
})
