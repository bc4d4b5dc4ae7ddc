/**
 * The client of the HTTP interface, for Node 20 and newer and for browsers but `verify`. Fetch and nothing else: the
 * command line and the tests of the whole system speak through it. Calls that may be repeated (reads, creations, which
 * bear an idempotency key, runs and cancels) are repeated on 429, 503 and broken connections.
 */
import { adminCalls } from './administration.ts'
import { connectionCalls } from './connections.ts'
import { eventCalls } from './events.ts'
import { fileCalls } from './files.ts'
import { type ClientOptions, createCaller, jsonCaller } from './http.ts'
import { jobCalls } from './jobs.ts'
import { linkCalls } from './links.ts'
import { scheduleCalls } from './schedules.ts'
import { subscriptionCalls } from './subscriptions.ts'
import { templateCalls } from './templates.ts'
import { webhookCalls } from './webhooks.ts'

export type { AuditRecord } from '@assay/model/audit'
export type { ConnectionView } from '@assay/model/connection'
export type { Attempt, DeliveryView, Recovery, WebhookStats } from '@assay/model/delivery'
export type { Event, EventType } from '@assay/model/event'
export type { StoredFile } from '@assay/model/file'
export type { InsightView } from '@assay/model/insight'
export type { JobStatus, JobView, Progress } from '@assay/model/job'
export type { Link } from '@assay/model/link'
export type { ScheduleView } from '@assay/model/schedule'
export { SignatureError, sign, verify } from '@assay/model/signature'
export type { SubscriptionView } from '@assay/model/subscription'
export type { TemplateView, VariableView } from '@assay/model/template'
export type { Principal, Scope, Token, User, Workspace } from '@assay/model/token'
export type { WebhookView } from '@assay/model/webhook'
export type { AuditFilter, NodeView, QueueView } from './administration.ts'
export type { ConnectionChange, ConnectionInput, ConnectionTest } from './connections.ts'
export type { DeliveryFilter, RecoveryInput } from './deliveries.ts'
export type { NewFile } from './files.ts'
export {
  ClientError,
  type ClientOptions,
  type CreateOptions,
  type OfWorkspace,
  type Page,
  type Problem,
} from './http.ts'
export type { BatchCheck, BatchInput, BatchView, JobFilter, JobInput } from './jobs.ts'
export type { LinkInput, NewLink } from './links.ts'
export type { ScheduleFilter, ScheduleInput, TimingInput } from './schedules.ts'
export type { SubscriptionInput } from './subscriptions.ts'
export type {
  FullDelivery,
  NewWebhook,
  WebhookInput,
  WebhookPatch,
} from './webhooks.ts'

export function createClient(options: ClientOptions) {
  const send = createCaller(options)
  const json = jsonCaller(send)
  return {
    url: options.url,
    templates: templateCalls(send, json),
    jobs: jobCalls(send, json),
    links: linkCalls(send, json),
    schedules: scheduleCalls(send, json),
    webhooks: webhookCalls(send, json),
    files: fileCalls(send, json),
    subscriptions: subscriptionCalls(send, json),
    events: eventCalls(json),
    connections: connectionCalls(send, json),
    ...adminCalls(send, json),
  }
}

export type Client = ReturnType<typeof createClient>
