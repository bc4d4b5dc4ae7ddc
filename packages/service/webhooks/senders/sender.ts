/** The contract of the senders of subscriptions, one file for each kind. retry.ts decides for all kinds what follows an attempt. */
import type { Event } from '@assay/model/event'
import type { Webhook } from '@assay/model/webhook'
import type { Refusal } from '../../outgoing/refusal.ts'
import type { Sent } from '../send.ts'

/** One try of one delivery. */
export interface Sending {
  delivery_id: string
  workspace_id: string
  webhook: Webhook
  event: Pick<Event, 'event_id' | 'type' | 'data'>
  /** The number of the try, from 1. */
  attempt: number
  /** The present time in milliseconds since 1970. */
  now: number
}

/** Says that nothing was sent, because the rules of the workspace hold the delivery back. */
export interface Held {
  held: Refusal
}

export interface Sender {
  /**
   * Sends one try. Returns null if `giveUp` was aborted before anything was sent, and nothing is recorded. Throws
   * SecretError if the target was sealed with an unknown key.
   */
  send(sending: Sending, giveUp: AbortSignal): Promise<Sent | Held | null>
}

/** The most characters of the sent text in a record. */
const TEXT_KEPT = 16 * 1024

/** Returns the text for a record. NUL is replaced, because PostgreSQL's text cannot hold it. */
export function keptText(text: string): string {
  return text.slice(0, TEXT_KEPT).replaceAll('\0', '\uFFFD')
}
