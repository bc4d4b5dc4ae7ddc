/** Webhooks. What each subscribes to is worked out by webhook.ts whenever one is written. */

import { iso } from '@assay/model/clock'
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
import type { Connection } from './connection.ts'
import { deleteDeliveries, makeDue } from './deliveries.ts'
import { writeEvent } from './events.ts'
import { newestFirst } from './page.ts'
import { readTurn, refreshTurn, writeTurn } from './turns.ts'

type Json = 'headers' | 'events' | 'secrets' | 'retry_schedule' | 'tells_skipped'

export interface WebhookRow extends Omit<Webhook, Json> {
  headers: string
  events: string | null
  secrets: string
  retry_schedule: string | null
  tells_skipped: number
}

export function toWebhook(row: WebhookRow): Webhook {
  return {
    webhook_id: row.webhook_id,
    workspace_id: row.workspace_id,
    kind: row.kind,
    target: row.target,
    url: row.url,
    headers: JSON.parse(row.headers) as Webhook['headers'],
    user_id: row.user_id,
    presence_name: row.presence_name,
    events: row.events === null ? null : (JSON.parse(row.events) as Webhook['events']),
    description: row.description,
    signature: row.signature,
    secrets: JSON.parse(row.secrets) as Webhook['secrets'],
    public_key: row.public_key,
    retry_schedule: row.retry_schedule === null ? null : (JSON.parse(row.retry_schedule) as number[]),
    max_in_flight: row.max_in_flight,
    rate_per_second: row.rate_per_second,
    status: row.status,
    disabled_reason: row.disabled_reason,
    tells_skipped: row.tells_skipped === 1,
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

export function getWebhook(connection: Connection, key: WebhookKey): Webhook | null {
  const row = connection.one<WebhookRow>(
    'SELECT * FROM webhooks WHERE webhook_id = ? AND workspace_id = ?',
    key.webhook_id,
    key.workspace_id,
  )
  return row ? toWebhook(row) : null
}

/** Writes all but the claim state, and what it subscribes to. */
function save(connection: Connection, webhook: Webhook): void {
  const { failures: _, open_until: __, ...kept } = webhook
  connection.run(
    `INSERT INTO webhooks (webhook_id, workspace_id, kind, target, tells_skipped, url, headers, user_id, presence_name, events, description,
       signature, secrets, public_key, retry_schedule, max_in_flight, rate_per_second, status, disabled_reason,
       failing_since, failing_reason, warned_at, created_at, updated_at)
     VALUES (:webhook_id, :workspace_id, :kind, :target, :tells_skipped, :url, :headers, :user_id, :presence_name, :events, :description,
       :signature, :secrets, :public_key, :retry_schedule, :max_in_flight, :rate_per_second, :status,
       :disabled_reason, :failing_since, :failing_reason, :warned_at, :created_at, :updated_at)
     ON CONFLICT DO UPDATE SET target = excluded.target, tells_skipped = excluded.tells_skipped, url = excluded.url, headers = excluded.headers, user_id = excluded.user_id,
       presence_name = excluded.presence_name, events = excluded.events, description = excluded.description,
       signature = excluded.signature, secrets = excluded.secrets, public_key = excluded.public_key,
       retry_schedule = excluded.retry_schedule, max_in_flight = excluded.max_in_flight,
       rate_per_second = excluded.rate_per_second, status = excluded.status,
       disabled_reason = excluded.disabled_reason, failing_since = excluded.failing_since,
       failing_reason = excluded.failing_reason, warned_at = excluded.warned_at,
       updated_at = excluded.updated_at`,
    {
      ...kept,
      headers: JSON.stringify(webhook.headers),
      events: webhook.events && JSON.stringify(webhook.events),
      secrets: JSON.stringify(webhook.secrets),
      retry_schedule: webhook.retry_schedule && JSON.stringify(webhook.retry_schedule),
      tells_skipped: Number(webhook.tells_skipped),
    },
  )
  connection.run('DELETE FROM webhook_events WHERE webhook_id = ?', webhook.webhook_id)
  const types = webhook.status === 'enabled' ? subscribedEvents(webhook) : []
  for (const type of types)
    connection.run(
      `INSERT INTO webhook_events (workspace_id, event_type, presence_name, webhook_id, skipped)
       VALUES (?, ?, ?, ?, ?)`,
      webhook.workspace_id,
      type,
      webhook.presence_name,
      webhook.webhook_id,
      Number(webhook.tells_skipped),
    )
}

export function createWebhook(connection: Connection, input: NewWebhook): Webhook {
  const owner = connection.one<{ workspace_id: string }>(
    'SELECT workspace_id FROM webhooks WHERE webhook_id = ?',
    input.webhook_id,
  )
  if (owner && owner.workspace_id !== input.workspace_id)
    throw new AppError('name_taken', `There is already a webhook ${input.webhook_id}.`)
  const at = connection.now()
  const webhook: Webhook = {
    kind: 'webhook',
    target: null,
    tells_skipped: false,
    ...input,
    status: 'enabled',
    disabled_reason: null,
    ...HEALTHY,
    ...CLOSED,
    created_at: at,
    updated_at: at,
  }
  save(connection, webhook)
  refreshTurn(connection, input.webhook_id)
  return getWebhook(connection, input)!
}

export function listWebhooks(connection: Connection, query: Input<'listWebhooks'>): Page<Webhook> {
  return newestFirst<WebhookRow, Webhook>(
    connection,
    { name: 'webhooks', table: 'webhooks', id: 'webhook_id', indexed: [['workspace_id = ?']] },
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'user_id = ?': query.user_id,
      'presence_name = ?': query.presence_name,
      'status = ?': query.status,
      // No kind's name lies within another's.
      'instr(?, kind) > 0': query.kinds?.join(),
    },
    toWebhook,
  )
}

/** Before it is enabled: at most so many of what waits are due now. Answers how many. */
export function prepareEnabling(connection: Connection, key: WebhookKey, most: number): number {
  return getWebhook(connection, key) ? makeDue(connection, key.webhook_id, most) : 0
}

export function updateWebhook(connection: Connection, input: Input<'updateWebhook'>): Webhook | null {
  const webhook = getWebhook(connection, input)
  if (!webhook || webhook.target !== (input.if_target ?? webhook.target)) return null
  const { headers, ...plain } = input.patch
  const patched: Webhook = { ...webhook, ...plain, updated_at: connection.now() }
  if (headers !== undefined) patched.headers = changedHeaders(webhook.headers, headers)
  if (webhook.status === 'disabled') patched.disabled_reason = webhook.disabled_reason
  const enables = plain.status === 'enabled'
  const anew = enables || patched.url !== webhook.url
  if (enables) patched.disabled_reason = null
  if (anew) Object.assign(patched, { ...HEALTHY, ...CLOSED })
  save(connection, patched)
  if (enables) makeDue(connection, input.webhook_id, STEP)
  if (anew) {
    writeTurn(connection, input.webhook_id, { ...readTurn(connection, input.webhook_id)!, ...CLOSED })
    connection.hint({ topic: 'deliveries' })
  }
  refreshTurn(connection, input.webhook_id)
  return patched
}

export function writeHealth(connection: Connection, webhook_id: string, health: Health): void {
  connection.run(
    'UPDATE webhooks SET failing_since = ?, failing_reason = ?, warned_at = ? WHERE webhook_id = ?',
    health.failing_since,
    health.failing_reason,
    health.warned_at,
    webhook_id,
  )
}

function enabledWebhook(connection: Connection, webhook_id: string): WebhookRow | null {
  const row = connection.one<WebhookRow>('SELECT * FROM webhooks WHERE webhook_id = ?', webhook_id)
  return row?.status === 'enabled' ? row : null
}

function triedDelivery(connection: Connection, delivery_id: string): TriedDelivery {
  const row = connection.one<TriedDelivery>(
    'SELECT delivery_id, event_id, event_type FROM deliveries WHERE delivery_id = ?',
    delivery_id,
  )!
  return { ...row }
}

/** Where it is enabled and fails: writes one event, once until it succeeds again. */
export function warnOfFailing(connection: Connection, webhook_id: string, delivery_id: string): void {
  const row = enabledWebhook(connection, webhook_id)
  if (!row?.failing_since || row.warned_at !== null) return
  const at = connection.now()
  writeHealth(connection, webhook_id, { ...row, warned_at: at })
  writeEvent(connection, {
    workspace_id: row.workspace_id,
    type: 'webhook.failing',
    at,
    data: failingData(row, triedDelivery(connection, delivery_id)),
    job: null,
  })
}

/** Where it is enabled: turns it off and writes one event. What waits stays pending. */
export function disableWebhook(
  connection: Connection,
  webhook_id: string,
  reason: string,
  delivery_id: string,
): void {
  const row = enabledWebhook(connection, webhook_id)
  if (!row) return
  const at = connection.now()
  save(connection, { ...toWebhook(row), status: 'disabled', disabled_reason: reason, updated_at: at })
  refreshTurn(connection, webhook_id)
  const delivery = triedDelivery(connection, delivery_id)
  writeEvent(connection, {
    workspace_id: row.workspace_id,
    type: 'webhook.disabled',
    at,
    data: { webhook_id, url: row.url, disabled_reason: reason, delivery },
    job: null,
  })
}

export function rotateSecret(connection: Connection, input: Input<'rotateSecret'>): Webhook | null {
  const webhook = getWebhook(connection, input)
  if (!webhook) return null
  const now = connection.clock.now()
  const rotated: Webhook = {
    ...webhook,
    secrets: rotatedSecrets(webhook.secrets, input, now),
    public_key: input.public_key,
    updated_at: iso(now),
  }
  save(connection, rotated)
  return rotated
}

/**
 * So many of its deliveries where it has more: the rest goes with it, so that nobody sees a webhook that few deliveries
 * have left. It is disabled until then. Answers how many.
 */
export function emptyWebhook(connection: Connection, key: WebhookKey, most: number): number {
  const webhook = getWebhook(connection, key)
  if (!webhook) return 0
  const beyond = connection.one(
    'SELECT 1 FROM deliveries WHERE webhook_id = ? LIMIT 1 OFFSET ?',
    key.webhook_id,
    most,
  )
  if (!beyond) return 0
  const deleted = deleteDeliveries(connection, key.webhook_id, most)
  if (webhook.status === 'enabled') {
    save(connection, { ...webhook, status: 'disabled', disabled_reason: 'It is being deleted.' })
    refreshTurn(connection, key.webhook_id)
  }
  return deleted
}

/** With what is left of its deliveries. */
export function deleteWebhook(connection: Connection, key: WebhookKey): boolean {
  return (
    connection.run(
      'DELETE FROM webhooks WHERE webhook_id = ? AND workspace_id = ?',
      key.webhook_id,
      key.workspace_id,
    ) > 0
  )
}

/** One row for each webhook is read: they are few. */
export function countWebhooks(connection: Connection): Counts['webhooks'] {
  const row = connection.one<Counts['webhooks']>(
    `SELECT count(*) FILTER (WHERE status = 'enabled' AND failing_since IS NOT NULL) AS failing,
       count(*) FILTER (WHERE status = 'disabled') AS disabled FROM webhooks`,
  )!
  return { ...row }
}
