/** Webhooks with their secrets; their deliveries are in deliveries.ts. */
import type { Attempt, DeliveryView } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
import type { HeaderInput, SignatureVersion, WebhookStatus, WebhookView } from '@assay/model/webhook'
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

export interface WebhookInput {
  url: string
  headers?: HeaderInput[]
  user_id: string
  presence_name: string
  events?: (EventType | '*')[]
  description?: string
  signature?: SignatureVersion
  retry_schedule?: number[]
  max_in_flight?: number
  rate_per_second?: number
}

/** What is left out stays. Null takes back what was set; the value null of a header removes the header of that name. */
export interface WebhookPatch {
  url?: string
  headers?: (Omit<HeaderInput, 'value'> & { value: string | null })[] | null
  user_id?: string
  presence_name?: string
  events?: (EventType | '*')[] | null
  description?: string | null
  status?: WebhookStatus
  retry_schedule?: number[] | null
  max_in_flight?: number | null
  rate_per_second?: number | null
}

/** Of a webhook that signs with `v1a` the secret is null: receivers verify with its `public_key`. */
export type NewWebhook = WebhookView & { signing_secret: string | null }
export type FullDelivery = DeliveryView & { attempts: Attempt[] }

export function webhookCalls(send: Send, json: Json) {
  const at = (webhook_id: string) => `/webhooks/${segment(webhook_id)}`
  return {
    create: (input: WebhookInput, options?: CreateOptions) =>
      json<NewWebhook>('POST', '/webhooks/', { json: input, idempotencyKey: createKey(options) }),
    list: (query: PageInput & { user_id?: string; presence_name?: string; status?: WebhookStatus } = {}) =>
      json<Page<WebhookView>>('GET', '/webhooks/', { query: { ...query } }),
    get: (webhook_id: string) => json<WebhookView>('GET', at(webhook_id)),
    update: (webhook_id: string, patch: WebhookPatch) =>
      json<WebhookView>('PATCH', at(webhook_id), { json: patch }),
    ...deliveryCalls(send, json, at),
    rotateSecret: (webhook_id: string, options?: CreateOptions & { overlap_seconds?: number }) =>
      json<NewWebhook>('POST', `${at(webhook_id)}/rotate-secret`, {
        json: options?.overlap_seconds === undefined ? {} : { overlap_seconds: options.overlap_seconds },
        idempotencyKey: createKey(options),
      }),
    delivery: (delivery_id: string) =>
      json<FullDelivery>('GET', `/webhooks/deliveries/${segment(delivery_id)}`),
    redeliver: (delivery_id: string, options?: CreateOptions) =>
      json<DeliveryView>('POST', `/webhooks/deliveries/${segment(delivery_id)}/redeliver`, {
        idempotencyKey: createKey(options),
      }),
  }
}
