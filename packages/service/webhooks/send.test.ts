import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, describe, test } from 'node:test'
import type { AttemptErrorClass, AttemptRecord } from '@assay/model/delivery'
import { newSigningSecret, verify } from '@assay/model/signature'
import { headerContext, secretContext, type Webhook } from '@assay/model/webhook'
import { createGuard } from '@assay/net/guard'
import { parseTargets } from '@assay/net/target'
import {
  type Mode,
  modes,
  type Receiver,
  type ReceiverOptions,
  selfSigned,
  startReceiver,
  startTrap,
} from '../../../test/servers/receiver.ts'
import type { Resolve } from '../../net/resolve.ts'
import { fingerprint, SecretBox } from '../runtime/secrets.ts'
import { RESPONSE_KEPT, type Sender, type Sent, send } from './send.ts'
import { createSigner } from './sign.ts'

const open: { close(): Promise<void> }[] = []
after(async () => {
  for (const each of open.toReversed()) await each.close()
})

async function receive(options: ReceiverOptions | Mode = {}): Promise<Receiver> {
  const receiver = await startReceiver(typeof options === 'function' ? { mode: options } : options)
  open.push(receiver)
  return receiver
}

const targets = parseTargets(['loopback', '*.test'])
const NOW = Date.parse('2026-03-01T12:00:00.000Z')

function senderOf(options: { resolve?: Resolve; deadline?: number; ca?: string[] } = {}): Sender {
  const { deadline = 10_000, ...rest } = options
  const guard = createGuard({ targets, ...rest })
  open.push(guard)
  return { guard, targets, deadline }
}

const shared = senderOf()
const box = new SecretBox([randomBytes(32)])
const signer = createSigner({ box, version: '1.2.3' })
const TOKEN = 'Bearer s3cr3t-token-of-the-receiver'
const KEY = newSigningSecret('v1')

const webhook_id = '0198a000-0000-7000-8000-000000000001'
const registered = { Authorization: TOKEN, 'X-Team': 'naïve café', 'x-quoted': 'a"quoted\\value' }
const webhook = {
  webhook_id,
  headers: Object.entries(registered).map(([name, value]) => ({
    name,
    sealed: box.seal(value, headerContext(webhook_id, name)),
    fingerprint: fingerprint(value),
  })),
  secrets: [{ sealed: box.seal(KEY.secret, secretContext(webhook_id)), expires_at: null }],
} as unknown as Webhook
const BODY = Buffer.from(
  '{"type":"webhook.test","timestamp":"2026-03-01T12:00:00.000Z","data":{"text":"naïve 🔐"}}',
)
const event = { event_id: '0198a000-0000-7000-8000-0000000000ee' }

async function attempt(url: string, sender = shared, signal?: AbortSignal): Promise<Sent | null> {
  const headers = signer({ webhook, event, body: BODY, now: NOW })
  return send(sender, { number: 1, now: NOW, url, headers, body: BODY, signal })
}

async function record(url: string, sender?: Sender): Promise<AttemptRecord> {
  const sent = await attempt(url, sender)
  assert.ok(sent)
  // An answer is complete a moment before its connection is free again, so the test waits for one pass of the event
  // loop.
  await new Promise((resolve) => setImmediate(resolve))
  return sent.record
}

describe('an attempt', () => {
  test('arrives signed, with the registered headers and the exact bytes, and is recorded whole', async () => {
    const receiver = await receive(
      modes.ok('thanks', { 'content-type': 'text/plain', 'set-cookie': 'session=1' }),
    )
    const found = await record(`${receiver.url}/hook?a=b`)
    const arrival = await receiver.next()
    assert.deepEqual(arrival.body, BODY)
    assert.deepEqual([arrival.method, arrival.path], ['POST', '/hook?a=b'])
    assert.equal(
      verify({ headers: arrival.headers, body: arrival.body, secret: KEY.secret, now: NOW }).id,
      event.event_id,
    )
    const { headers } = arrival
    assert.equal(headers.authorization, TOKEN)
    assert.equal(headers['x-team'], registered['X-Team'])
    assert.equal(headers['user-agent'], 'assay/1.2.3')
    assert.equal(headers['content-type'], 'application/json')
    assert.equal(headers['content-length'], String(BODY.length))

    assert.deepEqual([found.number, found.status_code, found.error], [1, 200, null])
    assert.equal(found.started_at, '2026-03-01T12:00:00.000Z')
    assert.equal(found.request.headers['webhook-id'], event.event_id)
    assert.equal(found.request.headers['webhook-signature'], 'v1,••••')
    assert.equal(found.request.headers.Authorization, `•••• ${fingerprint(TOKEN)}`)
    assert.equal(found.response?.body, 'thanks')
    assert.equal(found.response?.truncated, false)
    assert.equal(found.response?.headers['set-cookie'], '••••')
    const { phases } = found
    assert.equal(phases.dns, null)
    for (const phase of ['connect', 'first_byte', 'total'] as const) assert.ok(phases[phase]! >= 0, phase)
    assert.equal(phases.total, found.duration_ms)
  })

  test('its record holds no registered value, not even where the receiver sends it back', async () => {
    const echo: Mode = (response, arrival) => {
      const text = JSON.stringify(arrival.headers)
      response.writeHead(200, {
        'x-echo': `got ${arrival.headers.authorization}`,
        'content-type': 'application/json',
      })
      response.end(`${'x'.repeat(RESPONSE_KEPT - 20)}${TOKEN}${text}`)
    }
    const receiver = await receive(echo)
    const near = await record(`${receiver.url}/`)
    receiver.answer((response, arrival) => response.end(JSON.stringify(arrival.headers)))
    const whole = await record(`${receiver.url}/`)
    receiver.answer((response, arrival) =>
      response.end(`${TOKEN.split(' ')[1]} ${String(arrival.headers['webhook-signature'])}`),
    )
    const parts = await record(`${receiver.url}/`)
    assert.equal(parts.response?.body, '•••• v1,••••')
    for (const found of [near, whole, parts]) {
      const text = JSON.stringify(found)
      for (const part of ['s3cr3t', 'Bearer', 'quoted\\\\']) assert.ok(!text.includes(part), part)
    }
    assert.equal(near.response?.headers['x-echo'], 'got ••••')
    assert.match(whole.response!.body, /"authorization":"••••"/)
    assert.ok(Buffer.byteLength(near.response?.body ?? '') <= RESPONSE_KEPT)
  })

  test('a second one uses the connection again, and its phases say so', async () => {
    const receiver = await receive(modes.ok('.'))
    const first = await record(`${receiver.url}/`)
    assert.ok(first.phases.connect !== null)
    const second = await record(`${receiver.url}/`)
    assert.equal(second.phases.connect, null)
    assert.equal(receiver.connections(), 1)
  })

  test('a name takes time to resolve, and TLS to shake hands', async () => {
    const tls = selfSigned(['DNS:hooks.test'])
    const receiver = await receive({ tls })
    const sender = senderOf({ resolve: async () => ['127.0.0.1'], ca: [tls.cert] })
    const { phases, error } = await record(`https://hooks.test:${receiver.port}/`, sender)
    assert.equal(error, null)
    for (const phase of ['dns', 'connect', 'tls', 'first_byte'] as const)
      assert.ok(phases[phase] !== null, phase)
    const sum = phases.dns! + phases.connect! + phases.tls! + phases.first_byte!
    assert.ok(sum <= phases.total + 1, `${sum} of ${phases.total}`)
  })

  test('one that is given up leaves nothing to record', async () => {
    const receiver = await receive(modes.hang())
    const control = new AbortController()
    const sending = attempt(`${receiver.url}/`, shared, control.signal)
    await receiver.next()
    control.abort()
    assert.equal(await sending, null)
    assert.equal(await attempt(`${receiver.url}/`, shared, control.signal), null)
    await receiver.idle()
  })
})

describe('a receiver', () => {
  const failing = (
    found: AttemptRecord,
    wanted: AttemptErrorClass,
    status: number | null,
    detail: RegExp,
  ): void => {
    assert.deepEqual([found.error?.class, found.status_code], [wanted, status])
    assert.match(found.error!.detail, detail)
  }

  test('that hangs is left at the deadline', async () => {
    const receiver = await receive(modes.hang())
    const found = await record(`${receiver.url}/`, senderOf({ deadline: 200 }))
    failing(found, 'timeout', null, /^The receiver did not answer in time/)
    assert.ok(found.duration_ms >= 190)
    assert.equal(found.response, null)
    await receiver.idle()
  })

  test('that drips a byte now and then is left at the same deadline, with what came', async () => {
    const receiver = await receive(modes.drip(20))
    // The deadline is long enough for the first byte on a busy machine.
    const found = await record(`${receiver.url}/`, senderOf({ deadline: 1500 }))
    failing(found, 'timeout', 200, /began but was not complete/)
    assert.match(found.response!.body, /^\.+$/)
    assert.equal(found.response?.truncated, true)
    await receiver.idle()
  })

  test('that answers 10 MB is cut off, and its status counts', async () => {
    let sent = 0
    const receiver = await receive((response, arrival, nth) => {
      const { socket } = response
      modes.big(10_000_000)(response, arrival, nth)
      response.on('close', () => {
        sent = socket?.bytesWritten ?? 0
      })
    })
    const found = await record(`${receiver.url}/`)
    assert.deepEqual([found.error, found.status_code], [null, 200])
    assert.equal(found.response?.truncated, true)
    assert.equal(found.response?.body, 'x'.repeat(RESPONSE_KEPT))
    await receiver.idle()
    assert.ok(sent < 9_000_000, `${sent} bytes were sent`)
  })

  test('whose answer was cut has its length, where it is known, and the hash of what was read', async () => {
    const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
    for (const length of [RESPONSE_KEPT + 1, RESPONSE_KEPT + 30_000]) {
      const body = randomBytes(length).toString('hex').slice(0, length)
      const receiver = await receive((response) => response.end(body))
      const { cut } = (await record(`${receiver.url}/`)).response!
      assert.deepEqual(cut, { read_bytes: length, total_bytes: length, sha256: hash(Buffer.from(body)) })
    }
    const endless = await receive(modes.big(10_000_000))
    const { cut } = (await record(`${endless.url}/`)).response!
    assert.equal(cut!.sha256, hash(Buffer.alloc(cut!.read_bytes, 'x')))
    assert.ok(cut!.read_bytes > RESPONSE_KEPT && cut!.read_bytes < 1_000_000)
    const early = await receive((response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('only this', () => response.socket?.destroy())
    })
    assert.deepEqual((await record(`${early.url}/`)).response?.cut, {
      read_bytes: 9,
      total_bytes: 100,
      sha256: hash(Buffer.from('only this')),
    })
    const short = await receive((response) => response.end('short'))
    assert.equal((await record(`${short.url}/`)).response?.cut, undefined)
  })

  test('that answers a little more than is kept keeps its connection', async () => {
    const receiver = await receive(modes.big(RESPONSE_KEPT + 10_000))
    for (let nth = 0; nth < 3; nth += 1) {
      const found = await record(`${receiver.url}/`)
      assert.deepEqual([found.error, found.response?.truncated], [null, true])
      assert.equal(found.response!.body.length, RESPONSE_KEPT)
    }
    assert.equal(receiver.connections(), 1)
  })

  test('that resets or closes without an answer', async () => {
    for (const mode of [modes.reset(), modes.closeWithoutAnswer()]) {
      const receiver = await receive(mode)
      const found = await record(`${receiver.url}/`)
      failing(found, 'reset', null, /closed without an answer/)
      assert.equal(found.response, null)
    }
  })

  test('that closes in the middle of its answer', async () => {
    const receiver = await receive(modes.closeEarly())
    const found = await record(`${receiver.url}/`)
    failing(found, 'response_invalid', 200, /ended before the answer was complete/)
    assert.equal(found.response?.body, 'only this')
    assert.equal(found.response?.truncated, true)
  })

  test('that had closed a kept connection is asked once more on a fresh one', async () => {
    const seen = new Set<number>()
    const receiver = await receive((response, { connection }) => {
      if (seen.has(connection)) response.socket?.destroy()
      else response.end()
      seen.add(connection)
    })
    for (let nth = 0; nth < 3; nth += 1) assert.equal((await record(`${receiver.url}/`)).error, null)
    assert.equal(receiver.connections(), 3)
    assert.ok(receiver.arrivals.length > 3, 'at least one request met a closed connection')
  })

  test('that redirects is not followed', async () => {
    const trap = await startTrap()
    open.push(trap)
    for (const status of [301, 302, 303, 307, 308]) {
      const receiver = await receive(modes.redirect(`http://127.0.0.1:${trap.port}/`, status))
      failing(await record(`${receiver.url}/`), 'http_status', status, /Redirects are not followed/)
    }
    assert.equal(trap.connections(), 0)
  })

  test('that sends broken gzip has answered: nothing is decoded', async () => {
    const receiver = await receive(modes.brokenGzip())
    const found = await record(`${receiver.url}/`)
    assert.deepEqual([found.error, found.status_code], [null, 200])
    assert.match(found.response!.body, /^\(\d+ bytes of gzip, not decoded\)$/)
    assert.equal((await receiver.next()).headers['accept-encoding'], 'identity')
  })

  test('that answers what is no HTTP, or too much of it', async () => {
    const texts = [
      'SSH-2.0-OpenSSH_9.6\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
      `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`,
    ]
    for (const text of texts) {
      const receiver = await receive(modes.raw(text))
      const found = await record(`${receiver.url}/`)
      assert.equal(found.error?.class, 'response_invalid', text.slice(0, 60))
    }
  })

  test('that answers text with NUL and broken UTF-8 is recorded as text', async () => {
    const receiver = await receive((response) => response.end(Buffer.from([0x61, 0, 0xff, 0xc3, 0x62])))
    const found = await record(`${receiver.url}/`)
    assert.equal(found.response?.body, 'a\uFFFD\uFFFD\uFFFDb')
  })

  test('that answers anything but a 2xx has failed', async () => {
    for (const status of [400, 401, 404, 410, 429, 500, 503, 599]) {
      const receiver = await receive(modes.status(status, {}, 'no'))
      const found = await record(`${receiver.url}/`)
      failing(found, 'http_status', status, new RegExp(`answered ${status}; only a 2xx counts`))
      assert.equal(found.response?.body, 'no')
    }
    for (const status of [200, 201, 202, 204, 299]) {
      const receiver = await receive(modes.status(status))
      assert.equal((await record(`${receiver.url}/`)).error, null)
    }
  })

  test('that fails and drips is a failure by its status', async () => {
    const receiver = await receive((response) => response.writeHead(500).write('.'))
    failing(
      await record(`${receiver.url}/`, senderOf({ deadline: 1500 })),
      'http_status',
      500,
      /answered 500/,
    )
  })

  test('that sends only interim answers has not answered', async () => {
    const receiver = await receive((response) => response.writeProcessing())
    failing(await record(`${receiver.url}/`, senderOf({ deadline: 200 })), 'timeout', null, /did not answer/)
  })

  test('what it asks for beside the status is handed on', async () => {
    const receiver = await receive(modes.status(429, { 'Retry-After': '120', 'Webhook-Delivery': 'disable' }))
    const sent = await attempt(`${receiver.url}/`)
    assert.deepEqual(sent?.directives, { retryAfter: '120', control: 'disable' })
  })

  test('with a bad certificate, another name, or no TLS at all', async () => {
    const receiver = await receive({ tls: selfSigned() })
    failing(await record(receiver.url), 'tls', null, /DEPTH_ZERO_SELF_SIGNED_CERT.*check the certificate/)
    const plain = await receive()
    failing(await record(`https://127.0.0.1:${plain.port}/`), 'tls', null, /The secure connection failed/)
    assert.equal(receiver.arrivals.length + plain.arrivals.length, 0)
  })

  test('that is not there', async () => {
    const receiver = await receive()
    await receiver.close()
    failing(await record(receiver.url), 'refused', null, /refused the connection/)
  })

  test('that disappears from DNS', async () => {
    const receiver = await receive({ mode: modes.ok('', { connection: 'close' }) })
    let there = true
    const sender = senderOf({
      async resolve() {
        if (there) return ['127.0.0.1']
        throw Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
      },
    })
    const url = `http://hooks.test:${receiver.port}/`
    assert.equal((await record(url, sender)).error, null)
    await receiver.idle()
    there = false
    const found = await record(url, sender)
    failing(found, 'dns', null, /could not be resolved \(ENOTFOUND\)/)
    assert.ok(found.phases.dns !== null)
  })

  test('whose name hangs in DNS is left at the deadline, and later answers send nothing', async () => {
    const receiver = await receive()
    const answer = Promise.withResolvers<string[]>()
    const sender = senderOf({ resolve: () => answer.promise, deadline: 200 })
    failing(
      await record(`http://hooks.test:${receiver.port}/`, sender),
      'timeout',
      null,
      /not answer|not made/,
    )
    answer.resolve(['127.0.0.1'])
    while (receiver.connections() === 0) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(receiver.arrivals.length, 0)
  })

  test('on the inside is refused in the same words, by literal and by name', async () => {
    const trap = await startTrap()
    open.push(trap)
    const closed = parseTargets(['public'])
    const guard = createGuard({ targets: closed, resolve: async () => ['127.0.0.1'] })
    open.push(guard)
    const sender = { guard, targets: closed }
    const byName = await record(`http://hooks.example:${trap.port}/`, sender)
    const byLiteral = await record(`http://127.0.0.1:${trap.port}/`, sender)
    failing(byName, 'ssrf_blocked', null, /not one that this service may reach/)
    assert.deepEqual(byLiteral.error, byName.error)
    assert.equal(byName.response, null)
    assert.ok(!JSON.stringify([byName.error, byName.phases]).includes('127.'))
    assert.equal(trap.connections(), 0)
  })
})
