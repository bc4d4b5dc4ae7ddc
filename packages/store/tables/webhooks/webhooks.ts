/** The columns of webhooks. */
import type { EventType } from '@assay/model/event'
import type { Webhook } from '@assay/model/webhook'
import { Table } from '../table.ts'

export interface WebhookRow extends Webhook {
  in_flight: number
  due_at: string | null
  last_claim_at: string | null
  rate_at: number | null
  claim_at: string | null
}

export const WEBHOOKS = new Table<WebhookRow>('webhooks', ['webhook_id'], {
  webhook_id: 'text',
  workspace_id: 'text',
  kind: 'text',
  target: 'text?',
  url: 'text',
  headers: 'json',
  user_id: 'text',
  presence_name: 'text',
  events: 'json?',
  description: 'text?',
  signature: 'text',
  secrets: 'json',
  public_key: 'text?',
  retry_schedule: 'json?',
  max_in_flight: 'integer?',
  rate_per_second: 'real?',
  status: 'text',
  disabled_reason: 'text?',
  tells_skipped: 'boolean',
  personal: 'boolean',
  follows: 'json?',
  failing_since: 'time?',
  failing_reason: 'text?',
  warned_at: 'time?',
  failures: 'integer',
  open_until: 'time?',
  held_until: 'time?',
  held_reason: 'text?',
  created_at: 'time',
  updated_at: 'time',
  in_flight: 'integer',
  due_at: 'time?',
  last_claim_at: 'time?',
  rate_at: 'real?',
  claim_at: 'time?',
})

/** The columns that the contract shows. */
export const WEBHOOK = WEBHOOKS.except('in_flight', 'due_at', 'last_claim_at', 'rate_at', 'claim_at')

/** The events of each enabled webhook, computed whenever a webhook is written. */
export interface WebhookEventRow {
  workspace_id: string
  event_type: EventType
  /** True if the webhook is a subscription. */
  people: boolean
  presence_name: string
  webhook_id: string
  skipped: boolean
}

export const WEBHOOK_EVENTS = new Table<WebhookEventRow>(
  'webhook_events',
  ['workspace_id', 'event_type', 'people', 'presence_name', 'webhook_id'],
  {
    workspace_id: 'text',
    event_type: 'text',
    people: 'boolean',
    presence_name: 'text',
    webhook_id: 'text',
    skipped: 'boolean',
  },
)

/** The objects that enabled subscriptions follow, computed whenever a subscription is written. */
export interface WebhookFollowRow {
  workspace_id: string
  followed: string
  webhook_id: string
}

export const WEBHOOK_FOLLOWS = new Table<WebhookFollowRow>(
  'webhook_follows',
  ['workspace_id', 'followed', 'webhook_id'],
  { workspace_id: 'text', followed: 'text', webhook_id: 'text' },
)
