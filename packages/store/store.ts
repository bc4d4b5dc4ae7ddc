/**
 * The contract of the store. Both databases keep it, and conformance/ tests it. Each method is one transaction; no
 * transaction leaves the store. A writing method resolves after the commit. Every time is the store's own clock (the
 * database's on PostgreSQL, the injected one on SQLite). A method with a `workspace_id` sees that workspace only:
 * what belongs to another does not exist for it. Refusals are AppErrors. A store that cannot be reached throws
 * AppError `store_unavailable`.
 */
import type { NewAuditRecord } from '@assay/model/audit'
import type { Expected } from '@assay/model/entity-tag'
import type { JobStatus } from '@assay/model/job'
import type { GrantStore } from './contract/accounts/grants.ts'
import type { KeptDraftStore } from './contract/accounts/kept-drafts.ts'
import type { CollectionStore } from './contract/jobs/collections.ts'
import type { JobStore } from './contract/jobs/jobs.ts'
import type { KeptDayStore } from './contract/jobs/kept-days.ts'
import type { NodeStore } from './contract/jobs/nodes.ts'
import type { ProcessorUseStore } from './contract/jobs/processor-use.ts'
import type { ReaderStore } from './contract/jobs/readers.ts'
import type { ScheduleStore } from './contract/jobs/schedules.ts'
import type { DeliveryStore } from './contract/webhooks/deliveries.ts'
import type { MailConsentStore } from './contract/webhooks/mail-consents.ts'
import type { RecoveryStore } from './contract/webhooks/recoveries.ts'
import type { WebhookStore } from './contract/webhooks/webhooks.ts'
import type { AccountStore } from './contract/workspaces/accounts.ts'
import type { AllowanceStore } from './contract/workspaces/allowances.ts'
import type { AuditStore } from './contract/workspaces/audit.ts'
import type { ConnectionStore } from './contract/workspaces/connections.ts'
import type { ErasureStore } from './contract/workspaces/erasure.ts'
import type { FileDialectStore } from './contract/workspaces/file-dialects.ts'
import type { IdempotencyStore } from './contract/workspaces/idempotency.ts'
import type { LinkStore } from './contract/workspaces/links.ts'
import type { MetricStore } from './contract/workspaces/metrics.ts'
import type { NarrativeStore } from './contract/workspaces/narratives.ts'
import type { OutgoingStore } from './contract/workspaces/outgoing.ts'
import type { RepositoryStore } from './contract/workspaces/repositories.ts'
import type { RetentionStore } from './contract/workspaces/retention.ts'
import type { SealedStore } from './contract/workspaces/sealed.ts'
import type { SignInStore } from './contract/workspaces/sign-ins.ts'
import type { TemplateStore } from './contract/workspaces/templates.ts'

export type * from './contract/jobs/collections.ts'
export type * from './contract/jobs/jobs.ts'
export type * from './contract/jobs/nodes.ts'
export type * from './contract/jobs/readers.ts'
export type { Fired, FiringPage } from './contract/jobs/schedules.ts'
export type * from './contract/page.ts'
export type * from './contract/webhooks/deliveries.ts'
export type * from './contract/webhooks/recoveries.ts'
export type * from './contract/webhooks/webhooks.ts'
export type * from './contract/workspaces/idempotency.ts'
export type * from './contract/workspaces/metrics.ts'
export type * from './contract/workspaces/sealed.ts'
export type * from './contract/workspaces/templates.ts'

/** A hint that something may have changed, sent after the commit. Hints can be lost, so polling must suffice. */
export type Hint =
  | { topic: 'jobs' | 'deliveries' }
  | { topic: 'job'; assignment_id: string }
  | { topic: 'delivery'; delivery_id: string }

/** The state of the database's connections, for monitoring. */
export interface Connections {
  open: number
  idle: number
  /** The number of requests that wait for a connection. */
  waiting: number
}

/** The most deliveries that are counted, because a count takes longer the more wait. */
export const DELIVERIES_COUNTED = 100_000

export interface Counts {
  /** Unfinished jobs. `oldest_at`: when the oldest was queued, or for other states created. */
  jobs: { workspace_id: string; job_status: JobStatus; count: number; oldest_at: string | null }[]
  /** The bytes of the jobs and insights of each workspace, and its cap; null for no cap. */
  stored: { workspace_id: string; bytes: number; most: number | null }[]
  /**
   * Pending deliveries that no node holds: those due now; those due later or of a disabled webhook; the earliest due
   * time. At most DELIVERIES_COUNTED are looked at.
   */
  deliveries: { due: number; waiting: number; oldest_at: string | null }
  /** The number of enabled webhooks whose last attempts failed, and of disabled ones. */
  webhooks: { failing: number; disabled: number }
  /**
   * The time of the oldest event that readers in order do not get yet, because an earlier one may follow
   * (PostgreSQL). Null if there is none.
   */
  held_event_at: string | null
}

export interface Store
  extends AccountStore,
    AllowanceStore,
    AuditStore,
    CollectionStore,
    ConnectionStore,
    DeliveryStore,
    ErasureStore,
    FileDialectStore,
    GrantStore,
    IdempotencyStore,
    JobStore,
    KeptDayStore,
    KeptDraftStore,
    LinkStore,
    MailConsentStore,
    MetricStore,
    NarrativeStore,
    NodeStore,
    OutgoingStore,
    ProcessorUseStore,
    ReaderStore,
    RecoveryStore,
    RepositoryStore,
    RetentionStore,
    SignInStore,
    ScheduleStore,
    SealedStore,
    TemplateStore,
    WebhookStore {
  readonly kind: 'sqlite' | 'postgres'
  /** Rejects with `store_unavailable` if the database takes no writes or lacks a migration of this program. */
  ping(): Promise<void>
  close(): Promise<void>
  /**
   * Calls the listener with hints of this process and, on PostgreSQL, of the others. Returns the function that stops
   * it.
   */
  subscribe(listener: (hint: Hint) => void): () => void
  counts(): Promise<Counts>
  /** Returns the bytes of the database on disk, without its log. */
  databaseBytes(): Promise<number>
  /** Returns null on SQLite, which has one connection and no pool. */
  connections(): Connections | null
  /**
   * The same store for one request. Its first change that changes something (the answer is neither null nor false) also writes the audit
   * record, in the same transaction. `precondition_failed`: the object is not as `expected`.
   */
  audited(record: NewAuditRecord, expected?: Expected | null): Store
}

/** The input of a method. */
export type Input<Method extends keyof Store> = Store[Method] extends (input: infer Given) => unknown
  ? Given
  : never
