/** The webhook, or the subscription, that a path names, for every operation below one. */

import { notFound } from '@assay/model/errors'
import { SUBSCRIPTION_KINDS } from '@assay/model/subscription'
import type { Webhook, WebhookKind } from '@assay/model/webhook'
import Type from 'typebox'
import { Id } from '../http/fields.ts'
import type { Call } from '../http/operation.ts'

/** Both are rows of the same table: each family of paths finds its own kinds only. */
export interface Family {
  noun: 'webhook' | 'subscription'
  tag: string
  kinds: readonly WebhookKind[]
}

export const WEBHOOKS: Family = { noun: 'webhook', tag: 'Webhooks', kinds: ['webhook'] }
export const SUBSCRIPTIONS: Family = { noun: 'subscription', tag: 'Subscriptions', kinds: SUBSCRIPTION_KINDS }

export const WebhookPath = Type.Object({ webhook_id: Id })
export const SubscriptionPath = Type.Object({ subscription_id: Id })

/** The id in a path of the family, with what else the path names. */
export function pathOf<Rest extends Type.TProperties>({ noun }: Family, rest: Rest) {
  return Type.Object({ [`${noun}_id`]: Id, ...rest })
}

type Looking = Pick<Call<Record<string, string>>, 'services' | 'principal' | 'params'>

/** Throws a 404 that is the same for one that is another workspace's. */
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
