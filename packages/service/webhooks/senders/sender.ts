/** How one kind of subscription sends: one file a kind. What follows an attempt is the same for all of them (retry.ts). */
import type { Event } from '@assay/model/event'
import type { Webhook } from '@assay/model/webhook'
import type { Sent } from '../send.ts'

/** One try of one delivery. */
export interface Sending {
  delivery_id: string
  workspace_id: string
  webhook: Webhook
  event: Pick<Event, 'event_id' | 'type' | 'data'>
  /** The number of the try, from 1. */
  attempt: number
  /** Milliseconds since 1970. */
  now: number
}

export interface Sender {
  /**
   * Null: it was given up (`giveUp`), nobody has got anything, and nothing is to be recorded. Throws SecretError where the
   * target was sealed with a key that is not at hand.
   */
  send(sending: Sending, giveUp: AbortSignal): Promise<Sent | null>
}

/** What is kept of the text that was sent. */
export const TEXT_KEPT = 16 * 1024

/** PostgreSQL has no text that holds NUL. */
export function keptText(text: string): string {
  return text.slice(0, TEXT_KEPT).replaceAll('\0', '\uFFFD')
}
