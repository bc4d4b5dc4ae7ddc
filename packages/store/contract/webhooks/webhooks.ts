/** Webhooks and subscriptions in the store. */
import type { HeaderChange, Health, Webhook, WebhookKind, WebhookStatus } from '@assay/model/webhook'
import type { Page, PageQuery } from '../page.ts'

/** The fields that the store sets: state, health and times. */
type Kept =
  | 'status'
  | 'disabled_reason'
  | 'failures'
  | 'open_until'
  | 'held_until'
  | 'held_reason'
  | 'created_at'
  | 'updated_at'
  | keyof Health
/** The fields of a new webhook that have a default. `kind` never changes. */
type WithDefault = 'kind' | 'target' | 'tells_skipped' | 'personal' | 'follows'

/**
 * A new webhook. By default its kind is `webhook`, it has no target, it is not told of skipped jobs, and it is not
 * personal.
 */
export type NewWebhook = Omit<Webhook, Kept | WithDefault> & Partial<Pick<Webhook, WithDefault>>

export type WebhookPatch = Partial<
  Omit<NewWebhook, 'webhook_id' | 'workspace_id' | 'kind' | 'secrets' | 'headers'> & {
    /** Changes of headers by name, applied to the present ones; null removes all headers. */
    headers: HeaderChange[] | null
    status: WebhookStatus
    disabled_reason: string | null
  }
>

export interface WebhookStore {
  /**
   * Makes a webhook. If the id exists in the workspace, replaces it: this is a repeat after a crash, whose secret
   * nobody has seen. Throws `conflict` beyond WEBHOOKS_MOST or SUBSCRIPTIONS_MOST.
   */
  createWebhook(input: NewWebhook): Promise<Webhook>
  getWebhook(input: { workspace_id: string; webhook_id: string }): Promise<Webhook | null>
  /**
   * Returns the subscriptions of these ids, and the 50 oldest personal ones of the user `personal_of`. Ids and users
   * of other workspaces find nothing.
   */
  findSubscriptions(input: {
    workspace_id: string
    webhook_ids: readonly string[]
    personal_of: string
  }): Promise<Webhook[]>
  /** Returns the ids of the enabled subscriptions that follow one of these (`template:ID`, `schedule:ID`), each once. */
  findFollowers(input: { workspace_id: string; followed: readonly string[] }): Promise<string[]>
  listWebhooks(
    query: PageQuery & {
      workspace_id: string
      user_id?: string | undefined
      presence_name?: string | undefined
      status?: WebhookStatus | undefined
      /** Only these kinds; by default all. */
      kinds?: readonly WebhookKind[] | undefined
    },
  ): Promise<Page<Webhook>>
  /**
   * Changes a webhook. Returns null if there is no such webhook. Enabling it, or another `url`, clears
   * `failing_since` and the breaker. Enabling first makes its waiting deliveries due, in transactions of a bounded
   * size; a process that dies meanwhile leaves it disabled. Disabling a disabled one keeps its reason. Throws
   * `invalid` if it would have more headers than it may.
   */
  updateWebhook(input: {
    workspace_id: string
    webhook_id: string
    patch: WebhookPatch
    /** The target that the caller has read. If it has changed since, nothing changes and the result is null. */
    if_target?: string | null | undefined
  }): Promise<Webhook | null>
  /**
   * Puts the new key first. Older keys sign for at most `overlap_ms` more. Returns null if there is no such webhook.
   */
  rotateSecret(input: {
    workspace_id: string
    webhook_id: string
    sealed: string
    public_key: string | null
    overlap_ms: number
  }): Promise<Webhook | null>
  /**
   * Deletes the webhook with its deliveries, in transactions of a bounded size. A process that dies meanwhile leaves
   * it disabled, and it can be deleted again. Returns false if there is no such webhook.
   */
  deleteWebhook(input: { workspace_id: string; webhook_id: string }): Promise<boolean>
}
