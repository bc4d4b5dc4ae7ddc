/** What the store promises of webhooks. */
import type { HeaderChange, Health, Webhook, WebhookKind, WebhookStatus } from '@assay/model/webhook'
import type { Page, PageQuery } from '../page.ts'

/** What the store fills in: its state, its health and its times. */
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

/** Without them it is of the kind `webhook`, has no target, is not told of skipped jobs, and is not the user's own. */
export type NewWebhook = Omit<Webhook, Kept | WithDefault> & Partial<Pick<Webhook, WithDefault>>

export type WebhookPatch = Partial<
  Omit<NewWebhook, 'webhook_id' | 'workspace_id' | 'kind' | 'secrets' | 'headers'> & {
    /** By name, over those that it has in that moment; null removes all. */
    headers: HeaderChange[] | null
    status: WebhookStatus
    disabled_reason: string | null
  }
>

export interface WebhookStore {
  /**
   * Where the id exists in the workspace it is replaced (a repeat after a crash: nobody has seen its secret). `conflict` beyond
   * WEBHOOKS_MOST for programs, and SUBSCRIPTIONS_MOST.
   */
  createWebhook(input: NewWebhook): Promise<Webhook>
  getWebhook(input: { workspace_id: string; webhook_id: string }): Promise<Webhook | null>
  /**
   * The subscriptions of the ids, and those that are the own ones of the user `personal_of` (the 50 oldest). No ids and
   * users of other workspaces.
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
   * Null: not there. Enabling clears `failing_since` and the breaker, as another `url` does, and makes what waits due (before
   * it is enabled, in transactions of a bounded size: where the process dies in between it is not enabled); disabling one that
   * is disabled keeps its reason. More headers than a webhook may have: `invalid`.
   */
  updateWebhook(input: {
    workspace_id: string
    webhook_id: string
    patch: WebhookPatch
    /** Null is answered, and nothing is changed, where its target is another by now. */
    if_target?: string | null | undefined
  }): Promise<Webhook | null>
  /** Puts the new key first; those before it sign for `overlap_ms` more at most. Null: not there. */
  rotateSecret(input: {
    workspace_id: string
    webhook_id: string
    sealed: string
    public_key: string | null
    overlap_ms: number
  }): Promise<Webhook | null>
  /**
   * With its deliveries, in transactions of a bounded size: where the process dies in between it is disabled and can be
   * deleted again. False: not there.
   */
  deleteWebhook(input: { workspace_id: string; webhook_id: string }): Promise<boolean>
}
