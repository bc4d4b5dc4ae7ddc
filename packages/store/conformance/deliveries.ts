/** Deliveries: claims within caps, attempts, retries, the breaker, recovery and statistics. */
import assert from 'node:assert/strict'
import { toAttempt } from '@assay/model/delivery'
import { uuidv7 } from '@assay/model/ids'
import type { Webhook } from '@assay/model/webhook'
import type { ClaimedDelivery, Store } from '../store.ts'
import {
  addWebhook,
  at,
  attempt,
  type ConformanceTests,
  claimAll,
  completeNew,
  FAILED_ATTEMPT,
  failAll,
  HOUR,
  LEASE_MS,
  NODE,
  otherWorkspace,
  outcome,
  register,
  SECOND,
  send,
  sorted,
  WORKSPACE,
} from './given.ts'

const get = (store: Store, delivery_id: string) => store.getDelivery({ workspace_id: WORKSPACE, delivery_id })

function dataOf({ body }: ClaimedDelivery): Record<string, unknown> {
  return (JSON.parse(body) as { data: Record<string, unknown> }).data
}

function perWebhook(claimed: ClaimedDelivery[], webhook: Webhook): number {
  return claimed.filter((one) => one.webhook.webhook_id === webhook.webhook_id).length
}

export const deliveryTests: ConformanceTests = {
  'claims a delivery with its event and webhook, once': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    const job = await completeNew(store)
    const [claimed, ...others] = await claimAll(store)
    assert.deepEqual(others, [])
    assert.deepEqual(claimed?.webhook, webhook)
    assert.deepEqual([claimed?.attempt, claimed?.node_id, claimed?.workspace_id], [1, NODE, WORKSPACE])
    assert.equal(claimed?.event.type, 'job.completed')
    assert.equal(dataOf(claimed).assignment_id, job.assignment_id)
    assert.deepEqual(await claimAll(store), [])
    const delivery = await get(store, claimed.delivery_id)
    assert.deepEqual([delivery?.status, delivery?.attempt_count], ['pending', 0])
    assert.equal(delivery?.assignment_id, job.assignment_id)
    assert.equal(delivery?.event_id, claimed?.event.event_id)
  },

  'records a delivered attempt, fenced': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook)
    const [claimed] = await claimAll(store)
    assert.equal(await store.recordAttempt({ ...outcome(claimed!), node_id: 'node-2' }), false)
    assert.equal(await store.recordAttempt({ ...outcome(claimed!), attempt: 2 }), false)
    const record = attempt({ response: { headers: { a: 'b' }, body: 'ok', truncated: true } })
    assert.equal(await store.recordAttempt(outcome(claimed!, { record })), true)
    assert.equal(await store.recordAttempt(outcome(claimed!)), false)
    const delivery = await get(store, claimed!.delivery_id)
    assert.deepEqual(
      [delivery?.status, delivery?.next_attempt_at, delivery?.attempt_count],
      ['delivered', null, 1],
    )
    assert.deepEqual(delivery?.attempts, [toAttempt(record, claimed!.body)])
  },

  'records attempts together, each judged by its own claim, and tells of retries among them': async ({
    store,
  }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 4)
    const [first, second, third, fourth] = await claimAll(store)
    const retry = { next: { status: 'pending' as const, wait_ms: 0 }, record: FAILED_ATTEMPT }
    assert.deepEqual(
      await store.recordAttempts([
        outcome(first!),
        { ...outcome(second!), attempt: 2 },
        outcome(third!, retry),
        outcome(first!),
      ]),
      [true, false, true, false],
    )
    assert.deepEqual(await store.recordAttempts([]), [])
    const again = await claimAll(store)
    assert.deepEqual(
      again.map(({ delivery_id, attempt: number }) => [delivery_id, number]),
      [[third!.delivery_id, 2]],
    )
    assert.deepEqual(await store.recordAttempts([second!, fourth!].map((one) => outcome(one))), [true, true])
    await store.releaseDeliveries(again)
    assert.equal((await claimAll(store)).length, 1)
  },

  'waits for the next try by the time of the store': async ({ store, now, elapse }) => {
    await register(store)
    const webhook = await addWebhook(store)
    const [delivery_id] = await send(store, webhook)
    await failAll(store, { status: 'pending', wait_ms: 60 * SECOND })
    const left = Date.parse((await get(store, delivery_id!))!.next_attempt_at!) - now()
    assert.ok(Math.abs(left - 60 * SECOND) < 5 * SECOND, `${left}`)
    await elapse(50 * SECOND)
    assert.deepEqual(await claimAll(store), [])
    await elapse(11 * SECOND)
    const [claimed] = await claimAll(store)
    assert.deepEqual([claimed?.delivery_id, claimed?.attempt], [delivery_id, 2])
    await store.recordAttempt(outcome(claimed!))
    const delivery = await get(store, delivery_id!)
    assert.deepEqual(
      delivery?.attempts.map((one) => [one.number, one.status_code]),
      [
        [1, 500],
        [2, 204],
      ],
    )
  },

  'notes since when a webhook fails, until it succeeds': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 2)
    const [first, second] = await claimAll(store)
    await store.recordAttempt(outcome(first!, { next: { status: 'failed' } }))
    assert.ok((await store.getWebhook(webhook))?.failing_since)
    await store.recordAttempt(outcome(second!))
    assert.equal((await store.getWebhook(webhook))?.failing_since, null)
  },

  'gives back released deliveries, the claim not counted': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store, { max_in_flight: 1 })
    await send(store, webhook)
    const [claimed] = await claimAll(store)
    await store.releaseDeliveries([{ ...claimed!, node_id: 'node-2' }])
    assert.deepEqual(await claimAll(store), [])
    await store.releaseDeliveries([claimed!, claimed!])
    const [again] = await claimAll(store)
    assert.deepEqual([again?.delivery_id, again?.attempt], [claimed?.delivery_id, 1])
  },

  'never claims more of a webhook than its cap, by default 8': async ({ store }) => {
    await register(store)
    const narrow = await addWebhook(store, { max_in_flight: 2 })
    const wide = await addWebhook(store)
    await send(store, narrow, 5)
    await send(store, wide, 12)
    const claimed = await claimAll(store)
    assert.deepEqual([perWebhook(claimed, narrow), perWebhook(claimed, wide)], [2, 8])
    assert.deepEqual(await claimAll(store), [])
    await store.recordAttempt(outcome(claimed.find((one) => one.webhook.webhook_id === narrow.webhook_id)!))
    assert.equal(perWebhook(await claimAll(store), narrow), 1)
    await store.updateWebhook({ ...narrow, patch: { max_in_flight: 4 } })
    assert.equal(perWebhook(await claimAll(store), narrow), 2)
  },

  'counts what is under way rightly after its node died': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store, { max_in_flight: 3 })
    await send(store, webhook, 5)
    const held = await claimAll(store)
    assert.equal(held.length, 3)
    await store.reapNodes({ all: true })
    await register(store, 'node-2')
    assert.equal(await store.recordAttempt(outcome(held[0]!)), false)
    const again = await claimAll(store, 'node-2')
    assert.equal(again.length, 3)
    for (const one of again) await store.recordAttempt(outcome(one))
    assert.equal((await claimAll(store, 'node-2')).length, 2)
  },

  'claims one of each webhook before seconds, and the one that waited longest first': async ({
    store,
    elapse,
  }) => {
    await register(store)
    const big = await addWebhook(store)
    await send(store, big, 6)
    const small = await addWebhook(store)
    await send(store, small, 1)
    const first = await store.claimDeliveries({ node_id: NODE, limit: 3 })
    assert.deepEqual([perWebhook(first, big), perWebhook(first, small)], [1, 1])
    for (const one of first) await store.recordAttempt(outcome(one))
    await elapse(SECOND)
    const [next] = await store.claimDeliveries({ node_id: NODE, limit: 1 })
    assert.equal(next?.webhook.webhook_id, big.webhook_id)
    await store.recordAttempt(outcome(next))
    await elapse(SECOND)
    await send(store, small, 1)
    await elapse(SECOND)
    const [third] = await store.claimDeliveries({ node_id: NODE, limit: 1 })
    assert.equal(third?.webhook.webhook_id, big.webhook_id)
    await store.recordAttempt(outcome(third))
    const [fourth] = await store.claimDeliveries({ node_id: NODE, limit: 1 })
    assert.equal(fourth?.webhook.webhook_id, small.webhook_id)
  },

  'leaves free as many slots as one webhook has': async ({ store }) => {
    await register(store)
    const hanging = await addWebhook(store)
    await send(store, hanging, 20)
    assert.equal((await store.claimDeliveries({ node_id: NODE, limit: 6 })).length, 3)
    assert.equal((await store.claimDeliveries({ node_id: NODE, limit: 3 })).length, 0)
    const healthy = await addWebhook(store)
    await send(store, healthy, 1)
    const claimed = await store.claimDeliveries({ node_id: NODE, limit: 3 })
    assert.equal(perWebhook(claimed, healthy), 1)
  },

  'gives a slot a run of deliveries where it is told to, and has it back when the last is settled': async ({
    store,
  }) => {
    await register(store)
    const webhook = await addWebhook(store, { max_in_flight: 2 })
    const other = await addWebhook(store, { max_in_flight: 2 })
    const ids = await send(store, webhook, 9)
    await send(store, other, 3)
    const runs = new Map([[webhook.webhook_id, 3]])
    const claimed = await store.claimDeliveries({ node_id: NODE, limit: 10, runs })
    const slots = [...Map.groupBy(claimed, ({ slot }) => slot).values()]
    assert.deepEqual(sorted(slots.map((run) => String(run.length))), ['1', '1', '3', '3'])
    const [first, second] = slots.filter((run) => run.length === 3)
    // Deliveries go to the slots in turn, in the order in which they are due. The test deliveries come first.
    const dealt = first!.flatMap((one, index) => [one.delivery_id, second![index]!.delivery_id])
    assert.deepEqual(dealt, ids.toReversed().slice(0, 6))
    assert.deepEqual(await claimAll(store), [])
    for (const one of first!.slice(0, 2)) assert.equal(await store.recordAttempt(outcome(one)), true)
    assert.equal(perWebhook(await claimAll(store), webhook), 0)
    assert.equal(await store.recordAttempt(outcome(first![2]!)), true)
    assert.equal(perWebhook(await claimAll(store), webhook), 1)
    // A released delivery of a run frees its slot too, but only once.
    assert.equal(await store.recordAttempt(outcome(second![0]!)), true)
    await store.releaseDeliveries(second!.slice(1))
    assert.equal((await store.claimDeliveries({ node_id: NODE, limit: 10, runs })).length, 3)
    assert.deepEqual(await claimAll(store), [])
  },

  'gives no runs to a webhook that fails or has a rate': async ({ store }) => {
    await register(store)
    const failing = await addWebhook(store, { max_in_flight: 1 })
    const paced = await addWebhook(store, { max_in_flight: 1, rate_per_second: 1 })
    await send(store, failing, 5)
    await send(store, paced, 5)
    const runs = new Map([failing, paced].map(({ webhook_id }) => [webhook_id, 3]))
    const claimed = await store.claimDeliveries({ node_id: NODE, limit: 10, runs })
    assert.deepEqual([perWebhook(claimed, failing), perWebhook(claimed, paced)], [3, 1])
    for (const one of claimed)
      await store.recordAttempt(outcome(one, { next: { status: 'failed' }, record: FAILED_ATTEMPT }))
    assert.equal(perWebhook(await store.claimDeliveries({ node_id: NODE, limit: 10, runs }), failing), 1)
  },

  'counts the slots of runs rightly after their node died': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store, { max_in_flight: 2 })
    await send(store, webhook, 8)
    const runs = new Map([[webhook.webhook_id, 4]])
    const held = await store.claimDeliveries({ node_id: NODE, limit: 10, runs })
    assert.equal(held.length, 8)
    assert.equal((await store.reapNodes({ all: true })).deliveries, 8)
    await register(store, 'node-2')
    assert.equal(await store.recordAttempt(outcome(held[0]!)), false)
    const again = await store.claimDeliveries({ node_id: 'node-2', limit: 10, runs })
    assert.equal(again.length, 8)
    assert.deepEqual(
      await Promise.all(again.map((one) => store.recordAttempt(outcome(one)))),
      Array(8).fill(true),
    )
    assert.deepEqual(await claimAll(store, 'node-2'), [])
  },

  'records outcomes that are told together each for itself': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 3)
    const [one, two, three] = await claimAll(store)
    const twice = [outcome(one!), { ...outcome(two!), node_id: 'node-2' }, outcome(one!), outcome(three!)]
    assert.deepEqual(await Promise.all(twice.map((each) => store.recordAttempt(each))), [
      true,
      false,
      false,
      true,
    ])
    assert.deepEqual((await store.webhookStats({ ...webhook, since: at(0) }))?.sent, 2)
  },

  'holds the rate of a webhook': async ({ store, elapse }) => {
    await register(store)
    // The rate is one in twenty seconds, because on PostgreSQL the time of the test itself passes too.
    const webhook = await addWebhook(store, { rate_per_second: 0.05, max_in_flight: 50 })
    await send(store, webhook, 20)
    assert.equal((await claimAll(store)).length, 1)
    assert.equal((await claimAll(store)).length, 0)
    await elapse(20 * SECOND)
    assert.equal((await claimAll(store)).length, 1)
    await elapse(60 * SECOND)
    assert.equal((await claimAll(store)).length, 1)
    const slow = await addWebhook(store, { rate_per_second: 0.01, max_in_flight: 50 })
    await send(store, slow, 3)
    assert.equal(perWebhook(await claimAll(store), slow), 1)
    await elapse(90 * SECOND)
    assert.equal(perWebhook(await claimAll(store), slow), 0)
    await elapse(11 * SECOND)
    assert.equal(perWebhook(await claimAll(store), slow), 1)
  },

  'opens the breaker after five failures, then lets through one probe at a time': async ({
    store,
    elapse,
  }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 20)
    const claimed = await claimAll(store)
    assert.equal(claimed.length, 8)
    for (const one of claimed.slice(0, 5))
      await store.recordAttempt(outcome(one, { next: { status: 'failed' }, record: FAILED_ATTEMPT }))
    assert.deepEqual(await claimAll(store), [])
    await elapse(31 * SECOND)
    assert.deepEqual(await claimAll(store), [], 'three are still under way')
    for (const one of claimed.slice(5)) await store.releaseDeliveries([one])
    const [probe, ...others] = await claimAll(store)
    assert.ok(probe)
    assert.deepEqual(others, [])
    await store.recordAttempt(outcome(probe, { next: { status: 'failed' }, record: FAILED_ATTEMPT }))
    await elapse(31 * SECOND)
    assert.deepEqual(await claimAll(store), [])
    await elapse(30 * SECOND)
    const [second] = await claimAll(store)
    await store.recordAttempt(outcome(second!))
    assert.equal((await claimAll(store)).length, 8)
  },

  'a failure of which somebody has got the message counts neither against the receiver nor its health':
    async ({ store }) => {
      await register(store)
      const webhook = await addWebhook(store)
      await send(store, webhook, 20)
      const next = { status: 'pending' as const, wait_ms: 60 * SECOND }
      for (const one of await claimAll(store))
        await store.recordAttempt(outcome(one, { next, record: FAILED_ATTEMPT, reached: true }))
      const kept = await store.getWebhook(webhook)
      assert.deepEqual([kept?.failures, kept?.open_until, kept?.failing_since], [0, null, null])
      assert.equal((await claimAll(store)).length, 8, 'the others go on')
    },

  'leaves a webhook alone for as long as its receiver asks, whatever was under way': async ({
    store,
    elapse,
  }) => {
    await register(store)
    const webhook = await addWebhook(store, { max_in_flight: 3 })
    const other = await addWebhook(store)
    await send(store, webhook, 6)
    const [first, second, third] = await claimAll(store)
    const tooMany = { next: { status: 'pending' as const, wait_ms: SECOND }, record: FAILED_ATTEMPT }
    await store.recordAttempt(outcome(first!, { ...tooMany, hold_ms: 60 * SECOND }))
    await store.recordAttempt(outcome(second!, { ...tooMany, hold_ms: 20 * SECOND }))
    await store.recordAttempt(outcome(third!))
    await elapse(50 * SECOND)
    await send(store, other)
    const meanwhile = await claimAll(store)
    assert.deepEqual([perWebhook(meanwhile, webhook), perWebhook(meanwhile, other)], [0, 1])
    await elapse(11 * SECOND)
    assert.equal(perWebhook(await claimAll(store), webhook), 3)
  },

  'enabling a webhook closes its breaker': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 9)
    await failAll(store)
    assert.deepEqual(await claimAll(store), [])
    await store.updateWebhook({ ...webhook, patch: { status: 'enabled' } })
    assert.equal((await claimAll(store)).length, 1)
  },

  'sends a test now: before what waits, and past an open breaker': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 12)
    await failAll(store, { status: 'pending', wait_ms: 0 })
    assert.deepEqual(await claimAll(store), [], 'the breaker is open')
    const [test] = await send(store, webhook)
    const claimed = await claimAll(store)
    assert.deepEqual(
      claimed.map(({ delivery_id }) => delivery_id),
      [test],
    )
    await store.recordAttempt(outcome(claimed[0]!, { next: { status: 'failed' }, record: FAILED_ATTEMPT }))
    assert.deepEqual(await claimAll(store), [], 'it was a probe: the breaker is open again')
    const [next] = await send(store, webhook)
    const [probe] = await claimAll(store)
    assert.equal(probe?.delivery_id, next)
    await store.recordAttempt(outcome(probe!))
    assert.equal((await claimAll(store)).length, 8)
  },

  'a receiver that asked to be left alone is, also by tests': async ({ store, elapse }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook)
    const [first] = await claimAll(store)
    await store.recordAttempt(
      outcome(first!, { next: { status: 'failed' }, record: FAILED_ATTEMPT, hold_ms: 60 * SECOND }),
    )
    await send(store, webhook)
    assert.deepEqual(await claimAll(store), [])
    await elapse(61 * SECOND)
    assert.equal((await claimAll(store)).length, 1)
  },

  'another address begins anew: neither the breaker nor the time of failing is of it': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 9)
    await failAll(store)
    assert.ok((await store.updateWebhook({ ...webhook, patch: { url: webhook.url } }))?.failing_since)
    assert.deepEqual(await claimAll(store), [])
    const url = 'https://example.com/moved'
    const moved = await store.updateWebhook({ ...webhook, patch: { url } })
    assert.deepEqual(
      [moved?.failures, moved?.open_until, moved?.failing_since, moved?.failing_reason],
      [0, null, null, null],
    )
    assert.deepEqual(await store.getWebhook(webhook), moved)
    assert.deepEqual(
      (await claimAll(store)).map((one) => one.webhook.url),
      [url],
    )
  },

  'redelivers the same event as a new delivery': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    const [delivery_id] = await send(store, webhook)
    await failAll(store)
    const input = { workspace_id: WORKSPACE, delivery_id: delivery_id!, new_delivery_id: uuidv7() }
    const made = await store.redeliver(input)
    const original = await get(store, delivery_id!)
    assert.deepEqual([made?.delivery_id, made?.status], [input.new_delivery_id, 'pending'])
    assert.equal(made?.event_id, original?.event_id)
    assert.deepEqual(await store.redeliver(input), made)
    const [claimed, ...others] = await claimAll(store)
    assert.deepEqual([claimed?.delivery_id, claimed?.attempt], [input.new_delivery_id, 1])
    assert.deepEqual(others, [])
    assert.equal(await store.redeliver({ ...input, delivery_id: uuidv7() }), null)
    assert.equal(await store.redeliver({ ...input, workspace_id: await otherWorkspace(store) }), null)
  },

  'sends a test to a webhook once for its id, whatever it subscribes to': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store, { events: ['job.failed'] })
    const input = {
      workspace_id: WORKSPACE,
      webhook_id: webhook.webhook_id,
      event_id: uuidv7(),
      delivery_id: uuidv7(),
      type: 'webhook.test' as const,
      data: { webhook_id: webhook.webhook_id, message: 'hello' },
    }
    const made = await store.sendEvent(input)
    assert.deepEqual(await store.sendEvent(input), made)
    assert.deepEqual([made?.event_type, made?.assignment_id], ['webhook.test', null])
    const claimed = await claimAll(store)
    assert.deepEqual(claimed.map(dataOf), [input.data])
    assert.equal(await store.sendEvent({ ...input, webhook_id: uuidv7() }), null)
  },

  'lists the deliveries of a webhook by status, type and time': async ({ store, now, elapse }) => {
    await register(store)
    const webhook = await addWebhook(store, { events: ['job.completed', 'job.started'] })
    await addWebhook(store, { presence_name: 'other' })
    const job = await completeNew(store)
    await elapse(HOUR)
    const [test] = await send(store, webhook)
    const list = async (query: Partial<Parameters<typeof store.listDeliveries>[0]>) =>
      (
        await store.listDeliveries({
          workspace_id: WORKSPACE,
          webhook_id: webhook.webhook_id,
          limit: 10,
          ...query,
        })
      ).items.map((delivery) => delivery.event_type)
    assert.deepEqual(await list({}), ['webhook.test', 'job.completed', 'job.started'])
    assert.deepEqual(await list({ event_type: 'job.started' }), ['job.started'])
    assert.deepEqual(await list({ assignment_id: job.assignment_id }), ['job.completed', 'job.started'])
    assert.deepEqual(await list({ assignment_id: job.assignment_id, limit: 1 }), ['job.completed'])
    assert.deepEqual(await list({ assignment_id: uuidv7() }), [])
    assert.deepEqual(await list({ created_after: at(now() - SECOND) }), ['webhook.test'])
    assert.deepEqual(await list({ created_before: at(now() - SECOND) }), ['job.completed', 'job.started'])
    for (const one of await claimAll(store)) {
      if (one.delivery_id === test) await store.recordAttempt(outcome(one))
    }
    assert.deepEqual(await list({ status: 'delivered' }), ['webhook.test'])
    assert.deepEqual(await list({ status: 'pending' }), ['job.completed', 'job.started'])
    assert.deepEqual(await list({ workspace_id: await otherWorkspace(store) }), [])
  },

  'cancels what waits, and what is under way gets no further try': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store, { max_in_flight: 2 })
    const ids = await send(store, webhook, 5)
    const [one, two] = await claimAll(store)
    assert.equal(await store.cancelPending(webhook), 3)
    assert.equal(await store.cancelPending(webhook), 0)
    await store.recordAttempt(outcome(one!, { next: { status: 'pending', wait_ms: 1 } }))
    await store.recordAttempt(outcome(two!))
    const statuses = await Promise.all(ids.map(async (id) => String((await get(store, id))?.status)))
    assert.deepEqual(sorted(statuses), ['canceled', 'canceled', 'canceled', 'canceled', 'delivered'])
    assert.deepEqual(await claimAll(store), [])
    await send(store, webhook, 1)
    assert.equal((await claimAll(store)).length, 1)
  },

  'counts the pending deliveries: due, and waiting': async ({ store }) => {
    await register(store)
    const webhook = await addWebhook(store)
    await send(store, webhook, 2)
    await failAll(store, { status: 'pending', wait_ms: HOUR })
    await send(store, webhook, 3)
    const { deliveries } = await store.counts()
    assert.deepEqual([deliveries.due, deliveries.waiting], [3, 2])
    assert.ok(deliveries.oldest_at)
  },

  'takes deliveries of a node whose lease expired only': async ({ store, elapse }) => {
    await register(store)
    await send(store, await addWebhook(store), 2)
    const held = await claimAll(store)
    await elapse(LEASE_MS - 20 * SECOND)
    assert.equal((await store.reapNodes({ all: false })).deliveries, 0)
    assert.equal(await store.recordAttempt(outcome(held[0]!)), true)
    await elapse(21 * SECOND)
    assert.equal((await store.reapNodes({ all: false })).deliveries, 1)
    assert.equal(await store.recordAttempt(outcome(held[1]!)), false)
  },
}
