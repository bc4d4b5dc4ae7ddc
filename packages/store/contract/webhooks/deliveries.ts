/** Events and their deliveries in the store. */
import type { Attempt, AttemptRecord, Delivery, DeliveryStatus } from '@assay/model/delivery'
import type { Event, EventType } from '@assay/model/event'
import type { Webhook } from '@assay/model/webhook'
import type { Page, PageQuery } from '../page.ts'

export interface ClaimedDelivery {
  delivery_id: string
  workspace_id: string
  event: Omit<Event, 'data'>
  /** The event as it is sent, made by `eventBody`. */
  body: string
  webhook: Webhook
  /** The number of the attempt, from 1. It fences the settle. */
  attempt: number
  node_id: string
  /** Deliveries of one claim with the same number share a slot. Send them one after the other, in this order. */
  slot: number
}

export interface AttemptOutcome {
  delivery_id: string
  attempt: number
  node_id: string
  record: AttemptRecord
  /** The next state. `pending`: the milliseconds until the next try. */
  next: { status: 'delivered' } | { status: 'failed' } | { status: 'pending'; wait_ms: number }
  /** Milliseconds for which the receiver asks to be left alone. Its other deliveries wait too. */
  hold_ms?: number | undefined
  /** True if the receiver works although not everything has arrived. It counts as a success for breaker and health. */
  reached?: true | undefined
  /**
   * Also disables the webhook if it is enabled. Waiting deliveries stay pending and are not claimed. Writes one
   * `webhook.disabled` event, with deliveries to the webhooks whose `events` holds that type or is `*`.
   */
  disable?: { reason: string } | undefined
  /** Also writes one `webhook.failing` if the webhook is enabled and none was written since its last success. */
  warn?: true | undefined
}

export interface DeliveryStore {
  /**
   * Sends a test: one event to one webhook, ahead of waiting deliveries and past an open breaker. Returns null if
   * there is no such webhook.
   */
  sendEvent(input: {
    workspace_id: string
    webhook_id: string
    event_id: string
    delivery_id: string
    type: EventType
    data: Record<string, unknown>
  }): Promise<Delivery | null>
  /** Makes a new delivery of the same event to the same webhook, due now. Returns null if there is no such delivery. */
  redeliver(input: {
    workspace_id: string
    delivery_id: string
    new_delivery_id: string
  }): Promise<Delivery | null>
  /**
   * Claims due deliveries of enabled webhooks: one of each webhook before seconds (fewest in flight first), within
   * `max_in_flight` (8 unless set), `rate_per_second` (spaced, at most a quarter of a second's at once: poll at least
   * that often) and the breaker (while open: one probe at a time). A webhook gets a slot only while it has fewer in
   * flight than `limit` has left, so that slow receivers leave room for the others. Give all free slots as `limit`. A
   * slot is one delivery, or for a webhook in `runs` as many as it says, of those that are due once every slot has
   * one. The slot is free when the last of its run is settled. A webhook that fails or has a rate gets no runs.
   * Throws `conflict` if the node is not registered.
   */
  claimDeliveries(input: {
    node_id: string
    limit: number
    runs?: ReadonlyMap<string, number>
  }): Promise<ClaimedDelivery[]>
  /**
   * Records an attempt, fenced by node and attempt. Returns false if another node took the delivery over, and writes
   * nothing then. All calls of one pass of the event loop are one transaction. A later claim finds the slots that they
   * free.
   */
  recordAttempt(outcome: AttemptOutcome): Promise<boolean>
  /** Records several attempts as `recordAttempt` does, all in one transaction or none. */
  recordAttempts(outcomes: AttemptOutcome[]): Promise<boolean[]>
  /**
   * Gives claimed deliveries back, due at once; the claim does not count as an attempt. `held`: why the rules of the workspace hold
   * them back. The receiver's deliveries then wait a minute, or until the rules change (`changeOutgoing`).
   */
  releaseDeliveries(
    deliveries: { delivery_id: string; attempt: number; node_id: string; held?: string | undefined }[],
  ): Promise<void>
  getDelivery(input: {
    workspace_id: string
    delivery_id: string
  }): Promise<(Delivery & { attempts: Attempt[] }) | null>
  listDeliveries(
    query: PageQuery & {
      workspace_id: string
      webhook_id: string
      status?: DeliveryStatus | undefined
      event_type?: EventType | undefined
      assignment_id?: string | undefined
      created_after?: string | undefined
      created_before?: string | undefined
    },
  ): Promise<Page<Delivery>>
  /** Cancels all pending deliveries, in transactions of a bounded size. Returns their number. */
  cancelPending(input: { workspace_id: string; webhook_id: string }): Promise<number>
  /**
   * Lists the events of the workspace. `newest` pages back from the latest. `oldest` pages forward; its `next_cursor`
   * is never null, and a later call with it skips no event.
   */
  listEvents(
    query: PageQuery & { workspace_id: string; type?: EventType | undefined; order: 'newest' | 'oldest' },
  ): Promise<Page<Event>>
}
