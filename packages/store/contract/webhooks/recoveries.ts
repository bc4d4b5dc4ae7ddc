/** What the store promises of recoveries, and of the statistics of a webhook. */
import type { Recovery, WebhookStats } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'

export interface NewRecovery {
  recovery_id: string
  workspace_id: string
  webhook_id: string
  /** Events that happened from `since` on and before `until` (null: until now). */
  since: string
  until: string | null
  /** Also the events that the webhook asks for and was never sent: it was made later, disabled, or it was canceled. */
  include_unsent: boolean
  /** Only events of these types; all unless given. */
  event_types?: EventType[] | undefined
}

export interface RecoveryStore {
  /** How many deliveries a recovery would make now: a dry run. Null: the webhook is not there. */
  countRecoverable(input: Omit<NewRecovery, 'recovery_id'>): Promise<number | null>
  /**
   * Starts to deliver anew, each once, the events whose deliveries to this webhook have all failed (or were never made:
   * `include_unsent`). `advanceRecoveries` does it. Null: the webhook is not there.
   */
  createRecovery(input: NewRecovery): Promise<Recovery | null>
  getRecovery(input: {
    workspace_id: string
    webhook_id: string
    recovery_id: string
  }): Promise<Recovery | null>
  /**
   * The next step of a running recovery: looks at no more than `limit` rows and makes their deliveries, due now. False:
   * none is running. The dispatcher calls it until it is false, now and then, one at a time.
   */
  advanceRecoveries(input: { limit: number }): Promise<boolean>
  /** By whole hours, the hour of `since` included. Null: the webhook is not there. */
  webhookStats(input: {
    workspace_id: string
    webhook_id: string
    since: string
  }): Promise<WebhookStats | null>
}
