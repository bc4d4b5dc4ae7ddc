/** Webhooks. What each subscribes to is worked out by webhook.ts whenever one is written. */
import { AppError } from '@assay/model/errors'
import type { TriedDelivery } from '@assay/model/event'
import {
  CLOSED,
  changedHeaders,
  failingData,
  HEALTHY,
  type Health,
  rotatedSecrets,
  subscribedEvents,
  type Webhook,
} from '@assay/model/webhook'
import { STEP } from '../steps.ts'
import type { Counts, Input, NewWebhook, Page } from '../store.ts'
import { OUT_OF_INDEXES, type Session, type Transaction } from './connection.ts'
import { deleteDeliveries, makeDue } from './deliveries.ts'
import { writeEvent } from './events.ts'
import { newestFirst } from './page.ts'
import { lockWebhook, refreshTurn } from './turns.ts'

/** A row of `webhooks` without its claim state. */
export function toWebhook(row: Webhook): Webhook {
  return {
    webhook_id: row.webhook_id,
    workspace_id: row.workspace_id,
    kind: row.kind,
    target: row.target,
    url: row.url,
    headers: row.headers,
    user_id: row.user_id,
    presence_name: row.presence_name,
    events: row.events,
    description: row.description,
    signature: row.signature,
    secrets: row.secrets,
    public_key: row.public_key,
    retry_schedule: row.retry_schedule,
    max_in_flight: row.max_in_flight,
    rate_per_second: row.rate_per_second,
    status: row.status,
    disabled_reason: row.disabled_reason,
    tells_skipped: row.tells_skipped,
    failing_since: row.failing_since,
    failing_reason: row.failing_reason,
    warned_at: row.warned_at,
    failures: row.failures,
    open_until: row.open_until,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

interface WebhookKey {
  workspace_id: string
  webhook_id: string
}

export async function getWebhook(
  from: Session,
  key: WebhookKey,
  lock: '' | 'FOR NO KEY UPDATE' = '',
): Promise<Webhook | null> {
  const row = await from.one<Webhook>(
    `SELECT * FROM webhooks WHERE webhook_id = $1 AND workspace_id = $2 ${lock}`,
    key.webhook_id,
    key.workspace_id,
  )
  return row ? toWebhook(row) : null
}

const orNull = (value: unknown): string | null => (value === null ? null : JSON.stringify(value))

/** Writes all but the claim state, and what it subscribes to. */
async function save(tx: Transaction, webhook: Webhook): Promise<void> {
  await tx.run(
    `INSERT INTO webhooks (webhook_id, workspace_id, url, headers, user_id, presence_name, events, description,
       signature, secrets, public_key, retry_schedule, max_in_flight, rate_per_second, status, disabled_reason,
       failing_since, created_at, updated_at, kind, target, tells_skipped, failing_reason, warned_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
     ON CONFLICT (webhook_id) DO UPDATE SET url = excluded.url, headers = excluded.headers,
       user_id = excluded.user_id, presence_name = excluded.presence_name, events = excluded.events,
       description = excluded.description, signature = excluded.signature, secrets = excluded.secrets,
       public_key = excluded.public_key, retry_schedule = excluded.retry_schedule,
       max_in_flight = excluded.max_in_flight, rate_per_second = excluded.rate_per_second,
       status = excluded.status, disabled_reason = excluded.disabled_reason,
       failing_since = excluded.failing_since, updated_at = excluded.updated_at, target = excluded.target,
       tells_skipped = excluded.tells_skipped, failing_reason = excluded.failing_reason,
       warned_at = excluded.warned_at`,
    webhook.webhook_id,
    webhook.workspace_id,
    webhook.url,
    JSON.stringify(webhook.headers),
    webhook.user_id,
    webhook.presence_name,
    orNull(webhook.events),
    webhook.description,
    webhook.signature,
    JSON.stringify(webhook.secrets),
    webhook.public_key,
    orNull(webhook.retry_schedule),
    webhook.max_in_flight,
    webhook.rate_per_second,
    webhook.status,
    webhook.disabled_reason,
    webhook.failing_since,
    webhook.created_at,
    webhook.updated_at,
    webhook.kind,
    webhook.target,
    webhook.tells_skipped,
    webhook.failing_reason,
    webhook.warned_at,
  )
  await tx.run('DELETE FROM webhook_events WHERE webhook_id = $1', webhook.webhook_id)
  const types = webhook.status === 'enabled' ? subscribedEvents(webhook) : []
  await tx.run(
    `INSERT INTO webhook_events (workspace_id, event_type, presence_name, webhook_id, skipped)
     SELECT $1, type, $2, $3, $5 FROM unnest($4::text[]) AS type ON CONFLICT DO NOTHING`,
    webhook.workspace_id,
    webhook.presence_name,
    webhook.webhook_id,
    types,
    webhook.tells_skipped,
  )
}

/** After `save`: the row is ours, so it can be locked. */
async function refresh(
  tx: Transaction,
  webhook_id: string,
  change: Partial<typeof CLOSED> = {},
): Promise<void> {
  const turn = await lockWebhook(tx, webhook_id)
  if (turn) await refreshTurn(tx, { ...turn, ...change })
}

export async function createWebhook(tx: Transaction, input: NewWebhook): Promise<Webhook> {
  const other = await tx.one<{ workspace_id: string }>(
    'SELECT workspace_id FROM webhooks WHERE webhook_id = $1 FOR NO KEY UPDATE',
    input.webhook_id,
  )
  if (other && other.workspace_id !== input.workspace_id)
    throw new AppError('name_taken', `There is already a webhook ${input.webhook_id}.`)
  const webhook: Webhook = {
    kind: 'webhook',
    target: null,
    tells_skipped: false,
    ...input,
    status: 'enabled',
    disabled_reason: null,
    ...HEALTHY,
    ...CLOSED,
    created_at: tx.now,
    updated_at: tx.now,
  }
  await save(tx, webhook)
  await refresh(tx, input.webhook_id)
  return (await getWebhook(tx, input))!
}

export function listWebhooks(from: Session, query: Input<'listWebhooks'>): Promise<Page<Webhook>> {
  return newestFirst<Webhook, Webhook>(
    from,
    { name: 'webhooks', table: 'webhooks', id: 'webhook_id', indexed: [['workspace_id = ?']] },
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'user_id = ?': query.user_id,
      'presence_name = ?': query.presence_name,
      'status = ?': query.status,
      "kind = ANY (string_to_array(?, ','))": query.kinds?.join(),
    },
    toWebhook,
  )
}

/** Before it is enabled: at most so many of what waits are due now. Answers how many. */
export async function prepareEnabling(tx: Transaction, key: WebhookKey, most: number): Promise<number> {
  const turn = (await getWebhook(tx, key)) && (await lockWebhook(tx, key.webhook_id))
  return turn ? makeDue(tx, turn, most) : 0
}

export async function updateWebhook(tx: Transaction, input: Input<'updateWebhook'>): Promise<Webhook | null> {
  const webhook = await getWebhook(tx, input, 'FOR NO KEY UPDATE')
  if (!webhook || webhook.target !== (input.if_target ?? webhook.target)) return null
  const { headers, ...plain } = input.patch
  const patched: Webhook = { ...webhook, ...plain, updated_at: tx.now }
  if (headers !== undefined) patched.headers = changedHeaders(webhook.headers, headers)
  if (webhook.status === 'disabled') patched.disabled_reason = webhook.disabled_reason
  const enables = plain.status === 'enabled'
  const anew = enables || patched.url !== webhook.url
  if (enables) {
    patched.disabled_reason = null
    await prepareEnabling(tx, input, STEP)
  }
  if (anew) {
    Object.assign(patched, { ...HEALTHY, ...CLOSED })
    tx.hint({ topic: 'deliveries' })
  }
  await save(tx, patched)
  await refresh(tx, input.webhook_id, anew ? CLOSED : {})
  return patched
}

export async function writeHealth(tx: Transaction, webhook_id: string, health: Health): Promise<void> {
  await tx.run(
    'UPDATE webhooks SET failing_since = $1, failing_reason = $2, warned_at = $3 WHERE webhook_id = $4',
    health.failing_since,
    health.failing_reason,
    health.warned_at,
    webhook_id,
  )
}

async function enabledWebhook(tx: Transaction, webhook_id: string): Promise<Webhook | null> {
  const row = await tx.one<Webhook>('SELECT * FROM webhooks WHERE webhook_id = $1', webhook_id)
  return row?.status === 'enabled' ? row : null
}

async function triedDelivery(tx: Transaction, delivery_id: string): Promise<TriedDelivery> {
  const row = await tx.one<TriedDelivery>(
    'SELECT delivery_id, event_id, event_type FROM deliveries WHERE delivery_id = $1',
    delivery_id,
  )
  return row!
}

/** A locked one, where it is enabled and fails: writes one event, once until it succeeds again. */
export async function warnOfFailing(tx: Transaction, webhook_id: string, delivery_id: string): Promise<void> {
  const row = await enabledWebhook(tx, webhook_id)
  if (!row?.failing_since || row.warned_at !== null) return
  await writeHealth(tx, webhook_id, { ...row, warned_at: tx.now })
  await writeEvent(tx, {
    workspace_id: row.workspace_id,
    type: 'webhook.failing',
    at: tx.now,
    data: failingData(row, await triedDelivery(tx, delivery_id)),
    job: null,
  })
}

/** A locked one, where it is enabled: turns it off and writes one event. What waits stays pending. */
export async function disableWebhook(
  tx: Transaction,
  webhook_id: string,
  reason: string,
  delivery_id: string,
): Promise<void> {
  const row = await enabledWebhook(tx, webhook_id)
  if (!row) return
  await save(tx, { ...toWebhook(row), status: 'disabled', disabled_reason: reason, updated_at: tx.now })
  await refresh(tx, webhook_id)
  const delivery = await triedDelivery(tx, delivery_id)
  await writeEvent(tx, {
    workspace_id: row.workspace_id,
    type: 'webhook.disabled',
    at: tx.now,
    data: { webhook_id, url: row.url, disabled_reason: reason, delivery },
    job: null,
  })
}

export async function rotateSecret(tx: Transaction, input: Input<'rotateSecret'>): Promise<Webhook | null> {
  const webhook = await getWebhook(tx, input, 'FOR NO KEY UPDATE')
  if (!webhook) return null
  const rotated: Webhook = {
    ...webhook,
    secrets: rotatedSecrets(webhook.secrets, input, Date.parse(tx.now)),
    public_key: input.public_key,
    updated_at: tx.now,
  }
  await save(tx, rotated)
  return rotated
}

/**
 * So many of its deliveries where it has more: the rest goes with it, so that nobody sees a webhook that few deliveries
 * have left. It is disabled until then. Answers how many.
 */
export async function emptyWebhook(tx: Transaction, key: WebhookKey, most: number): Promise<number> {
  await tx.run(OUT_OF_INDEXES)
  const webhook = await getWebhook(tx, key, 'FOR NO KEY UPDATE')
  const turn = webhook && (await lockWebhook(tx, key.webhook_id))
  if (!webhook || !turn) return 0
  const beyond = await tx.one(
    'SELECT 1 FROM deliveries WHERE webhook_id = $1 LIMIT 1 OFFSET $2',
    key.webhook_id,
    most,
  )
  if (!beyond) return 0
  const deleted = await deleteDeliveries(tx, turn, most)
  if (webhook.status === 'enabled') {
    await save(tx, { ...webhook, status: 'disabled', disabled_reason: 'It is being deleted.' })
    await refresh(tx, key.webhook_id)
  }
  return deleted
}

/** With what is left of its deliveries. */
export async function deleteWebhook(tx: Transaction, key: WebhookKey): Promise<boolean> {
  await tx.run(OUT_OF_INDEXES)
  const deleted = await tx.run(
    'DELETE FROM webhooks WHERE webhook_id = $1 AND workspace_id = $2',
    key.webhook_id,
    key.workspace_id,
  )
  return deleted > 0
}

/** One row for each webhook is read: they are few. */
export async function countWebhooks(from: Session): Promise<Counts['webhooks']> {
  const row = await from.one<Counts['webhooks']>(
    `SELECT count(*) FILTER (WHERE status = 'enabled' AND failing_since IS NOT NULL) AS failing,
       count(*) FILTER (WHERE status = 'disabled') AS disabled FROM webhooks`,
  )
  return row!
}
