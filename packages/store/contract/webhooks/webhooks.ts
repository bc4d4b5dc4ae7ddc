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
/** `kind` never changes. */
type WithDefault = 'kind' | 'target' | 'tells_skipped' | 'personal' | 'follows'

/** Defaults: kind `webhook`, no target, not told of skipped jobs, not a user's own. */
export type NewWebhook = Omit<Webhook, Kept | WithDefault> & Partial<Pick<Webhook, WithDefault>>

export type WebhookPatch = Partial<
  Omit<NewWebhook, 'webhook_id' | 'workspace_id' | 'kind' | 'secrets' | 'headers'> & {
    /** Changes by name, applied to the present headers; null removes all. */
    headers: HeaderChange[] | null
    status: WebhookStatus
    disabled_reason: string | null
  }
>

export interface WebhookStore {
  /**
   * Makes a webhook. If the id exists in the workspace, replaces it: a repeat after a crash, whose secret nobody has seen.
   * `conflict`: beyond WEBHOOKS_MOST or SUBSCRIPTIONS_MOST.
   */
  createWebhook(input: NewWebhook): Promise<Webhook>
  getWebhook(input: { workspace_id: string; webhook_id: string }): Promise<Webhook | null>
  /**
   * The subscriptions of these ids, and the 50 oldest of the user `personal_of`'s own. Ids and users of other workspaces find
   * nothing.
   */
  findSubscriptions(input: {
    workspace_id: string
    webhook_ids: readonly string[]
    personal_of: string
  }): Promise<Webhook[]>
  /** The ids of the enabled subscriptions that follow one of these (`template:ID`, `schedule:ID`), each once. */
  findFollowers(input: { workspace_id: string; followed: readonly string[] }): Promise<string[]>
  listWebhooks(
    query: PageQuery & {
      workspace_id: string
      user_id?: string | undefined
      presence_name?: string | undefined
      status?: WebhookStatus | undefined
      /** All unless given. */
      kinds?: readonly WebhookKind[] | undefined
    },
  ): Promise<Page<Webhook>>
  /**
   * Changes a webhook. Returns null if there is no such webhook. Enabling it, or another `url`, clears `failing_since`
   * and the breaker. Enabling makes its waiting deliveries due first, in transactions of a bounded size; after a death
   * in between it is still disabled. Disabling a disabled one keeps its reason. `invalid`: more headers than a webhook
   * may have.
   */
  updateWebhook(input: {
    workspace_id: string
    webhook_id: string
    patch: WebhookPatch
    /** The target that the caller has read. If it is another by now, nothing changes and the answer is null. */
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
   * Deletes the webhook with its deliveries, in transactions of a bounded size. After a death in between it is disabled
   * and can be deleted again. Returns false if there is no such webhook.
   */
  deleteWebhook(input: { workspace_id: string; webhook_id: string }): Promise<boolean>
}
