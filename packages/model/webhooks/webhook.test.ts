import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDING_EVENTS, EVENT_TYPES } from '../event.ts'
import {
  type Breaker,
  breakerAfter,
  breakerView,
  CLOSED,
  failsForTooLong,
  HEALTHY,
  healthAfter,
  isOpen,
  notifies,
  subscribedEvents,
  type Webhook,
} from './webhook.ts'

type Linking = Pick<Webhook, 'webhook_id' | 'kind' | 'presence_name' | 'events' | 'status' | 'tells_skipped'>

function webhook(over: Partial<Linking> = {}): Linking {
  const linking = { webhook_id: 'w', kind: 'webhook', presence_name: 'ops' } as const
  return { ...linking, events: null, status: 'enabled', tells_skipped: false, ...over }
}
const job = { presence_name: null, notify: null, skipped: null }

test('a webhook without events gets the three that end a job, one with * gets all', () => {
  assert.deepEqual(subscribedEvents(webhook()), ENDING_EVENTS)
  assert.deepEqual(subscribedEvents(webhook({ events: ['*'] })), EVENT_TYPES)
  assert.deepEqual(subscribedEvents(webhook({ events: ['job.queued'] })), ['job.queued'])
})

test('a presence name that is an event type means that event only, narrowed by events', () => {
  const named = webhook({ presence_name: 'job.completed' })
  assert.deepEqual(subscribedEvents(named), ['job.completed'])
  assert.deepEqual(subscribedEvents({ ...named, events: ['*'] }), ['job.completed'])
  assert.deepEqual(subscribedEvents({ ...named, events: ['job.failed'] }), [])
  assert.deepEqual(subscribedEvents(webhook({ presence_name: 'job.queued' })), ['job.queued'])
})

test('a job with a presence name notifies those that bear it, one without notifies all', () => {
  assert.equal(notifies(webhook(), 'job.completed', job), true)
  assert.equal(notifies(webhook(), 'job.completed', { ...job, presence_name: 'ops' }), true)
  assert.equal(notifies(webhook(), 'job.completed', { ...job, presence_name: 'sales' }), false)
  assert.equal(notifies(webhook(), 'job.queued', job), false)
})

test('a subscription gets what names it or bears its presence name, and nothing else of jobs', () => {
  const mail = webhook({ kind: 'email' })
  assert.equal(notifies(mail, 'job.completed', job), false)
  assert.equal(notifies(mail, 'job.completed', { ...job, notify: ['other'] }), false)
  assert.equal(notifies(mail, 'job.completed', { ...job, notify: ['other', 'w'] }), true)
  assert.equal(notifies(mail, 'job.completed', { ...job, presence_name: 'sales', notify: ['w'] }), true)
  assert.equal(notifies(mail, 'job.completed', { ...job, presence_name: 'ops' }), true)
  assert.equal(notifies(mail, 'job.queued', { ...job, notify: ['w'] }), false)
  assert.equal(notifies(webhook({ kind: 'email', events: ['*'] }), 'webhook.disabled', null), true)
  assert.equal(notifies(webhook(), 'job.completed', { ...job, presence_name: 'sales', notify: ['w'] }), false)
})

test('neither a disabled webhook nor one of a skipped job is notified', () => {
  assert.equal(notifies(webhook({ status: 'disabled' }), 'job.completed', job), false)
  assert.equal(notifies(webhook({ events: ['*'] }), 'job.completed', { ...job, skipped: 'condition' }), false)
})

function fail(breaker: Breaker, now: number): Breaker {
  return breakerAfter(breaker, false, now)
}

test('a receiver that asks to be left alone is, and neither a shorter wish nor a success of before ends it', () => {
  const until = (ms: number) => new Date(ms).toISOString()
  const held = breakerAfter(CLOSED, false, 0, 60_000)
  assert.deepEqual(held, { failures: 1, open_until: until(60_000) })
  assert.deepEqual(breakerAfter(held, false, 10_000, 5000), held)
  assert.equal(breakerAfter(held, false, 10_000, 70_000).open_until, until(80_000))
  assert.deepEqual(breakerAfter(held, true, 10_000), { failures: 0, open_until: until(60_000) })
  assert.deepEqual(breakerAfter(held, true, 60_000), CLOSED)
  assert.deepEqual(breakerAfter(held, false, 60_000), { failures: 2, open_until: null })
  const opening = breakerAfter({ failures: 4, open_until: null }, false, 0, 10_000)
  assert.equal(opening.open_until, until(30_000), 'not shorter than the breaker')
})

test('the breaker opens at the fifth failure in a row', () => {
  let breaker = CLOSED
  for (let count = 1; count <= 4; count += 1) breaker = fail(breaker, 0)
  assert.deepEqual([isOpen(breaker), breaker.open_until], [false, null])
  assert.equal(isOpen(fail(breakerAfter(breaker, true, 0), 0)), false)
  breaker = fail(breaker, 1000)
  assert.deepEqual([isOpen(breaker), breaker.open_until], [true, new Date(31_000).toISOString()])
})

test('each failed probe opens it for twice as long, at most five minutes, and a success closes it', () => {
  let breaker: Breaker = { failures: 4, open_until: null }
  let now = 0
  const waits: number[] = []
  for (let probe = 0; probe < 7; probe += 1) {
    breaker = fail(breaker, now)
    const until = Date.parse(breaker.open_until!)
    waits.push((until - now) / 1000)
    now = until
  }
  assert.deepEqual(waits, [30, 60, 120, 240, 300, 300, 300])
  assert.deepEqual(breakerAfter(breaker, true, now), CLOSED)
})

test('requests that were under way when it opened do not count as probes', () => {
  const open = fail({ failures: 4, open_until: null }, 0)
  assert.deepEqual(fail(fail(open, 10_000), 29_999), open)
  assert.equal(fail(open, 30_000).failures, 6)
})

test('a webhook fails for too long after five days without a success', () => {
  const failing_since = '2026-01-01T00:00:00.000Z'
  const since = Date.parse(failing_since)
  assert.equal(failsForTooLong({ failing_since }, since + 5 * 86_400_000 - 1), false)
  assert.equal(failsForTooLong({ failing_since }, since + 5 * 86_400_000), true)
  assert.equal(failsForTooLong({ failing_since: null }, since * 2), false)
})

test('a success forgets since when and why a webhook failed, and that it was told', () => {
  const error = { class: 'dns', detail: 'No such name.' }
  const first = healthAfter(HEALTHY, false, error, '2026-01-01T00:00:00.000Z')
  assert.deepEqual(first, {
    failing_since: '2026-01-01T00:00:00.000Z',
    failing_reason: 'dns: No such name.',
    warned_at: null,
  })
  const told = { ...first, warned_at: '2026-01-02T00:00:00.000Z' }
  const other = { class: 'tls', detail: 'It has expired.' }
  assert.deepEqual(healthAfter(told, false, other, '2026-01-03T00:00:00.000Z'), {
    ...told,
    failing_reason: 'tls: It has expired.',
  })
  assert.deepEqual(healthAfter(told, true, null, '2026-01-03T00:00:00.000Z'), HEALTHY)
})

test('a breaker is shown as people read it', () => {
  const now = Date.parse('2026-03-01T12:00:00.000Z')
  const later = '2026-03-01T12:00:30.000Z'
  const shown = (failures: number, open_until: string | null) => breakerView({ failures, open_until }, now)
  assert.deepEqual(shown(0, null), { state: 'closed', failures: 0, until: null })
  assert.deepEqual(shown(4, null).state, 'closed')
  assert.deepEqual(shown(5, later), { state: 'open', failures: 5, until: later })
  // The receiver has asked for this pause.
  assert.deepEqual(shown(1, later), { state: 'open', failures: 1, until: later })
  assert.deepEqual(shown(6, '2026-03-01T12:00:00.000Z'), { state: 'half_open', failures: 6, until: null })
})
