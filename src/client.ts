/**
 * The client of the HTTP interface, for Node 20 and newer and for browsers but `verify`. Fetch and nothing else: the
 * command line and the tests of the whole system speak through it. Calls that may be repeated (reads, creations, which
 * bear an idempotency key, runs and cancels) are repeated on 429, 503 and broken connections.
 */
import { adminCalls } from './client/administration.ts'
import { connectionCalls } from './client/connections.ts'
import { eventCalls } from './client/events.ts'
import { fileCalls } from './client/files.ts'
import { type ClientOptions, createCaller, jsonCaller } from './client/http.ts'
import { jobCalls } from './client/jobs.ts'
import { linkCalls } from './client/links.ts'
import { scheduleCalls } from './client/schedules.ts'
import { subscriptionCalls } from './client/subscriptions.ts'
import { templateCalls } from './client/templates.ts'
import { webhookCalls } from './client/webhooks.ts'

export type { AuditRecord } from './audit.ts'
export type { AuditFilter, NodeView, QueueView } from './client/administration.ts'
export type { ConnectionChange, ConnectionInput, ConnectionTest } from './client/connections.ts'
export type { DeliveryFilter, RecoveryInput } from './client/deliveries.ts'
export type { NewFile } from './client/files.ts'
export {
  ClientError,
  type ClientOptions,
  type CreateOptions,
  type OfWorkspace,
  type Page,
  type Problem,
} from './client/http.ts'
export type { BatchCheck, BatchInput, BatchView, JobFilter, JobInput } from './client/jobs.ts'
export type { LinkInput, NewLink } from './client/links.ts'
export type { ScheduleFilter, ScheduleInput, TimingInput } from './client/schedules.ts'
export type { SubscriptionInput } from './client/subscriptions.ts'
export type {
  FullDelivery,
  NewWebhook,
  WebhookInput,
  WebhookPatch,
} from './client/webhooks.ts'
export type { ConnectionView } from './connection-view.ts'
export type { Attempt, DeliveryView, Recovery, WebhookStats } from './delivery.ts'
export type { Event, EventType } from './event.ts'
export type { StoredFile } from './file.ts'
export type { InsightView } from './insight.ts'
export type { JobStatus, JobView, Progress } from './job.ts'
export type { Link } from './link.ts'
export type { ScheduleView } from './schedule.ts'
export { SignatureError, sign, verify } from './signature.ts'
export type { SubscriptionView } from './subscription.ts'
export type { TemplateView, VariableView } from './template.ts'
export type { Principal, Scope, Token, User, Workspace } from './token.ts'
export type { WebhookView } from './webhook.ts'

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
