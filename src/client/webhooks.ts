/** Webhooks with their deliveries, recoveries and statistics. */
import type { Attempt, DeliveryStatus, DeliveryView, Recovery, WebhookStats } from '../delivery.ts'
import type { EventType } from '../event.ts'
import type { HeaderInput, SignatureVersion, WebhookStatus, WebhookView } from '../webhook.ts'
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

export interface RecoveryInput {
  since: string
  until?: string
  include_unsent?: boolean
  event_types?: EventType[]
  dry_run?: boolean
}

export interface DeliveryFilter extends PageInput {
  status?: DeliveryStatus
  event_type?: EventType
  assignment_id?: string | undefined
  created_after?: string
  created_before?: string
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
    update: (
      webhook_id: string,
      patch: Partial<Omit<WebhookInput, 'signature'>> & { status?: WebhookStatus },
    ) => json<WebhookView>('PATCH', at(webhook_id), { json: patch }),
    delete: async (webhook_id: string): Promise<void> => {
      await send('DELETE', at(webhook_id))
    },
    /** Throws with the code `not_tried` where no attempt was made within 20 seconds. */
    test: async (webhook_id: string): Promise<Attempt> => {
      const response = await send('POST', `${at(webhook_id)}/test`)
      const answer = (await response.json()) as Attempt | DeliveryView
      if ('number' in answer) return answer
      const message = `It was not tried within 20 seconds: see delivery ${answer.delivery_id}.`
      throw new ClientError(message, response.status, 'not_tried', null)
    },
    rotateSecret: (webhook_id: string, options?: CreateOptions & { overlap_seconds?: number }) =>
      json<NewWebhook>('POST', `${at(webhook_id)}/rotate-secret`, {
        json: options?.overlap_seconds === undefined ? {} : { overlap_seconds: options.overlap_seconds },
        idempotencyKey: createKey(options),
      }),
    deliveries: (webhook_id: string, query: DeliveryFilter = {}) =>
      json<Page<DeliveryView>>('GET', `${at(webhook_id)}/deliveries`, { query: { ...query } }),
    delivery: (delivery_id: string) =>
      json<FullDelivery>('GET', `/webhooks/deliveries/${segment(delivery_id)}`),
    redeliver: (delivery_id: string, options?: CreateOptions) =>
      json<DeliveryView>('POST', `/webhooks/deliveries/${segment(delivery_id)}/redeliver`, {
        idempotencyKey: createKey(options),
      }),
    recover: (webhook_id: string, input: RecoveryInput, options?: CreateOptions) =>
      json<{ count: number; recovery_id?: string }>('POST', `${at(webhook_id)}/recover`, {
        json: input,
        idempotencyKey: createKey(options),
      }),
    recovery: (webhook_id: string, recovery_id: string) =>
      json<Recovery>('GET', `${at(webhook_id)}/recoveries/${segment(recovery_id)}`),
    cancelPending: (webhook_id: string) =>
      json<{ count: number }>('POST', `${at(webhook_id)}/cancel-pending`, { repeatable: true }),
    stats: (webhook_id: string, since?: string) =>
      json<WebhookStats>('GET', `${at(webhook_id)}/stats`, { query: { since } }),
  }
}
