/** Changes of many rows in transactions of a bounded size. Other writes run between these. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { Webhook } from '@assay/model/webhook'
import { STEP } from '../steps.ts'
import type { Store } from '../store.ts'
import { expectingWebhook } from './expected.ts'
import { addWebhook, claimAll, HOUR, outcome, refuses, register, send, WORKSPACE } from './given.ts'

/** The number of pending deliveries of one webhook: more than two steps. */
const MANY = 2 * STEP + 100

/** Makes `count` pending deliveries that are due `waitMs` milliseconds from now. */
export type Fill = (webhook: Webhook, count: number, waitMs: number) => Promise<void>

/** Returns true if a write that was requested after the work began was kept before the work ended. */
async function letsOthersIn(store: Store, begin: () => Promise<unknown>): Promise<boolean> {
  // Connects first, because a write that has to connect to PostgreSQL could come after all steps.
  await Promise.all(Array.from({ length: 8 }, (_, index) => store.keepOnce(`connected-${index}`, 'x')))
  const order: string[] = []
  const long = begin().then(() => order.push('long'))
  await store.keepOnce('other', 'x').then(() => order.push('other'))
  await long
  return order[0] === 'other'
}

async function enables(store: Store, fill: Fill): Promise<void> {
  await register(store)
  const webhook = await addWebhook(store, { max_in_flight: 100 })
  await fill(webhook, MANY, HOUR)
  await store.updateWebhook({ ...webhook, patch: { status: 'disabled' } })
  assert.ok(
    await letsOthersIn(store, async () => {
      const enabled = await store.updateWebhook({ ...webhook, patch: { status: 'enabled' } })
      assert.equal(enabled?.status, 'enabled')
    }),
  )
  const { deliveries } = await store.counts()
  assert.deepEqual([deliveries.due, deliveries.waiting], [MANY, 0])
  assert.equal((await claimAll(store)).length, 50)
}

async function cancels(store: Store, fill: Fill): Promise<void> {
  await register(store)
  const webhook = await addWebhook(store, { max_in_flight: 1 })
  await fill(webhook, MANY, 0)
  const [held] = await claimAll(store)
  assert.ok(await letsOthersIn(store, async () => assert.equal(await store.cancelPending(webhook), MANY - 1)))
  assert.equal(await store.recordAttempt(outcome(held!, { next: { status: 'pending', wait_ms: 1 } })), true)
  assert.deepEqual((await store.counts()).deliveries, { due: 0, waiting: 0, oldest_at: null })
}

async function deletes(store: Store, fill: Fill): Promise<void> {
  await register(store)
  const webhook = await addWebhook(store)
  await fill(webhook, MANY, 0)
  const other = await addWebhook(store, { presence_name: 'other' })
  const [kept] = await send(store, other)
  await claimAll(store)
  assert.ok(await letsOthersIn(store, async () => assert.equal(await store.deleteWebhook(webhook), true)))
  assert.equal(await store.getWebhook(webhook), null)
  assert.ok(await store.getDelivery({ workspace_id: WORKSPACE, delivery_id: kept! }))
  assert.equal(await store.deleteWebhook(webhook), false)
  const { workspace_id, webhook_id } = webhook
  const { items } = await store.listDeliveries({ workspace_id, webhook_id, limit: 1 })
  assert.deepEqual(items, [])
}

/** A change of a webhook that is being emptied comes too late, because its condition no longer holds. */
async function deletesExpected(store: Store, fill: Fill): Promise<void> {
  await register(store)
  const webhook = await addWebhook(store)
  await fill(webhook, MANY, 0)
  const present = (await store.getWebhook(webhook))!
  await refuses(
    expectingWebhook(store, { ...present, url: 'https://example.com/other' }).deleteWebhook(webhook),
    'precondition_failed',
  )
  assert.equal((await store.getWebhook(webhook))?.status, 'enabled')
  const ended = new AbortController()
  const done = expectingWebhook(store, present)
    .deleteWebhook(webhook)
    .finally(() => ended.abort())
  while (!ended.signal.aborted && (await store.getWebhook(webhook))?.status === 'enabled')
    await setImmediate()
  await store.updateWebhook({ ...webhook, patch: { description: 'other' } })
  assert.equal(await done, true)
  assert.equal(await store.getWebhook(webhook), null)
}

export const STEP_TESTS = {
  'enables a webhook for which many wait in steps, between which others write': enables,
  'cancels the many that wait in steps, between which others write': cancels,
  'deletes a webhook with many deliveries in steps, between which others write': deletes,
  'deletes a webhook with many deliveries that was as expected when it began': deletesExpected,
}
