/**
 * The contract of the store. Both databases keep it, and conformance/ holds them to it. Each method is one
 * transaction; no transaction leaves the store. A writing method resolves after the commit. Every
 * time is the store's own clock (the database's on PostgreSQL, the injected one on SQLite). A method given a
 * `workspace_id` sees that workspace only: what belongs to another is as if it were not there. Refusals are AppErrors.
 * A store that cannot be reached throws AppError `store_unavailable`.
 */
import type {
  Attempt,
  AttemptRecord,
  Delivery,
  DeliveryStatus,
  Recovery,
  WebhookStats,
} from '@assay/model/delivery'
import type { Event, EventType } from '@assay/model/event'
import type { Findings, Insight } from '@assay/model/insight'
import type { Job, JobError, JobStatus, Progress } from '@assay/model/job'
import type { TemplateSource } from '@assay/model/template'
import type { Principal, Token, User, Workspace, WorkspaceCaps, WorkspacePatch } from '@assay/model/token'
import type {
  HeaderChange,
  SealedHeader,
  SealedSecret,
  SignatureVersion,
  Webhook,
  WebhookKind,
  WebhookStatus,
} from '@assay/model/webhook'
import type { AllowanceStore } from './contract/allowances.ts'
import type { AuditStore } from './contract/audit.ts'
import type { BatchStore } from './contract/batches.ts'
import type { ConnectionStore } from './contract/connections.ts'
import type { DoubtStore } from './contract/doubts.ts'
import type { ErasureStore } from './contract/erasure.ts'
import type { LinkStore } from './contract/links.ts'
import type { NarrativeStore } from './contract/narratives.ts'
import type { RetentionStore } from './contract/retention.ts'
import type { ScheduleStore } from './contract/schedules.ts'
import type { UsageStore } from './contract/usage.ts'

/** Something may have changed. Only a hint: hints can be lost, polling must suffice. Given after the commit. */
export type Hint =
  | { topic: 'jobs' | 'deliveries' }
  | { topic: 'job'; assignment_id: string }
  | { topic: 'delivery'; delivery_id: string }

export interface Page<Item> {
  items: Item[]
  /** Give it back as `cursor` for the next page; null at the end. Opaque. */
  next_cursor: string | null
}

export interface PageQuery {
  limit: number
  /** A cursor of another list is refused: `invalid`. */
  cursor?: string | undefined
}

export interface NewJob {
  assignment_id: string
  workspace_id: string
  user_id: string
  /** Kept with the job (once for each version). */
  template: TemplateSource
  variables: Record<string, unknown>
  presence_name: string | null
  priority: number
  metadata: Record<string, string>
  schedule_id?: string | null
  scheduled_for?: string | null
  batch_id?: string | null
}

/** What fences a settle: only the present owner of the present attempt may write. */
export interface Lease {
  assignment_id: string
  attempt: number
  node_id: string
}

export interface ClaimedJob {
  job: Job
  /** The workspace's data folder; null: it has none of its own. */
  data_folder: string | null
}

export interface NodeInfo {
  node_id: string
  /** A name for people: host and process. */
  name: string
  roles: string[]
  version: string
  started_at: string
  lease_until: string
}

export interface Renewal {
  /** Attempts that this node must stop: canceled, taken over, or unknown. */
  stop: { assignment_id: string; attempt: number }[]
}

export interface StoredTemplate {
  workspace_id: string
  template_id: string
  source: string
  user_id: string
  updated_at: string
}

export interface NewWebhook {
  webhook_id: string
  workspace_id: string
  /** `webhook` unless given; it never changes. */
  kind?: WebhookKind
  target?: string | null
  tells_skipped?: boolean
  url: string
  headers: SealedHeader[]
  user_id: string
  presence_name: string
  events: Webhook['events']
  description: string | null
  signature: SignatureVersion
  secrets: SealedSecret[]
  public_key: string | null
  retry_schedule: number[] | null
  max_in_flight: number | null
  rate_per_second: number | null
}

export type WebhookPatch = Partial<
  Omit<NewWebhook, 'webhook_id' | 'workspace_id' | 'kind' | 'secrets' | 'headers'> & {
    /** By name, over those that it has in that moment; null removes all. */
    headers: HeaderChange[] | null
    status: WebhookStatus
    disabled_reason: string | null
  }
>

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
  /** Those of one claim with the same number share a place: they are to be sent one after the other, in this order. */
  place: number
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

export interface IdempotencyKey {
  workspace_id: string
  method: string
  path: string
  key: string
}

export type IdempotencyStart =
  /** First sight: go on, and use `id` for what is created, so that a repeat after a crash makes no second one. */
  | { state: 'new'; id: string }
  | { state: 'replay'; answer: string }
  | { state: 'mismatch' }
  | { state: 'in_progress'; retry_after: number }

/** More deliveries than that are not counted: it would take the longer the more wait. */
export const DELIVERIES_COUNTED = 100_000

export interface Counts {
  /** Unfinished ones. `oldest_at`: when the oldest was queued (queued), or created (the others). */
  jobs: { workspace_id: string; job_status: JobStatus; count: number; oldest_at: string | null }[]
  /**
   * Pending deliveries that nobody holds: due now, or later or of a disabled webhook; the earliest due time. No more than
   * DELIVERIES_COUNTED are looked at.
   */
  deliveries: { due: number; waiting: number; oldest_at: string | null }
  /** Enabled ones whose last attempts have failed; disabled ones. */
  webhooks: { failing: number; disabled: number }
}

export interface Store
  extends AllowanceStore,
    AuditStore,
    BatchStore,
    ConnectionStore,
    DoubtStore,
    ErasureStore,
    LinkStore,
    NarrativeStore,
    RetentionStore,
    ScheduleStore,
    UsageStore {
  readonly kind: 'sqlite' | 'postgres'
  /**
   * Calls `changed` with the id of each job whose row a write touches, before a reader here can see what was written.
   * False: nothing is ever told, because other processes write, too (PostgreSQL).
   */
  onJobChange(changed: (assignment_id: string) => void): boolean

  // -- life ----------------------------------------------------------------------------------------------------------
  /** Rejects with `store_unavailable` where the database cannot be reached or lacks a migration that this program needs. */
  ping(): Promise<void>
  close(): Promise<void>
  /** Hints from this process and, on PostgreSQL, from the others. Returns how to stop. */
  subscribe(listener: (hint: Hint) => void): () => void
  /** Writes the value where the key has none yet; answers with the value that is kept. */
  keepOnce(key: string, value: string): Promise<string>
  counts(): Promise<Counts>

  // -- workspaces, users, tokens (every store has the default workspace from its first start) -------------------------------------------------------------------------------------
  /** `name_taken` where the id exists. */
  createWorkspace(
    input: Pick<Workspace, 'workspace_id' | 'name' | 'data_folder'> & Partial<WorkspaceCaps>,
  ): Promise<Workspace>
  /** Null: not there. */
  updateWorkspace(input: { workspace_id: string; patch: WorkspacePatch }): Promise<Workspace | null>
  getWorkspace(workspace_id: string): Promise<Workspace | null>
  listWorkspaces(query: PageQuery): Promise<Page<Workspace>>
  /** With all that is in it, unseen from the first step; `conflict` for the default one and for one with unfinished jobs. False: not there. */
  deleteWorkspace(workspace_id: string): Promise<boolean>
  /** `name_taken` where the username exists (usernames are unique in the whole service: login names no workspace). */
  createUser(input: Omit<User, 'created_at'> & { password_hash: string | null }): Promise<User>
  findUser(username: string): Promise<(User & { password_hash: string | null }) | null>
  listUsers(query: PageQuery & { workspace_id: string }): Promise<Page<User>>
  /** With its tokens. False: not there. */
  deleteUser(input: { workspace_id: string; user_id: string }): Promise<boolean>
  createToken(input: Omit<Token, 'created_at'> & { token_hash: string }): Promise<Token>
  /** The hot path of every request: null where there is none or it has expired. */
  findToken(token_hash: string): Promise<Principal | null>
  listTokens(query: PageQuery & { workspace_id: string }): Promise<Page<Token>>
  deleteToken(input: { workspace_id: string; token_id: string }): Promise<boolean>

  // -- templates of workspaces ---------------------------------------------------------------------------------------
  /** Creates or replaces. True: it is new. */
  putTemplate(input: Omit<StoredTemplate, 'updated_at'>): Promise<boolean>
  getTemplate(input: { workspace_id: string; template_id: string }): Promise<StoredTemplate | null>
  /** All of a workspace, by id. */
  listTemplates(workspace_id: string): Promise<StoredTemplate[]>
  deleteTemplate(input: { workspace_id: string; template_id: string }): Promise<boolean>
  /** The source that jobs were created with. */
  getTemplateVersion(input: { template_id: string; version: string }): Promise<TemplateSource | null>

  // -- jobs ----------------------------------------------------------------------------------------------------------
  /** A draft. Where the id exists in the workspace it answers with the job as it is. */
  createJob(input: NewJob): Promise<Job>
  /**
   * draft -> queued. A job that is queued, active or executing is answered as it is; `job_final`, `not_found`,
   * `queue_full` where the workspace has as many queued as it may.
   */
  queueJob(input: { workspace_id: string; assignment_id: string }): Promise<Job>
  getJob(input: { workspace_id: string; assignment_id: string }): Promise<Job | null>
  /** Newest first. */
  listJobs(
    query: PageQuery & {
      workspace_id: string
      job_status?: JobStatus | undefined
      template_id?: string | undefined
      schedule_id?: string | undefined
      batch_id?: string | undefined
      created_after?: string | undefined
      created_before?: string | undefined
    },
  ): Promise<Page<Job>>
  /** Any unfinished job -> canceled (`canceled_by_user`). A canceled one is answered as it is; `job_final` if completed. */
  cancelJob(input: { workspace_id: string; assignment_id: string }): Promise<Job>
  /** With its insight, its deliveries' attempts and bodies. `job_unfinished`, `not_found`. */
  deleteJob(input: { workspace_id: string; assignment_id: string }): Promise<void>
  /**
   * queued -> active for the node: higher priority first, then workspaces with the fewest running, then the oldest. Of a
   * workspace never more than may run at once.
   * `conflict` where the node is not registered (it was reaped).
   */
  claimJobs(input: { node_id: string; limit: number }): Promise<ClaimedJob[]>
  /** active -> executing. False: the lease is lost, stop. */
  startJob(lease: Lease): Promise<boolean>
  /**
   * executing -> completed with its insight, event and deliveries, or nothing. False: the lease is lost. One that ended
   * before its start was marked is completed from active: it began `ran_ms` before now, and that move is written, too.
   */
  completeJob(
    input: Lease & { insight_id: string; findings: Findings; ran_ms?: number | undefined },
  ): Promise<boolean>
  /** active or executing -> canceled with the error; `ran_ms` as above. False: the lease is lost. */
  failJob(input: Lease & { error: JobError; ran_ms?: number | undefined }): Promise<boolean>
  /** The attempt's child died: back to queued with a loss, the third ends the job (`worker_lost`). False: lease lost. */
  loseJob(lease: Lease): Promise<boolean>
  /** active or executing -> queued without a loss: the node is draining. */
  releaseJobs(leases: Lease[]): Promise<void>
  getInsight(input: { workspace_id: string; insight_id: string }): Promise<Insight | null>

  // -- nodes ---------------------------------------------------------------------------------------------------------
  registerNode(input: {
    node_id: string
    name: string
    roles: string[]
    version: string
    lease_ms: number
  }): Promise<void>
  /**
   * One statement for all that a node holds: renews its lease, writes progress, says what to stop. Throws `conflict`
   * where the node's row is gone (it was reaped: stop everything, register anew).
   */
  renewNode(input: {
    node_id: string
    lease_ms: number
    held: { assignment_id: string; attempt: number; progress: Progress | null }[]
  }): Promise<Renewal>
  /** Progress between renewals, at most once a second a job. Writes nothing for a lost lease. */
  reportProgress(input: Lease & { progress: Progress }): Promise<void>
  listNodes(): Promise<NodeInfo[]>
  /** Takes the node's row away; what it still holds is given back without a loss. */
  removeNode(node_id: string): Promise<void>
  /**
   * Takes expired nodes: their jobs go back with a loss (the third ends the job: `worker_lost`), their deliveries are
   * due again. On SQLite, at start, `all` takes every node at once: one process holds the home. `but`: who asks is alive,
   * even where a clock that was set forward says that its lease has ended.
   */
  reapNodes(input: {
    all: boolean
    but?: string
  }): Promise<{ nodes: number; jobs: number; deliveries: number }>

  // -- webhooks ------------------------------------------------------------------------------------------------------
  /** Where the id exists in the workspace it is replaced (a repeat after a crash: nobody has seen its secret). */
  createWebhook(input: NewWebhook): Promise<Webhook>
  getWebhook(input: { workspace_id: string; webhook_id: string }): Promise<Webhook | null>
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

  // -- events and deliveries -----------------------------------------------------------------------------------------
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
   * that often) and the breaker (open: one probe at a time). A webhook never gets more places than it leaves free: it
   * is given one only while it has fewer in flight than `limit` has left, so that slow receivers leave room for the
   * others; give all free places as `limit`. A place is one delivery, or where `runs` names the webhook as many as it
   * says, of those that are due once every place has one; the place is free when the last of its run is settled. A
   * webhook that fails or has a rate gets no runs. `conflict` where the node is not registered.
   */
  claimDeliveries(input: {
    node_id: string
    limit: number
    runs?: ReadonlyMap<string, number>
  }): Promise<ClaimedDelivery[]>
  /**
   * Fenced by node and attempt. False: it was taken over, nothing is written. All that are given in one turn of the
   * event loop are one transaction, and a claim that is asked for after them finds the places that they free.
   */
  recordAttempt(outcome: AttemptOutcome): Promise<boolean>
  /** The same of each, all in one transaction or none. */
  recordAttempts(outcomes: AttemptOutcome[]): Promise<boolean[]>
  /** Claimed deliveries go back, due at once, the claim not counted. */
  releaseDeliveries(deliveries: { delivery_id: string; attempt: number; node_id: string }[]): Promise<void>
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

  // -- recovery and statistics ---------------------------------------------------------------------------------------
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

  // -- idempotency ---------------------------------------------------------------------------------------------------
  /** `id` is kept with the key at first sight. A key is kept 24 hours; one left open by a dead process is taken over. */
  startIdempotent(
    input: IdempotencyKey & { body_hash: string; id: string; node_id: string },
  ): Promise<IdempotencyStart>
  /** Keeps the (sealed) answer; null (5xx, 429): a repeat begins again, under the same id where the body is the same. */
  endIdempotent(input: IdempotencyKey & { answer: string | null }): Promise<void>
}

/** What a method is given. */
export type Input<Method extends keyof Store> = Store[Method] extends (input: infer Given) => unknown
  ? Given
  : never
