import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { after, test } from 'node:test'
import { FakeClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { newSigningSecret, verify } from '@assay/model/signature'
import { DEFAULT_WORKSPACE as workspace_id } from '@assay/model/token'
import { headerContext, secretContext } from '@assay/model/webhook'
import { createGuard } from '@assay/net/guard'
import { parseTargets } from '@assay/net/target'
import { openSqliteSource } from '@assay/store/copy'
import type { Store } from '@assay/store/store'
import { type Mode, modes, type Receiver, startReceiver, startTrap } from '../../../test/servers/receiver.ts'
import { syncAtOnce } from '../../store/sqlite/durable/sync-at-once.ts'
import { silentLog } from '../runtime/log.ts'
import { SecretBox } from '../runtime/secrets.ts'
import { resealAll } from '../secrets/reseal.ts'
import { type Station, type StationOptions, startDispatcher, startStation } from './dispatcher-fixture.ts'

syncAtOnce()

const open: { close(): Promise<void> }[] = []
after(async () => {
  for (const each of open.toReversed()) await each.close()
})

async function station(options: StationOptions = {}): Promise<Station> {
  const started = await startStation(options)
  open.push(started)
  return started
}

async function receive(mode: Mode = modes.ok()): Promise<Receiver> {
  const receiver = await startReceiver({ mode })
  open.push(receiver)
  return receiver
}

/**
 * Advances the clock in steps until the work is done, which wakes sleepers. The clock stands still while `busy`
 * returns true.
 */
async function turning<T>(
  clock: FakeClock,
  stepMs: number,
  work: Promise<T>,
  busy = () => false,
): Promise<T> {
  const state = { done: false }
  const finished = work.finally(() => {
    state.done = true
  })
  while (!state.done) {
    if (!busy()) clock.advance(stepMs)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return finished
}

/** Resolves with the webhook once the rules of its workspace hold it back. */
async function heldBack({ store }: Station, webhook_id: string) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const look = async (): Promise<void> => {
    if (typeof (await store.getWebhook({ workspace_id, webhook_id }))?.held_reason === 'string') resolve()
  }
  const unsubscribe = store.subscribe(() => void look())
  await look()
  await promise.finally(unsubscribe)
  return (await store.getWebhook({ workspace_id, webhook_id }))!
}

test('a stopped workspace sends nothing and counts no try, and sends what waited once it is open again', async () => {
  const [started, receiver] = [await station(), await receive()]
  const { store, ledger, register, send, attempted } = started
  const { webhook } = await register(`${receiver.url}/hook`)
  const stopped = { at: '2026-03-04T09:00:00Z', user_id: 'ada', by_operator: false, reason: null }
  await store.changeOutgoing({ workspace_id, patch: { stopped } })
  const ids = [await send(webhook), await send(webhook)].map(({ delivery_id }) => delivery_id)
  const held = await heldBack(started, webhook.webhook_id)
  assert.match(held.held_reason!, /^An admin has stopped all that leaves this workspace/)
  assert.deepEqual([held.failures, held.failing_since, receiver.arrivals.length], [0, null, 0])
  await store.changeOutgoing({ workspace_id, patch: { stopped: null } })
  for (const id of ids) {
    const kept = await attempted(id, 1)
    assert.deepEqual([kept.status, kept.attempt_count], ['delivered', 1])
  }
  assert.equal((await store.getWebhook(webhook))!.held_reason, null)
  await ledger.refresh(workspace_id)
  const [counted] = await store.listOutgoing({ workspace_id, since: '2026-01-01' })
  assert.deepEqual([counted?.kind, counted?.count], ['webhook', 2])
  assert.ok(counted!.refused >= 1 && counted!.bytes > 0)
})

test('a delivery to a host that is not on the list of the workspace waits, and goes out once the host is on it', async () => {
  const [started, receiver] = [await station(), await receive()]
  const { store, register, send, attempted } = started
  const { webhook } = await register(`${receiver.url}/hook`)
  await store.changeOutgoing({ workspace_id, patch: { hosts: ['hooks.example.com'] } })
  const { delivery_id } = await send(webhook)
  const held = await heldBack(started, webhook.webhook_id)
  assert.match(
    held.held_reason!,
    /^This workspace may not reach the host 127\.0\.0\.1: the operator can add it/,
  )
  assert.equal(receiver.arrivals.length, 0)
  await store.changeOutgoing({ workspace_id, patch: { hosts: ['127.0.0.1'] } })
  const kept = await attempted(delivery_id, 1)
  assert.deepEqual([kept.status, kept.attempt_count], ['delivered', 1])
})

test('an event reaches its receiver at once, signed, and the attempt is kept', async () => {
  const [{ store, register, send, attempted, metrics, lines }, receiver] = [await station(), await receive()]
  const { webhook, secret } = await register(`${receiver.url}/hook`, {
    values: { 'x-api-key': 'k3y-of-the-receiver' },
  })
  const { event_id, delivery_id } = await send(webhook)
  const arrival = await receiver.next()
  assert.equal(verify({ headers: arrival.headers, body: arrival.body, secret }).id, event_id)
  const { type, timestamp, data } = JSON.parse(arrival.body.toString()) as Record<string, unknown>
  assert.deepEqual([type, data], ['webhook.test', { webhook_id: webhook.webhook_id, message: 'hello' }])
  const kept = await attempted(delivery_id, 1)
  assert.deepEqual([kept.status, kept.attempt_count, kept.next_attempt_at], ['delivered', 1, null])
  assert.equal(kept.attempts[0]!.request.body, arrival.body.toString())
  const listed = await store.listEvents({ workspace_id, limit: 1, order: 'newest' })
  assert.equal(listed.items[0]!.timestamp, timestamp)

  const wide = lines.map((line) => JSON.parse(line) as Record<string, unknown>).find((line) => line.outcome)
  assert.deepEqual(
    [wide?.delivery_id, wide?.outcome, wide?.attempt, wide?.next],
    [delivery_id, 'delivered', 1, 'delivered'],
  )
  for (const text of [JSON.stringify(kept), ...lines])
    assert.ok(!text.includes('k3y-of') && !text.includes(secret))
  assert.match(await metrics.registry.metrics(), /attempt_duration_seconds_count\{outcome="delivered"\} 1/)
})

test('a failed delivery is tried again by the schedule, under the same id, signed anew', async () => {
  const clock = new FakeClock(Date.now())
  const [{ register, send, attempted }, receiver] = [await station({ clock }), await receive(modes.fail(2))]
  const { webhook } = await register(receiver.url)
  const { event_id, delivery_id } = await send(webhook)
  const first = await attempted(delivery_id, 1)
  assert.equal(first.status, 'pending')
  assert.equal(Date.parse(first.next_attempt_at!) - clock.now(), 5000)
  const kept = await turning(clock, 1000, attempted(delivery_id, 3))
  assert.equal(kept.status, 'delivered')
  assert.deepEqual(
    kept.attempts.map(({ number, status_code }) => [number, status_code]),
    [
      [1, 500],
      [2, 500],
      [3, 200],
    ],
  )
  const [one, two, three] = kept.attempts.map(({ started_at }) => Date.parse(started_at))
  assert.ok(two! - one! >= 5000 && three! - two! >= 300_000)
  assert.deepEqual(
    receiver.arrivals.map(({ headers }) => headers['webhook-id']),
    [event_id, event_id, event_id],
  )
  assert.equal(new Set(receiver.arrivals.map(({ headers }) => headers['webhook-timestamp'])).size, 3)
})

test('a delivery that waits while the signing secret and the key of the secrets change is signed by those of the day', async () => {
  const clock = new FakeClock(Date.now())
  const [started, receiver] = [await station({ clock }), await receive(modes.fail(2))]
  const { store, key, home, register, send, attempted, ledger, metrics } = started
  const { webhook, secret: old } = await register(receiver.url, { values: { 'x-api-key': 'k3y' } })
  const { webhook_id } = webhook
  const { event_id, delivery_id } = await send(webhook)
  await attempted(delivery_id, 1)
  await started.stop()
  const next = randomBytes(32)
  const targets = parseTargets(['loopback'])
  /** Makes the next attempt as a node that has these keys. */
  const attemptWith = async (secrets: SecretBox, count: number) => {
    const node = { store, ledger, metrics, clock, targets, secrets, log: silentLog }
    const { stop } = await startDispatcher(node)
    const kept = await turning(clock, 1000, attempted(delivery_id, count))
    await stop()
    const { headers, body } = receiver.arrivals[count - 1]!
    assert.equal(headers['x-api-key'], 'k3y')
    const isOf = (secret: string): boolean => {
      try {
        return verify({ headers, body, secret, now: clock.now() }).id === event_id
      } catch {
        return false
      }
    }
    return { status: kept.status, isOf }
  }

  const both = new SecretBox([next, key])
  const { secret } = newSigningSecret('v1')
  const sealed = both.seal(secret, secretContext(webhook_id))
  const overlap_ms = 60_000
  await store.rotateSecret({ workspace_id, webhook_id, sealed, public_key: null, overlap_ms })
  const second = await attemptWith(both, 2)
  assert.deepEqual([second.status, second.isOf(old), second.isOf(secret)], ['pending', true, true])

  const source = await openSqliteSource(path.join(home, 'assay.db'))
  await resealAll(store, source, both)
  await source.close()
  const third = await attemptWith(new SecretBox([next]), 3)
  assert.deepEqual([third.status, third.isOf(old), third.isOf(secret)], ['delivered', false, true])
})

test('a delivery that cannot be made is recorded as failed and stops nobody', async () => {
  const [{ register, send, attempted, box }, receiver] = [await station(), await receive()]
  const alien = new SecretBox([randomBytes(32)])
  const webhook_id = uuidv7()
  const lost = await register(receiver.url, {
    webhook_id,
    secrets: [
      { sealed: alien.seal(newSigningSecret('v1').secret, secretContext(webhook_id)), expires_at: null },
    ],
  })
  const other_id = uuidv7()
  const unsendable = await register(receiver.url, {
    webhook_id: other_id,
    headers: [
      { name: 'x-bad', sealed: box.seal('a\r\nb: c', headerContext(other_id, 'x-bad')), fingerprint: '' },
    ],
  })
  const unsigned = await register(receiver.url, { secrets: [] })
  const inside = await register('http://169.254.169.254/latest')
  const nonsense = await register('no address')
  const good = await register(receiver.url)
  const sent = []
  for (const { webhook } of [lost, unsendable, unsigned, inside, nonsense, good])
    sent.push(await send(webhook))
  const kept = await Promise.all(sent.map(({ delivery_id }) => attempted(delivery_id, 1)))
  assert.deepEqual(
    kept.map(({ status, attempts }) => [status, attempts[0]!.error?.class]),
    [
      ['pending', 'request_invalid'],
      ['pending', 'request_invalid'],
      ['pending', 'request_invalid'],
      ['pending', 'ssrf_blocked'],
      ['pending', 'ssrf_blocked'],
      ['delivered', undefined],
    ],
  )
  assert.match(kept[0]!.attempts[0]!.error!.detail, /rotate the signing secret/)
  assert.equal(receiver.arrivals.length, 1)
})

test('a name that changes its answer to the inside is blocked from then on, and nothing is dialed there', async () => {
  const trap = await startTrap()
  open.push(trap)
  const targets = parseTargets(['127.0.0.2'])
  const answers = [['127.0.0.1'], ['127.0.0.2', '127.0.0.1'], ['::ffff:127.0.0.1'], ['169.254.169.254']]
  let asked = 0
  const guard = createGuard({ targets, resolve: async () => answers[asked++ % answers.length]! })
  open.push(guard)
  const { register, send, attempted } = await station({ targets: ['127.0.0.2'], dispatcher: { guard } })
  for (const _ of answers) {
    const { webhook } = await register(`http://rebind.test:${trap.port}/`)
    const { delivery_id } = await send(webhook)
    const kept = await attempted(delivery_id, 1)
    assert.equal(kept.attempts[0]!.error?.class, 'ssrf_blocked')
  }
  assert.deepEqual([asked, trap.connections()], [answers.length, 0])
})

test('receivers that hang hold up no other', async () => {
  const [{ register, send, attempted }, healthy] = [
    await station({ dispatcher: { drainMs: 0 } }),
    await receive(),
  ]
  const hanging = await receive(modes.hang())
  for (let nth = 0; nth < 20; nth += 1) {
    const { webhook } = await register(`${hanging.url}/${nth}`)
    for (let event = 0; event < 10; event += 1) await send(webhook)
  }
  const { webhook } = await register(healthy.url)
  const sent = []
  for (let nth = 0; nth < 100; nth += 1) sent.push(await send(webhook))
  for (const { delivery_id } of sent) assert.equal((await attempted(delivery_id, 1)).status, 'delivered')
  assert.ok(hanging.open() > 0, 'the others still hang')
})

/** A store that refuses to record the given number of times. */
function failing(times: number, error: () => Error, seen: { calls: number }) {
  const refused = (): boolean => (seen.calls += 1) <= times
  return (store: Store): Store => ({
    ...store,
    recordAttempt: (outcome) => (refused() ? Promise.reject(error()) : store.recordAttempt(outcome)),
    recordAttempts: (outcomes) => (refused() ? Promise.reject(error()) : store.recordAttempts(outcomes)),
  })
}

test('a store that is away is waited for with the outcome in hand: nothing is sent twice', async () => {
  const clock = new FakeClock(Date.now())
  const seen = { calls: 0 }
  const between = failing(6, () => new AppError('store_unavailable', 'It is away.'), seen)
  const [{ register, send, attempted }, receiver] = [await station({ clock, between }), await receive()]
  const { webhook } = await register(receiver.url)
  const { delivery_id } = await send(webhook)
  const kept = await turning(clock, 100, attempted(delivery_id, 1))
  assert.deepEqual([kept.status, seen.calls, receiver.arrivals.length], ['delivered', 7, 1])
})

test('an outcome that the store refuses is not lost: the delivery is made again under the same id', async () => {
  const clock = new FakeClock(Date.now())
  const seen = { calls: 0 }
  const between = failing(2, () => new TypeError('a fault of ours'), seen)
  const [{ register, send, attempted, lines }, receiver] = [
    await station({ clock, between }),
    await receive(),
  ]
  const { webhook } = await register(receiver.url)
  const { delivery_id, event_id } = await send(webhook)
  const kept = await turning(clock, 1000, attempted(delivery_id, 1))
  assert.deepEqual([kept.status, kept.attempt_count], ['delivered', 1])
  assert.deepEqual(
    receiver.arrivals.map(({ headers }) => headers['webhook-id']),
    [event_id, event_id],
  )
  assert.ok(lines.some((line) => line.includes('it will be repeated')))
})

test('while the store is behind a run waits with what it has claimed: nothing is given back, all arrives once', async (t) => {
  // The time of the test stands still, so that no run ends early on a slow machine.
  t.mock.method(performance, 'now', () => 0)
  const COUNT = 30
  const [written, behind] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const given = { outcomes: 0, told: (): void => undefined }
  let [ready, released] = [false, 0]
  const between = (store: Store): Store => ({
    ...store,
    // The first run has one delivery, the second has eight.
    claimDeliveries: (input) => (ready ? store.claimDeliveries(input) : Promise.resolve([])),
    async recordAttempts(outcomes) {
      given.outcomes += outcomes.length
      given.told()
      // One slot may have four unwritten outcomes. By then one more is under way.
      if (given.outcomes === 1 + 4 + 1) behind.resolve()
      if (given.outcomes > 1) await written.promise
      return store.recordAttempts(outcomes)
    },
    releaseDeliveries(claims) {
      released += claims.length
      return store.releaseDeliveries(claims)
    },
  })
  // Each request is answered once the outcome of the one before is with the store.
  const receiver = await receive((response, _arrival, nth) => {
    const answer = (): void => {
      if (given.outcomes < nth - 1) return
      given.told = () => undefined
      response.writeHead(204).end()
    }
    given.told = answer
    answer()
  })
  const { register, send, attempted } = await station({ between, dispatcher: { concurrency: 1 } })
  const { webhook } = await register(receiver.url)
  const sent = await Promise.all(Array.from({ length: COUNT }, () => send(webhook)))
  ready = true
  await behind.promise
  for (let pass = 0; pass < 10; pass += 1) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(released, 0)
  assert.equal(given.outcomes, 6, 'it waits')
  written.resolve()
  for (const { delivery_id } of sent) assert.equal((await attempted(delivery_id, 1)).status, 'delivered')
  assert.deepEqual([released, receiver.arrivals.length], [0, COUNT])
})

test('claims that fail are made again when the store is back', async () => {
  let away = true
  const between = (store: Store): Store => ({
    ...store,
    claimDeliveries: (input) =>
      away ? Promise.reject(new AppError('store_unavailable', 'It is away.')) : store.claimDeliveries(input),
  })
  const clock = new FakeClock(Date.now())
  const [{ register, send, attempted, lines }, receiver] = [
    await station({ clock, between }),
    await receive(),
  ]
  const { webhook } = await register(receiver.url)
  const { delivery_id } = await send(webhook)
  while (!lines.some((line) => line.includes('deliveries could not be claimed'))) {
    clock.advance(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
  away = false
  assert.equal((await turning(clock, 250, attempted(delivery_id, 1))).status, 'delivered')
})

test('a claim whose answer was lost is given back, and its delivery is made', async () => {
  let lost = true
  const between = (store: Store): Store => ({
    ...store,
    async claimDeliveries(input) {
      const claimed = await store.claimDeliveries(input)
      if (!lost || claimed.length === 0) return claimed
      lost = false
      throw new AppError('store_unavailable', 'The connection broke at COMMIT.')
    },
  })
  const clock = new FakeClock(Date.now())
  const [{ register, send, attempted }, receiver] = [await station({ clock, between }), await receive()]
  const { webhook } = await register(receiver.url)
  const { delivery_id } = await send(webhook)
  assert.equal((await turning(clock, 250, attempted(delivery_id, 1))).status, 'delivered')
  assert.equal(lost, false)
  assert.equal(receiver.arrivals.length, 1)
})

test('a node whose lease does not hold claims nothing', async () => {
  let holds = false
  const clock = new FakeClock(Date.now())
  const started = await station({ clock, dispatcher: { holds: () => holds } })
  const receiver = await receive()
  const { webhook } = await started.register(receiver.url)
  const { delivery_id } = await started.send(webhook)
  for (let nth = 0; nth < 50; nth += 1) {
    clock.advance(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(receiver.connections(), 0)
  holds = true
  await turning(clock, 250, started.attempted(delivery_id, 1))
})

test('told to stop, it finishes what is under way and claims no more', async () => {
  const started = await station()
  const answers: (() => void)[] = []
  const receiver = await receive((response) => answers.push(() => response.end()))
  const { webhook } = await started.register(receiver.url)
  const first = await started.send(webhook)
  await receiver.next()
  const stopped = started.stop()
  const second = await started.send(webhook)
  answers[0]!()
  await stopped
  assert.equal((await started.delivery(first.delivery_id)).status, 'delivered')
  assert.deepEqual((await started.delivery(second.delivery_id)).attempts, [])
})

test('what is not finished within the drain time is given back as if it had not been claimed', async () => {
  const started = await station({ dispatcher: { drainMs: 50 } })
  const receiver = await receive(modes.hang())
  const { webhook } = await started.register(receiver.url)
  const { delivery_id } = await started.send(webhook)
  await receiver.next()
  await started.stop()
  const kept = await started.delivery(delivery_id)
  assert.deepEqual([kept.status, kept.attempt_count, kept.attempts.length], ['pending', 0, 0])
  await started.store.registerNode({
    node_id: 'another',
    name: 'b',
    roles: [],
    version: '1',
    lease_ms: 30_000,
  })
  const [again] = await started.store.claimDeliveries({ node_id: 'another', limit: 10 })
  assert.deepEqual([again?.delivery_id, again?.attempt], [delivery_id, 1])
})

test('410 disables the webhook, and what waits for it stays', async () => {
  const { store, register, send, attempted } = await station()
  const [gone, listening] = [await receive(modes.status(410)), await receive()]
  const { webhook } = await register(gone.url)
  await register(listening.url)
  const { delivery_id } = await send(webhook)
  assert.equal((await attempted(delivery_id, 1)).status, 'failed')
  const now = await store.getWebhook(webhook)
  assert.deepEqual([now?.status, now?.disabled_reason], ['disabled', 'The receiver answered 410 (gone).'])
  const said = JSON.parse((await listening.next()).body.toString()) as {
    type: string
    data: { webhook_id: string }
  }
  assert.deepEqual([said.type, said.data.webhook_id], ['webhook.disabled', webhook.webhook_id])
})

/**
 * A store that counts claims under way, and deliveries that are claimed and not yet recorded. A clock that advances
 * in large steps must stand still while a delivery is on a socket: an attempt of a few milliseconds would last days
 * of it.
 */
function counting(flying: { deliveries: number }) {
  const ended = async <T>(count: number, work: Promise<T>): Promise<T> => {
    const value = await work
    flying.deliveries -= count
    return value
  }
  return (store: Store): Store => ({
    ...store,
    async claimDeliveries(input) {
      flying.deliveries += 1
      const claimed = await ended(1, store.claimDeliveries(input))
      flying.deliveries += claimed.length
      return claimed
    },
    recordAttempt: (outcome) => ended(1, store.recordAttempt(outcome)),
    recordAttempts: (outcomes) => ended(outcomes.length, store.recordAttempts(outcomes)),
    releaseDeliveries: (claims) => ended(claims.length, store.releaseDeliveries(claims)),
  })
}

test('a day without a success is told, five disable the webhook, each once; what waited can be sent once it is enabled', async () => {
  const clock = new FakeClock(Date.now())
  const flying = { deliveries: 0 }
  const started = await station({ clock, between: counting(flying) })
  const { store, register, send, attempted } = started
  const [away, listening] = [await receive(modes.status(503)), await receive()]
  // The delivery is tried every twelve hours for longer than five days.
  const { webhook } = await register(away.url, {
    retry_schedule: Array<number>(20).fill(43_200),
    events: ['webhook.test'],
  })
  await register(listening.url)
  const { delivery_id } = await send(webhook)
  const first = await attempted(delivery_id, 1)
  const other = await send(webhook)
  const next = async (): Promise<{ type: string; data: Record<string, string> }> =>
    JSON.parse((await turning(clock, 600_000, listening.next(), () => flying.deliveries > 0)).body.toString())
  const warned = await next()
  assert.deepEqual([warned.type, warned.data.webhook_id], ['webhook.failing', webhook.webhook_id])
  assert.match(warned.data.failing_reason!, /^http_status: The receiver answered 503/)
  const told = await next()
  const days = (clock.now() - Date.parse(first.attempts[0]!.started_at)) / 86_400_000
  assert.ok(days >= 5 && days < 6, `${days}`)
  assert.deepEqual([told.type, told.data.webhook_id], ['webhook.disabled', webhook.webhook_id])
  assert.match(told.data.disabled_reason!, /^Every attempt has failed since /)
  const off = await store.getWebhook(webhook)
  assert.deepEqual([off?.status, off?.disabled_reason], ['disabled', told.data.disabled_reason])
  const waiting = await Promise.all([delivery_id, other.delivery_id].map(started.delivery))
  assert.deepEqual(
    waiting.map(({ status }) => status),
    ['pending', 'pending'],
  )
  const before = away.arrivals.length
  clock.advance(86_400_000)
  away.answer(modes.ok())
  await store.updateWebhook({ ...webhook, patch: { status: 'enabled' } })
  const counts = waiting.map(({ attempt_count }) => attempt_count + 1)
  const sent = await Promise.all([
    attempted(delivery_id, counts[0]!),
    attempted(other.delivery_id, counts[1]!),
  ])
  assert.deepEqual(
    sent.map(({ status }) => status),
    ['delivered', 'delivered'],
  )
  assert.equal(away.arrivals.length, before + 2)
  assert.equal(listening.arrivals.length, 2)
})

test('while a key is replaced both sign, afterwards only the new one', async () => {
  const clock = new FakeClock(Date.now())
  const [{ store, box, register, send }, receiver] = [await station({ clock }), await receive()]
  for (const signature of ['v1', 'v1a'] as const) {
    const { webhook, secret: older } = await register(receiver.url, { signature })
    const { webhook_id } = webhook
    const newer = newSigningSecret(signature)
    const sealed = box.seal(newer.secret, secretContext(webhook_id))
    await store.rotateSecret({
      workspace_id,
      webhook_id,
      sealed,
      public_key: newer.public_key,
      overlap_ms: 3_600_000,
    })
    await send(webhook)
    const during = await receiver.next()
    const given = { headers: during.headers, body: during.body, now: clock.now() }
    for (const secret of [older, newer.secret]) verify({ ...given, secret })
    if (newer.public_key) verify({ ...given, publicKey: newer.public_key })
    assert.match(
      String(during.headers['webhook-signature']),
      new RegExp(`^${signature},[^ ]+ ${signature},[^ ]+$`),
    )
    clock.advance(3_600_001)
    await send(webhook)
    const later = await receiver.next()
    const then = { headers: later.headers, body: later.body, now: clock.now() }
    verify({ ...then, secret: newer.secret })
    assert.throws(() => verify({ ...then, secret: older }), /No signature in webhook-signature matches/)
  }
})

test('a recovery is carried out in the background', async () => {
  const clock = new FakeClock(Date.now())
  const { store, register, send, attempted } = await station({ clock })
  const receiver = await receive(modes.fail(3))
  const { webhook } = await register(receiver.url, { retry_schedule: [] })
  const since = new Date(clock.now() - 1000).toISOString()
  const sent = [await send(webhook), await send(webhook), await send(webhook)]
  for (const { delivery_id } of sent) assert.equal((await attempted(delivery_id, 1)).status, 'failed')
  for (let nth = 0; nth < 3; nth += 1) await receiver.next()
  const { webhook_id } = webhook
  const recovery_id = uuidv7()
  await store.createRecovery({
    recovery_id,
    workspace_id,
    webhook_id,
    since,
    until: null,
    include_unsent: false,
  })
  const again = await turning(clock, 1000, Promise.all([receiver.next(), receiver.next(), receiver.next()]))
  assert.deepEqual(
    new Set(again.map(({ headers }) => headers['webhook-id'])),
    new Set(sent.map(({ event_id }) => event_id)),
  )
  const done = await store.getRecovery({ workspace_id, webhook_id, recovery_id })
  assert.deepEqual([done?.status, done?.done, done?.count], ['completed', 3, 3])
})
