/** The webhook that a path names, for every operation below one. */
import Type from 'typebox'
import { notFound } from '../errors.ts'
import type { Webhook } from '../webhook.ts'
import { Id } from './fields.ts'
import type { Call } from './route.ts'

export const WebhookPath = Type.Object({ webhook_id: Id })

/** Throws a 404 that is the same for one that is another workspace's. */
export async function requireWebhook({
  services,
  principal,
  params,
}: Pick<Call<{ webhook_id: string }>, 'services' | 'principal' | 'params'>): Promise<Webhook> {
  const { webhook_id } = params
  const webhook = await services.store.getWebhook({ workspace_id: principal.workspace_id, webhook_id })
  if (!webhook) throw notFound('webhook', webhook_id)
  return webhook
}
