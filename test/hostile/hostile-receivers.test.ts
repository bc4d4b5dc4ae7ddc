/**
 * Tests receivers that misbehave in every way, through the whole service. Each attempt is recorded as it was, the
 * delivery continues as it should, and the service works on. (packages/service/webhooks/send.test.ts tests the same
 * one by one and faster.)
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Client, createClient, type FullDelivery } from '@assay/client'
import {
  type Mode,
  modes,
  type ReceiverOptions,
  selfSigned,
  startReceiver,
  startTrap,
} from '../servers/receiver.ts'
import { startService, temporaryFolder } from '../servers/service.ts'

const TOKEN = 'hostile-test-token-0123456789'
const KEPT = 16 * 1024
const open: (() => Promise<unknown> | void)[] = []
let client: Client

before(async () => {
  const { folder, remove } = temporaryFolder()
  open.push(remove)
  const env = { ASSAY_TOKEN: TOKEN, ASSAY_WEBHOOK_TARGETS: 'public,loopback' }
  const service = await startService({ home: folder, env })
  open.push(async () => {
    service.signal('SIGTERM')
    assert.equal(await service.exited, 0)
  })
  client = createClient({ url: service.url, token: TOKEN })
})
after(async () => {
  for (const close of open.toReversed()) await close()
})

async function receiver(options: ReceiverOptions): Promise<string> {
  const started = await startReceiver(options)
  open.push(() => started.close())
  return started.url
}

const given = { user_id: 'ada', presence_name: 'ops' }

/** Sends one test event to the receiver. */
async function sendTo(url: string): Promise<FullDelivery> {
  const { webhook_id } = await client.webhooks.create({ ...given, url })
  await client.webhooks.test(webhook_id)
  const { items } = await client.webhooks.deliveries(webhook_id)
  return client.webhooks.delivery(items[0]!.delivery_id)
}

const sendToMode = async (mode: Mode): Promise<FullDelivery> => sendTo(await receiver({ mode }))

interface Expected {
  status: FullDelivery['status']
  code: number | null
  /** The class of the error and its message; null if the event was delivered. */
  error: [string, RegExp] | null
  /** The kept part of the answer; null without one. */
  body: RegExp | null
  truncated?: boolean
}

function assertKept(delivery: FullDelivery, expected: Expected): void {
  const [attempt, ...others] = delivery.attempts
  assert.deepEqual(others, [])
  assert.equal(delivery.status, expected.status)
  assert.equal(delivery.next_attempt_at === null, expected.status !== 'pending')
  assert.equal(attempt!.status_code, expected.code)
  assert.equal(attempt!.error?.class ?? null, expected.error?.[0] ?? null)
  if (expected.error) assert.match(attempt!.error!.detail, expected.error[1])
  if (expected.body === null) assert.equal(attempt!.response, null)
  else {
    assert.match(attempt!.response!.body, expected.body)
    assert.equal(attempt!.response!.truncated, expected.truncated ?? false)
    assert.ok(Buffer.byteLength(attempt!.response!.body) <= KEPT)
  }
  assert.equal(attempt!.request.method, 'POST')
  assert.equal(JSON.parse(attempt!.request.body).type, 'webhook.test')
}

describe('a receiver', { concurrency: true }, () => {
  test('that hangs is left after fifteen seconds', async () => {
    const delivery = await sendToMode(modes.hang())
    assertKept(delivery, {
      status: 'pending',
      code: null,
      error: ['timeout', /^The receiver did not answer in time/],
      body: null,
    })
    const { duration_ms, phases } = delivery.attempts[0]!
    // The attempt ends not much later than its deadline, as far as a busy machine allows.
    assert.ok(duration_ms >= 14_900 && duration_ms < 30_000, `${duration_ms}`)
    assert.equal(phases.first_byte, null)
  })

  test('that drips a byte a second is left at the same time, with what came', async () => {
    const delivery = await sendToMode(modes.drip(1000))
    const error: Expected['error'] = ['timeout', /began but was not complete/]
    assertKept(delivery, { status: 'pending', code: 200, error, body: /^\.{1,30}$/, truncated: true })
    assert.ok(delivery.attempts[0]!.duration_ms < 30_000)
  })

  test('that answers 10 MB has answered, and no more than 16 KiB of it is kept', async () => {
    const delivery = await sendToMode(modes.big(10_000_000))
    assertKept(delivery, { status: 'delivered', code: 200, error: null, body: /^x+$/, truncated: true })
    assert.equal(delivery.attempts[0]!.response!.body.length, KEPT)
  })

  test('that resets or closes the connection without an answer', async () => {
    for (const mode of [modes.reset(), modes.closeWithoutAnswer()])
      assertKept(await sendToMode(mode), {
        status: 'pending',
        code: null,
        error: ['reset', /closed without an answer/],
        body: null,
      })
  })

  test('that closes in the middle of its answer', async () => {
    const error: Expected['error'] = ['response_invalid', /before the answer was complete/]
    const delivery = await sendToMode(modes.closeEarly())
    assertKept(delivery, { status: 'pending', code: 200, error, body: /^only this$/, truncated: true })
  })

  test('that redirects is not followed', async () => {
    const trap = await startTrap()
    open.push(() => trap.close())
    const delivery = await sendToMode(modes.redirect(`http://127.0.0.1:${trap.port}/`, 308))
    const error: Expected['error'] = ['http_status', /answered 308.*register the final address/]
    assertKept(delivery, { status: 'pending', code: 308, error, body: /^$/ })
    assert.equal(trap.connections(), 0)
  })

  test('that sends broken gzip has answered: nothing is decoded', async () => {
    const body = /^\(\d+ bytes of gzip, not decoded\)$/
    assertKept(await sendToMode(modes.brokenGzip()), { status: 'delivered', code: 200, error: null, body })
  })

  test('with a certificate that nobody trusts', async () => {
    const url = await receiver({ mode: modes.ok(), tls: selfSigned() })
    const error: Expected['error'] = ['tls', /check the certificate/]
    assertKept(await sendTo(url), { status: 'pending', code: null, error, body: null })
  })

  test('that has vanished from DNS, or where nobody listens any more', async () => {
    const gone = await sendTo('http://receiver-that-was.invalid/hook')
    const error: Expected['error'] = ['dns', /could not be resolved/]
    assertKept(gone, { status: 'pending', code: null, error, body: null })
    const started = await startReceiver()
    await started.close()
    const refused: Expected['error'] = ['refused', /refused the connection/]
    assertKept(await sendTo(started.url), { status: 'pending', code: null, error: refused, body: null })
  })

  test('that is overloaded is given the time that it asks for, however it writes it', async () => {
    // The same moment in the three forms of RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 ...",
    // asctime.
    const at = new Date(Math.ceil(Date.now() / 1000) * 1000 + 600_000)
    const [day, date, month, year, time] = at.toUTCString().replace(',', '').split(' ') as [
      string,
      string,
      string,
      string,
      string,
    ]
    const weekday = at.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' })
    const dates = [
      at.toUTCString(),
      `${weekday}, ${date}-${month}-${year.slice(2)} ${time} GMT`,
      `${day} ${month} ${String(Number(date)).padStart(2)} ${time} ${year}`,
    ]
    const forms: [Record<string, string>, least: number, most: number][] = [
      ...dates.map((text): [Record<string, string>, number, number] => [{ 'retry-after': text }, 500, 740]),
      [{ 'retry-after': '600' }, 590, 740],
      [{ 'retry-after': '100000000' }, 86_000, 104_000],
      // An unreadable or absent header means a minute.
      [{ 'retry-after': 'soon' }, 55, 75],
      [{ 'retry-after': '-5' }, 55, 75],
      [{}, 55, 75],
      // The receiver asks for less than the schedule, so the schedule holds.
      [{ 'retry-after': '0' }, 2, 7],
    ]
    for (const [headers, least, most] of forms) {
      const delivery = await sendToMode(modes.status(429, headers, 'slow down'))
      const error: Expected['error'] = ['http_status', /answered 429/]
      assertKept(delivery, { status: 'pending', code: 429, error, body: /^slow down$/ })
      const { started_at, duration_ms } = delivery.attempts[0]!
      const ended = Date.parse(started_at) + duration_ms
      const seconds = (Date.parse(delivery.next_attempt_at!) - ended) / 1000
      assert.ok(seconds >= least && seconds <= most, `${JSON.stringify(headers)}: ${seconds}`)
      const { breaker } = await client.webhooks.get(delivery.webhook_id)
      assert.equal(breaker.state, most > 100 ? 'open' : 'closed', JSON.stringify(headers))
    }
  })

  test('that is gone or wants no more is turned off, and what it refuses is given up', async () => {
    const disables: [Mode, RegExp, FullDelivery['status']][] = [
      [modes.status(410), /410/, 'failed'],
      [modes.status(500, { 'webhook-delivery': 'disable' }), /webhook-delivery: disable/, 'failed'],
      [modes.ok('', { 'webhook-delivery': 'disable' }), /webhook-delivery: disable/, 'delivered'],
    ]
    for (const [mode, reason, status] of disables) {
      const delivery = await sendToMode(mode)
      const webhook = await client.webhooks.get(delivery.webhook_id)
      assert.deepEqual([delivery.status, webhook.status], [status, 'disabled'])
      assert.match(webhook.disabled_reason!, reason)
    }
    const aborted = await sendToMode(modes.status(500, { 'webhook-delivery': 'abort-message' }))
    assert.equal(aborted.status, 'failed')
    assert.equal((await client.webhooks.get(aborted.webhook_id)).status, 'enabled')
  })
})

test('after all of them the service is well', async () => {
  const delivery = await sendToMode(modes.ok('thanks'))
  assertKept(delivery, { status: 'delivered', code: 200, error: null, body: /^thanks$/ })
})
