/** Finds the webhook or the subscription that a path names. */

import { notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { SUBSCRIPTION_KINDS } from '@assay/model/subscription'
import { PROGRAM_KINDS, type Webhook, type WebhookKind } from '@assay/model/webhook'
import type { TProperties } from 'typebox'
import { Id } from '../http/fields.ts'
import type { Call } from '../http/operation.ts'

/** Webhooks or subscriptions. Both are rows of one table. The paths of a family find only its own kinds. */
export interface Family {
  noun: 'webhook' | 'subscription'
  tag: string
  kinds: readonly WebhookKind[]
}

export const WEBHOOKS: Family = { noun: 'webhook', tag: 'Webhooks', kinds: PROGRAM_KINDS }
export const SUBSCRIPTIONS: Family = { noun: 'subscription', tag: 'Subscriptions', kinds: SUBSCRIPTION_KINDS }

export const WebhookPath = Type.Object({ webhook_id: Id })
export const SubscriptionPath = Type.Object({ subscription_id: Id })

/** Returns the schema of the parameters of a path: the id of the family's noun, and `rest`. */
export function pathOf<Rest extends TProperties>({ noun }: Family, rest: Rest) {
  return Type.Object({ [`${noun}_id`]: Id, ...rest })
}

type Looking = Pick<Call<Record<string, string>>, 'services' | 'principal' | 'params'>

/** Returns the webhook. Throws a 404 if there is none, and the same 404 for one of another workspace. */
export async function requireOf(
  { noun, kinds }: Family,
  { services, principal, params }: Looking,
): Promise<Webhook> {
  const webhook_id = params[`${noun}_id`]!
  const webhook = await services.store.getWebhook({ workspace_id: principal.workspace_id, webhook_id })
  if (!webhook || !kinds.includes(webhook.kind)) throw notFound(noun, webhook_id)
  return webhook
}

export function requireWebhook(call: Looking): Promise<Webhook> {
  return requireOf(WEBHOOKS, call)
}

export function requireSubscription(call: Looking): Promise<Webhook> {
  return requireOf(SUBSCRIPTIONS, call)
}
