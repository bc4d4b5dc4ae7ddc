/** What the store promises of events and their deliveries. */
import type { Attempt, AttemptRecord, Delivery, DeliveryStatus } from '@assay/model/delivery'
import type { Event, EventType } from '@assay/model/event'
import type { Webhook } from '@assay/model/webhook'
import type { Page, PageQuery } from '../page.ts'

export interface ClaimedDelivery {
  delivery_id: string
  workspace_id: string
  event: Omit<Event, 'data'>
  /** The event as it is sent: `eventBody`. */
  body: string
  webhook: Webhook
  /** The number of the attempt that this claim makes, from 1: it fences. */
  attempt: number
  node_id: string
  /** Those of one claim with the same number share a slot: they are to be sent one after the other, in this order. */
  slot: number
}

export interface AttemptOutcome {
  delivery_id: string
  attempt: number
  node_id: string
  record: AttemptRecord
  /** `pending` with the wait until the next try, in milliseconds from now. */
  next: { status: 'delivered' } | { status: 'failed' } | { status: 'pending'; wait_ms: number }
  /** Milliseconds from now in which the receiver asks to be sent nothing: its other deliveries wait, too. */
  hold_ms?: number | undefined
  /** It counts as a success of the receiver, though not all of it has arrived: neither breaker nor health is of it. */
  reached?: true | undefined
  /**
   * Also turns the webhook off, where it is still enabled: cancels nothing (what waits stays pending and is not
   * claimed), writes one `webhook.disabled` event with deliveries to the webhooks whose `events` names it or is `*`.
   */
  disable?: { reason: string } | undefined
  /** Also writes one `webhook.failing`, where none was since its last success and it is still enabled. */
  warn?: true | undefined
}

export interface DeliveryStore {
  /** One event to one webhook, before all that waits and past an open breaker: a test. Null: the webhook is not there. */
  sendEvent(input: {
    workspace_id: string
    webhook_id: string
    event_id: string
    delivery_id: string
    type: EventType
    data: Record<string, unknown>
  }): Promise<Delivery | null>
  /** A new delivery of the same event to the same webhook, due now. Null: not there. */
  redeliver(input: {
    workspace_id: string
    delivery_id: string
    new_delivery_id: string
  }): Promise<Delivery | null>
  /**
   * Due deliveries of enabled webhooks: one of each webhook before seconds (fewest in flight first), within
   * `max_in_flight` (8 unless set), `rate_per_second` (spaced, at most a quarter of a second's at once: poll at least
   * that often) and the breaker (open: one probe at a time). A webhook never gets more slots than it leaves free: it
   * is given one only while it has fewer in flight than `limit` has left, so that slow receivers leave room for the
   * others; give all free slots as `limit`. A slot is one delivery, or where `runs` names the webhook as many as it
   * says, of those that are due once every slot has one; the slot is free when the last of its run is settled. A
   * webhook that fails or has a rate gets no runs. `conflict` where the node is not registered.
   */
  claimDeliveries(input: {
    node_id: string
    limit: number
    runs?: ReadonlyMap<string, number>
  }): Promise<ClaimedDelivery[]>
  /**
   * Fenced by node and attempt. False: it was taken over, nothing is written. All that are given in one pass of the
   * event loop are one transaction, and a claim that is asked for after them finds the slots that they free.
   */
  recordAttempt(outcome: AttemptOutcome): Promise<boolean>
  /** The same of each, all in one transaction or none. */
  recordAttempts(outcomes: AttemptOutcome[]): Promise<boolean[]>
  /**
   * Claimed deliveries go back, due at once, the claim not counted. `held`: why the rules of the workspace hold them back;
   * the receiver's deliveries then wait a minute, or until the rules change (`changeOutgoing`).
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
  /** Pending -> canceled for all that wait, in transactions of a bounded size. Answers how many. */
  cancelPending(input: { workspace_id: string; webhook_id: string }): Promise<number>
  /**
   * All events of the workspace. `order: 'newest'` pages back from the latest; `oldest` goes forward and its
   * `next_cursor` is never null: ask again with it later, no event is ever skipped.
   */
  listEvents(
    query: PageQuery & { workspace_id: string; type?: EventType | undefined; order: 'newest' | 'oldest' },
  ): Promise<Page<Event>>
}
