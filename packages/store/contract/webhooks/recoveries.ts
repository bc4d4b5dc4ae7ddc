/** Recoveries and statistics of webhooks in the store. */
import type { Recovery, WebhookStats } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'

export interface NewRecovery {
  recovery_id: string
  workspace_id: string
  webhook_id: string
  /** Only events that happened from `since` on and before `until` (null: until now). */
  since: string
  until: string | null
  /** Includes events that the webhook was never sent: it was made later, it was disabled, or the delivery was canceled. */
  include_unsent: boolean
  /** Only events of these types; by default all. */
  event_types?: EventType[] | undefined
}

export interface RecoveryStore {
  /** Returns how many deliveries a recovery would make now, without making any. Null if there is no such webhook. */
  countRecoverable(input: Omit<NewRecovery, 'recovery_id'>): Promise<number | null>
  /**
   * Starts a recovery: delivers again, once each, the events whose deliveries to this webhook have all failed, or
   * (`include_unsent`) were never made. `advanceRecoveries` makes the deliveries. Returns null if there is no such
   * webhook.
   */
  createRecovery(input: NewRecovery): Promise<Recovery | null>
  getRecovery(input: {
    workspace_id: string
    webhook_id: string
    recovery_id: string
  }): Promise<Recovery | null>
  /**
   * Makes the next step of a running recovery: reads at most `limit` rows and makes their deliveries, due now.
   * Returns false if no recovery is running. The dispatcher calls it, one call at a time, until it returns false.
   */
  advanceRecoveries(input: { limit: number }): Promise<boolean>
  /** Returns counts by whole hours, from the hour of `since`. Null if there is no such webhook. */
  webhookStats(input: {
    workspace_id: string
    webhook_id: string
    since: string
  }): Promise<WebhookStats | null>
}
