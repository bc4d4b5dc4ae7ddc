/** What webhooks and subscriptions have in common: being tried, their deliveries, recoveries and statistics. */
import type { Attempt, DeliveryStatus, DeliveryView, Recovery, WebhookStats } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
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

/** `at`: the address of one, by its id. */
export function deliveryCalls(send: Send, json: Json, at: (id: string) => string) {
  return {
    delete: async (id: string): Promise<void> => {
      await send('DELETE', at(id))
    },
    /** Throws with the code `not_tried` where no attempt was made within 20 seconds. */
    test: async (id: string): Promise<Attempt> => {
      const response = await send('POST', `${at(id)}/test`)
      const answer = (await response.json()) as Attempt | DeliveryView
      if ('number' in answer) return answer
      const message = `It was not tried within 20 seconds: see delivery ${answer.delivery_id}.`
      throw new ClientError(message, response.status, 'not_tried', null)
    },
    deliveries: (id: string, query: DeliveryFilter = {}) =>
      json<Page<DeliveryView>>('GET', `${at(id)}/deliveries`, { query: { ...query } }),
    recover: (id: string, input: RecoveryInput, options?: CreateOptions) =>
      json<{ count: number; recovery_id?: string }>('POST', `${at(id)}/recover`, {
        json: input,
        idempotencyKey: createKey(options),
      }),
    recovery: (id: string, recovery_id: string) =>
      json<Recovery>('GET', `${at(id)}/recoveries/${segment(recovery_id)}`),
    cancelPending: (id: string) =>
      json<{ count: number }>('POST', `${at(id)}/cancel-pending`, { repeatable: true }),
    stats: (id: string, since?: string) => json<WebhookStats>('GET', `${at(id)}/stats`, { query: { since } }),
  }
}
