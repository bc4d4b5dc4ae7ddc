/** Defines the kinds of receivers and their calls. Webhooks and subscriptions share their delivery pages. */
import type { SubscriptionView } from '@assay/model/subscription'
import type { WebhookView } from '@assay/model/webhook'
import { api } from './api.ts'

export type Noun = 'webhook' | 'subscription'

export interface Receiver {
  noun: Noun
  id: string
}

/** The fields that both kinds have. */
export type ReceiverView = Pick<
  WebhookView,
  | 'presence_name'
  | 'events'
  | 'status'
  | 'disabled_reason'
  | 'failing_since'
  | 'failing_reason'
  | 'held_reason'
  | 'breaker'
  | 'created_at'
> & { include_skipped?: boolean; subscription_id?: string }

/** The milliseconds between refreshes of a receiver's page. */
export const REFRESH_MS = 5_000

export function callsOf({ noun }: Receiver) {
  return noun === 'webhook' ? api().webhooks : api().subscriptions
}

/** Returns the cache keys that a change of the receiver invalidates. */
export function keysOf({ noun, id }: Receiver): string[][] {
  return [[noun, id], ['deliveries', id], [`${noun}s`]]
}

/** Returns the target in a few words. */
export function targetOf({ kind, to, url }: Pick<SubscriptionView, 'kind' | 'to' | 'url'>): string {
  if (kind === 'slack') return url ?? ''
  if (to.length === 0) return 'no reader'
  return to.length === 1 ? to[0]! : `${to[0]} and ${to.length - 1} more`
}
