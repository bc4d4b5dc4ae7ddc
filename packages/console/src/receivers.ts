/** Webhooks and subscriptions have the same deliveries, and so the same pages of them: which of the two, and its calls. */
import type { SubscriptionView } from '@assay/model/subscription'
import type { WebhookView } from '@assay/model/webhook'
import { api } from './api.ts'

export type Noun = 'webhook' | 'subscription'

export interface Receiver {
  noun: Noun
  id: string
}

/** What both tell of themselves. */
export type ReceiverView = Pick<
  WebhookView,
  | 'presence_name'
  | 'events'
  | 'status'
  | 'disabled_reason'
  | 'failing_since'
  | 'failing_reason'
  | 'created_at'
> & { include_skipped?: boolean }

/** Milliseconds after which its page asks again how it goes, with its deliveries. */
export const REFRESH_MS = 5_000

export function callsOf({ noun }: Receiver) {
  return noun === 'webhook' ? api().webhooks : api().subscriptions
}

/** Below each of these keys the cache holds what a change of the receiver makes old. */
export function keysOf({ noun, id }: Receiver): string[][] {
  return [[noun, id], ['deliveries', id], [`${noun}s`]]
}

/** Where it goes, in a few words. */
export function targetOf({ kind, to, url }: Pick<SubscriptionView, 'kind' | 'to' | 'url'>): string {
  if (kind === 'slack') return url ?? ''
  if (to.length === 0) return 'nobody any more'
  return to.length === 1 ? to[0]! : `${to[0]} and ${to.length - 1} more`
}
