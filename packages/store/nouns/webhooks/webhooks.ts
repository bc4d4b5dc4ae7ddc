/** Webhooks. Each write computes the events that the webhook gets (model/webhooks/webhook.ts). */
import { BEING_DELETED } from '@assay/model/entity-tag'
import { AppError } from '@assay/model/errors'
import type { TriedDelivery } from '@assay/model/event'
import {
  CLOSED,
  changedHeaders,
  EVERY_NAME,
  failingData,
  HEALTHY,
  type Health,
  PROGRAM_KINDS,
  rotatedSecrets,
  SUBSCRIPTIONS_MOST,
  subscribedEvents,
  tellsPeople,
  WEBHOOKS_MOST,
  type Webhook,
  type WebhookKind,
} from '@assay/model/webhook'
import type { Page } from '../../contract/page.ts'
import type { NewWebhook } from '../../contract/webhooks/webhooks.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Transaction, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import { STEP } from '../../steps.ts'
import type { Counts, Input } from '../../store.ts'
import { by } from '../../tables/table.ts'
import {
  WEBHOOK,
  WEBHOOK_EVENTS,
  WEBHOOK_FOLLOWS,
  WEBHOOKS,
  type WebhookEventRow,
} from '../../tables/webhooks/webhooks.ts'
import { NOT_HELD } from './sending-state.ts'
import { refreshWebhook } from './states.ts'
import { deleteDeliveries, makeDue } from './waiting.ts'

const OF_ID = by('webhook_id', 'workspace_id')
const FIND = WEBHOOKS.select(OF_ID, WEBHOOK)
const FIND_SUBSCRIPTIONS = WEBHOOKS.select(
  "WHERE webhook_id = ANY (:webhook_ids) AND workspace_id = :workspace_id AND kind IN ('email', 'slack')",
  WEBHOOK,
)
const FIND_PERSONAL = WEBHOOKS.select(
  `WHERE workspace_id = :workspace_id AND user_id = :personal_of AND personal AND kind <> 'webhook'
   ORDER BY created_at, webhook_id LIMIT 50`,
  WEBHOOK,
)
const LOCK = WEBHOOKS.select(`${OF_ID} FOR NO KEY UPDATE`, WEBHOOK)
const LOCK_WHOLE = WEBHOOKS.select(`${OF_ID} FOR UPDATE`, WEBHOOK)
const LOCK_ANYWHERE = WEBHOOKS.select(`${by('webhook_id')} FOR NO KEY UPDATE`, ['workspace_id'])
const FIND_ENABLED = WEBHOOKS.select(`${by('webhook_id')} AND status = 'enabled'`, WEBHOOK)
// A write of a webhook does not write the claim state.
const STATE: readonly string[] = ['failures', 'open_until', 'held_until', 'held_reason']
const SAVED = WEBHOOK.filter((column) => !STATE.includes(column))
const SAVE = WEBHOOKS.upsert(SAVED, ['workspace_id', 'kind', 'created_at'])
const WRITE_HEALTH = WEBHOOKS.update(['failing_since', 'failing_reason', 'warned_at'], by('webhook_id'))
const DELETE = WEBHOOKS.delete(OF_ID)
const FORGET_EVENTS = WEBHOOK_EVENTS.delete(by('webhook_id'))
const FORGET_FOLLOWS = WEBHOOK_FOLLOWS.delete(by('webhook_id'))
const INSERT_FOLLOW = WEBHOOK_FOLLOWS.insert(WEBHOOK_FOLLOWS.columns, 'ON CONFLICT DO NOTHING')
const FOLLOWERS = WEBHOOK_FOLLOWS.select(
  'WHERE workspace_id = :workspace_id AND followed = ANY (:followed)',
  ['webhook_id'],
)
const INSERT_EVENT = WEBHOOK_EVENTS.insert(WEBHOOK_EVENTS.columns, 'ON CONFLICT DO NOTHING')
const TRIED = statement<TriedDelivery>(
  'SELECT delivery_id, event_id, event_type FROM deliveries WHERE delivery_id = :delivery_id',
)
const BEYOND = statement('SELECT 1 FROM deliveries WHERE webhook_id = :webhook_id LIMIT 1 OFFSET :most')
// Reads one row for each webhook. A workspace has few.
const COUNT = statement<Counts['webhooks']>(
  `SELECT count(*) FILTER (WHERE status = 'enabled' AND failing_since IS NOT NULL) AS failing,
     count(*) FILTER (WHERE status = 'disabled') AS disabled FROM webhooks`,
)
/** The most creations at one moment that need not take turns. They exceed the connections of all nodes. */
const AT_ONCE_MOST = 100
const CAPS: { kinds: readonly WebhookKind[]; most: number; what: string }[] = [
  { kinds: PROGRAM_KINDS, most: WEBHOOKS_MOST, what: 'webhooks' },
  { kinds: ['email', 'slack'], most: SUBSCRIPTIONS_MOST, what: 'subscriptions' },
]
// PostgreSQL has many writers, and two creations at once would each count without the other.
const ONE_AT_A_TIME = statement({
  sqlite: 'SELECT 1',
  postgres: "SELECT pg_advisory_xact_lock(hashtextextended('assay webhooks ' || :workspace_id, 0))",
})
// A repeat after a crash replaces its own webhook.
const OTHERS = statement<{ count: number }>(
  'SELECT count(*) AS count FROM webhooks WHERE workspace_id = :workspace_id AND kind = ANY (:kinds) AND webhook_id <> :webhook_id',
)
const LIST = listOf(WEBHOOKS, {
  columns: WEBHOOK,
  wide: ['headers'],
  id: 'webhook_id',
  filters: { user_id: null, presence_name: null, status: null, kinds: 'kind = ANY (:kinds)' },
  indexed: [['workspace_id']],
})

interface Key {
  workspace_id: string
  webhook_id: string
}

export function* getWebhook(from: Reader, key: Key): Routine<Webhook | null> {
  return (yield* from.find(FIND, key)) ?? null
}

export function* findSubscriptions(from: Reader, input: Input<'findSubscriptions'>): Routine<Webhook[]> {
  const named = input.webhook_ids.length > 0 ? yield* from.all(FIND_SUBSCRIPTIONS, input) : []
  const own = yield* from.all(FIND_PERSONAL, input)
  return [...named, ...own.filter(({ webhook_id }) => !input.webhook_ids.includes(webhook_id))]
}

/** Locks the webhook until the transaction ends. */
export function* lockWebhook(tx: Writer, key: Key): Routine<Webhook | null> {
  return (yield* tx.find(LOCK, key)) ?? null
}

/**
 * Locks the webhook for its deletion. A stronger lock that came later would wait for rows that refer to the webhook,
 * and their transactions might wait for the first lock.
 */
export function* lockToDelete(tx: Writer, key: Key): Routine<Webhook | null> {
  return (yield* tx.find(LOCK_WHOLE, key)) ?? null
}

export function listWebhooks(from: Reader, query: Input<'listWebhooks'>): Routine<Page<Webhook>> {
  return LIST.page(from, query)
}

/** Writes everything but the claim state, and the events that the webhook gets. */
function* save(tx: Writer, webhook: Webhook): Routine<void> {
  yield* tx.run(SAVE, webhook)
  yield* tx.run(FORGET_EVENTS, webhook)
  const { workspace_id, webhook_id, tells_skipped: skipped } = webhook
  const presence_name = webhook.kind === 'openlineage' ? EVERY_NAME : webhook.presence_name
  const people = tellsPeople(webhook)
  yield* tx.run(FORGET_FOLLOWS, webhook)
  const follows = webhook.status === 'enabled' ? (webhook.follows ?? []) : []
  yield* tx.writeAll(
    INSERT_FOLLOW,
    follows.map((followed) => ({ workspace_id, followed, webhook_id })),
  )
  const types = webhook.status === 'enabled' ? subscribedEvents(webhook) : []
  yield* tx.writeAll(
    INSERT_EVENT,
    types.map(
      (event_type): WebhookEventRow => ({
        workspace_id,
        event_type,
        people,
        presence_name,
        webhook_id,
        skipped,
      }),
    ),
  )
}

/** Returns the ids of the enabled subscriptions that follow one of these, each once. */
export function* findFollowers(from: Reader, input: Input<'findFollowers'>): Routine<string[]> {
  const found = yield* from.all(FOLLOWERS, input)
  return [...new Set(found.map(({ webhook_id }) => webhook_id))].toSorted()
}

/** Throws if the workspace has as many webhooks or subscriptions as it may. */
function* admitWebhook(tx: Transaction, input: NewWebhook): Routine<void> {
  for (const { kinds, most, what } of CAPS) {
    if (!kinds.includes(input.kind ?? 'webhook')) continue
    const others = function* (): Routine<number> {
      return (yield* tx.find(OTHERS, { ...input, kinds }))!.count
    }
    if ((yield* others()) + AT_ONCE_MOST < most) continue
    yield* tx.find(ONE_AT_A_TIME, input)
    if ((yield* others()) >= most)
      throw new AppError('conflict', `The workspace has ${most} ${what}: delete some first.`)
  }
}

export function* createWebhook(tx: Transaction, input: NewWebhook): Routine<Webhook> {
  yield* admitWebhook(tx, input)
  const other = yield* tx.find(LOCK_ANYWHERE, input)
  if (other && other.workspace_id !== input.workspace_id)
    throw new AppError('name_taken', `There is already a webhook ${input.webhook_id}.`)
  yield* save(tx, {
    kind: 'webhook',
    target: null,
    tells_skipped: false,
    personal: false,
    follows: null,
    ...input,
    status: 'enabled',
    disabled_reason: null,
    ...HEALTHY,
    ...CLOSED,
    ...NOT_HELD,
    created_at: tx.now,
    updated_at: tx.now,
  })
  yield* refreshWebhook(tx, input.webhook_id)
  return (yield* tx.find(FIND, input))!
}

/** Makes a step before a webhook is enabled: at most `most` of its waiting deliveries are due now. Returns their number. */
export function* prepareEnabling(tx: Transaction, key: Key, most: number): Routine<number> {
  return (yield* tx.find(LOCK, key)) ? yield* makeDue(tx, key.webhook_id, most) : 0
}

/** Returns a time later than that of every earlier change. */
function changedAt({ updated_at }: Webhook, { now }: Writer): string {
  return updated_at < now ? now : new Date(Date.parse(updated_at) + 1).toISOString()
}

export function* updateWebhook(tx: Transaction, input: Input<'updateWebhook'>): Routine<Webhook | null> {
  const webhook = yield* tx.find(LOCK, input)
  if (!webhook || webhook.target !== (input.if_target ?? webhook.target)) return null
  const { headers, ...plain } = input.patch
  const patched: Webhook = { ...webhook, ...plain, updated_at: changedAt(webhook, tx) }
  if (headers !== undefined) patched.headers = changedHeaders(webhook.headers, headers)
  if (webhook.status === 'disabled') patched.disabled_reason = webhook.disabled_reason
  const enables = plain.status === 'enabled'
  const anew = enables || patched.url !== webhook.url
  if (enables) {
    patched.disabled_reason = null
    yield* prepareEnabling(tx, input, STEP)
  }
  if (anew) {
    Object.assign(patched, { ...HEALTHY, ...CLOSED })
    tx.hint({ topic: 'deliveries' })
  }
  yield* save(tx, patched)
  yield* refreshWebhook(tx, input.webhook_id, anew ? CLOSED : undefined)
  return patched
}

export function* writeHealth(tx: Writer, webhook_id: string, health: Health): Routine<void> {
  yield* tx.run(WRITE_HEALTH, { ...health, webhook_id })
}

/** An attempt of a locked webhook. `among`: all locked webhooks. No other webhook is told. */
interface Tried {
  webhook_id: string
  delivery_id: string
  among: readonly string[]
}

/** Writes one event for a locked webhook that is enabled and fails. No other follows until it succeeds again. */
export function* warnOfFailing(tx: Transaction, { webhook_id, delivery_id, among }: Tried): Routine<void> {
  const webhook = yield* tx.find(FIND_ENABLED, { webhook_id })
  if (!webhook?.failing_since || webhook.warned_at !== null) return
  yield* writeHealth(tx, webhook_id, { ...webhook, warned_at: tx.now })
  const delivery = (yield* tx.find(TRIED, { delivery_id }))!
  const data = failingData(webhook, delivery)
  const { workspace_id } = webhook
  const event = { workspace_id, type: 'webhook.failing' as const, at: tx.now, data, job: null, among }
  yield* tx.native.writeEvents([event])
}

/** Disables a locked webhook that is enabled, and writes one event. Waiting deliveries stay pending. */
export function* disableWebhook(
  tx: Transaction,
  { webhook_id, delivery_id, among }: Tried,
  reason: string,
): Routine<void> {
  const webhook = yield* tx.find(FIND_ENABLED, { webhook_id })
  if (!webhook) return
  yield* save(tx, {
    ...webhook,
    status: 'disabled',
    disabled_reason: reason,
    updated_at: changedAt(webhook, tx),
  })
  yield* refreshWebhook(tx, webhook_id)
  const delivery = (yield* tx.find(TRIED, { delivery_id }))!
  const { workspace_id, url } = webhook
  const data = { webhook_id, url, disabled_reason: reason, delivery }
  const event = { workspace_id, type: 'webhook.disabled' as const, at: tx.now, data, job: null, among }
  yield* tx.native.writeEvents([event])
}

export function* rotateSecret(tx: Writer, input: Input<'rotateSecret'>): Routine<Webhook | null> {
  const webhook = yield* tx.find(LOCK, input)
  if (!webhook) return null
  const rotated: Webhook = {
    ...webhook,
    secrets: rotatedSecrets(webhook.secrets, input, Date.parse(tx.now)),
    public_key: input.public_key,
    updated_at: changedAt(webhook, tx),
  }
  yield* save(tx, rotated)
  return rotated
}

/**
 * Makes a step of a deletion: disables the webhook and deletes `most` deliveries if it has more. The last ones are
 * deleted with the webhook, so that nobody sees it without them. Returns their number.
 */
export function* emptyWebhook(tx: Transaction, key: Key, most: number): Routine<number> {
  yield* tx.native.useIndexes()
  const webhook = yield* tx.find(LOCK, key)
  if (!webhook || !(yield* tx.find(BEYOND, { ...key, most }))) return 0
  const deleted = yield* deleteDeliveries(tx, key.webhook_id, most)
  if (webhook.status === 'enabled') {
    yield* save(tx, { ...webhook, status: 'disabled', disabled_reason: BEING_DELETED })
    yield* refreshWebhook(tx, key.webhook_id)
  }
  return deleted
}

/** Deletes the webhook with its remaining deliveries. */
export function* deleteWebhook(tx: Transaction, key: Key): Routine<boolean> {
  yield* tx.native.useIndexes()
  return (yield* tx.run(DELETE, key)) > 0
}

export function* countWebhooks(from: Reader): Routine<Counts['webhooks']> {
  return (yield* from.find(COUNT))!
}
