/** Subscriptions: events told to people, by mail or in a chat, with their deliveries. */
import type { EventType } from '@assay/model/event'
import type { SubscriptionKind, SubscriptionView } from '@assay/model/subscription'
import type { WebhookStatus } from '@assay/model/webhook'
import { deliveryCalls } from './deliveries.ts'
import {
  type CreateOptions,
  createKey,
  type Json,
  type Page,
  type PageInput,
  type Send,
  segment,
} from './http.ts'

export interface SubscriptionFields {
  /** Of email: plain addresses. */
  to?: string[]
  /** Of slack: the address of an incoming webhook, never shown again. */
  url?: string
  /** Seconds that the link in a message opens the page; null: no link. */
  link_expires_in?: number | null
  /** Tell of runs that their condition skipped, too. */
  include_skipped?: boolean
  user_id?: string
  presence_name?: string
  events?: (EventType | '*')[]
  description?: string | null
  retry_schedule?: number[]
  max_in_flight?: number
  rate_per_second?: number
}

export interface SubscriptionInput extends SubscriptionFields {
  kind: SubscriptionKind
}

export function subscriptionCalls(send: Send, json: Json) {
  const at = (subscription_id: string) => `/subscriptions/${segment(subscription_id)}`
  return {
    create: (input: SubscriptionInput, options?: CreateOptions) =>
      json<SubscriptionView>('POST', '/subscriptions', { json: input, idempotencyKey: createKey(options) }),
    list: (
      query: PageInput & {
        kind?: SubscriptionKind
        user_id?: string
        presence_name?: string
        status?: WebhookStatus
      } = {},
    ) => json<Page<SubscriptionView>>('GET', '/subscriptions', { query: { ...query } }),
    get: (subscription_id: string) => json<SubscriptionView>('GET', at(subscription_id)),
    update: (subscription_id: string, patch: SubscriptionFields & { status?: WebhookStatus }) =>
      json<SubscriptionView>('PATCH', at(subscription_id), { json: patch }),
    /** One delivery is read, and sent again, by `webhooks.delivery` and `webhooks.redeliver`. */
    ...deliveryCalls(send, json, at),
  }
}
