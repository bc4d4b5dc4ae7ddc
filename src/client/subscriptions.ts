/** Subscriptions: events told to people, by mail or in a chat, with their deliveries. */
import type { Attempt, DeliveryView, Recovery, WebhookStats } from '../delivery.ts'
import type { EventType } from '../event.ts'
import type { SubscriptionKind, SubscriptionView } from '../subscription.ts'
import type { WebhookStatus } from '../webhook.ts'
import {
  ClientError,
  type CreateOptions,
  createKey,
  type Json,
  type Page,
  type PageInput,
  type Send,
  segment,
} from './http.ts'
import type { DeliveryFilter, RecoveryInput } from './webhooks.ts'

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
    delete: async (subscription_id: string): Promise<void> => {
      await send('DELETE', at(subscription_id))
    },
    /** Throws with the code `not_tried` where no attempt was made within 20 seconds. */
    test: async (subscription_id: string): Promise<Attempt> => {
      const response = await send('POST', `${at(subscription_id)}/test`)
      const answer = (await response.json()) as Attempt | DeliveryView
      if ('number' in answer) return answer
      const message = `It was not tried within 20 seconds: see delivery ${answer.delivery_id}.`
      throw new ClientError(message, response.status, 'not_tried', null)
    },
    /** One is read, and sent again, by `webhooks.delivery` and `webhooks.redeliver`. */
    deliveries: (subscription_id: string, query: DeliveryFilter = {}) =>
      json<Page<DeliveryView>>('GET', `${at(subscription_id)}/deliveries`, { query: { ...query } }),
    recover: (subscription_id: string, input: RecoveryInput, options?: CreateOptions) =>
      json<{ count: number; recovery_id?: string }>('POST', `${at(subscription_id)}/recover`, {
        json: input,
        idempotencyKey: createKey(options),
      }),
    recovery: (subscription_id: string, recovery_id: string) =>
      json<Recovery>('GET', `${at(subscription_id)}/recoveries/${segment(recovery_id)}`),
    cancelPending: (subscription_id: string) =>
      json<{ count: number }>('POST', `${at(subscription_id)}/cancel-pending`, { repeatable: true }),
    stats: (subscription_id: string, since?: string) =>
      json<WebhookStats>('GET', `${at(subscription_id)}/stats`, { query: { since } }),
  }
}
